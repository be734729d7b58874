/* What a rule gives: the cotangents of its op's inputs, which are accumulated here. In a recorded sweep they
 * are added by ct_add; those of broadcast inputs are summed by ct_sum_to. */
#include "support.h"

#include "autograd/sweep.h"

void ct_give_in_bar(ct_vjp *g, int i, ct_var bar)
{
    ct_tape *tape = g->tape;
    if (!bar.tape || tape->status || !ct_wants(g, i)) return;
    if (bar.tape != tape) ct_tape_fail(tape, CT_EINVAL, "the cotangent of input %d is on another tape", i);
    const uint32_t in = tape->node[g->index].in[i];
    const ct_node *given = ct__node(bar), *input = ct__node(ct__handle(tape, in));
    if (!given || !input || tape->status) return;
    const ct_view *x_bar = &given->value->view, *x = &input->value->view;
    if (x_bar->dtype != x->dtype)
        ct_tape_fail(tape, CT_EDTYPE, "the cotangent of input %d is %s, the input %s", i,
                     ct_dtype_name(x_bar->dtype), ct_dtype_name(x->dtype));
    if (!ct__same_shape(x_bar, x)) {
        const ct_shape shape = ct__shape(x), got = ct__shape(x_bar);
        char a[96], b[96];
        if (!ct_shape_equal(ct_shape_broadcast(got, shape), got))
            ct_tape_fail(tape, CT_ESHAPE, "the cotangent of input %d is %s, the input %s", i,
                         ct__shape_text(got, a, sizeof a), ct__shape_text(shape, b, sizeof b));
        bar = ct_sum_to(bar, shape);
    }
    if (g->s->record && ct__has_bar(g->s, in)) bar = ct_add(ct__bar_of(g->s, in), bar);
    if (!tape->status) ct__arrive(g->s, in, bar);
}

/* -- fused rules ----------------------------------------------------------------------------------------- */

const ct_view *ct__in_value(const ct_vjp *g, int i)
{
    const ct_node *node = ct__node(ct__handle(g->tape, g->tape->node[g->index].in[i]));
    return node ? &node->value->view : NULL;
}

const ct_view *ct__out_bar(const ct_vjp *g) { return &ct__slot_of(g->s, g->index)->bar->view; }

/* The cotangent of input i += bar, which is taken over. NULL, or a status of its computation, fails the sweep
 * with the device's message. */
static void give(ct_vjp *g, int i, ct_tensor *bar, ct_status status)
{
    ct_tape *tape = g->tape;
    uint32_t in = tape->node[g->index].in[i];
    const ct_tensor *value = tape->node[in].value;
    if (!bar || status) {
        ct_release(bar);
        ct__tape_fail_device(tape, "a cotangent");
    } else if (value && ct__same_shape(&bar->view, &value->view)) {
        ct__accumulate(g->s, in, bar);
    } else {
        ct_give_in_bar(g, i, ct__push_value(tape, bar, 0, NULL));
    }
}

void ct__give_map1_bar(ct_vjp *g, ct_map1 f, const double p[2])
{
    ct_device *dev = g->tape->device;
    const ct_view *x = ct__in_value(g, 0);
    const ct_tensor *y = ct_value(ct_out(g));
    if (!x || !y || !ct_wants(g, 0)) return;
    ct_tensor *bar = ct__empty_like(&y->view);
    give(g, 0, bar,
         bar ? dev->backend->map1_bar(dev, f, p, x, &y->view, ct__out_bar(g), &bar->view) : CT_ENOMEM);
}

/* ā = ȳ ∂f/∂a (side 0), b̄ = ȳ ∂f/∂b (side 1); of a sum it is ȳ itself. */
void ct__give_map2_bars(ct_vjp *g, ct_map2 f)
{
    ct_device *dev = g->tape->device;
    const ct_view *in[2] = { ct__in_value(g, 0), ct__in_value(g, 1) }, *y_bar = ct__out_bar(g);
    ct_view spread[2];
    if (!in[0] || !in[1]) return;
    for (int k = 0; k < 2; k++) {
        if (ct__same_shape(in[k], y_bar)) continue;
        const ct_shape shape = ct__shape(y_bar);
        spread[k] = *in[k];
        ct__broadcast(&spread[k], &shape);
        in[k] = &spread[k];
    }
    for (int side = 0; side < 2; side++) {
        if (!ct_wants(g, side)) continue;
        if (f == CT_MAP_add || (f == CT_MAP_sub && side == 0)) {
            give(g, side, ct_retain(ct__slot_of(g->s, g->index)->bar), CT_OK);
            continue;
        }
        ct_tensor *bar = ct__empty_like(y_bar);
        give(g, side, bar,
             bar ? dev->backend->map2_bar(dev, f, side, in[0], in[1], y_bar, &bar->view) : CT_ENOMEM);
    }
}

void ct__give_product(ct_vjp *g, int i, const ct_view *X, const ct_view *Y)
{
    if (!ct_wants(g, i)) return;
    ct_device *dev = g->tape->device;
    ct_tensor *sum = ct__slot_of(g->s, g->tape->node[g->index].in[i])->bar;
    if (sum && ct__can_grow(sum)) {
        if (dev->backend->gemm(dev, 1, X, Y, 1, &sum->view)) give(g, i, NULL, CT_OK);
        return;
    }
    const ct_shape shape = { .dim = { X->dim[0], Y->dim[1] }, .ndim = 2 };
    ct_tensor *bar = ct__empty(dev, X->dtype, &shape);
    give(g, i, bar, bar ? dev->backend->gemm(dev, 1, X, Y, 0, &bar->view) : CT_ENOMEM);
}
