/* gaussian_nll:  y = 1/N Σ_i ½ (log 2π v_i + r_i² / v_i),  r = target - mean
 * adjoint:       m̄_i = -ȳ r_i / (N v_i),  v̄_i = ȳ (1 - r_i² / v_i) / (2 N v_i), from the composition
 *
 * The variance v has the shape of mean and target, or one element. */
#include "support.h"

static ct_var compose(ct_call *c)
{
    ct_var mean = ct_arg_var(c, 0), variance = ct_arg_var(c, 1), target = ct_arg_var(c, 2);
    if (!ct__need_same_shape(c, 0, 2) ||
        (ct__count(ct__arg_view(c, 1)) != 1 && !ct__need_same_shape(c, 1, 2)))
        return ct_none();
    ct_var chi2 = ct_mean(ct_div(ct_square(ct_sub(target, mean)), variance), CT_ALL, false);
    ct_var y = ct_scale(ct_shift(ct_add(ct_mean(ct_log(variance), CT_ALL, false), chi2), CT__LOG_2PI), 0.5);
    return ct__where_positive(
        y, ct_reshape(variance, ct_shape2(-1, 1)), "variance %lld",
        "is not positive and finite: take the exponential or the softplus of a free parameter");
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s) > 0 ? ct_sample_size(s) : 1;
    int v = ct_sample_variant(s, 2);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape1(n));
    ct_sample_uniform(s, 1, v == 1 ? ct_shape0() : ct_shape1(n), 0.5, 2);
    ct_sample_normal(s, 2, ct_shape1(n));
}

const ct_op ct_op_gaussian_nll = { .name = "gaussian_nll", .n_in = 3, .compose = compose, .sample = sample };

ct_var ct_gaussian_nll(ct_var mean, ct_var variance, ct_var target)
{
    return ct_apply(&ct_op_gaussian_nll, (ct_var[]){ mean, variance, target }, 3, NULL, 0);
}
