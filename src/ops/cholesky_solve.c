/* cholesky_solve:  X = A⁻¹ B = L⁻ᵀ (L⁻¹ B) for A = L Lᵀ, given L
 * adjoint:         from the composition of two triangular solves, see tri_solve.c */
#include "support.h"

static ct_var compose(ct_call *c)
{
    ct_var L = ct_arg_var(c, 0);
    return ct_tri_solve(L, ct_tri_solve(L, ct_arg_var(c, 1), CT_LOWER), CT_LOWER | CT_TRANS);
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_lower(s, 0, n);
    ct_sample_normal(s, 1, ct_shape2(n, 2));
}

const ct_op ct_op_cholesky_solve = {
    .name = "cholesky_solve", .n_in = 2, .compose = compose, .sample = sample
};

ct_var ct_cholesky_solve(ct_var L, ct_var B)
{
    return ct_apply(&ct_op_cholesky_solve, (ct_var[]){ L, B }, 2, NULL, 0);
}
