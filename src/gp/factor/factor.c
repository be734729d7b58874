/* One packed array (packed.h) is C, then L, then C⁻¹. k and its derivatives are computed tile by tile, once
 * for C and once for the contraction. Blocks of L, then of W = L⁻¹, then of C⁻¹ = WᵀW:
 *     L11 L11ᵀ = C11,  L21 = C21 L11⁻ᵀ,  L22 L22ᵀ = C22 - L21 L21ᵀ                           n³/3 operations
 *     W11 = L11⁻¹,     W22 = L22⁻¹,      W21 = -W22 L21 W11
 *     W11ᵀW11 + W21ᵀW21,                 W22ᵀ W21,          W22ᵀW22                        2n³/3
 * [Rasmussen & Williams 2006, eq. 5.9] */
#include "factor.h"

#include <float.h>

/* Rows up to which the matrix may be a square: one block instead of three. */
enum { SQUARE = 256 };

ct__system ct__system_of(ct_call *c, const ct_cov_program *program, const ct_view in[4], ct_view alpha,
                         bool square)
{
    int64_t n = ct_view_dim(in[1], 0);
    ct_dtype dtype = in[1].dtype;
    square = square && n <= SQUARE;
    ct__system s = { .program = program, .theta = in[0], .X = in[1], .noise = in[3], .alpha = alpha };
    s.matrix = ct_scratch(c, dtype, square ? ct_shape2(n, n) : ct__packed_shape(n));
    s.C = square ? ct__packed_of_square(s.matrix, n) : ct__packed_of(s.matrix, n);
    s.diagonal = ct_scratch(c, dtype, ct_shape1(n));
    ct_prim_copy(c, in[2], ct_view_reshape(alpha, ct_view_shape(in[2])));
    return s;
}

/* The two parts of n rows, as C's blocks divide them. */
typedef struct halves {
    ct_view one, two;
} halves;

static halves split(const ct__system *s, ct_view v)
{
    int64_t n1 = s->C.n1, n = n1 + s->C.n2;
    return (halves){ ct__rows(v, 0, n1), ct__rows(v, n1, n) };
}

/* -- pivots ---------------------------------------------------------------------------------------------- */

double ct__gp_rounding(ct_dtype dtype) { return 16 * (dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON); }

void ct__judge_pivots(ct_call *c, ct_view C_diagonal, ct_view L_diagonal, ct_view alpha)
{
    const double tolerance[2] = { ct__gp_rounding(C_diagonal.dtype), 0 };
    ct_view pivot = ct_scratch(c, L_diagonal.dtype, ct_view_shape(L_diagonal)), excess = C_diagonal;
    ct_prim_map1(c, CT_MAP_square, NULL, L_diagonal, pivot);
    ct_prim_map1(c, CT_MAP_scale, tolerance, C_diagonal, excess);
    ct_prim_map2(c, CT_MAP_sub, pivot, excess, excess);
    ct_prim_flag(c, CT_POSITIVE, ct_view_unsqueeze(excess, 1), "leading minor %lld",
                 "is not positive to working precision: add to the diagonal", alpha);
}

/* -- steps ----------------------------------------------------------------------------------------------- */

static void build(ct_call *c, const ct__system *s)
{
    halves X = split(s, s->X);
    ct_prim_covariance_lower(c, s->program, s->theta, X.one, s->C.A11);
    if (s->C.n2) {
        ct_prim_covariance(c, s->program, s->theta, X.one, X.two, s->C.A21t);
        ct_prim_covariance_lower(c, s->program, s->theta, X.two, s->C.A22);
    }
    ct__packed_add_diagonal(c, &s->C, s->noise);
}

/* alpha = L⁻¹ r, then L⁻ᵀ of that */
static void solve(ct_call *c, const ct__system *s)
{
    halves alpha = split(s, s->alpha);
    ct_prim_trsm(c, CT_LOWER, 1, s->C.A11, alpha.one);
    ct_prim_gemm(c, -1, s->C.A21, alpha.one, 1, alpha.two);
    ct_prim_trsm(c, CT_LOWER, 1, s->C.A22, alpha.two);
}

static void solve_back(ct_call *c, const ct__system *s)
{
    halves alpha = split(s, s->alpha);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, s->C.A22, alpha.two);
    ct_prim_gemm(c, -1, s->C.A21t, alpha.two, 1, alpha.one);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, s->C.A11, alpha.one);
}

bool ct__system_solve(ct_call *c, const ct__system *s, bool inverse)
{
    bool failed_before = ct_failure_known(c);
    int64_t n = s->C.n1 + s->C.n2;
    double tolerance = ct__gp_rounding(s->matrix.dtype);
    build(c, s);
    if (!ct_prim_packed_sweep(c, n, inverse, tolerance, s->matrix, s->alpha, s->diagonal)) {
        ct_view before = ct_scratch(c, s->matrix.dtype, ct_shape1(n));
        ct__packed_diagonal(c, &s->C, before);
        ct__packed_factor(c, &s->C);
        ct__packed_diagonal(c, &s->C, s->diagonal);
        solve(c, s);
        solve_back(c, s);
        ct__judge_pivots(c, before, s->diagonal, s->alpha);
        if (inverse) ct__packed_invert(c, &s->C);
    } else if (!inverse) {
        solve_back(c, s);
    }
    return ct_call_fine(c) && (failed_before || !ct_failure_known(c));
}

/* The blocks on the diagonal, and the one beside them, which stands for two. */
void ct__system_contract(ct_call *c, const ct__system *s, ct_view theta_bar, ct_view X_bar)
{
    const ct_cov_program *k = s->program;
    const ct__packed *C = &s->C;
    const ct_view none = ct_no_view();
    halves X = split(s, s->X), x_bar = split(s, X_bar), u = split(s, ct_view_squeeze(s->alpha, 1));
    ct_cov_bar bar11 = { .M = C->A11, .u = u.one, .v = u.one, .alpha = 0.5, .lower = true };
    ct_cov_bar bar22 = { .M = C->A22, .u = u.two, .v = u.two, .alpha = 0.5, .lower = true };
    ct_cov_bar bar12 = { .M = C->A21t, .u = u.one, .v = u.two, .alpha = 1 };
    ct_cov_bar bar21 = { .M = C->A21, .u = u.two, .v = u.one, .alpha = 1 };
    ct_prim_fill(c, theta_bar, 0);
    if (ct_is_view(X_bar)) ct_prim_fill(c, X_bar, 0);
    ct_prim_covariance_bar_add(c, k, s->theta, X.one, none, &bar11, theta_bar, x_bar.one);
    if (!C->n2) return;
    ct_prim_covariance_bar_add(c, k, s->theta, X.one, X.two, &bar12, theta_bar, x_bar.one);
    if (ct_is_view(X_bar)) ct_prim_covariance_bar_add(c, k, s->theta, X.two, X.one, &bar21, none, x_bar.two);
    ct_prim_covariance_bar_add(c, k, s->theta, X.two, none, &bar22, theta_bar, x_bar.two);
}
