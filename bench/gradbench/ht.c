/* A hand's pose: m bones in chains of 4, each turned by two angles and moved along; n points of the skin,
 * each a weighted mean of the bones' frames; the Jacobian of the distances (n, 3) to measured points by the
 * angles. */
#include "gradbench.h"

enum { CHAIN = 4 };

static void setup(problem *p)
{
    p->x = sines(p->device, ct_shape2(p->m, 2), 1, 0.5);
    p->constant[0] = sines(p->device, ct_shape2(p->m, 3), 0.5, 1);  /* a bone's end in its frame       */
    p->constant[1] = sines(p->device, ct_shape2(p->n, 3), 0.25, 1); /* a skin's point in every frame   */
    p->constant[2] = sines(p->device, ct_shape2(p->n, p->m), 0.75, 1.0 / (double)p->m); /* its weights */
    p->constant[3] = sines(p->device, ct_shape2(p->n, 3), 2, 1); /* where it was measured           */
}

/* The rotation by a about axis z and by b about axis x. */
static ct_var rotation(ct_var a, ct_var b)
{
    ct_var ca = ct_cos(a), sa = ct_sin(a), cb = ct_cos(b), sb = ct_sin(b),
           zero = ct_scalar(a.tape, CT_F64, 0);
    ct_var entry[] = {
        ca, ct_neg(ct_mul(sa, cb)), ct_mul(sa, sb), sa, ct_mul(ca, cb), ct_neg(ct_mul(ca, sb)), zero, sb, cb
    };
    return ct_reshape(ct_stack(entry, 9, 0), ct_shape2(3, 3));
}

static void run(problem *p)
{
    enum { BONES = 64 };
    ct_var x = ct_leaf(p->tape, p->x), frame[BONES], end[BONES], v = ct_t(constant(p, 1));
    ct_var skin = ct_none(), weights = constant(p, 2);
    for (int i = 0; i < p->m; i++) {
        ct_var angles = ct_row(x, i), bone = ct_reshape(ct_row(constant(p, 0), i), ct_shape2(3, 1));
        frame[i] = rotation(ct_row(angles, 0), ct_row(angles, 1));
        if (i % CHAIN) frame[i] = ct_matmul(frame[i - 1], frame[i]);
        end[i] = ct_matmul(frame[i], bone);
        if (i % CHAIN) end[i] = ct_add(end[i - 1], end[i]);
        ct_var there = ct_add(ct_matmul(frame[i], v), end[i]); /* (3, n) */
        there = ct_mul(there, ct_reshape(ct_slice(weights, 1, i, i + 1, 1), ct_shape2(1, p->n)));
        skin = i ? ct_add(skin, there) : there;
    }
    ct_var r = ct_sub(constant(p, 3), ct_t(skin));
    p->value = ct_item(ct_sum(ct_square(r), CT_ALL, false));
    p->derivative = ct_value(ct_jacobian(r, x));
}

const problem ht = { .name = "ht", .setup = setup, .run = run };
