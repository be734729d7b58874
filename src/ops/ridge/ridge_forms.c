/* The arithmetic of the ridge solve's two forms; docs/ops/ridge_solve.md derives every line.
 *
 * With G = BᵀB + λ DᵀD = L Lᵀ the primal form solves with L. The push-through form has D = Q R, V = B R⁻¹,
 * S = λ I + V Vᵀ = L Lᵀ, and G⁻¹ = R⁻¹ (λ I + VᵀV)⁻¹ R⁻ᵀ, so that
 *     Pᵀ = S⁻¹ V R⁻ᵀ,   λ Zᵀ = (X - X Vᵀ S⁻¹ V) R⁻ᵀ with X = P̄ᵀ R⁻¹,   Z = G⁻¹ P̄.
 * All matrices are stored transposed, r×n, so that the samples of a batch are the rows of one tall matrix. */
#include "ridge.h"

#include <float.h>
#include <math.h>

ct__ridge ct__ridge_of(const ct_call *c)
{
    ct_view B = ct_arg(c, 0), D = ct_arg(c, 1), lambda = ct_arg(c, 2);
    const ct_shape of_D = ct_shape_of(D.ndim - 2, D.dim);
    ct_shape batch = ct_shape_broadcast(ct_shape_of(B.ndim - 2, B.dim), of_D);
    if (batch.ndim >= 0) batch = ct_shape_broadcast(batch, ct_view_shape(lambda));
    return (ct__ridge){ .r = ct_view_dim(B, -2),
                        .n = ct_view_dim(B, -1),
                        .m = ct_view_dim(D, -2),
                        .batch = batch,
                        .shared = ct_shape_count(of_D) == 1,
                        .dtype = B.dtype,
                        .B = B,
                        .D = D,
                        .lambda = lambda };
}

ct_shape ct__ridge_shape(const ct__ridge *s, int64_t rows, int64_t cols)
{
    ct_shape shape = s->batch;
    shape.ndim += 2;
    return ct__matrix_shape(shape, rows, cols);
}

/* A contiguous batch as one tall matrix. */
static ct_view tall(ct_view v)
{
    int64_t cols = ct_view_dim(v, -1);
    return ct_view_reshape(v, ct_shape2(cols ? ct_view_count(v) / cols : 0, cols));
}

/* The matrix of a shared D, without batch dimensions. */
static ct_view the_one(ct_view D)
{
    while (D.ndim > 2) D = ct_view_squeeze(D, 0);
    return D;
}

/* X = alpha X (L Lᵀ)⁻¹ */
static void solve_right(ct_call *c, double alpha, ct_view L, ct_view X)
{
    ct_prim_trsm(c, CT_RIGHT | CT_LOWER | CT_TRANS, alpha, L, X);
    ct_prim_trsm(c, CT_RIGHT | CT_LOWER, 1, L, X);
}

/* X = (L Lᵀ)⁻¹ X */
static void solve_left(ct_call *c, ct_view L, ct_view X)
{
    ct_prim_trsm(c, CT_LOWER, 1, L, X);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L, X);
}

/* D̄ = -D (T + Tᵀ), T = Σ λ Z Pᵀ over the batch */
static void shared_D_bar(ct_call *c, const ct__ridge *s, ct_view Z, ct_view Pt, ct_view D_bar)
{
    ct_view T = ct_scratch(c, s->dtype, ct_shape2(s->n, s->n));
    ct_prim_gemm(c, 1, ct_view_transpose(tall(Z)), tall(Pt), 0, T);
    ct__add_transpose(c, T);
    ct_prim_gemm(c, -1, the_one(s->D), T, 0, the_one(D_bar));
}

/* -- primal ---------------------------------------------------------------------------------------------- */

/* X *= λ, for a batch of matrices */
static void times_lambda(ct_call *c, const ct__ridge *s, ct_view X)
{
    ct_prim_map2(c, CT_MAP_mul, X, ct__with_ones(s->lambda, 2), X);
}

void ct__ridge_primal_factor(ct_call *c, const ct__ridge *s, ct_view L)
{
    if (s->shared) {
        ct_view K = ct_scratch(c, s->dtype, ct_shape2(s->n, s->n));
        ct_prim_syrk(c, 1, ct_view_transpose(the_one(s->D)), 0, K);
        ct_prim_triangle(c, K, false, 0, L);
    } else {
        ct_prim_syrk(c, 1, ct_view_transpose(s->D), 0, L);
    }
    times_lambda(c, s, L);
    ct_prim_syrk(c, 1, ct_view_transpose(s->B), 1, L);
    ct__ridge_potrf(c, L);
}

/* Whether the solves with L lose so many digits that refinement pays. (max_i L_ii / min_i L_ii)², over all
 * members, is a lower bound of the condition of L Lᵀ. True on an asynchronous device, which would have to
 * wait. */
static bool ill_conditioned(ct_call *c, const ct__ridge *s, ct_view L)
{
    if (ct_device_is_asynchronous(ct_call_device(c))) return true;
    ct_view diagonal = ct_view_diagonal(L);
    ct_view inverse = ct_scratch(c, s->dtype, ct_view_shape(diagonal));
    ct_view high = ct_scratch(c, s->dtype, s->batch), low = ct_scratch(c, s->dtype, s->batch);
    ct_view ratio = ct_scratch(c, s->dtype, ct_shape0());
    if (ct_view_count(diagonal) == 0) return false;
    ct_prim_map1(c, CT_MAP_reciprocal, NULL, diagonal, inverse);
    ct_prim_reduce(c, CT_REDUCE_MAX, diagonal, ct_view_unsqueeze(high, -1));
    ct_prim_reduce(c, CT_REDUCE_MAX, inverse, ct_view_unsqueeze(low, -1));
    ct_prim_map2(c, CT_MAP_mul, high, low, high);
    ct_prim_reduce(c, CT_REDUCE_MAX, high, ratio);
    double limit = s->dtype == CT_F32 ? 1e3 : 1e4, worst = ct_call_item(c, ratio);
    return worst * worst > limit;
}

/* One step of iterative refinement of Y = A G⁻¹ for a wide B. No view for A means B. The residual is
 *     A - (Y Bᵀ) B - λ (Y Dᵀ) D, or (I - Y Bᵀ) B - λ (Y Dᵀ) D.
 * Its rounding errors are amplified by the condition number of [B; √λ D], those of L Lᵀ = G by its square. */
static void refine(ct_call *c, const ct__ridge *s, ct_view A, ct_view Y)
{
    if (s->r >= s->n || !ill_conditioned(c, s, s->L)) return;
    const bool given = ct_is_view(A);
    ct_view E = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->r));
    ct_view F = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->m));
    ct_view X = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->n));
    ct_prim_fill(c, E, 0);
    if (given)
        ct_prim_copy(c, A, X);
    else
        ct_prim_fill(c, ct_view_diagonal(E), 1);
    ct_prim_gemm(c, -1, Y, ct_view_transpose(s->B), 1, E);
    ct_prim_gemm(c, 1, Y, ct_view_transpose(s->D), 0, F);
    times_lambda(c, s, F);
    ct_prim_gemm(c, 1, E, s->B, given ? 1 : 0, X);
    ct_prim_gemm(c, -1, F, s->D, 1, X);
    solve_right(c, 1, s->L, X);
    ct_prim_map2(c, CT_MAP_add, Y, X, Y);
}

void ct__ridge_primal_solve(ct_call *c, const ct__ridge *s, ct_view Pt)
{
    ct_prim_copy(c, s->B, Pt);
    solve_right(c, 1, s->L, Pt);
    refine(c, s, ct_no_view(), Pt);
}

/* B̄ = Zᵀ - (BP) Zᵀ - (BZ) Pᵀ, by r×r products; or, if r >= n, Zᵀ - B N with N = P Zᵀ + Z Pᵀ. */
static void primal_B_bar(ct_call *c, const ct__ridge *s, ct_view Pt, ct_view Z, ct_view N, ct_view B_bar)
{
    ct_prim_copy(c, Z, B_bar);
    if (ct_is_view(N)) {
        ct_prim_gemm(c, -1, s->B, N, 1, B_bar);
        return;
    }
    ct_view BP = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->r));
    ct_prim_gemm(c, 1, s->B, ct_view_transpose(Pt), 0, BP);
    ct_prim_gemm(c, -1, BP, Z, 1, B_bar);
    ct_prim_gemm(c, 1, s->B, ct_view_transpose(Z), 0, BP);
    ct_prim_gemm(c, -1, BP, Pt, 1, B_bar);
}

/* λ̄ = -⟨DZ, DP⟩, given ZᵀDᵀ and PᵀDᵀ. Overwrites ZD. */
static void primal_lambda_bar(ct_call *c, ct_view PD, ct_view ZD, ct_view lambda_bar)
{
    ct_prim_map2(c, CT_MAP_mul, ZD, PD, ZD);
    ct_prim_reduce(c, CT_REDUCE_SUM, ZD, ct__with_ones(lambda_bar, 2));
    ct_prim_map1(c, CT_MAP_neg, NULL, lambda_bar, lambda_bar);
}

void ct__ridge_primal_bar(ct_call *c, const ct__ridge *s, ct_view Pt, ct_view Pt_bar, ct_view B_bar,
                          ct_view D_bar, ct_view lambda_bar)
{
    const bool wide = s->r < s->n, to_B = ct_is_view(B_bar), to_D = ct_is_view(D_bar),
               to_lambda = ct_is_view(lambda_bar);
    ct_view Z = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->n)), Dt = ct_view_transpose(s->D);
    ct_view N = ct_no_view(), PD = N, ZD = N;
    ct_prim_copy(c, Pt_bar, Z);
    solve_right(c, 1, s->L, Z); /* Z = (G⁻¹ P̄)ᵀ */
    refine(c, s, Pt_bar, Z);
    if (!wide && (to_B || (to_D && !s->shared))) {
        N = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->n, s->n));
        ct_prim_gemm(c, 1, ct_view_transpose(Pt), Z, 0, N);
        ct__add_transpose(c, N); /* P Zᵀ + Z Pᵀ */
    }
    if (to_lambda || (to_D && !s->shared && wide)) {
        PD = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->m));
        ZD = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->m));
        ct_prim_gemm(c, 1, Pt, Dt, 0, PD);
        ct_prim_gemm(c, 1, Z, Dt, 0, ZD);
    }
    if (to_B) primal_B_bar(c, s, Pt, Z, N, B_bar);
    if (to_D && !s->shared) {
        if (!wide) {
            ct_prim_gemm(c, -1, s->D, N, 0, D_bar);
        } else { /* D̄ = -λ [(DP) Zᵀ + (D Z) Pᵀ] */
            ct_prim_gemm(c, -1, ct_view_transpose(PD), Z, 0, D_bar);
            ct_prim_gemm(c, -1, ct_view_transpose(ZD), Pt, 1, D_bar);
        }
        times_lambda(c, s, D_bar);
    }
    if (to_lambda) primal_lambda_bar(c, PD, ZD, lambda_bar);
    if (to_D && s->shared) {
        times_lambda(c, s, Z);
        shared_D_bar(c, s, Z, Pt, D_bar);
    }
}

/* -- push-through ---------------------------------------------------------------------------------------- */

void ct__ridge_triangle(ct_call *c, const ct__ridge *s, bool strict, ct_view R)
{
    ct_view A = ct_scratch(c, s->dtype, ct_shape2(s->m, s->n));
    ct_view tau = ct_scratch(c, s->dtype, ct_shape2(1, s->n));
    /* On an asynchronous device R's condition is not checked, so flag a D of lower rank. */
    const bool asynchronous = ct_device_is_asynchronous(ct_call_device(c));
    const double eps = s->dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON, rounding = (double)s->m * eps,
                 least = strict ? fmax(rounding, CT__RIDGE_LEAST) : rounding;
    ct_prim_copy(c, the_one(s->D), A);
    ct_prim_qr(c, asynchronous ? least : -1, A, tau);
    ct_prim_triangle(c, ct_view_block(A, 0, s->n, 0, s->n), true, 0, R);
}

void ct__ridge_push_factor(ct_call *c, const ct__ridge *s, ct_view V, ct_view L)
{
    ct_view diagonal = ct_view_diagonal(L);
    ct_prim_copy(c, s->B, V);
    ct_prim_trsm(c, CT_UPPER | CT_RIGHT, 1, s->R, tall(V)); /* V = B R⁻¹ */
    ct_prim_syrk(c, 1, V, 0, L);
    ct_prim_map2(c, CT_MAP_add, diagonal, ct__with_ones(s->lambda, 1), diagonal);
    ct_prim_potrf(c, L);
}

void ct__ridge_push_solve(ct_call *c, const ct__ridge *s, ct_view Pt)
{
    ct_prim_copy(c, s->V, Pt);
    solve_left(c, s->L, Pt);
    ct_prim_trsm(c, CT_UPPER | CT_TRANS | CT_RIGHT, 1, s->R, tall(Pt));
}

void ct__ridge_push_bar(ct_call *c, const ct__ridge *s, ct_view Pt, ct_view Pt_bar, ct_view B_bar,
                        ct_view D_bar, ct_view lambda_bar)
{
    ct_view X = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->n));
    ct_view F = ct_scratch(c, s->dtype, ct__ridge_shape(s, s->r, s->r));
    ct_prim_copy(c, Pt_bar, X);
    ct_prim_trsm(c, CT_UPPER | CT_RIGHT, 1, s->R, tall(X)); /* X = P̄ᵀ R⁻¹ */
    ct_prim_gemm(c, 1, X, ct_view_transpose(s->V), 0, F);
    solve_right(c, 1, s->L, F); /* F = X Vᵀ S⁻¹ = (B Z)ᵀ */
    if (ct_is_view(B_bar) || ct_is_view(D_bar)) {
        ct_prim_gemm(c, -1, F, s->V, 1, X);
        ct_prim_trsm(c, CT_UPPER | CT_TRANS | CT_RIGHT, 1, s->R, tall(X)); /* X = (λZ)ᵀ */
    }
    if (ct_is_view(D_bar)) shared_D_bar(c, s, X, Pt, D_bar);
    if (ct_is_view(B_bar)) { /* B̄ = S⁻¹ (λZ)ᵀ - (BZ) Pᵀ, for I - BP = λ S⁻¹ */
        ct_prim_copy(c, X, B_bar);
        solve_left(c, s->L, B_bar);
        ct_prim_gemm(c, -1, ct_view_transpose(F), Pt, 1, B_bar);
    }
    if (ct_is_view(lambda_bar)) { /* λ̄ = -⟨RZ, RP⟩ = -tr(F S⁻¹) */
        solve_right(c, -1, s->L, F);
        ct_prim_reduce(c, CT_REDUCE_SUM, ct_view_diagonal(F), ct__with_ones(lambda_bar, 1));
    }
}
