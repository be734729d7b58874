/* Reductions over one dimension, or all:
 *
 *     sum        y = Σ_k x_k               x̄_k = ȳ: a broadcast view, which takes no memory
 *     mean       y = 1/n Σ_k x_k           x̄_k = ȳ / n, from the composition of sum and scale
 *     max, min   y = max_k x_k, NaN wins   x̄_k = ȳ [x_k = y] / #{j : x_j = y}
 *     logsumexp  y = log Σ_k e^{x_k}       x̄ = ȳ softmax(x); not from y, whose rounding grows with |y|
 *     norm       y = √Σ_k x_k²             x̄_k = ȳ x_k / y, 0 where y = 0
 *     argmax     the first k with x_k = max x; no gradient
 *
 * Without a tie the rule of max is the gradient of the selected entry. At a tie max is not differentiable;
 * equal shares are the one element of the subdifferential conv{e_k} that does not depend on the order of the
 * entries. logsumexp subtracts the maximum first. */
#include "support.h"

#include "jvp/jvp.h"

#include <math.h>

typedef struct attr {
    int dim; /* CT_ALL, or negative from the end */
    int keep;
} attr;

static ct_var reduced(const ct_op *op, ct_var x, int dim, bool keep)
{
    return ct_apply(op, &x, 1, &(attr){ .dim = dim, .keep = keep }, sizeof(attr));
}

/* A reduced extent may be 0 only if `of_nothing`. */
static ct_shape shape_of(ct_call *c, bool of_nothing)
{
    const attr *a = ct__need_attr(c);
    ct_shape shape = ct_arg_shape(c, 0);
    bool empty = false;
    const int first = !a ? -1 : a->dim == CT_ALL ? 0 : ct__need_dim(c, a->dim, shape.ndim);
    if (first < 0) return shape;
    const int end = a->dim == CT_ALL ? shape.ndim : first + 1;
    for (int i = first; i < end; i++) {
        empty |= shape.dim[i] == 0;
        shape.dim[i] = 1;
    }
    for (int i = end; !a->keep && i < shape.ndim; i++) shape.dim[i - end + first] = shape.dim[i];
    if (!a->keep) shape.ndim -= end - first;
    ct_require(c, of_nothing || !empty, CT_ESHAPE,
               "nothing to reduce: the input is empty there; it has no value");
    return shape;
}

static ct_shape shape(ct_call *c) { return shape_of(c, false); }

/* A position needs a contiguous x if all dimensions are reduced. */
static void reduce(ct_call *c, ct_reduction f)
{
    const attr *a = ct_attr(c);
    const bool flat = f >= CT_REDUCE_ARGMAX && a->dim == CT_ALL;
    const ct_view x = flat ? ct_contiguous(c, ct_arg(c, 0)) : ct_arg(c, 0);
    ct_shape kept = ct_arg_shape(c, 0);
    for (int i = 0; i < kept.ndim; i++)
        if (a->dim == CT_ALL || i == a->dim || i == a->dim + kept.ndim) kept.dim[i] = 1;
    ct_prim_reduce(c, f, x, ct_view_reshape(ct_result(c), kept));
}

/* y or its cotangent, reshaped so that it broadcasts to x. */
static ct_var restored(const ct_rule *g, ct_var y)
{
    const attr *a = ct_rule_attr(g);
    if (a->keep || a->dim == CT_ALL) return y;
    return ct_unsqueeze(y, a->dim < 0 ? a->dim + ct_var_shape(ct_in(g, 0)).ndim : a->dim);
}

/* Gives Σ of the terms, one for each element of x, as the output's tangent. */
static void give_sum(ct_rule *g, ct_var terms)
{
    const attr *a = ct_rule_attr(g);
    ct_give_out_dot(g, 0, ct__sum_terms(g, terms, a->dim, a->keep));
}

/* Draws a matrix of at least `at_least` rows; variants are all axes, each without and with ties. Returns
 * whether there are ties. */
static bool draw(ct_sample *s, int64_t at_least)
{
    static const attr axes[] = { { -1, 0 },     { -1, 1 },     { -2, 0 }, { -2, 1 },    { 0, 0 },
                                 { CT_ALL, 0 }, { CT_ALL, 1 }, { -1, 0 }, { CT_ALL, 0 } };
    enum { AXES = sizeof axes / sizeof *axes, TIES = AXES - 2 };
    const int v = ct_sample_variant(s, AXES);
    int64_t n = ct_sample_size(s) > at_least ? ct_sample_size(s) : at_least;
    ct_sample_attr(s, &axes[v], sizeof *axes);
    if (axes[v].dim >= 0 || axes[v].dim == CT_ALL) ct_sample_unbatched(s);
    if (v < TIES)
        ct_sample_uniform(s, 0, ct_shape2(n, 3), -2, 2);
    else
        ct_sample_among(s, 0, ct_shape2(n, 3), (const double[]){ 0, -0.0, 1, -1 }, 4);
    return v >= TIES;
}

static void sample(ct_sample *s) { draw(s, 1); }

/* -- sum ------------------------------------------------------------------------------------------------- */

static ct_shape sum_shape(ct_call *c) { return shape_of(c, true); }
static void sum_forward(ct_call *c) { reduce(c, CT_REDUCE_SUM); }

static void sum_vjp(ct_rule *g)
{
    ct_in_bar(g, 0, ct_broadcast_to(restored(g, ct_out_bar(g)), ct_var_shape(ct_in(g, 0))));
}

static void sum_jvp(ct_rule *g) { give_sum(g, ct_in_dot(g, 0)); }

static void sum_sample(ct_sample *s) { draw(s, 0); }

const ct_op ct_op_sum = { .name = "sum",
                          .n_in = 1,
                          .shape = sum_shape,
                          .forward = sum_forward,
                          .vjp = sum_vjp,
                          .jvp = sum_jvp,
                          .jvp_stacked = true,
                          .sample = sum_sample,
                          .half = true };

ct_var ct_sum(ct_var x, int dim, bool keep) { return reduced(&ct_op_sum, x, dim, keep); }

/* -- mean ------------------------------------------------------------------------------------------------ */

static ct_var mean(ct_call *c)
{
    const attr *a = ct_attr(c);
    const int64_t results = ct_shape_count(shape_of(c, false));
    if (!ct_call_ok(c)) return ct_none();
    const int64_t n = results ? ct__count(ct__arg_view(c, 0)) / results : 1;
    return ct_scale(ct_sum(ct_arg_var(c, 0), a->dim, a->keep), 1 / (double)n);
}

const ct_op ct_op_mean = { .name = "mean", .n_in = 1, .compose = mean, .sample = sample };

ct_var ct_mean(ct_var x, int dim, bool keep) { return reduced(&ct_op_mean, x, dim, keep); }

/* -- max and min ----------------------------------------------------------------------------------------- */

static void max_forward(ct_call *c) { reduce(c, CT_REDUCE_MAX); }
static void min_forward(ct_call *c) { reduce(c, CT_REDUCE_MIN); }

/* 1 where the element is the maximum or minimum, else 0 */
static ct_var chosen_of(const ct_rule *g) { return ct_equal(ct_in(g, 0), restored(g, ct_out(g))); }

static void extreme_vjp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    ct_var y_bar = restored(g, ct_out_bar(g)), chosen = chosen_of(g);
    ct_in_bar(g, 0, ct_mul(ct_div(y_bar, ct_sum(chosen, a->dim, true)), chosen));
}

static void extreme_jvp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    ct_var chosen = chosen_of(g);
    give_sum(g, ct_mul(ct_div(chosen, ct_sum(chosen, a->dim, true)), ct_in_dot(g, 0)));
}

static void extreme_sample(ct_sample *s)
{
    if (draw(s, 1)) ct_sample_kinks(s);
}

const ct_op ct_op_max = { .name = "max",
                          .n_in = 1,
                          .shape = shape,
                          .forward = max_forward,
                          .vjp = extreme_vjp,
                          .jvp = extreme_jvp,
                          .jvp_stacked = true,
                          .sample = extreme_sample };
const ct_op ct_op_min = { .name = "min",
                          .n_in = 1,
                          .shape = shape,
                          .forward = min_forward,
                          .vjp = extreme_vjp,
                          .jvp = extreme_jvp,
                          .jvp_stacked = true,
                          .sample = extreme_sample };

ct_var ct_max(ct_var x, int dim, bool keep) { return reduced(&ct_op_max, x, dim, keep); }
ct_var ct_min(ct_var x, int dim, bool keep) { return reduced(&ct_op_min, x, dim, keep); }

/* -- argmax and argmin ----------------------------------------------------------------------------------- */

static ct_shape position_shape(ct_call *c)
{
    ct_set_dtype(c, CT_I64);
    return shape(c);
}

static void argmax_forward(ct_call *c) { reduce(c, CT_REDUCE_ARGMAX); }
static void argmin_forward(ct_call *c) { reduce(c, CT_REDUCE_ARGMIN); }

const ct_op ct_op_argmax = {
    .name = "argmax", .n_in = 1, .shape = position_shape, .forward = argmax_forward, .sample = sample
};
const ct_op ct_op_argmin = {
    .name = "argmin", .n_in = 1, .shape = position_shape, .forward = argmin_forward, .sample = sample
};

ct_var ct_argmax(ct_var x, int dim, bool keep) { return reduced(&ct_op_argmax, x, dim, keep); }
ct_var ct_argmin(ct_var x, int dim, bool keep) { return reduced(&ct_op_argmin, x, dim, keep); }

/* -- logsumexp ------------------------------------------------------------------------------------------- */

static void logsumexp_forward(ct_call *c) { reduce(c, CT_REDUCE_LOGSUMEXP); }

static void logsumexp_vjp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    ct_in_bar(g, 0, ct_mul(restored(g, ct_out_bar(g)), ct_softmax(ct_in(g, 0), a->dim)));
}

static void logsumexp_jvp(ct_rule *g)
{
    const attr *a = ct_rule_attr(g);
    give_sum(g, ct_mul(ct_softmax(ct_in(g, 0), a->dim), ct_in_dot(g, 0)));
}

const ct_op ct_op_logsumexp = { .name = "logsumexp",
                                .n_in = 1,
                                .shape = shape,
                                .forward = logsumexp_forward,
                                .vjp = logsumexp_vjp,
                                .jvp = logsumexp_jvp,
                                .jvp_stacked = true,
                                .sample = sample };

ct_var ct_logsumexp(ct_var x, int dim, bool keep) { return reduced(&ct_op_logsumexp, x, dim, keep); }

/* -- norm ------------------------------------------------------------------------------------------------ */

static void norm_forward(ct_call *c) { reduce(c, CT_REDUCE_NORM); }

/* x / y, and x / inf = 0 where y = 0 */
static ct_var direction(const ct_rule *g)
{
    ct_var x = ct_in(g, 0), y = restored(g, ct_out(g));
    return ct_div(x, ct_where(y, y, ct_scalar(ct_rule_tape(g), ct_var_dtype(x), INFINITY)));
}

static void norm_vjp(ct_rule *g) { ct_in_bar(g, 0, ct_mul(restored(g, ct_out_bar(g)), direction(g))); }

static void norm_jvp(ct_rule *g) { give_sum(g, ct_mul(direction(g), ct_in_dot(g, 0))); }

static void norm_sample(ct_sample *s)
{
    if (draw(s, 0)) ct_sample_kinks(s); /* all zero */
}

const ct_op ct_op_norm = { .name = "norm",
                           .n_in = 1,
                           .shape = sum_shape,
                           .forward = norm_forward,
                           .vjp = norm_vjp,
                           .jvp = norm_jvp,
                           .jvp_stacked = true,
                           .sample = norm_sample };

ct_var ct_norm(ct_var x, int dim, bool keep) { return reduced(&ct_op_norm, x, dim, keep); }
