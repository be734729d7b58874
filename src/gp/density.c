/* density: v = the log density of r under L Lᵀ = k(X, X) + diag(noise), computed before, with its gradient at v̄ = 1
 * adjoint: θ̄ = v̄ ∂v/∂θ,  X̄ = v̄ ∂v/∂X,  r̄ = v̄ ∂v/∂r,  and so for the noise
 * Recorded, v is computed once more in differentiable ops and swept: ∂v/∂θ then has a gradient of its own.
 * [Rasmussen & Williams 2006, eq. 5.9 of the likelihood, 5.10 to 5.13 of the leave-one-out density] */
#include "density.h"

#include "cov.h"

ct_shape ct__density_shape(ct_call *c) { return ct_arg_shape(c, CT__VALUE); }

void ct__density_forward(ct_call *c) { ct_prim_copy(c, ct_arg(c, CT__VALUE), ct_result(c)); }

/* Of inputs of its own, so that the inner sweep ends there. */
static void recorded(ct_vjp *g, ct_var (*value)(ct_var L, ct_var r))
{
    const ct_cov_program *program = ct_vjp_attr(g);
    ct_var at[4], bar[4];
    for (int i = 0; i < 4; i++) at[i] = ct_scale(ct_in(g, CT__THETA + i), 1);
    ct_var K = ct_apply(&ct_op_cov, at, 2, program, (size_t)program->bytes);
    ct_var v = value(ct_cholesky(ct_add_diag(K, at[3])), at[2]);
    if (ct_grad(v, ct_out_bar(g), at, bar, 4, CT_GRAD_RECORD)) return;
    for (int i = 0; i < 4; i++) ct_in_bar(g, CT__THETA + i, bar[i]);
}

void ct__density_vjp(ct_vjp *g, ct_var (*value)(ct_var L, ct_var r))
{
    if (ct_recording(g)) {
        recorded(g, value);
        return;
    }
    ct_var v_bar = ct_out_bar(g);
    ct_in_bar(g, CT__THETA, ct_mul(v_bar, ct_in(g, CT__THETA_BAR)));
    ct_in_bar(g, CT__POINTS, ct_mul(v_bar, ct_in(g, CT__X_BAR)));
    ct_in_bar(g, CT__RESIDUAL, ct_mul(v_bar, ct_in(g, CT__R_BAR)));
    ct_in_bar(g, CT__NOISE, ct_mul(v_bar, ct_in(g, CT__NOISE_BAR)));
}
