/* gp_nlml:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise),  α = C⁻¹ r
 * adjoint:  C̄ = ½ v̄ (C⁻¹ - ααᵀ);  noise_bar = diag C̄,  r̄ = v̄ α,  theta_bar and X_bar: C̄ against the
 *           derivatives of k                                        [Rasmussen & Williams 2006, eq. 5.9]
 *
 * Where gradients are wanted the forward pass computes them, for v̄ = 1, while it holds the inverse, in the
 * packed array that was the factor (factor.c); what is kept for the backward pass is of n numbers, and it
 * multiplies by v̄. */
#include "density.h"
#include "gp/factor/factor.h"
#include "gp/kernel/cov.h"
#include "gp/model/model.h"

/* -- the value ------------------------------------------------------------------------------------------- */

void ct__nlml_value(ct_call *c, ct_view r, ct_view alpha, ct_view diagonal, ct_view v)
{
    const int64_t n = ct_view_count(alpha);
    const ct_shape shape = ct_view_shape(r);
    const double half[2] = { 0.5, 0 }, constant[2] = { 0.5 * CT__LOG_2PI * (double)n, 0 };
    ct_view each = ct_scratch(c, alpha.dtype, ct_shape1(n)), logs = ct_scratch(c, alpha.dtype, ct_shape1(1));
    v = ct_view_reshape(v, ct_shape1(1));
    ct_prim_map2(c, CT_MAP_mul, r, ct_view_reshape(alpha, shape), ct_view_reshape(each, shape));
    ct_prim_reduce(c, CT_REDUCE_SUM, each, v);
    ct_prim_map1(c, CT_MAP_log, NULL, diagonal, each);
    ct_prim_reduce(c, CT_REDUCE_SUM, each, logs);
    ct_prim_map1(c, CT_MAP_scale, half, v, v);
    ct_prim_map2(c, CT_MAP_add, v, logs, v);
    ct_prim_map1(c, CT_MAP_shift, constant, v, v);
}

ct_var ct__nlml_composed(ct_var L, ct_var r)
{
    ct_var both = ct_add(ct_sum(ct_mul(r, ct_cholesky_solve(L, r)), CT_ALL, false), ct_cholesky_logdet(L));
    return ct_shift(ct_scale(both, 0.5), 0.5 * CT__LOG_2PI * (double)ct_var_shape(r).dim[0]);
}

/* -- the op ---------------------------------------------------------------------------------------------- */

bool ct__nlml_wants_inverse(const ct_call *c)
{
    return ct_call_wants(c, CT__THETA) || ct_call_wants(c, CT__POINTS) || ct_call_wants(c, CT__NOISE);
}

static ct_shape shape(ct_call *c) { return ct__density_shape(c, ct_attr(c), ct__nlml_wants_inverse(c)); }

void ct__nlml_noise_bar(ct_call *c, ct_view alpha, ct_view room, ct_view noise_bar)
{
    const double half[2] = { 0.5, 0 };
    ct_prim_map1(c, CT_MAP_square, NULL, alpha, room);
    ct_prim_map2(c, CT_MAP_sub, noise_bar, room, noise_bar);
    ct_prim_map1(c, CT_MAP_scale, half, noise_bar, noise_bar);
}

static void forward(ct_call *c)
{
    const ct_view in[] = { ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2), ct_arg(c, 3) };
    const ct_shape column = ct_shape2(ct_arg_dim(c, CT__POINTS, 0), 1);
    bool slopes = ct__nlml_wants_inverse(c);
    ct_view alpha = ct_call_recorded(c) ? ct_view_reshape(ct_result_at(c, ct__bar(CT__RESIDUAL)), column)
                                        : ct_scratch(c, in[0].dtype, column);
    ct__system s = ct__system_of(c, ct_attr(c), in, alpha, true);
    if (!ct__system_solve(c, &s, slopes)) {
        ct__density_fail(c);
        return;
    }
    ct__nlml_value(c, in[CT__RESIDUAL], alpha, s.diagonal, ct_result(c));
    ct__density_flag(c);
    if (!slopes) return;
    ct_view noise_bar = ct_result_at(c, ct__bar(CT__NOISE));
    ct__packed_diagonal(c, &s.C, noise_bar);
    ct__nlml_noise_bar(c, ct_view_squeeze(alpha, 1), s.diagonal, noise_bar);
    ct__system_contract(c, &s, ct_result_at(c, ct__bar(CT__THETA)),
                        ct_call_wants(c, CT__POINTS) ? ct_result_at(c, ct__bar(CT__POINTS)) : ct_no_view());
}

static void vjp(ct_vjp *g) { ct__density_vjp(g, ct_vjp_attr(g), ct__nlml_composed); }

static void sample(ct_sample *s)
{
    ct__cov_sample(s, false);
    int64_t n = ct_sample_size(s);
    ct_sample_normal(s, 2, ct_shape1(n));
    ct_sample_uniform(s, 3, ct_shape1(n % 2 ? n : 1), 0.1, 1);
}

const ct_op ct__op_gp_nlml = { .name = "gp_nlml",
                               .n_in = CT__DENSITY_INPUTS,
                               .shape = shape,
                               .forward = forward,
                               .vjp = vjp,
                               .sample = sample };

ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    return ct__cov_apply(&ct__op_gp_nlml, kernel, (ct_var[]){ theta, X, r, noise }, 4);
}
