/* lu:       A[order] = L U with partial pivoting    A: (..., n, n) -> LU: (..., n, n), order: (..., n) i64
 * adjoint:  none: ops that use the factors give their gradient to A directly, see lu_solve.c
 * LU holds both factors, stored by columns as in LAPACK. Row i of L U is row order[i] of A. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_shape0();
    ct_shape shape = ct_arg_shape(c, 0), order = shape;
    order.ndim--;
    ct_more_out(c, 1, CT_I64, order);
    return shape;
}

static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0);
    ct_set_result(c, 0, ct_view_transpose(ct_scratch(c, A.dtype, ct_view_shape(A)))); /* by columns */
    ct_prim_getrf(c, A, ct_result(c), ct_result_at(c, 1));
}

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_lu = { .name = "lu", .n_in = 1, .shape = shape, .forward = forward, .sample = sample };

ct_var ct_lu(ct_var A, ct_var *order)
{
    ct_var LU = ct_apply(&ct_op_lu, &A, 1, NULL, 0);
    if (order) *order = ct_output(LU, 1);
    return LU;
}
