/* The elementwise ops: every row of cotangent/maps.h becomes a descriptor.
 *
 *     y_i = f(x_i)           x̄_i = ȳ_i f'(x_i),  ẏ_i = ẋ_i f'(x_i)
 *     y_i = f(a_i, b_i)      ā_i = ȳ_i ∂f/∂a,  b̄_i = ȳ_i ∂f/∂b, summed where a or b were broadcast
 *
 * The table has f, f' and the rule in ops. The fused rule uses f' and passes over the memory once. The rule
 * in ops can be differentiated again. [DLMF §4, §5.15, §7.2 for the derivatives] */
#include "support.h"

static const double no_parameters[2] = { 0, 0 };
enum { MOST_ORDER = 10000 }; /* of polygamma, which takes as many steps */

/* Three functions: 1 where x > 0, else 0; 1 where lo <= x <= hi, else 0; 1 where a < b, ½ where a = b, else
 * 0. NaN gives NaN. */
static ct_var step_of(ct_var x) { return ct_less(ct_scalar(x.tape, ct_var_dtype(x), 0), x); }
static ct_var inside_of(ct_var x, double lo, double hi) { return ct_equal(x, ct_clamp(x, lo, hi)); }
static ct_var share_of(ct_var a, ct_var b) { return ct_add(ct_less(a, b), ct_scale(ct_equal(a, b), 0.5)); }

/* -- one input ------------------------------------------------------------------------------------------- */

/* The intervals to sample from, inside the domain and away from kinks and poles. lo = hi: standard normal,
 * with zeros. */
static const struct domain {
    double lo, hi;
    int mirrored; /* a second variant draws from [-hi, -lo], a third from `kinks` */
    int n_p;      /* the number of parameter sets */
    double p[3][2];
} domains[CT_MAP1_COUNT] = {
    [CT_MAP_abs] = { .lo = 0.2, .hi = 2, .mirrored = 1 },
    [CT_MAP_sign] = { .lo = 0.2, .hi = 2, .mirrored = 1 },
    [CT_MAP_relu] = { .lo = 0.2, .hi = 2, .mirrored = 1 },
    [CT_MAP_reciprocal] = { .lo = 0.5, .hi = 2, .mirrored = 1 },
    [CT_MAP_log] = { .lo = 0.3, .hi = 3 },
    [CT_MAP_log1p] = { .lo = -0.6, .hi = 2 },
    [CT_MAP_sqrt] = { .lo = 0.3, .hi = 3 },
    [CT_MAP_lgamma] = { .lo = 0.5, .hi = 6 },
    [CT_MAP_polygamma] = { .lo = 0.5, .hi = 6, .n_p = 3, .p = { { 0 }, { 1 }, { 2 } } },
    [CT_MAP_pow] = { .lo = 0.4, .hi = 2, .n_p = 3, .p = { { 2.5 }, { -1 }, { 0 } } },
    [CT_MAP_scale] = { .n_p = 1, .p = { { -1.5 } } },
    [CT_MAP_shift] = { .n_p = 1, .p = { { 0.7 } } },
    [CT_MAP_clamp] = { .lo = 0.2, .hi = 0.8, .mirrored = 1, .n_p = 2, .p = { { -1, 1 }, { -0.125, 0.125 } } },
};

/* Whether the shape rule checks the parameters. */
#define HAS_LIMITS(f) ((f) == CT_MAP_clamp || (f) == CT_MAP_polygamma)

static ct_shape unary_shape(ct_call *c, ct_map1 f)
{
    const double *p = ct_attr(c);
    if (f == CT_MAP_clamp && !(p && p[0] <= p[1]))
        ct_require(c, false, CT_EINVAL, "lo <= hi must hold, got lo = %g, hi = %g", p ? p[0] : 0,
                   p ? p[1] : 0);
    if (f == CT_MAP_polygamma && !(p && p[0] >= 0 && p[0] <= MOST_ORDER))
        ct_require(c, false, CT_EINVAL, "the order must be 0 to %d, got %g", MOST_ORDER, p ? p[0] : -1);
    return ct_arg_shape(c, 0);
}

static void unary_forward(ct_call *c, ct_map1 f)
{
    ct_view *y = ct__result_view(c);
    if (y) ct__map1(c, f, ct_attr(c), ct__arg_view(c, 0), y);
}

static void unary_sample(ct_sample *s, ct_map1 f)
{
    const struct domain *d = &domains[f];
    /* kinks of abs, sign, relu, and the ends of a clamp */
    static const double kinks[] = { 0, -0.0, 0.1, -0.1, 1, -1, 2, -2 };
    const bool kinked = d->mirrored && f != CT_MAP_reciprocal;
    int n_p = d->n_p ? d->n_p : 1, v = ct_sample_variant(s, n_p * (1 + d->mirrored + kinked));
    ct_shape shape = ct_shape2(ct_sample_size(s), 3);
    if (d->n_p) ct_sample_attr(s, d->p[v % n_p], sizeof d->p[0]);
    if (d->lo == d->hi)
        ct_sample_normal(s, 0, shape);
    else if (v < n_p)
        ct_sample_uniform(s, 0, shape, d->lo, d->hi);
    else if (v < 2 * n_p)
        ct_sample_uniform(s, 0, shape, -d->hi, -d->lo);
    else
        ct_sample_among(s, 0, shape, kinks, sizeof kinks / sizeof *kinks), ct_sample_kinks(s);
}

static const double *parameters(const ct_rule *v)
{
    const double *attr = ct_rule_attr(v);
    return attr ? attr : no_parameters;
}

#define UNARY(name_, value, derivative, rule)                                                        \
    static ct_shape name_##_shape(ct_call *c) { return unary_shape(c, CT_MAP_##name_); }             \
    static void name_##_forward(ct_call *c) { unary_forward(c, CT_MAP_##name_); }                    \
    static ct_var name_##_rule(ct_var x, ct_var y, ct_var g, const double *p)                        \
    {                                                                                                \
        (void)x, (void)y, (void)g, (void)p;                                                          \
        return rule;                                                                                 \
    }                                                                                                \
    static void name_##_vjp(ct_rule *v)                                                              \
    {                                                                                                \
        if (ct_recording(v))                                                                         \
            ct_in_bar(v, 0, name_##_rule(ct_in(v, 0), ct_out(v), ct_out_bar(v), parameters(v)));     \
        else                                                                                         \
            ct__give_map1_bar(v, CT_MAP_##name_, parameters(v));                                     \
    }                                                                                                \
    static void name_##_jvp(ct_rule *v)                                                              \
    {                                                                                                \
        ct_give_out_dot(v, 0, name_##_rule(ct_in(v, 0), ct_out(v), ct_in_dot(v, 0), parameters(v))); \
    }                                                                                                \
    static void name_##_sample(ct_sample *s) { unary_sample(s, CT_MAP_##name_); }                    \
    const ct_op ct_op_##name_ = { .name = #name_,                                                    \
                                  .n_in = 1,                                                         \
                                  .shape = name_##_shape,                                            \
                                  .forward = name_##_forward,                                        \
                                  .vjp = CT_MAP_##name_ == CT_MAP_sign ? NULL : name_##_vjp,         \
                                  .jvp = name_##_jvp,                                                \
                                  .sample = name_##_sample,                                          \
                                  .half = true,                                                      \
                                  .jvp_stacked = true,                                               \
                                  .number = { HAS_LIMITS(CT_MAP_##name_) ? 0 : 1, CT_MAP_##name_, 0 } };
CT_MAPS1(UNARY)
#undef UNARY

#define PLAIN(name) \
    ct_var ct_##name(ct_var x) { return ct_apply(&ct_op_##name, &x, 1, NULL, 0); }
PLAIN(neg)
PLAIN(abs)
PLAIN(sign)
PLAIN(exp)
PLAIN(expm1)
PLAIN(log)
PLAIN(log1p)
PLAIN(sqrt)
PLAIN(square)
PLAIN(reciprocal)
PLAIN(sin)
PLAIN(cos)
PLAIN(tanh)
PLAIN(sech2)
PLAIN(sigmoid)
PLAIN(softplus)
PLAIN(relu)
PLAIN(erf)
PLAIN(gaussian)
PLAIN(lgamma)
#undef PLAIN

static ct_var with(const ct_op *op, ct_var x, double p0, double p1)
{
    return ct_apply(op, &x, 1, (double[]){ p0, p1 }, 2 * sizeof(double));
}

ct_var ct_polygamma(ct_var x, int order) { return with(&ct_op_polygamma, x, order, 0); }
ct_var ct_pow(ct_var x, double p) { return with(&ct_op_pow, x, p, 0); }
ct_var ct_scale(ct_var x, double a) { return with(&ct_op_scale, x, a, 0); }
ct_var ct_shift(ct_var x, double b) { return with(&ct_op_shift, x, b, 0); }
ct_var ct_clamp(ct_var x, double lo, double hi) { return with(&ct_op_clamp, x, lo, hi); }

/* -- two inputs, broadcasting ---------------------------------------------------------------------------- */

static ct_shape binary_shape(ct_call *c)
{
    if (ct__same_shape(ct__arg_view(c, 0), ct__arg_view(c, 1))) return ct_arg_shape(c, 0);
    return ct__need_broadcast(c);
}

static void binary_forward(ct_call *c, ct_map2 f)
{
    ct_view *y = ct__result_view(c);
    if (y) ct__map2(c, f, ct__arg_view(c, 0), ct__arg_view(c, 1), y);
}

/* One input is in [-3, -1.5] and the other in [1.5, 3], or the reverse, so that there are no poles and no
 * ties. The second input has the first one's shape, or both broadcast, or it is a scalar. A last variant has
 * ties, and zeros in the first input. */
static void binary_sample(ct_sample *s)
{
    static const double lo[] = { -3, 1.5 }, hi[] = { -1.5, 3 }, values[] = { 0, -0.0, 1, -1, 2 };
    int v = ct_sample_variant(s, 7), a = v % 2, b = 1 - a;
    enum { SAME, OUTER, SCALAR, TIES } kind = v / 2;
    int64_t n = ct_sample_size(s);
    if (kind == TIES) {
        ct_sample_among(s, 0, ct_shape2(n, 3), values, 5);
        ct_sample_among(s, 1, ct_shape2(n, 3), values + 2, 3);
        ct_sample_kinks(s);
        return;
    }
    ct_sample_uniform(s, 0, kind == OUTER ? ct_shape2(n, 1) : ct_shape2(n, 3), lo[a], hi[a]);
    if (kind == SCALAR) ct_sample_unbatched(s);
    ct_sample_uniform(s, 1,
                      kind == SAME    ? ct_shape2(n, 3)
                      : kind == OUTER ? ct_shape2(1, 3)
                                      : ct_shape0(),
                      lo[b], hi[b]);
}

#define BINARY(name_, value, derivative_a, derivative_b, rule_a, rule_b)                                 \
    static void name_##_forward(ct_call *c) { binary_forward(c, CT_MAP_##name_); }                       \
    static ct_var name_##_side(int side, ct_var a, ct_var b, ct_var y, ct_var g)                         \
    {                                                                                                    \
        (void)a, (void)b, (void)y, (void)g;                                                              \
        return side ? rule_b : rule_a;                                                                   \
    }                                                                                                    \
    static void name_##_vjp(ct_rule *v)                                                                  \
    {                                                                                                    \
        ct_var a = ct_in(v, 0), b = ct_in(v, 1);                                                         \
        for (int i = 0; i < 2 && ct_recording(v); i++)                                                   \
            ct_in_bar(v, i, name_##_side(i, a, b, ct_out(v), ct_out_bar(v)));                            \
        if (!ct_recording(v)) ct__give_map2_bars(v, CT_MAP_##name_);                                     \
    }                                                                                                    \
    static void name_##_jvp(ct_rule *v)                                                                  \
    {                                                                                                    \
        ct_var a = ct_in(v, 0), b = ct_in(v, 1);                                                         \
        for (int i = 0; i < 2; i++)                                                                      \
            if (ct_has_in_dot(v, i))                                                                     \
                ct_give_out_dot(v, 0, name_##_side(i, a, b, ct_out(v), ct_in_dot(v, i)));                \
    }                                                                                                    \
    const ct_op ct_op_##name_ = { .name = #name_,                                                        \
                                  .n_in = 2,                                                             \
                                  .shape = binary_shape,                                                 \
                                  .forward = name_##_forward,                                            \
                                  .vjp = CT_MAP_##name_ == CT_MAP_less || CT_MAP_##name_ == CT_MAP_equal \
                                             ? NULL                                                      \
                                             : name_##_vjp,                                              \
                                  .jvp = name_##_jvp,                                                    \
                                  .sample = binary_sample,                                               \
                                  .half = true,                                                          \
                                  .jvp_stacked = true,                                                   \
                                  .number = { 2, CT_MAP_##name_, 0 } };                                  \
    ct_var ct_##name_(ct_var a, ct_var b) { return ct_apply(&ct_op_##name_, (ct_var[]){ a, b }, 2, NULL, 0); }
CT_MAPS2(BINARY)
#undef BINARY
