/* gp_nlml:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise),  α = C⁻¹ r
 * adjoint:  C̄ = ½ v̄ (C⁻¹ - ααᵀ);  noise_bar = diag C̄,  r̄ = v̄ α,  theta_bar and X_bar: C̄ against the
 *           derivatives of k                                        [Rasmussen & Williams 2006, eq. 5.9]
 *
 * If gradients are requested, the forward pass computes them for v̄ = 1 while it holds the inverse, which has
 * replaced the factor in the packed array (factor.c). Only arrays of n numbers are kept for the backward
 * pass, which multiplies by v̄. */
#include "dense.h"

#include <cotangent/gp/likelihood.h>

#include "gp/kernel/prior.h"
#include "gp/model/graph.h"
#include "gp/model/memory.h"

/* -- the value ------------------------------------------------------------------------------------------- */

void ct__nlml_value(ct_call *c, ct_view r, ct_view alpha, ct_view diagonal, ct_view v)
{
    const ct_shape shape = ct_view_shape(r), n = ct_view_shape(diagonal);
    const int64_t columns = shape.ndim > n.ndim ? ct_view_dim(r, -1) : 1;
    ct_shape all = n;
    all.dim[n.ndim - 1] *= columns;
    ct_view terms = ct_scratch(c, alpha.dtype, all), logs = ct_scratch(c, alpha.dtype, n);
    ct_prim_map2(c, CT_MAP_mul, r, ct_view_reshape(alpha, shape), ct_view_reshape(terms, shape));
    ct_prim_map1(c, CT_MAP_log, NULL, diagonal, logs);
    if (columns > 1) ct_prim_map1(c, CT_MAP_scale, (double[]){ (double)columns, 0 }, logs, logs);
    ct__density_value(c, terms, logs, v);
}

ct_var ct__nlml_of(ct_var r, ct_var L)
{
    const double n = (double)ct_tensor_dim(ct_value(r), -2), p = (double)ct_tensor_dim(ct_value(r), -1);
    ct_var fit = ct_sum(ct_sum(ct_mul(r, ct_cholesky_solve(L, r)), -1, false), -1, false);
    ct_var both = ct_add(fit, ct_scale(ct_cholesky_logdet(L), p));
    return ct_shift(ct_scale(both, 0.5), 0.5 * CT__LOG_2PI * n * p);
}

ct_var ct__nlml_composed(const ct_cov_program *program, const ct_var *in)
{
    return ct__nlml_of(ct__density_column(in), ct__density_factor(program, in));
}

/* -- the op ---------------------------------------------------------------------------------------------- */

bool ct__nlml_wants_inverse(const ct_call *c)
{
    return ct_call_wants(c, CT__THETA) || ct_call_wants(c, CT__POINTS) || ct_call_wants(c, CT__NOISE);
}

static ct_shape shape(ct_call *c) { return ct__density_shape(c, false, ct__nlml_wants_inverse(c)); }

void ct__nlml_noise_bar(ct_call *c, double weight, ct_view u, ct_view work, ct_view noise_bar)
{
    if (ct_is_view(u)) {
        ct_prim_map1(c, CT_MAP_square, NULL, u, work);
        ct_prim_map2(c, CT_MAP_sub, noise_bar, work, noise_bar);
    }
    ct_prim_map1(c, CT_MAP_scale, (double[]){ weight, 0 }, noise_bar, noise_bar);
}

void ct__nlml_slopes(ct_call *c, const ct__system *s, double weight, ct_view u)
{
    ct_view noise_bar = ct_result_at(c, ct__bar(CT__NOISE));
    ct__factor_diagonal(c, &s->C, noise_bar);
    ct__nlml_noise_bar(c, weight, u, s->diagonal, noise_bar);
    ct__system_contract(c, s, weight, u, ct_result_at(c, ct__bar(CT__THETA)), ct__density_X_bar(c));
}

ct_view ct__nlml_alpha(ct_call *c)
{
    const ct_shape column = ct_shape2(ct_arg_dim(c, CT__POINTS, 0), 1);
    return ct_call_recorded(c) ? ct_view_reshape(ct_result_at(c, ct__bar(CT__RESIDUAL)), column)
                               : ct_scratch(c, ct_arg(c, CT__RESIDUAL).dtype, column);
}

void ct__nlml_compute(ct_call *c, ct__grid grid)
{
    ct_view alpha = ct__nlml_alpha(c);
    const bool slopes = ct__nlml_wants_inverse(c);
    const ct__system s = ct__density_system(c, alpha, true, grid);
    if (!ct__system_solve(c, &s, slopes)) {
        ct__density_fail(c);
        return;
    }
    ct__nlml_value(c, ct_arg(c, CT__RESIDUAL), alpha, s.diagonal, ct_result(c));
    ct__density_flag(c);
    if (slopes) ct__nlml_slopes(c, &s, 0.5, ct_view_squeeze(alpha, 1));
}

static void member(ct_call *c) { ct__nlml_compute(c, (ct__grid){ 0 }); }

/* The most rows for which a device may compute a batch in one pass. */
enum { MOST_AT_ONCE = 128 };

/* Whether the device computes the batch in one pass. */
static bool at_once(ct_call *c)
{
    const int64_t n = ct_arg_dim(c, CT__POINTS, -2), P = ct_arg_dim(c, CT__THETA, -1);
    const ct_shape batch = ct_view_shape(ct_result(c)), vector = ct__in_batch(batch, ct_shape1(n)),
                   points = ct__in_batch(batch, ct_shape2(n, ct_arg_dim(c, CT__POINTS, -1)));
    const bool slopes = ct__nlml_wants_inverse(c);
    ct_view r = ct_arg(c, CT__RESIDUAL), none = ct_no_view();
    if (!batch.ndim || n > MOST_AT_ONCE || ct_call_wants(c, CT__POINTS)) return false;
    r = ct_view_broadcast(ct__is_column(ct_view_shape(r), n) ? ct_view_squeeze(r, 1) : r, vector);
    ct_view alpha = ct_call_recorded(c) ? ct_view_reshape(ct_result_at(c, ct__bar(CT__RESIDUAL)), vector)
                                        : ct_scratch(c, r.dtype, vector);
    ct_view diagonal = ct_scratch(c, r.dtype, vector);
    if (!ct_prim_gaussians(c, ct_attr(c),
                           ct_view_broadcast(ct_arg(c, CT__THETA), ct__in_batch(batch, ct_shape1(P))),
                           ct_view_broadcast(ct_arg(c, CT__POINTS), points), r,
                           ct_view_broadcast(ct_arg(c, CT__NOISE), vector), ct__gp_rounding(r.dtype), alpha,
                           diagonal, slopes ? ct_result_at(c, ct__bar(CT__THETA)) : none,
                           slopes ? ct_result_at(c, ct__bar(CT__NOISE)) : none))
        return false;
    ct__nlml_value(c, r, alpha, diagonal, ct_result(c));
    ct__density_flag(c);
    return true;
}

static void forward(ct_call *c)
{
    if (!at_once(c)) ct__density_forward(c, member);
}
static void vjp(ct_rule *g) { ct__density_vjp(g, ct__nlml_composed); }

const ct_op ct__op_gp_nlml = { .name = "gp_nlml",
                               .n_in = CT__DENSITY_INPUTS,
                               .shape = shape,
                               .forward = forward,
                               .vjp = vjp,
                               .sample = ct__density_sample };

ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    return ct__cov_apply(&ct__op_gp_nlml, kernel, (ct_var[]){ theta, X, r, noise }, 4);
}

/* -- the row --------------------------------------------------------------------------------------------- */

uint64_t ct__nlml_bytes(const ct_gp *gp, int64_t d, bool fitting)
{
    return ct__gp_bytes(gp->device, gp->options.comm, gp->rows.n, d, gp->rows.dtype, fitting);
}

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    return ct_gp_nlml(gp->kernel, g->theta, g->X, g->residual, g->variance);
}

const ct__likelihood ct__dense = { .name = "dense", .bytes = ct__nlml_bytes, .objective = objective };
