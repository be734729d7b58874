/* softmax:      s_k = e^{x_k} / Σ_j e^{x_j}     x̄ = s (ȳ - Σ_j s_j ȳ_j)
 * log_softmax:  y_k = x_k - log Σ_j e^{x_j}     x̄ = ȳ - e^y Σ_j ȳ_j
 * over one dimension, or all.
 *
 * The maximum m is subtracted before anything is rounded, so a shift of all x changes nothing. Where x_k = m,
 * y_k = -log1p(Σ of the other e^{x_j - m}) keeps its digits though e^{y_k} is nearly 1.
 *
 * Both rules are projections: applied twice they change nothing. In the entry with s_k near 1 the first
 * application cancels to rounding errors; the second removes those, so that the small part is left with all
 * its digits. */
#include "support.h"

#include "jvp/jvp.h"

#include <float.h>
#include <math.h>

static int dim_of(const void *attr) { return attr ? *(const int *)attr : -1; }

/* The input's shape, with extent 1 where the sums run. */
static ct_shape summed_shape(ct_call *c)
{
    ct_shape kept = ct_arg_shape(c, 0);
    const int dim = dim_of(ct_attr(c));
    for (int i = 0; i < kept.ndim; i++)
        if (dim == CT_ALL || i == dim || i == dim + kept.ndim) kept.dim[i] = 1;
    return kept;
}

static ct_shape shape(ct_call *c)
{
    const int *dim = ct__need_attr(c);
    if (dim && *dim != CT_ALL) ct__need_dim(c, *dim, ct_arg_ndim(c, 0));
    return ct_arg_shape(c, 0);
}

/* d = x - m. A maximum of -∞ becomes the least finite number, so that d is -∞ there and not NaN. */
static void subtract_maximum(ct_call *c, ct_view x, ct_view m, ct_view d)
{
    const double finite[2] = { x.dtype == CT_F64 ? -DBL_MAX : (double)-FLT_MAX, INFINITY };
    ct_prim_map1(c, CT_MAP_clamp, finite, m, m);
    ct_prim_map2(c, CT_MAP_sub, x, m, d);
}

/* -- softmax --------------------------------------------------------------------------------------------- */

static void softmax_forward(ct_call *c)
{
    static const double at_least_1[2] = { 1, INFINITY }; /* as the sum is, unless all x are -∞ */
    ct_view x = ct_arg(c, 0), s = ct_result(c), m = ct_scratch(c, x.dtype, summed_shape(c));
    ct_prim_reduce(c, CT_REDUCE_MAX, x, m);
    subtract_maximum(c, x, m, s);
    ct_prim_map1(c, CT_MAP_exp, NULL, s, s);
    ct_prim_reduce(c, CT_REDUCE_SUM, s, m);
    ct_prim_map1(c, CT_MAP_clamp, at_least_1, m, m);
    ct_prim_map2(c, CT_MAP_div, s, m, s);
}

/* v - Σ_j s_j v_j */
static ct_var centred(const ct_rule *g, ct_var v, ct_var s)
{
    return ct_sub(v, ct__sum_terms(g, ct_mul(s, v), dim_of(ct_rule_attr(g)), true));
}

/* J v, and Jᵀ v, as J is symmetric */
static ct_var softmax_times(const ct_rule *g, ct_var v)
{
    ct_var s = ct_out(g);
    return ct_mul(s, centred(g, centred(g, v, s), s));
}

static void softmax_vjp(ct_rule *g) { ct_in_bar(g, 0, softmax_times(g, ct_out_bar(g))); }
static void softmax_jvp(ct_rule *g) { ct_give_out_dot(g, 0, softmax_times(g, ct_in_dot(g, 0))); }

/* Variants are all axes, and one with ties. */
static void sample(ct_sample *s)
{
    static const int dims[] = { -1, -2, 0, CT_ALL, -1 };
    enum { DIMS = sizeof dims / sizeof *dims };
    const int v = ct_sample_variant(s, DIMS);
    ct_sample_attr(s, &dims[v], sizeof *dims);
    if (dims[v] >= 0 || dims[v] == CT_ALL) ct_sample_unbatched(s);
    if (v < DIMS - 1)
        ct_sample_uniform(s, 0, ct_shape2(ct_sample_size(s), 3), -2, 2);
    else
        ct_sample_among(s, 0, ct_shape2(ct_sample_size(s), 3), (const double[]){ 0, -0.0, 1 }, 3);
}

const ct_op ct_op_softmax = { .name = "softmax",
                              .n_in = 1,
                              .shape = shape,
                              .forward = softmax_forward,
                              .vjp = softmax_vjp,
                              .jvp = softmax_jvp,
                              .jvp_stacked = true,
                              .sample = sample };

ct_var ct_softmax(ct_var x, int dim) { return ct_apply(&ct_op_softmax, &x, 1, &dim, sizeof dim); }

/* -- log_softmax ----------------------------------------------------------------------------------------- */

/* With k entries equal to m, Σ_j e^{x_j - m} - 1 = (k - 1) + Σ_j (e^{x_j - m} - [x_j = m]). */
static void log_softmax_forward(ct_call *c)
{
    static const double minus_1[2] = { -1, 0 }, at_least_0[2] = { 0, INFINITY };
    ct_view x = ct_arg(c, 0), y = ct_result(c), e = ct_scratch(c, x.dtype, ct_view_shape(x)),
            m = ct_scratch(c, x.dtype, summed_shape(c)), k = ct_scratch(c, x.dtype, summed_shape(c));
    ct_prim_reduce(c, CT_REDUCE_MAX, x, m);
    ct_prim_map2(c, CT_MAP_equal, x, m, y);
    ct_prim_reduce(c, CT_REDUCE_SUM, y, k);
    ct_prim_map1(c, CT_MAP_shift, minus_1, k, k);
    subtract_maximum(c, x, m, e);
    ct_prim_map1(c, CT_MAP_exp, NULL, e, e);
    ct_prim_map2(c, CT_MAP_sub, e, y, e);
    ct_prim_map2(c, CT_MAP_sub, x, m, y);
    ct_prim_reduce(c, CT_REDUCE_SUM, e, m);
    ct_prim_map2(c, CT_MAP_add, m, k, m);
    ct_prim_map1(c, CT_MAP_clamp, at_least_0, m, m); /* as it is, unless all x are -∞ */
    ct_prim_map1(c, CT_MAP_log1p, NULL, m, m);
    ct_prim_map2(c, CT_MAP_sub, y, m, y);
}

/* v - s Σ_j v_j */
static ct_var without_sum(ct_var v, ct_var s, int dim) { return ct_sub(v, ct_mul(s, ct_sum(v, dim, true))); }

static void log_softmax_vjp(ct_rule *g)
{
    const int dim = dim_of(ct_rule_attr(g));
    ct_var s = ct_exp(ct_out(g));
    ct_in_bar(g, 0, without_sum(without_sum(ct_out_bar(g), s, dim), s, dim));
}

static void log_softmax_jvp(ct_rule *g)
{
    ct_var s = ct_exp(ct_out(g));
    ct_give_out_dot(g, 0, centred(g, centred(g, ct_in_dot(g, 0), s), s));
}

const ct_op ct_op_log_softmax = { .name = "log_softmax",
                                  .n_in = 1,
                                  .shape = shape,
                                  .forward = log_softmax_forward,
                                  .vjp = log_softmax_vjp,
                                  .jvp = log_softmax_jvp,
                                  .jvp_stacked = true,
                                  .sample = sample };

ct_var ct_log_softmax(ct_var x, int dim) { return ct_apply(&ct_op_log_softmax, &x, 1, &dim, sizeof dim); }
