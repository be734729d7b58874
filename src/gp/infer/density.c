/* density: v = the log density of r under L Lᵀ = k(X, X) + diag(noise), computed before, with its gradient at
 * v̄ = 1
 * adjoint: θ̄ = v̄ ∂v/∂θ,  X̄ = v̄ ∂v/∂X,  r̄ = v̄ ∂v/∂r,  and so for the noise
 * Recorded, v is computed once more in differentiable ops and swept: ∂v/∂θ then has a gradient of its own.
 * [Rasmussen & Williams 2006, eq. 5.9 of the likelihood, 5.10 to 5.13 of the leave-one-out density] */
#include "density.h"

#include "gp/kernel/cov.h"

/* -- what has to be finite ------------------------------------------------------------------------------- */

static void flag(ct_call *c, const ct_tensor *x, const char *what)
{
    ct_prim_flag(
        c, CT_FINITE, ct_contiguous(c, x), what,
        ct_tensor_dtype(x) == CT_F64
            ? "is not finite: bring the data and the parameters to a scale near 1"
            : "is not finite: bring the data and the parameters to a scale near 1, or compute in f64",
        NULL);
}

static ct_shape same_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void finite_forward(ct_call *c)
{
    const char *const *what = ct_attr(c);
    ct_set_result(c, 0, ct_tensor_reshape(ct_arg(c, 0), ct_arg_shape(c, 0)));
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

/* -- densities ------------------------------------------------------------------------------------------- */

ct_shape ct__density_shape(ct_call *c) { return ct_arg_shape(c, CT__VALUE); }

void ct__density_forward(ct_call *c)
{
    ct_prim_copy(c, ct_arg(c, CT__VALUE), ct_result(c));
    flag(c, ct_arg(c, CT__VALUE), "the value");
}

static const char *const gradient_in[] = { "element %lld of the gradient in theta",
                                           "element %lld of the gradient in X",
                                           "element %lld of the gradient in the residual",
                                           "element %lld of the gradient in the noise" };

/* Of inputs of its own, so that the inner sweep ends there. */
static void recorded(ct_vjp *g, ct_var (*value)(ct_var L, ct_var r))
{
    const ct_cov_program *program = ct_vjp_attr(g);
    ct_var at[4], bar[4];
    for (int i = 0; i < 4; i++) at[i] = ct_scale(ct_in(g, CT__THETA + i), 1);
    ct_var K = ct_apply(&ct_op_cov, at, 2, program, (size_t)program->bytes);
    ct_var v = value(ct_cholesky(ct_add_diag(K, at[3])), at[2]);
    if (ct_grad(v, ct_out_bar(g), at, bar, 4, CT_GRAD_RECORD)) return;
    for (int i = 0; i < 4; i++) ct_in_bar(g, CT__THETA + i, ct__finite(bar[i], gradient_in[i]));
}

void ct__density_vjp(ct_vjp *g, ct_var (*value)(ct_var L, ct_var r))
{
    if (ct_recording(g)) {
        recorded(g, value);
        return;
    }
    ct_var v_bar = ct_out_bar(g);
    const int given[] = { CT__THETA_BAR, CT__X_BAR, CT__R_BAR, CT__NOISE_BAR };
    for (int i = 0; i < 4; i++)
        ct_in_bar(g, CT__THETA + i, ct__finite(ct_mul(v_bar, ct_in(g, given[i])), gradient_in[i]));
}
