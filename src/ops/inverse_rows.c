/* inverse_rows:  P = Eᵀ A⁻¹, rows idx of A⁻¹              A: (..., n, n)  idx: (r) i64 -> P: (..., r, n)
 * adjoint:       Z = A⁻¹ P̄ᵀ,  Ā = -Pᵀ Zᵀ                      [the adjoint of a solve, lu_solve.c]
 * Rows of A⁻¹ are columns of A⁻ᵀ: Pᵀ = A⁻ᵀ E, as in inverse_cols.c. */
#include "support.h"

static ct_var compose(ct_call *c)
{
    ct_var A = ct_arg_var(c, 0), E = ct__unit_columns(A, ct_arg_var(c, 1)), order, LU = ct_lu(A, &order);
    return ct_t(ct_lu_solve(A, LU, order, E, CT_TRANS));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_invertible(s, 0, n);
    ct_sample_unbatched(s);
    ct_sample_index(s, 1, ct_shape1(n > 0 ? 2 : 0), n);
}

const ct_op ct_op_inverse_rows = {
    .name = "inverse_rows", .n_in = 2, .compose = compose, .sample = sample, .integers = 1 << 1
};

ct_var ct_inverse_rows(ct_var A, ct_var index)
{
    return ct_apply(&ct_op_inverse_rows, (ct_var[]){ A, index }, 2, NULL, 0);
}
