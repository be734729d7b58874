/* solve:    X = A⁻¹ B by LU with partial pivoting      A: (..., n, n)  B: (..., n, m), batches broadcast
 * adjoint:  B̄ = A⁻ᵀ X̄,  Ā = -B̄ Xᵀ, with the same factors: see lu_solve.c */
#include "support.h"

static ct_var compose(ct_call *c)
{
    ct_var A = ct_arg_var(c, 0), order, LU = ct_lu(A, &order);
    return ct_lu_solve(A, LU, order, ct_arg_var(c, 1), 0);
}

static void draw(ct_sample *s, int i)
{
    if (i == 0)
        ct_sample_invertible(s, 0, ct_sample_size(s));
    else
        ct_sample_normal(s, 1, ct_shape2(ct_sample_size(s), 2));
}

static void sample(ct_sample *s) { ct__sample_pair(s, ct_sample_variant(s, 3), draw); }

const ct_op ct_op_solve = { .name = "solve", .n_in = 2, .compose = compose, .sample = sample };

ct_var ct_solve(ct_var A, ct_var B) { return ct_apply(&ct_op_solve, (ct_var[]){ A, B }, 2, NULL, 0); }
