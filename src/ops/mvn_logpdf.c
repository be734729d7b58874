/* mvn_logpdf:  l = -½ |z|² - Σ_i log L_ii - n/2 log 2π,  z = L⁻¹ (y - μ)
 *              y, μ: (..., n, 1)  L: (..., n, n) -> (...)
 * adjoint:     with α = L⁻ᵀ z:  ȳ = -l̄ α,  μ̄ = l̄ α,  L̄ = l̄ tril(α zᵀ) - l̄ diag(1/L_ii)
 *                                                         [Rasmussen & Williams 2006, §2.2, A.2] */
#include "support.h"

/* Whether input i is a column, or a batch of them, of L's extent. */
static bool is_column(ct_call *c, int i, int64_t n)
{
    return ct_require(c, ct_arg_ndim(c, i) >= 2 && ct_arg_dim(c, i, -1) == 1 && ct_arg_dim(c, i, -2) == n,
                      CT_ESHAPE, "input %d must be a column (..., %lld, 1): ct_unsqueeze a vector", i,
                      (long long)n);
}

static ct_var compose(ct_call *c)
{
    ct_var y = ct_arg_var(c, 0), mean = ct_arg_var(c, 1), L = ct_arg_var(c, 2);
    const int64_t n = ct_arg_dim(c, 2, -1);
    if (!ct__need_square(c, 2) || !is_column(c, 0, n) || !is_column(c, 1, n)) return ct_none();
    ct_var z = ct_squeeze(ct_tri_solve(L, ct_sub(y, mean), CT_LOWER), -1);
    ct_var d = ct_diag(L), log_root = ct_sum(ct_log(d), -1, false); /* Σ log L_ii */
    ct_var chi2 = ct_sum(ct_square(z), -1, false);
    ct_var log_p = ct_shift(ct_sub(ct_scale(chi2, -0.5), log_root), -0.5 * (double)n * CT__LOG_2PI);
    return ct__where_positive(log_p, ct_unsqueeze(d, -1), CT__NO_FACTOR);
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 2);
    ct_sample_normal(s, 0, ct_shape2(n, 1));
    ct_sample_normal(s, 1, ct_shape2(n, 1));
    if (v == 1) ct_sample_unbatched(s); /* one L for a batch of y */
    ct_sample_lower(s, 2, n);
}

const ct_op ct_op_mvn_logpdf = {
    .name = "mvn_logpdf", .n_in = 3, .compose = compose, .sample = sample, .finite = true
};

ct_var ct_mvn_logpdf(ct_var y, ct_var mean, ct_var L)
{
    return ct_apply(&ct_op_mvn_logpdf, (ct_var[]){ y, mean, L }, 3, NULL, 0);
}
