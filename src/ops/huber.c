/* huber:    y = 1/N Σ_i h(r_i),  h(r) = r²/2 where |r| <= δ, δ (|r| - δ/2) elsewhere   [Huber 1964]
 * adjoint:  r̄_i = ȳ clamp(r_i, -δ, δ) / N, from the composition
 *
 * With q = clamp(r, -δ, δ) both branches are h = q²/2 + δ |r - q|, and h″ = 1 wherever |r| <= δ. No term of
 * its gradient multiplies r, so at an infinite residual it is δ sign(r) and not ∞ · 0. */
#include "support.h"

static ct_var compose(ct_call *c)
{
    const double *delta = ct__need_attr(c);
    if (!delta || !ct__need_same_shape(c, 0, 1) ||
        !ct_require(c, *delta > 0, CT_EINVAL, "delta must be positive, got %g", *delta))
        return ct_none();
    ct_var r = ct_sub(ct_arg_var(c, 0), ct_arg_var(c, 1)), q = ct_clamp(r, -*delta, *delta);
    ct_var within = ct_scale(ct_square(q), 0.5), beyond = ct_scale(ct_abs(ct_sub(r, q)), *delta);
    return ct_mean(ct_add(within, beyond), CT_ALL, false);
}

/* Three variants: residuals inside and beyond delta; the same with zeros; zeros and residuals of exactly
 * delta, where there is no second derivative. */
static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s) > 0 ? ct_sample_size(s) : 1;
    int v = ct_sample_variant(s, 4);
    double delta = (double[]){ 8, 0.75, 8, 1 }[v];
    ct_sample_attr(s, &delta, sizeof delta);
    ct_sample_unbatched(s);
    if (v >= 2) {
        for (int i = 0; i < 2; i++)
            ct_sample_among(s, i, ct_shape2(n, 3), (const double[]){ 0, -0.0, 1, -1 }, 4);
        if (v == 3) ct_sample_kinks(s);
        return;
    }
    ct_sample_uniform(s, 0, ct_shape2(n, 3), -3, -1);
    ct_sample_uniform(s, 1, ct_shape2(n, 3), 0, 2);
}

const ct_op ct_op_huber = { .name = "huber", .n_in = 2, .compose = compose, .sample = sample };

ct_var ct_huber(ct_var prediction, ct_var target, double delta)
{
    return ct_apply(&ct_op_huber, (ct_var[]){ prediction, target }, 2, &delta, sizeof delta);
}
