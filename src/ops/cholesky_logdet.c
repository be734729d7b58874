/* cholesky_logdet:  y = log det A = 2 Σ_i log L_ii for A = L Lᵀ, given L: (..., n, n) -> (...)
 * adjoint:          L̄_ii = 2 ȳ / L_ii, zero elsewhere                         [det L = Π_i L_ii] */
#include "support.h"

static ct_var compose(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_none();
    ct_var d = ct_diag(ct_arg_var(c, 0)), y = ct_scale(ct_sum(ct_log(d), -1, false), 2);
    return ct__where_positive(y, ct_unsqueeze(d, -1), CT__NO_FACTOR);
}

static void sample(ct_sample *s) { ct_sample_lower(s, 0, ct_sample_size(s)); }

const ct_op ct_op_cholesky_logdet = {
    .name = "cholesky_logdet", .n_in = 1, .compose = compose, .sample = sample
};

ct_var ct_cholesky_logdet(ct_var L) { return ct_apply(&ct_op_cholesky_logdet, &L, 1, NULL, 0); }
