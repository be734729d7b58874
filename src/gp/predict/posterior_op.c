/* gp_posterior:  a_i = k_iᵀ α,   e_i = k_iᵀ C⁻¹ k_i = |L⁻¹ k_i|²,   k_i = k(X, x*_i)
 * adjoint:       x̄*_i = Σ_j (ā_i α_j + 2 ē_i (C⁻¹ k_i)_j) ∂k(x*_i, x_j)/∂x*_i
 *                                                             [Rasmussen & Williams 2006, eq. 2.25]
 *
 * The data add a_i to the mean at the point x*_i and reduce its variance by e_i. Each depends on one point
 * only. So, as in dense.c, the forward pass computes ∂a_i/∂x*_i and ∂e_i/∂x*_i if a gradient is requested,
 * and keeps no array of n numbers per point. Points are processed in panels of k_iᵀ. */
#include "posterior_op.h"

#include "gp/factor/inverse_diagonal.h"
#include "gp/factor/place.h"
#include "gp/kernel/cov_call.h"
#include "gp/likelihood/density.h"

/* L is optional. Only the points get gradients. */
enum { THETA, POINTS, X, ALPHA, FACTOR, INPUTS };
enum { TILE_BYTES = 1 << 20 }; /* of k, multiplied by α while in the cache */

/* The number of values; without L only a. They are outputs (m); the slopes of each (m, d), for the rule,
 * follow. */
static int values(int inputs) { return inputs == INPUTS ? 2 : 1; }

/* The grid in a call's attribute. */
static ct__grid grid_in(const ct_cov_program *attribute)
{
    ct__grid grid;
    ct__cov_extra(attribute, &grid, sizeof grid);
    return grid;
}

/* -- solutions of a factor: V = B L⁻ᵀ, or B L⁻¹; adjoint B̄ = V̄ L⁻¹, or V̄ L⁻ᵀ; none in L -- */

typedef struct half {
    ct__grid grid;
    bool trans; /* B L⁻¹ */
} half;

static ct_shape half_shape(ct_call *c) { return ct_arg_shape(c, 1); }

static void half_forward(ct_call *c)
{
    const half *h = ct_attr(c);
    const ct__factor L = ct__factor_of(&h->grid, ct_arg(c, 0), ct_arg_dim(c, 1, 1));
    ct_view B = ct_result(c);
    ct_prim_copy(c, ct_arg(c, 1), B);
    L.in->solve(c, &L, h->trans, 0, B);
}

/* A sweep has no agreement at its end, so a process that failed in it would leave the others waiting in a
 * solve. */
static bool refused(ct_rule *g, const ct__grid *grid)
{
    if (grid->comm)
        ct_tape_fail(ct_rule_tape(g), CT_EUNSUPPORTED,
                     "gp_posterior: over many processes there is no gradient of the covariance and no second "
                     "derivative");
    return grid->comm != NULL;
}

static void half_vjp(ct_rule *g)
{
    const half *h = ct_rule_attr(g);
    if (refused(g, &h->grid)) return;
    ct_in_bar(g, 1, ct__gp_half_solve(&h->grid, ct_in(g, 0), ct_out_bar(g), !h->trans));
}

static const ct_op half_op = {
    .name = "gp_half_solve", .n_in = 2, .shape = half_shape, .forward = half_forward, .vjp = half_vjp
};

ct_var ct__gp_half_solve(const ct__grid *grid, ct_var L, ct_var B, bool trans)
{
    const half h = { *grid, trans };
    return ct_apply(&half_op, (ct_var[]){ L, B }, 2, &h, sizeof h);
}

ct_var ct__gp_solve(const ct__grid *grid, ct_var L, ct_var B)
{
    return ct__gp_half_solve(grid, L, ct__gp_half_solve(grid, L, B, false), true);
}

/* -- one panel of points --------------------------------------------------------------------------------- */

typedef struct panel {
    int64_t first, end;
    ct_view points, k; /* (m, d), (m, n) */
} panel;

/* The panel's part of output k. */
static ct_view part(ct_call *c, const panel *p, int k)
{
    return ct__rows(ct_result_at(c, k), p->first, p->end);
}

static int64_t tile_rows(int64_t n, ct_dtype dtype)
{
    return ct__rows_within(TILE_BYTES, n, dtype, 32, INT64_MAX);
}

/* k and a = k α, tile by tile */
static void cross(ct_call *c, const panel *p)
{
    int64_t m = p->end - p->first, most = tile_rows(ct_view_dim(p->k, 1), p->k.dtype);
    ct_view a = ct_view_unsqueeze(part(c, p, 0), 1);
    for (int64_t i = 0; i < m; i += most) {
        int64_t end = i + most < m ? i + most : m;
        ct_view k = ct__rows(p->k, i, end);
        ct_prim_covariance(c, ct_attr(c), ct_arg(c, THETA), ct__rows(p->points, i, end), ct_arg(c, X), false,
                           k);
        ct_prim_gemm(c, 1, k, ct_arg(c, ALPHA), 0, ct__rows(a, i, end));
    }
}

/* Row i of the slopes at output k is Σ_j bar_ij ∂k(x*_i, x_j)/∂x*_i, times `scale`. */
static void contract(ct_call *c, const panel *p, ct_view bar, double scale, int k)
{
    ct_cov_bar K_bar = { .M = bar, .alpha = scale };
    ct_view slope = part(c, p, k);
    ct_prim_fill(c, slope, 0);
    ct_prim_covariance_bar(c, ct_attr(c), ct_arg(c, THETA), p->points, ct_arg(c, X), &K_bar, true,
                           ct_no_view(), slope);
}

static void run_panel(ct_call *c, const panel *p)
{
    const bool slopes = ct_call_recorded(c);
    const int n_values = values(ct_args(c));
    cross(c, p);
    if (slopes) {
        ct_view each = ct_view_broadcast(ct_view_transpose(ct_arg(c, ALPHA)), ct_view_shape(p->k));
        contract(c, p, each, 1, n_values);
    }
    if (n_values == 1) return;
    const ct__grid grid = grid_in(ct_attr(c));
    const ct__factor L = ct__factor_of(&grid, ct_arg(c, FACTOR), ct_view_dim(p->k, 1));
    ct__factor_solve(c, &L, 0, p->k);
    ct__row_squares(c, p->k, part(c, p, 1));
    if (!slopes) return;
    ct__factor_solve_trans(c, &L, 0, p->k);
    contract(c, p, p->k, 2, n_values + 1);
}

/* -- the op ---------------------------------------------------------------------------------------------- */

static ct_shape shape(ct_call *c)
{
    const int n_values = values(ct_args(c));
    ct_dtype dtype = ct_arg(c, POINTS).dtype;
    ct_shape each = ct_shape1(ct_arg_dim(c, POINTS, 0));
    if (n_values == 2) ct_more_out(c, 1, dtype, each);
    for (int k = 0; ct_call_recorded(c) && k < n_values; k++)
        ct_save_for_vjp(c, n_values + k, dtype, ct_arg_shape(c, POINTS));
    return each;
}

static void forward(ct_call *c)
{
    int64_t n = ct_arg_dim(c, X, 0), m = ct_arg_dim(c, POINTS, 0);
    ct_view points = ct_arg(c, POINTS);
    int64_t most = ct_args(c) == INPUTS ? ct__packed_panel(n, points.dtype) : tile_rows(n, points.dtype);
    if (most > m) most = m;
    ct_view k = ct_scratch(c, points.dtype, ct_shape2(most, n));
    for (int64_t i = 0, end; i < m && ct_call_ok(c); i = end) {
        end = i + most < m ? i + most : m;
        run_panel(c, &(panel){ i, end, ct__rows(points, i, end), ct__rows(k, 0, end - i) });
    }
}

/* The rule in differentiable ops. K̄ goes through the recorded rule of the covariance, at copies of the
 * points, where the inner sweep ends. */
static void vjp_recorded(ct_rule *g)
{
    const ct_cov_program *program = ct_rule_attr(g);
    const ct__grid grid = grid_in(program);
    if (refused(g, &grid)) return;
    ct_var at = ct_scale(ct_in(g, POINTS), 1), bar;
    ct_var K = ct_apply(&ct_op_cov, (ct_var[]){ ct_in(g, THETA), at, ct_in(g, X) }, 3, program,
                        (size_t)program->bytes);
    ct_var K_bar = ct_mul(ct_unsqueeze(ct_out_bar(g), 1), ct_t(ct_in(g, ALPHA)));
    if (ct_rule_args(g) == INPUTS) {
        ct_var e_bar = ct_unsqueeze(ct_out_bar_at(g, 1), 1);
        K_bar = ct_add(K_bar, ct_mul(ct_scale(e_bar, 2), ct__gp_solve(&grid, ct_in(g, FACTOR), K)));
    }
    ct_grad(K, K_bar, &at, &bar, 1, CT_GRAD_RECORD);
    ct_in_bar(g, POINTS, bar);
}

static void vjp(ct_rule *g)
{
    const int n_values = values(ct_rule_args(g));
    if (!ct_wants(g, POINTS)) return;
    if (ct_recording(g)) {
        vjp_recorded(g);
        return;
    }
    for (int k = 0; k < n_values; k++)
        if (ct_has_out_bar(g, k))
            ct_in_bar(g, POINTS,
                      ct__finite(ct_mul(ct_unsqueeze(ct_out_bar_at(g, k), 1), ct_out_at(g, n_values + k)),
                                 "element %lld of the gradient in Xs"));
}

static const ct_op posterior = {
    .name = "gp_posterior", .n_in = -1, .shape = shape, .forward = forward, .vjp = vjp
};

ct_var ct__gp_posterior_at(const ct_cov_program *program, const ct__grid *grid, const ct_var in[5],
                           bool variance)
{
    return ct__cov_apply_with(&posterior, program, grid, sizeof *grid, in, variance ? INPUTS : FACTOR);
}
