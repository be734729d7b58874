/* gp_factor:  C = k(X, X) + diag(noise) = L Lᵀ,  α = C⁻¹r,  and with C̄ = ½ (C⁻¹ - ααᵀ)
 *             theta_bar_p = Σ_ij C̄_ij ∂k_ij/∂theta_p,   X_bar_i = 2 Σ_j C̄_ij ∂k(x_i, x_j)/∂x_i
 *
 * One packed array (packed.h) is C, then L, then C⁻¹; k and its derivatives are computed tile by tile, once
 * for C and once for the contraction. Blocks of L, then of W = L⁻¹, then of C⁻¹ = WᵀW:
 *     L11 L11ᵀ = C11,  L21 = C21 L11⁻ᵀ,  L22 L22ᵀ = C22 - L21 L21ᵀ                             n³/3 operations
 *     W11 = L11⁻¹,     W22 = L22⁻¹,      W21 = -W22 L21 W11
 *     W11ᵀW11 + W21ᵀW21,                 W22ᵀ W21,          W22ᵀW22                          2n³/3
 * [Rasmussen & Williams 2006, eq. 5.9] */
#include "packed.h"

#include <float.h>
#include <math.h>

#include <cotangent/covariance.h>

#include "gp/model/model.h"

/* Rows up to which the scratch is a square: one block instead of three. */
enum { SQUARE = 256 };

typedef enum goal { VALUE, FACTOR, INVERSE, SLOPES, SLOPES_X } goal;

/* The array is an output. */
static bool kept(goal depth) { return depth == FACTOR || depth == INVERSE; }

/* -- shapes ---------------------------------------------------------------------------------------------- */

void ct__gp_check_inputs(ct_call *c, const ct_cov_program *program)
{
    int64_t n = ct_arg_dim(c, 1, 0), m = ct_arg_dim(c, 3, -1);
    for (int i = 0; i < 4; i++)
        ct_require(c, ct_tensor_dtype(ct_arg(c, i)) != CT_I64, CT_EDTYPE, "inputs must be f64 or f32");
    ct_require(c, ct_arg_ndim(c, 0) == 1 && ct_arg_dim(c, 0, 0) == program->n_params, CT_ESHAPE,
               "theta must be a vector of the kernel's %d parameters", (int)program->n_params);
    ct_require(c, ct_arg_ndim(c, 1) == 2 && ct_arg_dim(c, 1, 1) == program->input_dims, CT_ESHAPE,
               "the points must be a matrix of %d columns, as the kernel is bound to",
               (int)program->input_dims);
    ct_require(c, ct_arg_ndim(c, 2) == 2 && ct_arg_dim(c, 2, 0) == n && ct_arg_dim(c, 2, 1) == 1, CT_ESHAPE,
               "the residual must have %lld elements", (long long)n);
    ct_require(c, ct_arg_ndim(c, 3) <= 1 && (m == 1 || m == n), CT_ESHAPE,
               "the noise must have 1 or %lld elements", (long long)n);
}

static ct_shape shape(ct_call *c, goal depth)
{
    const ct_cov_program *program = ct_attr(c);
    int64_t n = ct_arg_dim(c, 1, 0);
    if (!ct_require(c, program != NULL, CT_EINVAL, "needs a kernel's program as its attribute"))
        return ct_shape0();
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, 0));
    ct__gp_check_inputs(c, program);
    ct_more_out(c, 1, dtype, ct_shape1(n));
    if (kept(depth)) ct_more_out(c, 2, dtype, ct__packed_shape(n));
    if (depth >= SLOPES) ct_more_out(c, 2, dtype, ct_shape1(n + program->n_params));
    if (depth == SLOPES_X) ct_more_out(c, 3, dtype, ct_arg_shape(c, 1));
    return ct_shape2(n, 1);
}

/* -- pivots ---------------------------------------------------------------------------------------------- */

double ct__gp_rounding(ct_dtype dtype) { return 16 * (dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON); }

/* As the sweep judges them, on any device: L_ii² - tolerance C_ii is a matrix that potrf refuses. alpha_i
 * becomes NaN then. diagonal (n, 1), that of C, is written to; L (n), alpha (n, 1). */
static void judge_pivots(ct_call *c, double tolerance, ct_tensor *diagonal, ct_tensor *L, ct_tensor *alpha)
{
    ct_tensor *zero = ct_scratch(c, ct_tensor_dtype(L), ct_shape2(1, 1));
    ct_tensor *column = ct_tensor_unsqueeze(L, 1), *pivot = column ? ct_tensor_unsqueeze(column, 2) : NULL;
    ct_tensor *left = ct_tensor_unsqueeze(diagonal, 2), *each = ct_tensor_unsqueeze(alpha, 2);
    if (ct_require(c, zero && pivot && left && each, CT_ENOMEM, "no memory for views")) {
        ct_prim_fill(c, zero, 0);
        ct_prim_gemm(c, 1, pivot, pivot, -tolerance, left);
        ct_prim_potrf(c, left);
        ct_prim_gemm(c, 1, left, zero, 1, each);
    }
    ct_tensor *all[] = { column, pivot, left, each };
    for (int i = 0; i < 4; i++) ct_release(all[i]);
}

/* -- steps ----------------------------------------------------------------------------------------------- */

typedef struct parts {
    ct__packed C;
    ct_tensor *rectangle; /* what C is in */
    ct_tensor *X1, *X2, *alpha1, *alpha2;
} parts;

static void build(ct_call *c, const parts *p)
{
    const ct_cov_program *k = ct_attr(c);
    const ct_tensor *theta = ct_arg(c, 0);
    ct_prim_covariance_lower(c, k, theta, p->X1, p->C.A11);
    if (!p->C.n2) return;
    ct_prim_covariance(c, k, theta, p->X1, p->X2, p->C.A21t);
    ct_prim_covariance_lower(c, k, theta, p->X2, p->C.A22);
}

static void add_noise(ct_call *c, const ct__packed *C)
{
    ct_tensor *one = ct_scratch(c, ct_tensor_dtype(ct_arg(c, 0)), ct_shape2(1, 1));
    ct_tensor *noise = ct_borrow(c, ct_tensor_broadcast(ct_arg(c, 3), ct_shape1(C->n1 + C->n2)));
    if (!one || !noise) return;
    ct_prim_fill(c, one, 1);
    ct__packed_diagonal(c, C, noise, one);
}

/* α = L⁻¹ r, then L⁻ᵀ of that */
static void solve(ct_call *c, const parts *p)
{
    const ct__packed *L = &p->C;
    ct_prim_trsm(c, CT_LOWER, 1, L->A11, p->alpha1);
    ct_prim_gemm(c, -1, L->A21, p->alpha1, 1, p->alpha2);
    ct_prim_trsm(c, CT_LOWER, 1, L->A22, p->alpha2);
}

static void solve_back(ct_call *c, const parts *p)
{
    const ct__packed *L = &p->C;
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L->A22, p->alpha2);
    ct_prim_gemm(c, -1, L->A21t, p->alpha2, 1, p->alpha1);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L->A11, p->alpha1);
}

/* From C⁻¹: the diagonal blocks, then the one beside them, which stands for two. */
static void contract(ct_call *c, const parts *p, ct_tensor *theta_bar, ct_tensor *X_bar)
{
    const ct_cov_program *k = ct_attr(c);
    const ct_tensor *theta = ct_arg(c, 0);
    int64_t n1 = p->C.n1, n = n1 + p->C.n2;
    ct_tensor *u = ct_borrow(c, ct_tensor_squeeze(p->alpha1, 1));
    ct_tensor *v = ct_borrow(c, ct_tensor_squeeze(p->alpha2, 1));
    ct_tensor *X1_bar = X_bar ? ct_borrow(c, ct_tensor_slice(X_bar, 0, 0, n1, 1)) : NULL;
    ct_tensor *X2_bar = X_bar ? ct_borrow(c, ct_tensor_slice(X_bar, 0, n1, n, 1)) : NULL;
    if (!u || !v || (X_bar && (!X1_bar || !X2_bar))) return;
    ct_prim_fill(c, theta_bar, 0);
    if (X_bar) ct_prim_fill(c, X_bar, 0);
    ct_cov_bar bar11 = { .M = p->C.A11, .u = u, .v = u, .alpha = 0.5, .lower = true };
    ct_cov_bar bar22 = { .M = p->C.A22, .u = v, .v = v, .alpha = 0.5, .lower = true };
    ct_cov_bar bar12 = { .M = p->C.A21t, .u = u, .v = v, .alpha = 1 };
    ct_cov_bar bar21 = { .M = p->C.A21, .u = v, .v = u, .alpha = 1 };
    ct_prim_covariance_bar_add(c, k, theta, p->X1, NULL, &bar11, theta_bar, X1_bar);
    if (!p->C.n2) return;
    ct_prim_covariance_bar_add(c, k, theta, p->X1, p->X2, &bar12, theta_bar, X1_bar);
    if (X_bar) ct_prim_covariance_bar_add(c, k, theta, p->X2, p->X1, &bar21, NULL, X2_bar);
    ct_prim_covariance_bar_add(c, k, theta, p->X2, NULL, &bar22, theta_bar, X2_bar);
}

/* -- the ops --------------------------------------------------------------------------------------------- */

static void fill_outputs(ct_call *c, goal depth, double value)
{
    for (int k = 0; k <= (depth == VALUE ? 1 : depth == SLOPES_X ? 3 : 2); k++)
        if (ct_result_at(c, k)) ct_prim_fill(c, ct_result_at(c, k), value);
}

static void run(ct_call *c, const parts *p, goal depth)
{
    bool failed_before = ct_failure_known(c);
    build(c, p);
    add_noise(c, &p->C);
    bool inverted = depth >= INVERSE;
    int64_t n = p->C.n1 + p->C.n2;
    double tolerance = ct__gp_rounding(ct_tensor_dtype(ct_arg(c, 0)));
    if (!ct_prim_packed_sweep(c, n, inverted, tolerance, p->rectangle, ct_result(c), ct_result_at(c, 1))) {
        ct_tensor *before = ct_scratch(c, ct_tensor_dtype(ct_arg(c, 0)), ct_shape2(n, 1));
        ct_tensor *line = before ? ct_borrow(c, ct_tensor_squeeze(before, 1)) : NULL;
        if (!line) return;
        ct__packed_diagonal(c, &p->C, line, NULL);
        ct__packed_factor(c, &p->C);
        ct__packed_diagonal(c, &p->C, ct_result_at(c, 1), NULL);
        solve(c, p);
        solve_back(c, p);
        judge_pivots(c, tolerance, before, ct_result_at(c, 1), ct_result(c));
        if (inverted) ct__packed_invert(c, &p->C);
    } else if (!inverted) {
        solve_back(c, p);
    }
    if (!failed_before && ct_failure_known(c)) {
        fill_outputs(c, depth, NAN);
        return;
    }
    if (depth < SLOPES) return;
    ct_tensor *slopes = ct_result_at(c, 2);
    ct_tensor *inverse_diagonal = ct_borrow(c, ct_tensor_slice(slopes, 0, 0, n, 1));
    ct_tensor *theta_bar = ct_borrow(c, ct_tensor_slice(slopes, 0, n, ct_tensor_dim(slopes, 0), 1));
    if (!inverse_diagonal || !theta_bar) return;
    ct__packed_diagonal(c, &p->C, inverse_diagonal, NULL);
    contract(c, p, theta_bar, depth == SLOPES_X ? ct_result_at(c, 3) : NULL);
}

static void forward(ct_call *c, goal depth)
{
    int64_t n = ct_arg_dim(c, 1, 0);
    bool square = !kept(depth) && n <= SQUARE;
    int64_t n1 = square ? n : n - n / 2;
    ct_tensor *alpha = ct_result(c), *rectangle = kept(depth) ? ct_result_at(c, 2) : NULL;
    for (int k = 1; k <= (depth == VALUE ? 1 : depth == SLOPES_X ? 3 : 2); k++)
        if (!ct_result_at(c, k)) return;
    if (!rectangle)
        rectangle =
            ct_scratch(c, ct_tensor_dtype(ct_arg(c, 0)), square ? ct_shape2(n, n) : ct__packed_shape(n));
    if (!alpha || !rectangle) return;
    ct_prim_copy(c, ct_arg(c, 2), alpha);
    parts p = { .rectangle = rectangle };
    p.X1 = ct_borrow(c, ct_tensor_slice(ct_arg(c, 1), 0, 0, n1, 1));
    p.X2 = ct_borrow(c, ct_tensor_slice(ct_arg(c, 1), 0, n1, n, 1));
    p.alpha1 = ct_borrow(c, ct_tensor_slice(alpha, 0, 0, n1, 1));
    p.alpha2 = ct_borrow(c, ct_tensor_slice(alpha, 0, n1, n, 1));
    if (!p.X1 || !p.X2 || !p.alpha1 || !p.alpha2) return;
    bool open = square ? ct__packed_open_square(rectangle, n, &p.C) : ct__packed_open(rectangle, n, &p.C);
    if (!ct_require(c, open, CT_ENOMEM, "no memory for views")) return;
    run(c, &p, depth);
    ct__packed_close(&p.C);
}

#define OP(name_, depth)                                                                    \
    static ct_shape name_##_shape(ct_call *c) { return shape(c, depth); }                   \
    static void name_##_forward(ct_call *c) { forward(c, depth); }                          \
    const ct_op ct__op_gp_##name_ = {                                                       \
        .name = "gp_" #name_, .n_in = 4, .shape = name_##_shape, .forward = name_##_forward \
    };
OP(value, VALUE)
OP(factor, FACTOR)
OP(inverse, INVERSE)
OP(slopes, SLOPES)
OP(slopes_x, SLOPES_X)
