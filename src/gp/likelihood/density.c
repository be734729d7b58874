/* density: v = the log density of r under L Lᵀ = k(X, X) + diag(noise), with its gradient at v̄ = 1
 * adjoint: θ̄ = v̄ ∂v/∂θ,  X̄ = v̄ ∂v/∂X,  r̄ = v̄ ∂v/∂r,  likewise for the noise
 * In a recorded sweep v is recomputed in differentiable ops and differentiated, so ∂v/∂θ has a gradient of
 * its own. [Rasmussen & Williams 2006, eq. 5.9 for the likelihood, 5.10 to 5.13 for the leave-one-out
 * density] */
#include "density.h"

#include <math.h>

#include "gp/kernel/prior.h"

/* -- finite values --------------------------------------------------------------------------------------- */

static void flag(ct_call *c, ct_view x, const char *what)
{
    ct_prim_flag(
        c, CT_FINITE, ct_contiguous(c, x), what,
        x.dtype == CT_F64
            ? "is not finite: bring the data and the parameters to a scale near 1"
            : "is not finite: bring the data and the parameters to a scale near 1, or compute in f64",
        ct_no_view());
}

static ct_shape same_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void finite_forward(ct_call *c)
{
    const char *const *what = ct_attr(c);
    ct_set_result(c, 0, ct_arg(c, 0));
    flag(c, ct_arg(c, 0), *what);
}

static void finite_vjp(ct_rule *g)
{
    const char *const *what = ct_rule_attr(g);
    ct_in_bar(g, 0, ct__finite(ct_out_bar(g), *what));
}

static const ct_op finite_op = {
    .name = "finite", .n_in = 1, .shape = same_shape, .forward = finite_forward, .vjp = finite_vjp
};

/* Checks x as a vector, because messages treat further dimensions as a batch. */
ct_var ct__finite(ct_var x, const char *what)
{
    const ct_shape shape = ct_var_shape(x);
    if (shape.ndim > 2) return ct_reshape(ct__finite(ct_reshape(x, ct_shape1(-1)), what), shape);
    return ct_apply(&finite_op, &x, 1, &what, sizeof what);
}

void ct__density_flag(ct_call *c) { flag(c, ct_result(c), "the value"); }

void ct__density_fail(ct_call *c)
{
    for (int k = 0; k < ct_outs(c); k++) ct_prim_fill(c, ct_result_at(c, k), NAN);
}

/* -- shapes ---------------------------------------------------------------------------------------------- */

bool ct__is_column(ct_shape r, int64_t n) { return r.ndim == 2 && r.dim[0] == n && r.dim[1] == 1; }

/* The number of member dimensions of each input; the last column is for mixed.c. */
static const int *own_of(const ct_call *c, bool columns)
{
    static const int own[][CT__DENSITY_INPUTS + 1] = { { 1, 2, 1, 1, 2 }, { 1, 2, 2, 1, 2 } };
    return own[columns || ct__is_column(ct_arg_shape(c, CT__RESIDUAL), ct_arg_dim(c, CT__POINTS, -2))];
}

ct_shape ct__density_shape(ct_call *c, bool columns, bool slopes)
{
    if (!ct__cov_accepts(c, 1)) return ct_shape0();
    const int *own = own_of(c, columns);
    const ct_shape batch = ct_batch_shape(c, own);
    const int64_t n = ct_arg_dim(c, CT__POINTS, -2), m = ct_arg_dim(c, CT__NOISE, -1);
    ct_require(c, ct_arg_ndim(c, CT__RESIDUAL) > 0 && ct_arg_dim(c, CT__RESIDUAL, -own[CT__RESIDUAL]) == n,
               CT_ESHAPE, "the residual must have %lld elements", (long long)n);
    ct_require(c, m == 1 || m == n, CT_ESHAPE, "the noise must have 1 or %lld elements", (long long)n);
    for (int i = 0; i < CT__DENSITY_INPUTS && ct_call_recorded(c) && ct_call_ok(c); i++) {
        const ct_shape all = ct_arg_shape(c, i);
        bool kept = i == CT__RESIDUAL || (i == CT__POINTS ? ct_call_wants(c, i) : slopes);
        ct_shape member = i == CT__NOISE ? ct_shape1(n) : ct_shape_of(own[i], all.dim + all.ndim - own[i]);
        ct_save_for_vjp(c, ct__bar(i), ct_arg(c, i).dtype, ct__in_batch(batch, kept ? member : ct_shape1(0)));
    }
    return batch;
}

void ct__density_forward(ct_call *c, void (*forward)(ct_call *member))
{
    ct_each_member(c, own_of(c, false), ct_arg_dim(c, CT__POINTS, -2) <= CT__SMALL, forward);
}

ct__system ct__density_system(ct_call *c, ct_view alpha, bool square, ct__grid grid)
{
    const ct_view in[] = { ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2), ct_arg(c, 3) };
    return ct__system_of(c, ct_attr(c), in, alpha, square, grid);
}

ct_view ct__density_X_bar(ct_call *c)
{
    return ct_call_wants(c, CT__POINTS) ? ct_result_at(c, ct__bar(CT__POINTS)) : ct_no_view();
}

void ct__density_value(ct_call *c, ct_view terms, ct_view logs, ct_view v)
{
    const double constant = 0.5 * CT__LOG_2PI * (double)ct_view_dim(terms, -1);
    v = ct_view_unsqueeze(v, -1);
    ct_prim_reduce(c, CT_REDUCE_SUM, terms, v);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 0.5, 0 }, v, v);
    if (ct_is_view(logs)) {
        ct_view sum = ct_scratch(c, v.dtype, ct_view_shape(v));
        ct_prim_reduce(c, CT_REDUCE_SUM, logs, sum);
        ct_prim_map2(c, CT_MAP_add, v, sum, v);
    }
    ct_prim_map1(c, CT_MAP_shift, (double[]){ constant, 0 }, v, v);
}

void ct__density_sample(ct_sample *s)
{
    const int64_t n = ct_sample_size(s);
    ct__cov_sample(s, false);
    ct_sample_uniform(s, CT__RESIDUAL, ct_shape1(n), 0.5, 2);
    ct_sample_uniform(s, CT__NOISE, ct_shape1(n % 2 ? n : 1), 0.3, 1);
}

/* -- the rule -------------------------------------------------------------------------------------------- */

static const char *const gradient_in[] = { "element %lld of the gradient in theta",
                                           "element %lld of the gradient in X",
                                           "element %lld of the gradient in the residual",
                                           "element %lld of the gradient in the noise" };

ct_var ct__density_factor(const ct_cov_program *program, const ct_var *in)
{
    ct_var K = ct_apply(&ct_op_cov, in, 2, program, (size_t)program->bytes);
    return ct_cholesky(ct_add_diag(K, in[CT__NOISE]));
}

ct_var ct__density_column(const ct_var *in)
{
    ct_var r = in[CT__RESIDUAL];
    return ct__is_column(ct_var_shape(r), ct_tensor_dim(ct_value(in[CT__POINTS]), -2)) ? r
                                                                                       : ct_unsqueeze(r, -1);
}

/* v̄ ∂v/∂input_i, member by member */
static ct_var scaled(ct_rule *g, int i)
{
    ct_var v_bar = ct_out_bar(g), slopes = ct_out_at(g, ct__bar(i));
    const int batch = ct_var_shape(v_bar).ndim;
    for (int d = ct_var_shape(slopes).ndim; batch && d > batch; d--) v_bar = ct_unsqueeze(v_bar, -1);
    return ct_mul(v_bar, slopes);
}

void ct__density_give(ct_rule *g, const char *const what[CT__DENSITY_INPUTS], const ct_var *bar)
{
    for (int i = 0; i < CT__DENSITY_INPUTS; i++)
        ct_in_bar(g, i, ct__finite(bar ? bar[i] : scaled(g, i), what[i]));
}

void ct__density_vjp(ct_rule *g, ct__composition *compose)
{
    ct_var bar[CT__DENSITY_INPUTS + 1];
    const bool recording = ct_recording(g);
    if (!recording || ct__recorded_bars(g, compose, bar))
        ct__density_give(g, gradient_in, recording ? bar : NULL);
}
