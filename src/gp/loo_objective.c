/* gp_loo_nlpd:  v = -Σ log p(y_i | the others) = ½ Σ (α_i²/q_i - log q_i) + n/2 log 2π,   α = C⁻¹r,  q_i = (C⁻¹)_ii
 * adjoint:      with e_i = α_i/q_i,  g = C⁻¹e,  D = diag(½/q_i + ½ e_i²):    r̄ = v̄ g,   noise_bar = diag C̄,
 *               C̄ = v̄ (C⁻¹ D C⁻¹ - ½ (g αᵀ + α gᵀ));   theta_bar and X_bar: C̄ against the derivatives of k
 *
 * dα = C⁻¹(dr - dC α) and dq_i = -(C⁻¹ dC C⁻¹)_ii. C̄ comes in panels of rows, each from four triangular solves with the packed
 * factor; as in nlml.c the forward pass computes the gradient for v̄ = 1, and the backward pass multiplies by v̄.
 * [Rasmussen & Williams 2006, eqs 5.10-5.13; Sundararajan & Keerthi 2001] */
#include <cotangent/covariance.h>

#include "cov.h"
#include "model.h"
#include "packed.h"

#define LOG_2PI 1.8378770664093454835606594728112

/* -- the gradient for v̄ = 1 ------------------------------------------------------------------------------------------ */

enum { S_THETA, S_X, S_ALPHA, S_G, S_D, S_FACTOR, S_INPUTS }; /* alpha, g: (n, 1), d (n) */

static ct_shape slopes_shape(ct_call *c)
{
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, S_X));
    ct_more_out(c, 1, dtype, ct_arg_shape(c, S_D));
    ct_more_out(c, 2, dtype, ct_arg_shape(c, S_X));
    return ct_arg_shape(c, S_THETA);
}

/* to = from diag(d) */
static void scale_columns(ct_call *c, const ct_tensor *from, ct_tensor *to)
{
    ct_tensor *line = ct_tensor_unsqueeze(ct_arg(c, S_D), 1),
              *each = line ? ct_tensor_unsqueeze(line, 2) : NULL;
    ct_tensor *a = ct_tensor_transpose(from), *b = ct_tensor_transpose(to);
    ct_tensor *columns = a ? ct_tensor_unsqueeze(a, 2) : NULL, *target = b ? ct_tensor_unsqueeze(b, 2) : NULL;
    if (ct_require(c, each && columns && target, CT_ENOMEM, "no memory for views"))
        ct_prim_gemm(c, 1, columns, each, 0, target);
    ct_tensor *all[] = { line, each, a, b, columns, target };
    for (int i = 0; i < 6; i++) ct_release(all[i]);
}

/* panel -= ½ u vᵀ, u the part of a column that belongs to its rows */
static void subtract(ct_call *c, const ct_tensor *column, int64_t first, const ct_tensor *other,
                     ct_tensor *panel)
{
    ct_tensor *u = ct_tensor_slice(column, 0, first, first + ct_tensor_dim(panel, 0), 1);
    ct_tensor *v = ct_tensor_transpose(other);
    if (ct_require(c, u && v, CT_ENOMEM, "no memory for views")) ct_prim_gemm(c, -0.5, u, v, 1, panel);
    ct_release(u);
    ct_release(v);
}

/* Rows first, first + 1, ... of C̄ into M; P is as large. */
static void rows_of_bar(ct_call *c, const ct__packed *L, int64_t first, ct_tensor *P, ct_tensor *M)
{
    int64_t rows = ct_tensor_dim(P, 0), n = ct_tensor_dim(P, 1);
    ct_tensor *tail = ct__submatrix(P, 0, rows, first, n - first);
    ct_tensor *square = tail ? ct__submatrix(tail, 0, rows, 0, rows) : NULL;
    ct_tensor *diagonal = square ? ct_tensor_diagonal(square) : NULL;
    if (ct_require(c, diagonal != NULL, CT_ENOMEM, "no memory for views")) {
        ct_prim_fill(c, P, 0);
        ct_prim_fill(c, diagonal, 1);
        ct__packed_solve(c, L, first, tail);
        ct__packed_solve_trans(c, L, P);
        scale_columns(c, P, M);
        ct__packed_solve(c, L, 0, M);
        ct__packed_solve_trans(c, L, M);
        subtract(c, ct_arg(c, S_G), first, ct_arg(c, S_ALPHA), M);
        subtract(c, ct_arg(c, S_ALPHA), first, ct_arg(c, S_G), M);
    }
    ct_release(tail);
    ct_release(square);
    ct_release(diagonal);
}

/* Columns c0..c1 of the rows M of C̄: off the diagonal they stand for two; on it Z is X, whose `white` counts there. */
static void contract(ct_call *c, const ct_tensor *M, int64_t first, int64_t c0, int64_t c1,
                     ct_tensor *theta_bar)
{
    int64_t rows = ct_tensor_dim(M, 0);
    if (c0 == c1) return;
    bool square = c0 == first && c1 == first + rows;
    ct_tensor *part = ct__submatrix(M, 0, rows, c0, c1 - c0);
    ct_tensor *x = ct_tensor_slice(ct_arg(c, S_X), 0, first, first + rows, 1);
    ct_tensor *z = ct_tensor_slice(ct_arg(c, S_X), 0, c0, c1, 1);
    ct_tensor *x_bar = ct_tensor_slice(ct_result_at(c, 2), 0, first, first + rows, 1);
    ct_cov_bar bar = { .M = part, .alpha = square ? 1 : 2 };
    if (ct_require(c, part && x && z && x_bar, CT_ENOMEM, "no memory for views"))
        ct_prim_covariance_bar_add(c, ct_attr(c), ct_arg(c, S_THETA), x, square ? NULL : z, &bar, theta_bar,
                                   x_bar);
    ct_release(part);
    ct_release(x);
    ct_release(z);
    ct_release(x_bar);
}

static void take_diagonal(ct_call *c, const ct_tensor *M, int64_t first)
{
    int64_t rows = ct_tensor_dim(M, 0);
    ct_tensor *square = ct__submatrix(M, 0, rows, first, rows);
    ct_tensor *line = square ? ct_tensor_diagonal(square) : NULL;
    ct_tensor *out = ct_tensor_slice(ct_result_at(c, 1), 0, first, first + rows, 1);
    if (ct_require(c, line && out, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, line, out);
    ct_release(square);
    ct_release(line);
    ct_release(out);
}

static void slopes_forward(ct_call *c)
{
    int64_t n = ct_arg_dim(c, S_X, 0), most = ct__packed_panel(n, ct_tensor_dtype(ct_arg(c, S_X)));
    if (most > n) most = n;
    ct_tensor *P = ct_scratch(c, ct_tensor_dtype(ct_arg(c, S_X)), ct_shape2(most, n));
    ct_tensor *M = ct_scratch(c, ct_tensor_dtype(ct_arg(c, S_X)), ct_shape2(most, n));
    ct_tensor *theta_bar = ct_result(c);
    ct__packed L;
    if (!P || !M || !theta_bar || !ct_result_at(c, 1) || !ct_result_at(c, 2)) return;
    if (!ct_require(c, ct__packed_open(ct_arg(c, S_FACTOR), n, &L), CT_ENOMEM, "no memory for views")) return;
    ct_prim_fill(c, theta_bar, 0);
    ct_prim_fill(c, ct_result_at(c, 2), 0);
    for (int64_t i = 0; i < n; i += most) {
        int64_t end = i + most < n ? i + most : n;
        ct_tensor *p = ct_tensor_slice(P, 0, 0, end - i, 1), *m = ct_tensor_slice(M, 0, 0, end - i, 1);
        if (ct_require(c, p && m, CT_ENOMEM, "no memory for views")) {
            rows_of_bar(c, &L, i, p, m);
            contract(c, m, i, 0, i, theta_bar);
            contract(c, m, i, i, end, theta_bar);
            contract(c, m, i, end, n, NULL);
            take_diagonal(c, m, i);
        }
        ct_release(p);
        ct_release(m);
    }
    ct__packed_close(&L);
}

static const ct_op slopes_op = {
    .name = "gp_loo_slopes", .n_in = S_INPUTS, .shape = slopes_shape, .forward = slopes_forward
};

/* -- the value with its rule ------------------------------------------------------------------------------------------- */

/* Of the inputs the first five are constants. */
enum { VALUE, THETA_BAR, X_BAR, NOISE_BAR, G, THETA, POINTS, RESIDUAL, NOISE, INPUTS };

static ct_shape value_shape(ct_call *c) { return ct_arg_shape(c, VALUE); }

static void value_forward(ct_call *c) { ct_prim_copy(c, ct_arg(c, VALUE), ct_result(c)); }

/* From α and q (n, 1). */
static ct_var value_of(ct_var alpha, ct_var q)
{
    ct_var terms = ct_sub(ct_div(ct_square(alpha), q), ct_log(q));
    double constant = 0.5 * LOG_2PI * (double)ct_shape_count(ct_var_shape(q));
    return ct_shift(ct_scale(ct_sum(terms, CT_ALL, false), 0.5), constant);
}

/* The same in differentiable ops, for inputs of its own, so that the inner sweep ends there. */
static void vjp_recorded(ct_vjp *g)
{
    const ct_cov_program *program = ct_vjp_attr(g);
    ct_tape *tape = ct_vjp_tape(g);
    ct_var at[4], bar[4];
    for (int i = 0; i < 4; i++) at[i] = ct_scale(ct_in(g, THETA + i), 1);
    int64_t n = ct_var_shape(at[2]).dim[0];
    ct_tensor *ones = ct_full(ct_tape_device(tape), ct_var_dtype(at[2]), ct_shape1(n), 1);
    ct_var identity = ct_diag_embed(ct_constant(tape, ones));
    ct_release(ones);
    ct_var K = ct_apply(&ct_op_cov, at, 2, program, (size_t)program->bytes);
    ct_var L = ct_cholesky(ct_add_diag(K, at[3]));
    ct_var alpha = ct_squeeze(ct_cholesky_solve(L, at[2]), 1);
    ct_var v = value_of(alpha, ct_diag(ct_cholesky_solve(L, identity)));
    if (ct_grad(v, ct_out_bar(g), at, bar, 4, CT_GRAD_RECORD)) return;
    for (int i = 0; i < 4; i++) ct_in_bar(g, THETA + i, bar[i]);
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
    ct_in_bar(g, RESIDUAL, ct_mul(v_bar, ct_in(g, G)));
    ct_in_bar(g, NOISE, ct_mul(v_bar, ct_in(g, NOISE_BAR)));
}

static const ct_op value_op = {
    .name = "gp_loo_nlpd", .n_in = INPUTS, .shape = value_shape, .forward = value_forward, .vjp = value_vjp
};

/* in: theta, X, r, noise */
static ct_var loo_compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    const ct_cov_program *program = attr;
    if (!program) ct_tape_fail(tape, CT_EINVAL, "gp_loo_nlpd: needs a kernel's program as its attribute");
    if (ct_tape_status(tape)) return (ct_var){ tape, UINT32_MAX, 0 };
    size_t bytes = (size_t)program->bytes;
    int64_t n = ct_shape_count(ct_var_shape(in[2]));
    ct_var r = ct_reshape(in[2], ct_shape2(n, 1));
    bool slopes = ct_grad_enabled(tape) && (ct_var_needs_grad(in[0]) || ct_var_needs_grad(in[1]) ||
                                            ct_var_needs_grad(r) || ct_var_needs_grad(in[3]));
    ct_no_grad_begin(tape);
    ct_var alpha = ct_apply(&ct__op_gp_factor, (ct_var[]){ in[0], in[1], r, in[3] }, n_in, attr, bytes);
    ct_var L = ct_output(alpha, 2), a = ct_squeeze(alpha, 1);
    ct_var q = ct_apply(&ct__op_packed_inverse_diag, (ct_var[]){ L, alpha }, 2, NULL, 0);
    ct_var value = value_of(a, q), theta_bar = value, noise_bar = value, X_bar = value, g = value;
    if (slopes) {
        ct_var e = ct_div(a, q), d = ct_scale(ct_add(ct_reciprocal(q), ct_square(e)), 0.5);
        ct_var line = ct_apply(&ct__op_packed_solve_both, (ct_var[]){ L, ct_unsqueeze(e, 0) }, 2, NULL, 0);
        g = ct_reshape(line, ct_shape2(n, 1));
        theta_bar = ct_apply(&slopes_op, (ct_var[]){ in[0], in[1], alpha, g, d, L }, S_INPUTS, attr, bytes);
        noise_bar = ct_output(theta_bar, 1);
        X_bar = ct_output(theta_bar, 2);
    }
    ct_no_grad_end(tape);
    ct_var to_value[INPUTS] = { value, theta_bar, X_bar, noise_bar, g, in[0], in[1], r, in[3] };
    return ct_apply(&value_op, to_value, INPUTS, attr, bytes);
}

static void loo_sample(ct_sample *s)
{
    ct__cov_sample(s, false);
    int64_t n = ct_sample_size(s);
    ct_sample_normal(s, 2, ct_shape1(n));
    ct_sample_uniform(s, 3, ct_shape1(n % 2 ? n : 1), 0.1, 1);
}

const ct_op ct__op_gp_loo_nlpd = {
    .name = "gp_loo_nlpd", .n_in = 4, .compose = loo_compose, .sample = loo_sample
};

ct_var ct_gp_loo_nlpd(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    const ct_cov_program *p = theta.tape ? ct__cov_usable(kernel, theta.tape, "gp_loo_nlpd") : NULL;
    if (!p) return (ct_var){ theta.tape, UINT32_MAX, 0 };
    return ct_apply(&ct__op_gp_loo_nlpd, (ct_var[]){ theta, X, r, noise }, 4, p, (size_t)p->bytes);
}
