/* gp_loo_nlpd:  v = -Σ log p(y_i | the others) = ½ Σ (α_i²/q_i - log q_i) + n/2 log 2π,   α = C⁻¹r,
 *               q_i = (C⁻¹)_ii
 * adjoint:      with P = C⁻¹, e_i = α_i/q_i,  g = P e,  D = diag(½/q_i + ½ e_i²):    r̄ = v̄ g,
 *               C̄ = v̄ (P D P - ½ (g αᵀ + α gᵀ)),  noise_bar = diag C̄;  theta_bar and X_bar: C̄ against the
 *               derivatives of k
 *
 * dα = C⁻¹(dr - dC α) and dq_i = -(C⁻¹ dC C⁻¹)_ii. C̄ is symmetric, so its lower triangle is computed, block
 * by block: each block is rows of P D times columns of P. This takes n³ multiplications and
 * additions after the n³ of the inverse. As in dense.c the forward pass computes the gradient for v̄ = 1, and
 * the backward pass multiplies by v̄. [Rasmussen & Williams 2006, eqs 5.10-5.13; Sundararajan & Keerthi
 * 2001] */
#include "leave_one_out.h"

#include <cotangent/gp/likelihood.h>

#include "density.h"
#include "gp/factor/inverse_diagonal.h"
#include "gp/kernel/prior.h"
#include "gp/model/graph.h"

/* -- the gradient for v̄ = 1 ----------------------------------------------------------------------------- */

enum { FEW = 256 }; /* columns of C̄ at a time; half as many at the diagonal */

typedef struct work {
    ct_call *c;
    const ct__system *s;           /* its C holds P                                              */
    ct_view e, g, d;               /* (n, 1), (n, 1), and (n), the diagonal of D                 */
    ct_view panel, columns, block; /* rows of P D; columns of P, transposed; a block of C̄ */
    ct_view triple;                /* [g α g]                                                    */
    ct_view noise_bar;
    ct__slopes slopes;
} work;

/* The part of C̄[i..end, j..to] on and below the diagonal, given rows i..end of P D. */
static void block_column(const work *w, int64_t i, int64_t end, int64_t j, int64_t to)
{
    ct_call *c = w->c;
    int64_t first = j > i ? j : i, on = j >= i ? to - j : 0; /* rows on the diagonal */
    ct_view block = ct_view_block(w->block, 0, end - first, 0, to - j), square = ct__rows(block, 0, on);
    ct_view left = ct_view_block(w->triple, first, end, 0, 2), right = ct_view_block(w->triple, j, to, 1, 3);
    ct_view columns = ct__rows(w->columns, 0, to - j);
    ct__packed_rows(c, &w->s->C.blocks, j, columns);
    ct_prim_gemm(c, -0.5, left, ct_view_transpose(right), 0, block);
    ct_prim_gemm(c, 1, ct__rows(w->panel, first - i, end - i), ct_view_transpose(columns), 1, block);
    if (on) {
        ct__slopes_add(c, &w->slopes, square, j, j);
        ct_prim_copy(c, ct_view_diagonal(square), ct__rows(w->noise_bar, j, to));
    }
    ct__slopes_add(c, &w->slopes, ct__rows(block, on, end - first), first + on, j);
}

/* Computes rows i..end of P D and of g. */
static void fill_panel(const work *w, int64_t i, int64_t end)
{
    ct_view rows = ct__rows(w->panel, 0, end - i), g = ct__rows(w->g, i, end);
    ct__packed_rows(w->c, &w->s->C.blocks, i, rows);
    ct_prim_gemm(w->c, 1, rows, w->e, 0, g);
    ct_prim_copy(w->c, g, ct_view_block(w->triple, i, end, 0, 1));
    ct_prim_copy(w->c, g, ct_view_block(w->triple, i, end, 2, 3));
    ct_prim_map2(w->c, CT_MAP_mul, rows, w->d, rows);
}

/* Rows of a panel: as even as its size in bytes allows. */
static int64_t panel_rows(int64_t n, ct_dtype dtype)
{
    int64_t most = ct__packed_panel(n, dtype), panels = (n + most - 1) / most;
    return panels ? (n + panels - 1) / panels : 0;
}

/* The gradient, given P; e (n, 1), d (n) */
static void slopes(ct_call *c, const ct__system *s, ct_view e, ct_view d)
{
    ct_dtype dtype = d.dtype;
    int64_t n = ct_view_dim(d, 0), most = panel_rows(n, dtype), few = most < FEW ? most : FEW;
    const work w = { .c = c,
                     .s = s,
                     .e = e,
                     .d = d,
                     .g = ct_view_reshape(ct_result_at(c, ct__bar(CT__RESIDUAL)), ct_shape2(n, 1)),
                     .panel = ct_scratch(c, dtype, ct_shape2(most, n)),
                     .block = ct_scratch(c, dtype, ct_shape2(most, few)),
                     .columns = ct_scratch(c, dtype, ct_shape2(few, n)),
                     .triple = ct_scratch(c, dtype, ct_shape2(n, 3)),
                     .noise_bar = ct_result_at(c, ct__bar(CT__NOISE)),
                     .slopes = { .of = &s->of,
                                 .weight = 1,
                                 .theta_bar = ct_result_at(c, ct__bar(CT__THETA)),
                                 .X_bar = ct__density_X_bar(c) } };
    ct__slopes_clear(c, &w.slopes);
    ct_prim_copy(c, s->alpha, ct__cols(w.triple, 1, 2));
    for (int64_t i = 0, end; i < n; i = end) {
        end = i + most < n ? i + most : n;
        fill_panel(&w, i, end);
        for (int64_t j = 0, to; j < end; j = to) {
            to = j + (j < i ? few : (few + 1) / 2);
            if (to > (j < i ? i : end)) to = j < i ? i : end;
            block_column(&w, i, end, j, to);
        }
    }
}

/* The memory beside the triangle: rows of P D, a block of C̄, columns of P. */
uint64_t ct__gp_loo_bytes(const ct_device *device, int64_t n, int64_t d, ct_dtype dtype)
{
    uint64_t likelihood = ct_gp_bytes_needed(device, n, d, dtype, true);
    if (likelihood > UINT64_MAX / 2) return UINT64_MAX;
    uint64_t rows = (uint64_t)n, most = (uint64_t)panel_rows(n, dtype), few = most < FEW ? most : FEW;
    return likelihood + ct_dtype_size(dtype) * (most * (rows + few) + few * rows);
}

/* -- the value ------------------------------------------------------------------------------------------- */

/* v, of one element, from α, e and q; each (n) is scratch. */
static void take_value(ct_call *c, ct_view alpha, ct_view e, ct_view q, ct_view each, ct_view v)
{
    ct_view logs = ct_scratch(c, q.dtype, ct_view_shape(q));
    ct_prim_map2(c, CT_MAP_mul, alpha, e, each);
    ct_prim_map1(c, CT_MAP_log, NULL, q, logs);
    ct_prim_map2(c, CT_MAP_sub, each, logs, each);
    ct__density_value(c, each, ct_no_view(), v);
}

/* d = ½ (1/q + e²); each (n) is scratch. */
static void take_weights(ct_call *c, ct_view e, ct_view q, ct_view each, ct_view d)
{
    ct_prim_map1(c, CT_MAP_reciprocal, NULL, q, d);
    ct_prim_map1(c, CT_MAP_square, NULL, e, each);
    ct_prim_map2(c, CT_MAP_add, d, each, d);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ 0.5, 0 }, d, d);
}

/* The value in differentiable ops. */
static ct_var composed(const ct_cov_program *program, const ct_var *in)
{
    ct_var r = ct__density_column(in), L = ct__density_factor(program, in);
    const int64_t n = ct_tensor_dim(ct_value(r), -2);
    ct_var one = ct_scalar(r.tape, ct_var_dtype(r), 1);
    ct_var identity = ct_diag_embed(ct_broadcast_to(one, ct_shape1(n)));
    ct_var alpha = ct_squeeze(ct_cholesky_solve(L, r), -1), q = ct_diag(ct_cholesky_solve(L, identity));
    ct_var terms = ct_sub(ct_mul(alpha, ct_div(alpha, q)), ct_log(q));
    return ct_shift(ct_scale(ct_sum(terms, -1, false), 0.5), 0.5 * CT__LOG_2PI * (double)n);
}

/* -- the op ---------------------------------------------------------------------------------------------- */

static ct_shape shape(ct_call *c) { return ct__density_shape(c, false, ct_call_recorded(c)); }

static void member(ct_call *c)
{
    const ct_shape vector = ct_shape1(ct_arg_dim(c, CT__POINTS, 0));
    const ct_dtype dtype = ct_arg(c, CT__THETA).dtype;
    ct_view alpha = ct_scratch(c, dtype, vector), q = ct_scratch(c, dtype, vector);
    ct_view e = ct_scratch(c, dtype, vector), each = ct_scratch(c, dtype, vector);
    const ct__system s = ct__density_system(c, ct_view_unsqueeze(alpha, 1), false, (ct__grid){ 0 });
    if (!ct__system_solve(c, &s, ct_call_recorded(c))) {
        ct__density_fail(c);
        return;
    }
    if (ct_call_recorded(c))
        ct__factor_diagonal(c, &s.C, q);
    else
        ct__inverse_diagonal(c, &s.C, q);
    ct_prim_map2(c, CT_MAP_div, alpha, q, e);
    take_value(c, alpha, e, q, each, ct_result(c));
    ct__density_flag(c);
    if (!ct_call_recorded(c)) return;
    take_weights(c, e, q, each, s.diagonal); /* L's diagonal is no longer needed */
    slopes(c, &s, ct_view_unsqueeze(e, 1), s.diagonal);
}

static void forward(ct_call *c) { ct__density_forward(c, member); }
static void vjp(ct_rule *g) { ct__density_vjp(g, composed); }

const ct_op ct__op_gp_loo_nlpd = { .name = "gp_loo_nlpd",
                                   .n_in = CT__DENSITY_INPUTS,
                                   .shape = shape,
                                   .forward = forward,
                                   .vjp = vjp,
                                   .sample = ct__density_sample };

ct_var ct_gp_loo_nlpd(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    return ct__cov_apply(&ct__op_gp_loo_nlpd, kernel, (ct_var[]){ theta, X, r, noise }, 4);
}

/* -- the row --------------------------------------------------------------------------------------------- */

static uint64_t bytes(const ct_gp *gp, int64_t d, bool fitting)
{
    return fitting ? ct__gp_loo_bytes(gp->device, gp->rows.n, d, gp->rows.dtype) : 0;
}

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    return ct_gp_loo_nlpd(gp->kernel, g->theta, g->X, g->residual, g->variance);
}

const ct__likelihood ct__leave_one_out = { .name = "leave one out",
                                           .is = CT__BY_LEAVE_ONE_OUT,
                                           .holds_level = true,
                                           .bytes = bytes,
                                           .objective = objective };
