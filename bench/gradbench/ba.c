/* Bundle adjustment: n observations, each by a camera of 11 parameters (rotation vector, centre, focal
 * length, principal point, two radial distortions), of a point in space, with a weight; the residuals are the
 * weighted error of the projection (n, 2). The Jacobian's blocks (n, 2, 15) by colouring, as elements of a
 * sparse one. */
#include "gradbench.h"

#include <stdlib.h>

enum { CAMERA = 11, IN = 15, OUT = 2 };

static int64_t *row, *col;

static void setup(problem *p)
{
    const int64_t nnz = p->n * IN * OUT;
    p->x = sines(p->device, ct_shape2(p->n, IN), 1, 0.3);
    p->constant[0] = sines(p->device, ct_shape2(p->n, OUT), 0.5, 1);
    row = realloc(row, (size_t)nnz * sizeof *row), col = realloc(col, (size_t)nnz * sizeof *col);
    for (int64_t k = 0; k < nnz; k++) {
        row[k] = k / IN;
        col[k] = k / (IN * OUT) * IN + k % IN;
    }
}

/* Columns from..to of x (n, 15) */
static ct_var columns(ct_var x, int64_t from, int64_t to) { return ct_slice(x, 1, from, to, 1); }

static ct_var cross(ct_var a, ct_var b)
{
    ct_var c[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        c[i] = ct_sub(ct_mul(columns(a, j, j + 1), columns(b, k, k + 1)),
                      ct_mul(columns(a, k, k + 1), columns(b, j, j + 1)));
    }
    return ct_concat(c, 3, 1);
}

static ct_var inner(ct_var a, ct_var b) { return ct_sum(ct_mul(a, b), 1, true); }

/* x turned by the rotation vector r [Rodrigues] */
static ct_var rotate(ct_var r, ct_var x)
{
    ct_var angle = ct_sqrt(inner(r, r)), c = ct_cos(angle), s = ct_sin(angle), w = ct_div(r, angle);
    ct_var along = ct_mul(w, ct_mul(inner(w, x), ct_sub(ct_scalar(x.tape, CT_F64, 1), c)));
    return ct_add(ct_add(ct_mul(x, c), ct_mul(cross(w, x), s)), along);
}

static void run(problem *p)
{
    ct_var x = ct_leaf(p->tape, p->x), point = columns(x, CAMERA, CAMERA + 3);
    ct_var there = rotate(columns(x, 0, 3), ct_sub(point, columns(x, 3, 6)));
    ct_var flat = ct_div(columns(there, 0, 2), ct_shift(columns(there, 2, 3), 3)), rr = inner(flat, flat);
    ct_var distortion =
        ct_shift(ct_add(ct_mul(columns(x, 9, 10), rr), ct_mul(columns(x, 10, 11), ct_square(rr))), 1);
    ct_var seen = ct_add(ct_mul(ct_mul(flat, distortion), columns(x, 6, 7)), columns(x, 7, 9));
    ct_var r = ct_mul(ct_sub(seen, constant(p, 0)), columns(x, 14, 15));
    p->value = ct_item(ct_sum(ct_square(r), CT_ALL, false));
    p->derivative = ct_value(ct_jacobian_sparse(r, x, row, col, p->n * IN * OUT));
}

const problem ba = { .name = "ba", .setup = setup, .run = run };
