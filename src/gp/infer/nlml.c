/* gp_nlml:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise),  α = C⁻¹ r
 * adjoint:  C̄ = ½ v̄ (C⁻¹ - ααᵀ);  noise_bar = diag C̄,  r̄ = v̄ α,  theta_bar and X_bar: C̄ against the derivatives of k
 *
 * [Rasmussen & Williams 2006, eq. 5.9]. Where gradients are wanted the forward pass computes them, for v̄ = 1, while it holds
 * the inverse, in the packed array that was the factor (gp_factor.c); what is kept for the backward pass is
 * of n numbers, and it multiplies by v̄. */
#include <cotangent/covariance.h>

#include "density.h"
#include "gp/kernel/cov.h"
#include "gp/model/model.h"

/* The same in differentiable ops. */
static ct_var composed(ct_var L, ct_var r)
{
    ct_var both = ct_add(ct_sum(ct_mul(r, ct_cholesky_solve(L, r)), CT_ALL, false), ct_cholesky_logdet(L));
    return ct_shift(ct_scale(both, 0.5), 0.5 * CT__LOG_2PI * (double)ct_var_shape(r).dim[0]);
}

static void value_vjp(ct_vjp *g) { ct__density_vjp(g, composed); }

static const ct_op value_op = { .name = "gp_nlml",
                                .n_in = CT__DENSITY_INPUTS,
                                .shape = ct__density_shape,
                                .forward = ct__density_forward,
                                .vjp = value_vjp };

ct_var ct__gp_value_with_rule(const ct_var in[CT__DENSITY_INPUTS], const ct_cov_program *program)
{
    return ct_apply(&value_op, in, CT__DENSITY_INPUTS, program, (size_t)program->bytes);
}

ct_var ct__gp_value(ct_var alpha, ct_var r)
{
    ct_var fit = ct_sum(ct_mul(r, alpha), CT_ALL, false);
    ct_var logs = ct_sum(ct_log(ct_output(alpha, 1)), CT_ALL, false);
    double constant = 0.5 * CT__LOG_2PI * (double)ct_shape_count(ct_var_shape(r));
    return ct_shift(ct_add(ct_scale(fit, 0.5), logs), constant);
}

/* in: theta, X, r, noise */
static ct_var nlml_compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    const ct_cov_program *program = attr;
    if (!program) {
        ct_tape_fail(tape, CT_EINVAL, "gp_nlml: needs a kernel's program as its attribute");
        return (ct_var){ tape, UINT32_MAX, 0 };
    }
    size_t bytes = (size_t)program->bytes;
    int64_t n = ct_shape_count(ct_var_shape(in[2]));
    ct_var r = ct_reshape(in[2], ct_shape2(n, 1));
    bool slopes = ct_grad_enabled(tape), slopes_x = slopes && ct_var_needs_grad(in[1]);
    slopes = slopes && (slopes_x || ct_var_needs_grad(in[0]) || ct_var_needs_grad(in[3]));
    const ct_op *op = slopes_x ? &ct__op_gp_slopes_x : slopes ? &ct__op_gp_slopes : &ct__op_gp_value;
    ct_no_grad_begin(tape);
    ct_var alpha = ct_apply(op, (ct_var[]){ in[0], in[1], r, in[3] }, n_in, attr, bytes);
    ct_var value = ct__gp_value(alpha, r), all = slopes ? ct_output(alpha, 2) : value;
    ct_var theta_bar = slopes ? ct_slice(all, 0, n, n + program->n_params, 1) : value;
    ct_var noise_bar = slopes ? ct_slice(all, 0, 0, n, 1) : value;
    if (slopes) noise_bar = ct_scale(ct_sub(noise_bar, ct_square(ct_squeeze(alpha, 1))), 0.5);
    ct_var X_bar = slopes_x ? ct_output(alpha, 3) : value;
    ct_no_grad_end(tape);
    ct_var to_value[CT__DENSITY_INPUTS] = {
        value, theta_bar, X_bar, noise_bar, alpha, in[0], in[1], r, in[3]
    };
    return ct__gp_value_with_rule(to_value, program);
}

static void nlml_sample(ct_sample *s)
{
    ct__cov_sample(s, false);
    int64_t n = ct_sample_size(s);
    ct_sample_normal(s, 2, ct_shape1(n));
    ct_sample_uniform(s, 3, ct_shape1(n % 2 ? n : 1), 0.1, 1);
}

const ct_op ct__op_gp_nlml = { .name = "gp_nlml", .n_in = 4, .compose = nlml_compose, .sample = nlml_sample };

ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    const ct_cov_program *p = theta.tape ? ct__cov_usable(kernel, theta.tape, "gp_nlml") : NULL;
    if (!p) return (ct_var){ theta.tape, UINT32_MAX, 0 };
    return ct_apply(&ct__op_gp_nlml, (ct_var[]){ theta, X, r, noise }, 4, p, (size_t)p->bytes);
}
