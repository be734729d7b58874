/* nlml_shared:  v = ½ tr(RᵀA) + p/2 log det C + np/2 log 2π,   C = k(X, X) + diag(noise),  A = C⁻¹R (n, p)
 * adjoint:      C̄ = ½ v̄ (p C⁻¹ - AAᵀ);  noise_bar = diag C̄,  R̄ = v̄ A,  theta_bar and X_bar: C̄
 *               against the derivatives of k                     [Rasmussen & Williams 2006, eq. 5.9, §9.1]
 *
 * One factorisation, which carries all columns of R. For the gradient C⁻¹ becomes C⁻¹ - AAᵀ/p in place. */
#include "shared.h"

#include <cotangent/gp/outputs.h>

#include "dense.h"
#include "gp/factor/system.h"
#include "gp/kernel/prior.h"
#include "gp/model/graph.h"

static ct_shape shape(ct_call *c)
{
    const int64_t n = ct_arg_dim(c, CT__POINTS, 0), m = ct_arg_dim(c, CT__NOISE, 0);
    const bool slopes = ct__nlml_wants_inverse(c);
    if (!ct__cov_accepts(c, 1)) return ct_shape0();
    ct_require(c, ct_arg_ndim(c, CT__THETA) == 1 && ct_arg_ndim(c, CT__POINTS) == 2, CT_ESHAPE,
               "theta and the points have no batch dimensions here");
    ct_require(c,
               ct_arg_ndim(c, CT__RESIDUAL) == 2 && ct_arg_dim(c, CT__RESIDUAL, 0) == n &&
                   ct_arg_dim(c, CT__RESIDUAL, 1) > 0,
               CT_ESHAPE, "the residuals must be a matrix of %lld rows, with at least one column",
               (long long)n);
    ct_require(c, ct_arg_ndim(c, CT__NOISE) == 1 && (m == 1 || m == n), CT_ESHAPE,
               "the noise must have 1 or %lld elements", (long long)n);
    for (int i = 0; i < CT__DENSITY_INPUTS && ct_call_recorded(c) && ct_call_ok(c); i++) {
        const bool kept = i == CT__RESIDUAL || (i == CT__POINTS ? ct_call_wants(c, i) : slopes);
        const ct_shape whole = i == CT__NOISE ? ct_shape1(n) : ct_arg_shape(c, i);
        ct_save_for_vjp(c, ct__bar(i), ct_arg(c, i).dtype, kept ? whole : ct_shape1(0));
    }
    return ct_shape0();
}

/* v from R, A and the diagonal of L. */
static void value(ct_call *c, ct_view R, ct_view A, ct_view diagonal, ct_view v)
{
    const double p = (double)ct_view_dim(R, 1), n = (double)ct_view_dim(R, 0);
    ct_view terms = ct_scratch(c, R.dtype, ct_view_shape(R)), logs = ct_scratch(c, R.dtype, ct_shape0());
    ct_prim_map2(c, CT_MAP_mul, R, A, terms);
    ct_prim_reduce(c, CT_REDUCE_SUM, terms, v);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 0.5, 0 }, v, v);
    ct_prim_map1(c, CT_MAP_log, NULL, diagonal, diagonal);
    ct_prim_reduce(c, CT_REDUCE_SUM, diagonal, logs);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ p, 0 }, logs, logs);
    ct_prim_map2(c, CT_MAP_add, v, logs, v);
    ct_prim_map1(c, CT_MAP_shift, (double[]){ 0.5 * n * p * CT__LOG_2PI, 0 }, v, v);
}

static void forward(ct_call *c)
{
    const ct_view in[] = { ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2), ct_arg(c, 3) }, R = in[CT__RESIDUAL];
    const int64_t n = ct_view_dim(R, 0), p = ct_view_dim(R, 1);
    const double weight = 0.5 * (double)p;
    const bool slopes = ct__nlml_wants_inverse(c);
    ct_view A_t = ct_scratch(c, R.dtype, ct_shape2(p, n)), A = ct_view_transpose(A_t);
    ct__system s = ct__system_of(c, ct_attr(c), in, A, true, (ct__grid){ 0 });
    if (!ct__system_solve(c, &s, slopes)) {
        ct__density_fail(c);
        return;
    }
    value(c, R, A, s.diagonal, ct_result(c));
    ct__density_flag(c);
    if (ct_call_recorded(c)) ct_prim_copy(c, A, ct_result_at(c, ct__bar(CT__RESIDUAL)));
    if (!slopes) return;
    ct_view noise_bar = ct_result_at(c, ct__bar(CT__NOISE));
    ct__packed_add_product(c, &s.C.blocks, -1 / (double)p, A_t);
    ct__factor_diagonal(c, &s.C, noise_bar);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ weight, 0 }, noise_bar, noise_bar);
    ct__system_contract(c, &s, weight, ct_no_view(), ct_result_at(c, ct__bar(CT__THETA)),
                        ct__density_X_bar(c));
}

static ct_var composed(const ct_cov_program *program, const ct_var *in)
{
    ct_var R = in[CT__RESIDUAL], L = ct__density_factor(program, in);
    const double n = (double)ct_tensor_dim(ct_value(R), 0), p = (double)ct_tensor_dim(ct_value(R), 1);
    ct_var fit = ct_sum(ct_mul(R, ct_cholesky_solve(L, R)), CT_ALL, false);
    ct_var both = ct_add(fit, ct_scale(ct_cholesky_logdet(L), p));
    return ct_shift(ct_scale(both, 0.5), 0.5 * n * p * CT__LOG_2PI);
}

static void vjp(ct_vjp *g) { ct__density_vjp(g, composed); }

static void sample(ct_sample *s)
{
    const int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct__cov_sample(s, false);
    ct_sample_uniform(s, CT__RESIDUAL, ct_shape2(n, 3), 0.5, 2);
    ct_sample_uniform(s, CT__NOISE, ct_shape1(n % 2 ? n : 1), 0.3, 1);
}

const ct_op ct__op_nlml_shared = { .name = "nlml_shared",
                                   .n_in = CT__DENSITY_INPUTS,
                                   .shape = shape,
                                   .forward = forward,
                                   .vjp = vjp,
                                   .sample = sample };

ct_var ct_outputs_nlml_shared(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var R, ct_var noise)
{
    return ct__cov_apply(&ct__op_nlml_shared, kernel, (ct_var[]){ theta, X, R, noise }, 4);
}

/* -- the row --------------------------------------------------------------------------------------------- */

static bool able(const ct_gp *gp) { return gp->likelihood.outputs != NULL; }

static uint64_t bytes(const ct_gp *gp, int64_t d, bool fitting)
{
    const uint64_t numbers = (uint64_t)ct_tensor_count(gp->likelihood.outputs);
    return ct__nlml_bytes(gp, d, fitting) + (fitting ? 4 * numbers * ct_dtype_size(gp->rows.dtype) : 0);
}

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    return ct_outputs_nlml_shared(gp->kernel, g->theta, g->X, ct_constant(gp->tape, gp->likelihood.outputs),
                                  g->variance);
}

const ct__likelihood ct__shared = {
    .name = "shared outputs",
    .is = CT__SHARED_OUTPUTS,
    .able = able,
    .refusal = { { CT__BY_LEAVE_ONE_OUT | CT__IN_MIXED_PRECISION,
                   "outputs that share their covariance are fitted by the likelihood in full precision" },
                 { CT__WITH_MEAN, "shared outputs have their averages as the mean: use CT_MEAN_ZERO" },
                 { CT__WITH_TRANSFORM, "a transform of the outputs is for CT_OUTPUTS_EACH" },
                 { CT__WITH_GIVEN_NOISE, "given noise is for CT_OUTPUTS_EACH" } },
    .bytes = bytes,
    .objective = objective
};
