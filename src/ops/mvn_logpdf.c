/* mvn_logpdf:  l = -½ |z|² - Σ_i log L_ii - n/2 log 2π,  z = L⁻¹ (y - μ)
 *              y, μ: (..., n, 1)  L: (..., n, n) -> (...)
 * adjoint:     with α = L⁻ᵀ z:  ȳ = -l̄ α,  μ̄ = l̄ α,  L̄ = l̄ tril(α zᵀ) - l̄ diag(1/L_ii)
 *                                                         [Rasmussen & Williams 2006, §2.2, A.2] */
#include "support.h"

#define LOG_2PI 1.8378770664093454836

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    ct_var y = in[0], mean = in[1], L = in[2];
    ct_shape a = ct_var_shape(y), b = ct_var_shape(mean), l = ct_var_shape(L);
    (void)n_in, (void)attr;
    if (!ct__need_square_var(tape, "mvn_logpdf", L)) return ct_none();
    int64_t n = l.dim[l.ndim - 1];
    if (a.ndim < 2 || b.ndim < 2 || a.dim[a.ndim - 1] != 1 || b.dim[b.ndim - 1] != 1 ||
        a.dim[a.ndim - 2] != n || b.dim[b.ndim - 2] != n) {
        char a_text[96], b_text[96];
        ct_tape_fail(tape, CT_ESHAPE,
                     "op #%lld mvn_logpdf: y is %s and the mean is %s, wanted columns (..., %lld, 1): "
                     "ct_unsqueeze a vector",
                     (long long)ct_tape_length(tape), ct__shape_text(a, a_text, sizeof a_text),
                     ct__shape_text(b, b_text, sizeof b_text), (long long)n);
        return ct_none();
    }
    ct_var z = ct_squeeze(ct_tri_solve(L, ct_sub(y, mean), CT_LOWER), -1);
    ct_var d = ct_diag(L), log_root = ct_sum(ct_log(d), -1, false); /* Σ log L_ii */
    ct_var chi2 = ct_sum(ct_square(z), -1, false);
    ct_var log_p = ct_shift(ct_sub(ct_scale(chi2, -0.5), log_root), -0.5 * (double)n * LOG_2PI);
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

const ct_op ct_op_mvn_logpdf = { .name = "mvn_logpdf", .n_in = 3, .compose = compose, .sample = sample };

ct_var ct_mvn_logpdf(ct_var y, ct_var mean, ct_var L)
{
    return ct_apply(&ct_op_mvn_logpdf, (ct_var[]){ y, mean, L }, 3, NULL, 0);
}
