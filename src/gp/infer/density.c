/* density: v = the log density of r under L Lᵀ = k(X, X) + diag(noise), with its gradient at v̄ = 1
 * adjoint: θ̄ = v̄ ∂v/∂θ,  X̄ = v̄ ∂v/∂X,  r̄ = v̄ ∂v/∂r,  and so for the noise
 * Recorded, v is computed once more in differentiable ops and swept: ∂v/∂θ then has a gradient of its own.
 * [Rasmussen & Williams 2006, eq. 5.9 of the likelihood, 5.10 to 5.13 of the leave-one-out density] */
#include "density.h"

#include <math.h>

#include "gp/kernel/cov.h"

/* -- what has to be finite ------------------------------------------------------------------------------- */

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

static void finite_vjp(ct_vjp *g)
{
    const char *const *what = ct_vjp_attr(g);
    ct_in_bar(g, 0, ct__finite(ct_out_bar(g), *what));
}

static const ct_op finite_op = {
    .name = "finite", .n_in = 1, .shape = same_shape, .forward = finite_forward, .vjp = finite_vjp
};

ct_var ct__finite(ct_var x, const char *what) { return ct_apply(&finite_op, &x, 1, &what, sizeof what); }

void ct__density_flag(ct_call *c) { flag(c, ct_result(c), "the value"); }

void ct__density_fail(ct_call *c)
{
    for (int k = 0; k < ct_outs(c); k++) ct_prim_fill(c, ct_result_at(c, k), NAN);
}

/* -- shapes ---------------------------------------------------------------------------------------------- */

static void check_inputs(ct_call *c, const ct_cov_program *program)
{
    int64_t n = ct_arg_dim(c, CT__POINTS, 0), m = ct_arg_dim(c, CT__NOISE, -1);
    ct_require(c, ct_arg_ndim(c, CT__THETA) == 1 && ct_arg_dim(c, CT__THETA, 0) == program->n_params,
               CT_ESHAPE, "theta must be a vector of the kernel's %d parameters", (int)program->n_params);
    ct_require(c, ct_arg_ndim(c, CT__POINTS) == 2 && ct_arg_dim(c, CT__POINTS, 1) == program->input_dims,
               CT_ESHAPE, "the points must be a matrix of %d columns, as the kernel is bound to",
               (int)program->input_dims);
    ct_require(c, ct_shape_count(ct_arg_shape(c, CT__RESIDUAL)) == n, CT_ESHAPE,
               "the residual must have %lld elements", (long long)n);
    ct_require(c, ct_arg_ndim(c, CT__NOISE) <= 1 && (m == 1 || m == n), CT_ESHAPE,
               "the noise must have 1 or %lld elements", (long long)n);
}

ct_shape ct__density_shape(ct_call *c, const ct_cov_program *program, bool slopes)
{
    if (!ct_require(c, program != NULL, CT_EINVAL, "needs a kernel's program as its attribute"))
        return ct_shape0();
    check_inputs(c, program);
    for (int i = 0; i < CT__DENSITY_INPUTS && ct_call_recorded(c); i++) {
        bool kept = i == CT__RESIDUAL || (i == CT__POINTS ? ct_call_wants(c, i) : slopes);
        ct_shape shape = i == CT__NOISE ? ct_shape1(ct_arg_dim(c, CT__POINTS, 0)) : ct_arg_shape(c, i);
        ct_rule_out(c, ct__bar(i), ct_arg(c, i).dtype, kept ? shape : ct_shape1(0));
    }
    return ct_shape0();
}

/* -- the rule -------------------------------------------------------------------------------------------- */

static const char *const gradient_in[] = { "element %lld of the gradient in theta",
                                           "element %lld of the gradient in X",
                                           "element %lld of the gradient in the residual",
                                           "element %lld of the gradient in the noise" };

/* Of inputs of its own, so that the inner sweep ends there. */
static void recorded(ct_vjp *g, const ct_cov_program *program, ct_var (*value)(ct_var L, ct_var r))
{
    ct_var at[CT__DENSITY_INPUTS], bar[CT__DENSITY_INPUTS];
    for (int i = 0; i < CT__DENSITY_INPUTS; i++) at[i] = ct_scale(ct_in(g, i), 1);
    ct_var K = ct_apply(&ct_op_cov, at, 2, program, (size_t)program->bytes);
    ct_var r = ct_reshape(at[CT__RESIDUAL], ct_shape2(ct_var_shape(at[CT__POINTS]).dim[0], 1));
    ct_var v = value(ct_cholesky(ct_add_diag(K, at[CT__NOISE])), r);
    if (ct_grad(v, ct_out_bar(g), at, bar, CT__DENSITY_INPUTS, CT_GRAD_RECORD)) return;
    for (int i = 0; i < CT__DENSITY_INPUTS; i++) ct_in_bar(g, i, ct__finite(bar[i], gradient_in[i]));
}

void ct__density_vjp(ct_vjp *g, const ct_cov_program *program, ct_var (*value)(ct_var L, ct_var r))
{
    if (ct_recording(g)) {
        recorded(g, program, value);
        return;
    }
    ct_var v_bar = ct_out_bar(g);
    for (int i = 0; i < CT__DENSITY_INPUTS; i++)
        ct_in_bar(g, i, ct__finite(ct_mul(v_bar, ct_out_at(g, ct__bar(i))), gradient_in[i]));
}
