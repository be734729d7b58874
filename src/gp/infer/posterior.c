/* gp_posterior:  a_i = k_iᵀ α,   e_i = k_iᵀ C⁻¹ k_i = |L⁻¹ k_i|²,   k_i = k(X, x*_i)
 * adjoint:       x̄*_i = Σ_j (ā_i α_j + 2 ē_i (C⁻¹ k_i)_j) ∂k(x*_i, x_j)/∂x*_i           [Rasmussen & Williams 2006, eq. 2.25]
 *
 * a is what the data add to the mean at the points x*, e what they take from the variance. Both are functions
 * of one point each, so that where a gradient is wanted the forward pass computes ∂a_i/∂x*_i and ∂e_i/∂x*_i,
 * as nlml.c does, and keeps nothing of n numbers a point: points go through in panels of k_iᵀ. */
#include <cotangent/covariance.h>

#include "density.h"
#include "gp/factor/packed.h"
#include "gp/kernel/cov.h"
#include "gp/model/model.h"

enum { THETA, POINTS, X, ALPHA, FACTOR, INPUTS };
enum { MEAN, TAKEN, MEAN_SLOPE, TAKEN_SLOPE }; /* outputs: a, e (m); their slopes (m, d) */
enum { TILE_BYTES = 1 << 20 };                 /* of k, multiplied by α while it is in the cache */

typedef enum goal { MEAN_ALONE, VARIANCE, SLOPES } goal;

/* -- values and slopes of one panel of points ------------------------------------------------------------ */

typedef struct panel {
    ct_tensor *points, *k, *out[4]; /* (m, d), (m, n), the outputs' parts */
} panel;

static int64_t tile_rows(int64_t n, ct_dtype dtype)
{
    int64_t rows = n > 0 ? TILE_BYTES / (int64_t)ct_dtype_size(dtype) / n : 32;
    return rows < 32 ? 32 : rows;
}

/* k and a = k α, tile by tile */
static void cross(ct_call *c, const panel *p)
{
    int64_t m = ct_tensor_dim(p->points, 0), n = ct_tensor_dim(p->k, 1);
    int64_t most = tile_rows(n, ct_tensor_dtype(p->k));
    for (int64_t i = 0; i < m; i += most) {
        int64_t end = i + most < m ? i + most : m;
        ct_tensor *points = ct_tensor_slice(p->points, 0, i, end, 1);
        ct_tensor *k = ct_tensor_slice(p->k, 0, i, end, 1), *a = ct_tensor_slice(p->out[MEAN], 0, i, end, 1);
        ct_tensor *column = a ? ct_tensor_unsqueeze(a, 1) : NULL;
        if (ct_require(c, points && k && column, CT_ENOMEM, "no memory for views")) {
            ct_prim_covariance(c, ct_attr(c), ct_arg(c, THETA), points, ct_arg(c, X), k);
            ct_prim_gemm(c, 1, k, ct_arg(c, ALPHA), 0, column);
        }
        ct_release(points);
        ct_release(k);
        ct_release(a);
        ct_release(column);
    }
}

/* Row i of `slope` is Σ_j bar_ij ∂k(x*_i, x_j)/∂x*_i, times `scale`. */
static void contract(ct_call *c, const panel *p, const ct_tensor *bar, double scale, ct_tensor *slope)
{
    ct_cov_bar K_bar = { .M = bar, .alpha = scale };
    ct_prim_fill(c, slope, 0);
    ct_prim_covariance_bar_add(c, ct_attr(c), ct_arg(c, THETA), p->points, ct_arg(c, X), &K_bar, NULL, slope);
}

static void run_panel(ct_call *c, const panel *p, const ct__packed *L, goal depth)
{
    cross(c, p);
    if (depth == MEAN_ALONE) return;
    if (depth == SLOPES) {
        ct_tensor *line = ct_tensor_transpose(ct_arg(c, ALPHA));
        ct_tensor *each = line ? ct_tensor_broadcast(line, ct_tensor_shape(p->k)) : NULL;
        if (ct_require(c, each != NULL, CT_ENOMEM, "no memory for views"))
            contract(c, p, each, 1, p->out[MEAN_SLOPE]);
        ct_release(line);
        ct_release(each);
    }
    ct__packed_solve(c, L, 0, p->k);
    ct__row_squares(c, p->k, p->out[TAKEN]);
    if (depth < SLOPES) return;
    ct__packed_solve_trans(c, L, p->k);
    contract(c, p, p->k, 2, p->out[TAKEN_SLOPE]);
}

/* -- all points ------------------------------------------------------------------------------------------ */

static int outputs(goal depth) { return depth == SLOPES ? 4 : depth == VARIANCE ? 2 : 1; }

static ct_shape shape(ct_call *c, goal depth)
{
    const ct_cov_program *program = ct_attr(c);
    int64_t n = ct_arg_dim(c, X, 0), m = ct_arg_dim(c, POINTS, 0);
    if (!ct_require(c, program != NULL, CT_EINVAL, "needs a kernel's program as its attribute"))
        return ct_shape0();
    ct_require(c, ct_arg_ndim(c, POINTS) == 2 && ct_arg_dim(c, POINTS, 1) == program->input_dims, CT_ESHAPE,
               "the points must be a matrix of %d columns, as in training", (int)program->input_dims);
    ct_require(c,
               ct_shape_equal(ct_arg_shape(c, ALPHA), ct_shape2(n, 1)) &&
                   ct_shape_equal(ct_arg_shape(c, FACTOR), ct__packed_shape(n)),
               CT_ESHAPE, "the packed factor and its solution do not fit %lld points", (long long)n);
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, POINTS));
    for (int k = 1; k < outputs(depth); k++)
        ct_more_out(c, k, dtype, k < MEAN_SLOPE ? ct_shape1(m) : ct_arg_shape(c, POINTS));
    return ct_shape1(m);
}

static void forward(ct_call *c, goal depth)
{
    int64_t n = ct_arg_dim(c, X, 0), m = ct_arg_dim(c, POINTS, 0);
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, POINTS));
    int64_t most = depth == MEAN_ALONE ? tile_rows(n, dtype) : ct__packed_panel(n, dtype);
    if (most > m) most = m;
    ct_tensor *k = ct_scratch(c, dtype, ct_shape2(most, n));
    for (int i = 0; i < outputs(depth); i++)
        if (!ct_result_at(c, i)) return;
    ct__packed L;
    if (!k || !ct_require(c, ct__packed_open(ct_arg(c, FACTOR), n, &L), CT_ENOMEM, "no memory for views"))
        return;
    for (int64_t i = 0; i < m; i += most) {
        int64_t end = i + most < m ? i + most : m;
        panel p = { .points = ct_tensor_slice(ct_arg(c, POINTS), 0, i, end, 1),
                    .k = ct_tensor_slice(k, 0, 0, end - i, 1) };
        bool good = p.points && p.k;
        for (int j = 0; j < outputs(depth); j++)
            good &= (p.out[j] = ct_tensor_slice(ct_result_at(c, j), 0, i, end, 1)) != NULL;
        if (ct_require(c, good, CT_ENOMEM, "no memory for views")) run_panel(c, &p, &L, depth);
        ct_release(p.points);
        ct_release(p.k);
        for (int j = 0; j < 4; j++) ct_release(p.out[j]);
    }
    ct__packed_close(&L);
}

#define OP(name_, depth)                                                                         \
    static ct_shape name_##_shape(ct_call *c) { return shape(c, depth); }                        \
    static void name_##_forward(ct_call *c) { forward(c, depth); }                               \
    static const ct_op name_##_op = {                                                            \
        .name = "gp_" #name_, .n_in = INPUTS, .shape = name_##_shape, .forward = name_##_forward \
    };
OP(mean, MEAN_ALONE)
OP(moments, VARIANCE)
OP(moments_slopes, SLOPES)

/* -- the op with its rule -------------------------------------------------------------------------------- */

/* Inputs: the four outputs above as constants, then theta, the points, ... */
enum { GIVEN = 4 };

static ct_shape given_shape(ct_call *c)
{
    ct_more_out(c, TAKEN, ct_tensor_dtype(ct_arg(c, TAKEN)), ct_arg_shape(c, TAKEN));
    return ct_arg_shape(c, MEAN);
}

static void given_forward(ct_call *c)
{
    for (int k = 0; k < 2; k++) ct_prim_copy(c, ct_arg(c, k), ct_result_at(c, k));
}

/* In differentiable ops: K̄ through the recorded rule of the covariance, at points of its own, so that the
 * inner sweep ends there. */
static void vjp_recorded(ct_vjp *g)
{
    const ct_cov_program *program = ct_vjp_attr(g);
    ct_var at = ct_scale(ct_in(g, GIVEN + POINTS), 1), bar;
    ct_var K = ct_apply(&ct_op_cov, (ct_var[]){ ct_in(g, GIVEN + THETA), at, ct_in(g, GIVEN + X) }, 3,
                        program, (size_t)program->bytes);
    ct_var solved =
        ct_apply(&ct__op_packed_solve_both, (ct_var[]){ ct_in(g, GIVEN + FACTOR), K }, 2, NULL, 0);
    ct_var a_bar = ct_unsqueeze(ct_out_bar_at(g, MEAN), 1), e_bar = ct_unsqueeze(ct_out_bar_at(g, TAKEN), 1);
    ct_var K_bar = ct_add(ct_mul(a_bar, ct_t(ct_in(g, GIVEN + ALPHA))), ct_mul(ct_scale(e_bar, 2), solved));
    ct_grad(K, K_bar, &at, &bar, 1, CT_GRAD_RECORD);
    ct_in_bar(g, GIVEN + POINTS, bar);
}

static void given_vjp(ct_vjp *g)
{
    if (!ct_wants(g, GIVEN + POINTS)) return;
    if (ct_recording(g)) {
        vjp_recorded(g);
        return;
    }
    for (int k = 0; k < 2; k++)
        if (ct_has_out_bar(g, k))
            ct_in_bar(g, GIVEN + POINTS,
                      ct__finite(ct_mul(ct_unsqueeze(ct_out_bar_at(g, k), 1), ct_in(g, MEAN_SLOPE + k)),
                                 "element %lld of the gradient in Xs"));
}

static const ct_op given_op = { .name = "gp_posterior",
                                .n_in = GIVEN + INPUTS,
                                .shape = given_shape,
                                .forward = given_forward,
                                .vjp = given_vjp };

ct_var ct__gp_moments_at(const ct_cov_program *program, const ct_var in[5], bool variance)
{
    ct_tape *tape = in[POINTS].tape;
    size_t bytes = (size_t)program->bytes;
    bool slopes = ct_grad_enabled(tape) && ct_var_needs_grad(in[POINTS]);
    const ct_op *op = slopes ? &moments_slopes_op : variance ? &moments_op : &mean_op;
    ct_no_grad_begin(tape);
    ct_var first = ct_apply(op, in, INPUTS, program, bytes);
    ct_no_grad_end(tape);
    if (!slopes) return first;
    ct_var all[GIVEN + INPUTS];
    for (int k = 0; k < GIVEN; k++) all[k] = ct_output(first, k);
    for (int k = 0; k < INPUTS; k++) all[GIVEN + k] = in[k];
    return ct_apply(&given_op, all, GIVEN + INPUTS, program, bytes);
}
