/* gp_loo_nlpd:  v = -Σ log p(y_i | the others) = ½ Σ (α_i²/q_i - log q_i) + n/2 log 2π,   α = C⁻¹r,  q_i = (C⁻¹)_ii
 * adjoint:      with P = C⁻¹, e_i = α_i/q_i,  g = P e,  D = diag(½/q_i + ½ e_i²):    r̄ = v̄ g,   noise_bar = diag C̄,
 *               C̄ = v̄ (P D P - ½ (g αᵀ + α gᵀ));   theta_bar and X_bar: C̄ against the derivatives of k
 *
 * dα = C⁻¹(dr - dC α) and dq_i = -(C⁻¹ dC C⁻¹)_ii. C̄ is symmetric and comes block by block, of its lower
 * triangle, each rows of P D times columns of the packed P: n³ multiplications and additions after the n³ of
 * the inverse. As in nlml.c the forward pass computes the gradient for v̄ = 1, and the backward pass
 * multiplies by v̄. [Rasmussen & Williams 2006, eqs 5.10-5.13; Sundararajan & Keerthi 2001] */
#include <cotangent/covariance.h>

#include "density.h"
#include "gp/factor/packed.h"
#include "gp/kernel/cov.h"
#include "gp/model/model.h"

/* -- the gradient for v̄ = 1 ----------------------------------------------------------------------------- */

enum { S_THETA, S_X, S_ALPHA, S_E, S_D, S_INVERSE, S_INPUTS }; /* alpha, e: (n, 1), d (n), P packed */
enum { FEW = 256 }; /* columns of C̄ at once; half as many where they meet the diagonal */

static ct_shape slopes_shape(ct_call *c, bool wants_x)
{
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, S_X));
    ct_more_out(c, 1, dtype, ct_arg_shape(c, S_D));
    ct_more_out(c, 2, dtype, ct_arg_shape(c, S_ALPHA));
    if (wants_x) ct_more_out(c, 3, dtype, ct_arg_shape(c, S_X));
    return ct_arg_shape(c, S_THETA);
}

typedef struct work {
    ct_call *c;
    ct__packed P;
    int64_t n, most, few;              /* rows of a panel of C̄, columns of a strip of it      */
    ct_tensor *panel, *block, *square; /* rows of P D; a block of C̄; a square of P            */
    ct_tensor *pair, *turned;          /* [g α], and [α g]ᵀ                                   */
    ct_tensor *theta_bar, *noise_bar, *X_bar;
} work;

static ct_tensor *some(const ct_tensor *t, int64_t first, int64_t end)
{
    return t ? ct_tensor_slice(t, 0, first, end, 1) : NULL;
}

/* C̄[i.., j..] against the derivatives of k: beside the diagonal it stands for two, on it Z is X, whose
 * `white` counts there. */
static void contract(const work *s, const ct_tensor *block, int64_t i, int64_t j)
{
    ct_call *c = s->c;
    bool square = i == j;
    int64_t i_end = i + ct_tensor_dim(block, 0), j_end = j + ct_tensor_dim(block, 1);
    ct_tensor *x = some(ct_arg(c, S_X), i, i_end), *z = some(ct_arg(c, S_X), j, j_end);
    ct_tensor *x_bar = some(s->X_bar, i, i_end), *z_bar = some(s->X_bar, j, j_end);
    ct_tensor *turned = ct_tensor_transpose(block);
    ct_cov_bar bar = { .M = block, .alpha = square ? 1 : 2 }, other = { .M = turned, .alpha = 2 };
    if (ct_require(c, x && z && turned && (!s->X_bar || (x_bar && z_bar)), CT_ENOMEM,
                   "no memory for views")) {
        const ct_cov_program *k = ct_attr(c);
        ct_prim_covariance_bar_add(c, k, ct_arg(c, S_THETA), x, square ? NULL : z, &bar, s->theta_bar, x_bar);
        if (s->X_bar && !square)
            ct_prim_covariance_bar_add(c, k, ct_arg(c, S_THETA), z, x, &other, NULL, z_bar);
    }
    ct_tensor *all[] = { x, z, x_bar, z_bar, turned };
    for (int k = 0; k < 5; k++) ct_release(all[k]);
}

static void take_diagonal(ct_call *c, const ct_tensor *block, int64_t first, ct_tensor *out)
{
    ct_tensor *line = ct_tensor_diagonal(block), *part = some(out, first, first + ct_tensor_dim(block, 0));
    if (ct_require(c, line && part, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, line, part);
    ct_release(line);
    ct_release(part);
}

/* The end of at most `columns` columns from j that stay on one side of n1 and before `limit`. */
static int64_t end_of(const work *s, int64_t j, int64_t columns, int64_t limit)
{
    if (j < s->P.n1 && limit > s->P.n1) limit = s->P.n1;
    return j + columns < limit ? j + columns : limit;
}

/* g = P e, and with it [g α] and [α g]ᵀ */
static void multiply(const work *s, ct_tensor *g)
{
    ct_call *c = s->c;
    ct_tensor *e = ct_borrow(c, ct_tensor_transpose(ct_arg(c, S_E))),
              *line = ct_borrow(c, ct_tensor_transpose(g));
    if (!e || !line) return;
    ct_prim_fill(c, g, 0);
    for (int64_t j = 0, to; j < s->n; j = to) {
        to = end_of(s, j, s->few, s->n);
        ct_tensor *part = ct__submatrix(line, 0, 1, j, to - j);
        if (ct_require(c, part != NULL, CT_ENOMEM, "no memory for views"))
            ct__packed_product(c, e, &s->P, j, s->square, part);
        ct_release(part);
    }
    for (int k = 0; k < 4; k++) {
        ct_tensor *to =
            k < 2 ? ct_tensor_slice(s->pair, 1, k, k + 1, 1) : ct_tensor_slice(s->turned, 0, k - 2, k - 1, 1);
        ct_tensor *column = k < 2 || !to ? ct_retain(to) : ct_tensor_transpose(to);
        if (ct_require(c, column != NULL, CT_ENOMEM, "no memory for views"))
            ct_prim_copy(c, k == 0 || k == 3 ? g : ct_arg(c, S_ALPHA), column);
        ct_release(to);
        ct_release(column);
    }
}

/* Of C̄[i..end, j..to] what is not above the diagonal, given rows i..end of P D. */
static void block_column(const work *s, int64_t i, int64_t end, int64_t j, int64_t to)
{
    ct_call *c = s->c;
    int64_t first = j > i ? j : i, on = j >= i ? to - j : 0; /* rows on the diagonal */
    ct_tensor *rows = some(s->panel, first - i, end - i), *left = some(s->pair, first, end);
    ct_tensor *right = ct__submatrix(s->turned, 0, 2, j, to - j);
    ct_tensor *block = ct__submatrix(s->block, 0, end - first, 0, to - j);
    ct_tensor *square = some(block, 0, on), *rest = some(block, on, end - first);
    if (ct_require(c, rows && left && right && square && rest, CT_ENOMEM, "no memory for views")) {
        ct_prim_gemm(c, -0.5, left, right, 0, block);
        ct__packed_product(c, rows, &s->P, j, s->square, block);
        if (on) contract(s, square, j, j);
        if (on) take_diagonal(c, square, j, s->noise_bar);
        if (first + on < end) contract(s, rest, first + on, j);
    }
    ct_tensor *all[] = { rows, left, right, block, square, rest };
    for (int k = 0; k < 6; k++) ct_release(all[k]);
}

/* Rows i..end of P D. */
static void fill_panel(const work *s, int64_t i, int64_t end)
{
    ct_tensor *rows = some(s->panel, 0, end - i);
    if (ct_require(s->c, rows != NULL, CT_ENOMEM, "no memory for views")) {
        ct__packed_rows(s->c, &s->P, i, rows);
        ct_prim_mul(s->c, rows, ct_arg(s->c, S_D), rows);
    }
    ct_release(rows);
}

/* Rows of a panel: as even as its bytes allow. */
static int64_t panel_rows(int64_t n, ct_dtype dtype)
{
    int64_t most = ct__packed_panel(n, dtype), panels = (n + most - 1) / most;
    return panels ? (n + panels - 1) / panels : 0;
}

static void slopes_forward(ct_call *c, bool wants_x)
{
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, S_X));
    int64_t n = ct_arg_dim(c, S_X, 0), most = panel_rows(n, dtype), few = most < FEW ? most : FEW;
    work s = { .c = c, .n = n, .most = most, .few = few };
    s.panel = ct_scratch(c, dtype, ct_shape2(most, n));
    s.block = ct_scratch(c, dtype, ct_shape2(most, few));
    s.square = ct_scratch(c, dtype, ct_shape2(few, few));
    s.pair = ct_scratch(c, dtype, ct_shape2(n, 2));
    s.turned = ct_scratch(c, dtype, ct_shape2(2, n));
    s.theta_bar = ct_result(c);
    s.noise_bar = ct_result_at(c, 1);
    ct_tensor *g = ct_result_at(c, 2);
    s.X_bar = wants_x ? ct_result_at(c, 3) : NULL;
    if (!s.panel || !s.block || !s.square || !s.pair || !s.turned || !s.theta_bar || !s.noise_bar || !g ||
        (wants_x && !s.X_bar))
        return;
    if (!ct_require(c, ct__packed_open(ct_arg(c, S_INVERSE), n, &s.P), CT_ENOMEM, "no memory for views"))
        return;
    ct_prim_fill(c, s.theta_bar, 0);
    if (s.X_bar) ct_prim_fill(c, s.X_bar, 0);
    multiply(&s, g);
    for (int64_t i = 0, end; i < n; i = end) {
        end = i + most < n ? i + most : n;
        fill_panel(&s, i, end);
        for (int64_t j = 0, to; j < end; j = to) {
            to = j < i ? end_of(&s, j, few, i) : end_of(&s, j, (few + 1) / 2, end);
            block_column(&s, i, end, j, to);
        }
    }
    ct__packed_close(&s.P);
}

static ct_shape plain_shape(ct_call *c) { return slopes_shape(c, false); }
static void plain_forward(ct_call *c) { slopes_forward(c, false); }
static ct_shape with_x_shape(ct_call *c) { return slopes_shape(c, true); }
static void with_x_forward(ct_call *c) { slopes_forward(c, true); }

static const ct_op slopes_op = {
    .name = "gp_loo_slopes", .n_in = S_INPUTS, .shape = plain_shape, .forward = plain_forward
};
static const ct_op slopes_x_op = {
    .name = "gp_loo_slopes_x", .n_in = S_INPUTS, .shape = with_x_shape, .forward = with_x_forward
};

/* Beside the triangle: rows of P D, a block of C̄, a square of P. */
uint64_t ct__gp_loo_bytes(int64_t n, int64_t d, ct_dtype dtype)
{
    uint64_t likelihood = ct_gp_bytes_needed(n, d, dtype, true);
    if (likelihood > UINT64_MAX / 2) return UINT64_MAX;
    uint64_t rows = (uint64_t)n, most = (uint64_t)panel_rows(n, dtype), few = most < FEW ? most : FEW;
    return likelihood + ct_dtype_size(dtype) * (most * (rows + few) + few * few);
}

/* -- the value with its rule ----------------------------------------------------------------------------- */

/* From α, α/q and q. */
static ct_var value_of(ct_var alpha, ct_var e, ct_var q)
{
    ct_var terms = ct_sub(ct_mul(alpha, e), ct_log(q));
    double constant = 0.5 * CT__LOG_2PI * (double)ct_shape_count(ct_var_shape(q));
    return ct_shift(ct_scale(ct_sum(terms, CT_ALL, false), 0.5), constant);
}

/* The same in differentiable ops. */
static ct_var composed(ct_var L, ct_var r)
{
    ct_tape *tape = L.tape;
    ct_tensor *ones = ct_full(ct_tape_device(tape), ct_var_dtype(r), ct_shape1(ct_var_shape(r).dim[0]), 1);
    ct_var identity = ct_diag_embed(ct_constant(tape, ones));
    ct_release(ones);
    ct_var alpha = ct_squeeze(ct_cholesky_solve(L, r), 1);
    ct_var q = ct_diag(ct_cholesky_solve(L, identity));
    return value_of(alpha, ct_div(alpha, q), q);
}

static void value_vjp(ct_vjp *g) { ct__density_vjp(g, composed); }

static const ct_op value_op = { .name = "gp_loo_nlpd",
                                .n_in = CT__DENSITY_INPUTS,
                                .shape = ct__density_shape,
                                .forward = ct__density_forward,
                                .vjp = value_vjp };

/* in: theta, X, r, noise */
static ct_var loo_compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    const ct_cov_program *program = attr;
    if (!program) ct_tape_fail(tape, CT_EINVAL, "gp_loo_nlpd: needs a kernel's program as its attribute");
    if (ct_tape_status(tape)) return (ct_var){ tape, UINT32_MAX, 0 };
    size_t bytes = (size_t)program->bytes;
    int64_t n = ct_shape_count(ct_var_shape(in[2]));
    ct_var r = ct_reshape(in[2], ct_shape2(n, 1));
    bool slopes_x = ct_grad_enabled(tape) && ct_var_needs_grad(in[1]);
    bool slopes = slopes_x || (ct_grad_enabled(tape) && (ct_var_needs_grad(in[0]) || ct_var_needs_grad(r) ||
                                                         ct_var_needs_grad(in[3])));
    const ct_op *first = slopes ? &ct__op_gp_inverse : &ct__op_gp_factor;
    ct_no_grad_begin(tape);
    ct_var alpha = ct_apply(first, (ct_var[]){ in[0], in[1], r, in[3] }, n_in, attr, bytes);
    ct_var packed[] = { ct_output(alpha, 2), alpha }, a = ct_squeeze(alpha, 1);
    ct_var q = ct_apply(slopes ? &ct__op_packed_diag : &ct__op_packed_inverse_diag, packed, 2, NULL, 0);
    ct_var e = ct_div(a, q), value = value_of(a, e, q), theta_bar = value, noise_bar = value, X_bar = value,
           g = value;
    if (slopes) {
        ct_var d = ct_scale(ct_add(ct_reciprocal(q), ct_square(e)), 0.5);
        ct_var from[S_INPUTS] = { in[0], in[1], alpha, ct_unsqueeze(e, 1), d, packed[0] };
        theta_bar = ct_apply(slopes_x ? &slopes_x_op : &slopes_op, from, S_INPUTS, attr, bytes);
        noise_bar = ct_output(theta_bar, 1);
        g = ct_output(theta_bar, 2);
        if (slopes_x) X_bar = ct_output(theta_bar, 3);
    }
    ct_no_grad_end(tape);
    ct_var to_value[CT__DENSITY_INPUTS] = { value, theta_bar, X_bar, noise_bar, g, in[0], in[1], r, in[3] };
    return ct_apply(&value_op, to_value, CT__DENSITY_INPUTS, attr, bytes);
}

static void loo_sample(ct_sample *s)
{
    ct__cov_sample(s, false);
    int64_t n = ct_sample_size(s);
    ct_sample_uniform(s, 2, ct_shape1(n), 0.5, 2);
    ct_sample_uniform(s, 3, ct_shape1(n % 2 ? n : 1), 0.3, 1);
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
