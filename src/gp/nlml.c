/* gp_nlml:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = k(X, X) + diag(noise),  α = C⁻¹ r
 * adjoint:  C̄ = ½ v̄ (C⁻¹ - ααᵀ);  noise_bar = diag C̄,  r̄ = v̄ α,  theta_bar and X_bar: C̄ against the derivatives of k
 *
 * [Rasmussen & Williams 2006, eq. 5.9]. Where gradients are wanted the forward pass computes them, for v̄ = 1, while it holds
 * the inverse, in the packed array that was the factor (gp_factor.c); what is kept for the backward pass is of n
 * numbers, and it multiplies by v̄. */
#include <cotangent/covariance.h>

#include "cov.h"
#include "model.h"

#define LOG_2PI 1.8378770664093454835606594728112

/* The value with its rule; of the inputs the first five are constants. */
enum { VALUE, THETA_BAR, X_BAR, NOISE_BAR, ALPHA, THETA, POINTS, RESIDUAL, NOISE, INPUTS };

static ct_shape value_shape(ct_call *c) { return ct_arg_shape(c, VALUE); }

static void value_forward(ct_call *c) { ct_prim_copy(c, ct_arg(c, VALUE), ct_result(c)); }

/* The rule in differentiable ops: C̄ through the recorded rule of the covariance, for inputs of its own, so that the
 * inner sweep ends there. */
static void vjp_recorded(ct_vjp *g)
{
    const ct_cov_program *program = ct_vjp_attr(g);
    ct_tape *tape = ct_vjp_tape(g);
    ct_var r = ct_in(g, RESIDUAL), noise = ct_in(g, NOISE), v_bar = ct_out_bar(g), bar[2];
    ct_var at[] = { ct_scale(ct_in(g, THETA), 1), ct_scale(ct_in(g, POINTS), 1) };
    ct_var K = ct_apply(&ct_op_cov, at, 2, program, (size_t)program->bytes);
    int64_t n = ct_var_shape(r).dim[0];
    ct_tensor *ones = ct_full(ct_tape_device(tape), ct_var_dtype(K), ct_shape1(n), 1);
    ct_var identity = ct_diag_embed(ct_constant(tape, ones));
    ct_release(ones);
    ct_var L = ct_cholesky(ct_add_diag(K, noise));
    ct_var alpha = ct_cholesky_solve(L, r);
    ct_var inverse = ct_cholesky_solve(L, identity);
    ct_var C_bar = ct_scale(ct_mul(v_bar, ct_sub(inverse, ct_matmul(alpha, ct_t(alpha)))), 0.5);
    ct_in_bar(g, NOISE, ct_diag(C_bar));
    ct_in_bar(g, RESIDUAL, ct_mul(v_bar, alpha));
    if (!ct_wants(g, THETA) && !ct_wants(g, POINTS)) return;
    ct_grad(K, C_bar, at, bar, 2, CT_GRAD_RECORD);
    ct_in_bar(g, THETA, bar[0]);
    ct_in_bar(g, POINTS, bar[1]);
}

static void value_vjp(ct_vjp *g)
{
    if (ct_recording(g)) {
        vjp_recorded(g);
        return;
    }
    ct_var v_bar = ct_out_bar(g);
    ct_in_bar(g, THETA, ct_mul(v_bar, ct_in(g, THETA_BAR)));
    ct_in_bar(g, POINTS, ct_mul(v_bar, ct_in(g, X_BAR)));
    ct_in_bar(g, RESIDUAL, ct_mul(v_bar, ct_in(g, ALPHA)));
    ct_in_bar(g, NOISE, ct_mul(v_bar, ct_in(g, NOISE_BAR)));
}

static const ct_op value_op = {
    .name = "gp_nlml", .n_in = INPUTS, .shape = value_shape, .forward = value_forward, .vjp = value_vjp
};

ct_var ct__gp_value_with_rule(const ct_var in[INPUTS], const ct_cov_program *program)
{
    return ct_apply(&value_op, in, INPUTS, program, (size_t)program->bytes);
}

ct_var ct__gp_value(ct_var alpha, ct_var r)
{
    ct_var fit = ct_sum(ct_mul(r, alpha), CT_ALL, false);
    ct_var logs = ct_sum(ct_log(ct_output(alpha, 1)), CT_ALL, false);
    double constant = 0.5 * LOG_2PI * (double)ct_shape_count(ct_var_shape(r));
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
    ct_var to_value[INPUTS] = { value, theta_bar, X_bar, noise_bar, alpha, in[0], in[1], r, in[3] };
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
