/* nlml_shared:  v = ½ tr(RᵀA) + p/2 log det C + np/2 log 2π,   C = k(X, X) + diag(noise),  A = C⁻¹R (n, p)
 * adjoint:      C̄ = ½ v̄ (p C⁻¹ - AAᵀ);  noise_bar = diag C̄,  R̄ = v̄ A,  theta_bar and X_bar: C̄
 *               against the derivatives of k                     [Rasmussen & Williams 2006, eq. 5.9, §9.1]
 *
 * One factorisation, which carries all columns of R. For the gradient C⁻¹ becomes C⁻¹ - AAᵀ/p in place. */
#include <cotangent/gp/outputs.h>

#include "dense.h"
#include "gp/model/graph.h"

static ct_shape shape(ct_call *c)
{
    const int64_t n = ct_arg_dim(c, CT__POINTS, 0);
    ct_require(c,
               ct_arg_ndim(c, CT__RESIDUAL) == 2 && ct_arg_dim(c, CT__RESIDUAL, 0) == n &&
                   ct_arg_dim(c, CT__RESIDUAL, 1) > 0,
               CT_ESHAPE, "the residuals must be a matrix of %lld rows, with at least one column",
               (long long)n);
    const ct_shape value = ct__density_shape(c, true, ct__nlml_wants_inverse(c));
    ct_require(c, value.ndim == 0, CT_ESHAPE,
               "theta, the points and the noise have no batch dimensions here");
    return value;
}

static void forward(ct_call *c)
{
    const ct_view R = ct_arg(c, CT__RESIDUAL);
    const int64_t n = ct_view_dim(R, 0), p = ct_view_dim(R, 1);
    const bool slopes = ct__nlml_wants_inverse(c);
    ct_view A_t = ct_scratch(c, R.dtype, ct_shape2(p, n)), A = ct_view_transpose(A_t);
    const ct__system s = ct__density_system(c, A, true, (ct__grid){ 0 });
    if (!ct__system_solve(c, &s, slopes)) {
        ct__density_fail(c);
        return;
    }
    ct__nlml_value(c, R, A, s.diagonal, ct_result(c));
    ct__density_flag(c);
    if (ct_call_recorded(c)) ct_prim_copy(c, A, ct_result_at(c, ct__bar(CT__RESIDUAL)));
    if (!slopes) return;
    ct__packed_add_product(c, &s.C.blocks, -1 / (double)p, A_t);
    ct__nlml_slopes(c, &s, 0.5 * (double)p, ct_no_view());
}

static ct_var composed(const ct_cov_program *program, const ct_var *in)
{
    return ct__nlml_of(in[CT__RESIDUAL], ct__density_factor(program, in));
}

static void vjp(ct_rule *g) { ct__density_vjp(g, composed); }

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
