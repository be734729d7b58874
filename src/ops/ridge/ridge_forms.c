/* The arithmetic of the ridge solve's two forms; docs/ops/ridge_solve.md derives every line.
 *
 * With C = B/√λ and G = λ (CᵀC + DᵀD) = λ L Lᵀ, the primal form solves with L. The push-through form has
 * D = Q R, V = B R⁻¹, S = λ I + V Vᵀ = L Lᵀ, and G⁻¹ = R⁻¹ (λ I + VᵀV)⁻¹ R⁻ᵀ, so that
 *     Pᵀ = S⁻¹ V R⁻ᵀ,   λ Zᵀ = (X - X Vᵀ S⁻¹ V) R⁻ᵀ with X = P̄ᵀ R⁻¹,   Z = G⁻¹ P̄.
 * Everything is held transposed, r×n, so that the samples of a batch are the rows of one tall matrix. */
#include "ridge.h"

#include <float.h>
#include <math.h>

ct__ridge ct__ridge_of(const ct_tensor *B, const ct_tensor *D, const ct_tensor *lambda)
{
    ct__ridge s = {
        .r = ct_tensor_dim(B, -2), .n = ct_tensor_dim(B, -1), .m = ct_tensor_dim(D, -2), .dtype = B->dtype
    };
    ct_shape d = ct_shape_of(D->ndim - 2, D->dim);
    s.batch = ct_shape_broadcast(ct_shape_of(B->ndim - 2, B->dim), d);
    if (s.batch.ndim >= 0) s.batch = ct_shape_broadcast(s.batch, ct__shape(lambda));
    s.shared = ct_shape_count(d) == 1;
    return s;
}

static ct_shape matrices(const ct__ridge *s, int64_t rows, int64_t cols)
{
    ct_shape shape = s->batch;
    shape.dim[shape.ndim++] = rows;
    shape.dim[shape.ndim++] = cols;
    return shape;
}

/* t (...) as (..., 1) or (..., 1, 1) */
static ct_tensor with_ones(const ct_tensor *t, int ones)
{
    ct_tensor view = *t;
    for (; ones > 0; ones--) view.dim[view.ndim] = 1, view.stride[view.ndim++] = 1;
    return view;
}

/* All rows of a contiguous batch as one matrix. */
static ct_tensor tall(const ct_tensor *t)
{
    int64_t cols = t->dim[t->ndim - 1];
    return ct__reshaped(t, ct_shape2(cols ? ct_tensor_count(t) / cols : 0, cols));
}

static ct_tensor the_one(const ct_tensor *D)
{
    ct_tensor view = *D;
    view.ndim = 2;
    for (int i = 0; i < 2; i++)
        view.dim[i] = D->dim[D->ndim - 2 + i], view.stride[i] = D->stride[D->ndim - 2 + i];
    return view;
}

/* X = X (L Lᵀ)⁻¹ */
static void solve_right(ct_call *c, double alpha, const ct_tensor *L, ct_tensor *X)
{
    ct_prim_trsm(c, CT_RIGHT | CT_LOWER | CT_TRANS, alpha, L, X);
    ct_prim_trsm(c, CT_RIGHT | CT_LOWER, 1, L, X);
}

/* X = (L Lᵀ)⁻¹ X */
static void solve_left(ct_call *c, const ct_tensor *L, ct_tensor *X)
{
    ct_prim_trsm(c, CT_LOWER, 1, L, X);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L, X);
}

/* D̄ = -D (T + Tᵀ), T = Σ λ Z Pᵀ over the batch */
static void shared_D_bar(ct_call *c, const ct__ridge *s, const ct_tensor *D, const ct_tensor *Z,
                         const ct_tensor *Pt, ct_tensor *D_bar)
{
    ct_tensor *T = ct_scratch(c, s->dtype, ct_shape2(s->n, s->n));
    if (!T) return;
    ct_tensor rows = tall(Z), z = ct__transposed(&rows), p = tall(Pt), one = the_one(D), out = the_one(D_bar);
    ct_prim_gemm(c, 1, &z, &p, 0, T);
    ct__add_transpose(c, T);
    ct_prim_gemm(c, -1, &one, T, 0, &out);
}

/* -- primal ---------------------------------------------------------------------------------------------- */

/* out = B/√λ, NaN or infinite where λ is not positive */
static void scaled_B(ct_call *c, const ct__ridge_call *a, ct_tensor *out)
{
    ct_device *device = ct_call_device(c);
    ct_tensor *root = ct_scratch(c, out->dtype, ct__shape(a->lambda));
    if (!root || !out) return;
    ct__call_status(c, device->backend->map1(device, CT_MAP_sqrt, (double[2]){ 0 }, a->lambda, root));
    ct_tensor divisor = with_ones(root, 2);
    if (!c->status) ct__map2(c, CT_MAP_div, a->B, &divisor, out);
}

void ct__ridge_primal_factor(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, ct_tensor *L)
{
    ct_tensor *C = ct_scratch(c, s->dtype, matrices(s, s->r, s->n));
    if (!C || !L) return;
    scaled_B(c, a, C);
    ct_tensor Ct = ct__transposed(C), Dt = ct__transposed(a->D);
    if (s->shared) {
        ct_tensor *K = ct_scratch(c, s->dtype, ct_shape2(s->n, s->n)), one = the_one(a->D);
        ct_tensor one_t = ct__transposed(&one);
        if (!K) return;
        ct_prim_syrk(c, 1, &one_t, 0, K);
        ct_prim_triangle(c, K, false, 0, L);
    } else {
        ct_prim_syrk(c, 1, &Dt, 0, L);
    }
    ct_prim_syrk(c, 1, &Ct, 1, L);
    ct_prim_potrf(c, L);
}

/* Whether what the solves with L lose is worth a second pass: max_i L_ii / min_i L_ii over all members,
 * squared, is a lower bound of the condition of L Lᵀ. Where to know would be to wait for the device, yes. */
static bool ill_conditioned(ct_call *c, const ct__ridge *s, const ct_tensor *L)
{
    ct_device *device = ct_call_device(c);
    if (!device->backend->host_memory) return true;
    ct_tensor diagonal = ct__diagonal(L);
    ct_shape kept = s->batch;
    kept.dim[kept.ndim++] = s->n;
    ct_tensor *inverse = ct_scratch(c, s->dtype, kept), *high = ct_scratch(c, s->dtype, s->batch);
    ct_tensor *low = ct_scratch(c, s->dtype, s->batch), *ratio = ct_scratch(c, s->dtype, ct_shape0());
    if (!inverse || !high || !low || !ratio || ct_tensor_count(&diagonal) == 0) return false;
    ct__call_status(c,
                    device->backend->map1(device, CT_MAP_reciprocal, (double[2]){ 0 }, &diagonal, inverse));
    kept.dim[kept.ndim - 1] = 1;
    if (!c->status) ct__reduce(c, CT_REDUCE_MAX, &diagonal, kept, high);
    if (!c->status) ct__reduce(c, CT_REDUCE_MAX, inverse, kept, low);
    if (!c->status) ct__map2(c, CT_MAP_mul, high, low, high);
    for (int i = 0; i < kept.ndim; i++) kept.dim[i] = 1;
    kept.ndim--;
    if (!c->status) ct__reduce(c, CT_REDUCE_MAX, high, kept, ratio);
    double limit = s->dtype == CT_F32 ? 1e3 : 1e4, worst = c->status ? 0 : ct_tensor_item(ratio);
    return worst * worst > limit;
}

/* One step of refinement of Y = A (L Lᵀ)⁻¹ for a wide B; A = NULL stands for B/λ. The residual is
 *     A - (Y Bᵀ) B/λ - (Y Dᵀ) D, or (I - Y Bᵀ) B/λ - (Y Dᵀ) D,
 * whose rounding errors pass through the condition of [C; D] where those of L Lᵀ = CᵀC + DᵀD were squared. */
static void refine(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, const ct_tensor *A, ct_tensor *Y)
{
    if (s->r >= s->n || !ill_conditioned(c, s, a->L)) return;
    ct_tensor *E = ct_scratch(c, s->dtype, matrices(s, s->r, s->r));
    ct_tensor *F = ct_scratch(c, s->dtype, matrices(s, s->r, s->m));
    ct_tensor *X = ct_scratch(c, s->dtype, matrices(s, s->r, s->n));
    if (!E || !F || !X) return;
    ct_tensor Bt = ct__transposed(a->B), Dt = ct__transposed(a->D), lambda = with_ones(a->lambda, 2);
    ct_tensor diagonal = ct__diagonal(E);
    ct_prim_fill(c, E, 0);
    if (A)
        ct_prim_copy(c, A, X);
    else
        ct_prim_fill(c, &diagonal, 1);
    ct_prim_gemm(c, -1, Y, &Bt, 1, E);
    if (!c->status) ct__map2(c, CT_MAP_div, E, &lambda, E);
    ct_prim_gemm(c, 1, Y, &Dt, 0, F);
    ct_prim_gemm(c, 1, E, a->B, A ? 1 : 0, X);
    ct_prim_gemm(c, -1, F, a->D, 1, X);
    solve_right(c, 1, a->L, X);
    if (!c->status) ct__map2(c, CT_MAP_add, Y, X, Y);
}

void ct__ridge_primal_solve(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, ct_tensor *Pt)
{
    if (c->status || !Pt) return;
    ct_tensor lambda = with_ones(a->lambda, 2);
    ct__map2(c, CT_MAP_div, a->B, &lambda, Pt);
    solve_right(c, 1, a->L, Pt);
    refine(c, s, a, NULL, Pt);
}

/* B̄ = (1/λ) [λZᵀ - (BP) λZᵀ - (B λZ) Pᵀ]: r×r products; or, where r >= n, λZᵀ - B N with N = λ (P Zᵀ + Z
 * Pᵀ) */
static void primal_B_bar(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, const ct_tensor *Pt,
                         const ct_tensor *Z, const ct_tensor *N, ct_tensor *B_bar)
{
    ct_tensor lambda = with_ones(a->lambda, 2), Pv = ct__transposed(Pt), Zv = ct__transposed(Z);
    ct_prim_copy(c, Z, B_bar);
    if (N) {
        ct_prim_gemm(c, -1, a->B, N, 1, B_bar);
    } else {
        ct_tensor *BP = ct_scratch(c, s->dtype, matrices(s, s->r, s->r));
        if (!BP) return;
        ct_prim_gemm(c, 1, a->B, &Pv, 0, BP);
        ct_prim_gemm(c, -1, BP, Z, 1, B_bar);
        ct_prim_gemm(c, 1, a->B, &Zv, 0, BP);
        ct_prim_gemm(c, -1, BP, Pt, 1, B_bar);
    }
    if (!c->status) ct__map2(c, CT_MAP_div, B_bar, &lambda, B_bar);
}

/* λ̄ = -⟨DZ, DP⟩ = -⟨ZD, PD⟩/λ, given (λZ)ᵀDᵀ and PᵀDᵀ; ZD is overwritten */
static void primal_lambda_bar(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, const ct_tensor *PD,
                              ct_tensor *ZD, ct_tensor *lambda_bar)
{
    ct_device *device = ct_call_device(c);
    ct_tensor *sum = ct_scratch(c, s->dtype, s->batch);
    if (!sum) return;
    ct__map2(c, CT_MAP_mul, ZD, PD, ZD);
    if (!c->status) ct__reduce(c, CT_REDUCE_SUM, ZD, matrices(s, 1, 1), sum);
    if (!c->status) ct__map2(c, CT_MAP_div, sum, a->lambda, sum);
    if (!c->status)
        ct__call_status(c, device->backend->map1(device, CT_MAP_neg, (double[2]){ 0 }, sum, lambda_bar));
}

void ct__ridge_primal_bar(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, const ct_tensor *Pt,
                          const ct_tensor *Pt_bar, ct_tensor *B_bar, ct_tensor *D_bar, ct_tensor *lambda_bar)
{
    bool wide = s->r < s->n;
    ct_tensor *Z = ct_scratch(c, s->dtype, matrices(s, s->r, s->n)), *N = NULL, *PD = NULL, *ZD = NULL;
    if (!Z) return;
    ct_tensor Dt = ct__transposed(a->D), Pv = ct__transposed(Pt);
    ct_prim_copy(c, Pt_bar, Z);
    solve_right(c, 1, a->L, Z); /* Z = (λ G⁻¹ P̄)ᵀ */
    refine(c, s, a, Pt_bar, Z);
    if (!wide && (B_bar || (D_bar && !s->shared))) {
        N = ct_scratch(c, s->dtype, matrices(s, s->n, s->n));
        if (!N) return;
        ct_prim_gemm(c, 1, &Pv, Z, 0, N);
        ct__add_transpose(c, N); /* λ (P Zᵀ + Z Pᵀ) */
    }
    if (lambda_bar || (D_bar && !s->shared && wide)) {
        PD = ct_scratch(c, s->dtype, matrices(s, s->r, s->m));
        ZD = ct_scratch(c, s->dtype, matrices(s, s->r, s->m));
        if (!PD || !ZD) return;
        ct_prim_gemm(c, 1, Pt, &Dt, 0, PD);
        ct_prim_gemm(c, 1, Z, &Dt, 0, ZD);
    }
    if (B_bar) primal_B_bar(c, s, a, Pt, Z, N, B_bar);
    if (D_bar && s->shared) {
        shared_D_bar(c, s, a->D, Z, Pt, D_bar);
    } else if (D_bar && N) {
        ct_prim_gemm(c, -1, a->D, N, 0, D_bar);
    } else if (D_bar) { /* D̄ = -(DP) (λZ)ᵀ - (D λZ) Pᵀ */
        ct_tensor DP = ct__transposed(PD), DZ = ct__transposed(ZD);
        ct_prim_gemm(c, -1, &DP, Z, 0, D_bar);
        ct_prim_gemm(c, -1, &DZ, Pt, 1, D_bar);
    }
    if (lambda_bar) primal_lambda_bar(c, s, a, PD, ZD, lambda_bar);
}

/* -- push-through ---------------------------------------------------------------------------------------- */

double ct__ridge_rcond(ct_call *c, const ct_tensor *T)
{
    ct_device *device = ct_call_device(c);
    ct_shape shape = ct__shape(T);
    ct_tensor *rcond = ct_scratch(c, T->dtype, ct__matrix_shape(shape, 1, 1));
    ct_tensor *worst = ct_scratch(c, T->dtype, ct_shape0());
    if (!rcond || !worst || ct_tensor_count(rcond) == 0) return 0;
    ct__call_status(c, device->backend->tri_rcond(device, T, rcond));
    if (!c->status)
        ct__call_status(c, device->backend->map1(device, CT_MAP_neg, (double[2]){ 0 }, rcond, rcond));
    for (int i = 0; i < shape.ndim; i++) shape.dim[i] = 1;
    if (!c->status) ct__reduce(c, CT_REDUCE_MAX, rcond, shape, worst);
    return c->status ? 0 : -ct_tensor_item(worst);
}

/* rcond - least as 1×1 matrices, which potrf refuses where they are not positive; then they are NaN, and 0
 * times that, too. */
void ct__ridge_flag(ct_call *c, ct_tensor *L, double least)
{
    if (c->status || !L) return;
    ct_device *device = ct_call_device(c);
    ct_tensor *rcond = ct_scratch(c, L->dtype, ct__matrix_shape(ct__shape(L), 1, 1)),
              *zero = ct_scratch(c, L->dtype, ct_shape2(1, 1));
    if (!rcond || !zero || ct_tensor_count(rcond) == 0) return;
    ct_tensor upper = ct__transposed(L), first = ct__block(L, 0, 1, 0, 1);
    ct__call_status(c, device->backend->tri_rcond(device, &upper, rcond));
    if (!c->status)
        ct__call_status(c, device->backend->map1(device, CT_MAP_shift, (double[2]){ -least }, rcond, rcond));
    ct_prim_potrf(c, rcond);
    ct_prim_fill(c, zero, 0);
    ct_prim_gemm(c, 1, rcond, zero, 1, &first);
}

void ct__ridge_triangle(ct_call *c, const ct__ridge *s, const ct_tensor *D, bool strict, ct_tensor *R)
{
    ct_device *device = ct_call_device(c);
    ct_tensor *A = ct_scratch(c, s->dtype, ct_shape2(s->m, s->n)), one = the_one(D);
    ct_tensor *tau = ct_scratch(c, s->dtype, ct_shape2(1, s->n));
    if (!A || !tau || !R) return;
    ct_prim_copy(c, &one, A);
    /* Where the device computes late nobody will look at R's condition: a D of lower rank is flagged. */
    const bool late = !device->backend->host_memory;
    ct_failure *failure = late ? ct__call_failure(c) : NULL;
    const double eps = s->dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON, rounding = (double)s->m * eps,
                 tolerance = !late    ? -1
                             : strict ? fmax(rounding, CT__RIDGE_LEAST)
                                      : rounding;
    if (!c->status) ct__call_status(c, device->backend->qr(device, tolerance, A, tau, failure));
    ct_tensor top = ct__block(A, 0, s->n, 0, s->n);
    ct_prim_triangle(c, &top, true, 0, R);
}

void ct__ridge_push_factor(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, ct_tensor *V,
                           ct_tensor *L)
{
    ct_tensor *positive = ct_scratch(c, s->dtype, ct__shape(a->lambda));
    ct_tensor *zero = ct_scratch(c, s->dtype, ct_shape0());
    if (!positive || !zero || !V || !L) return;
    ct_tensor rows = tall(V), lambda = with_ones(positive, 1), diagonal = ct__diagonal(L);
    ct_prim_copy(c, a->B, V);
    ct_prim_trsm(c, CT_UPPER | CT_RIGHT, 1, a->R, &rows); /* V = B R⁻¹ */
    ct_prim_syrk(c, 1, V, 0, L);
    ct_prim_fill(c, zero, 0);
    ct__map2(c, CT_MAP_less, zero, a->lambda, positive);
    if (!c->status)
        ct__map2(c, CT_MAP_div, a->lambda, positive, positive); /* λ; λ <= 0 over 0 is not finite */
    if (!c->status) ct__map2(c, CT_MAP_add, &diagonal, &lambda, &diagonal);
    ct_prim_potrf(c, L);
}

void ct__ridge_push_solve(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, ct_tensor *Pt)
{
    (void)s;
    if (c->status || !Pt) return;
    ct_tensor rows = tall(Pt);
    ct_prim_copy(c, a->V, Pt);
    solve_left(c, a->L, Pt);
    ct_prim_trsm(c, CT_UPPER | CT_TRANS | CT_RIGHT, 1, a->R, &rows);
}

void ct__ridge_push_bar(ct_call *c, const ct__ridge *s, const ct__ridge_call *a, const ct_tensor *Pt,
                        const ct_tensor *Pt_bar, ct_tensor *B_bar, ct_tensor *D_bar, ct_tensor *lambda_bar)
{
    ct_tensor *X = ct_scratch(c, s->dtype, matrices(s, s->r, s->n));
    ct_tensor *F = ct_scratch(c, s->dtype, matrices(s, s->r, s->r)), Vt = ct__transposed(a->V);
    if (!X || !F) return;
    ct_tensor rows = tall(X), Ft = ct__transposed(F);
    ct_prim_copy(c, Pt_bar, X);
    ct_prim_trsm(c, CT_UPPER | CT_RIGHT, 1, a->R, &rows); /* X = P̄ᵀ R⁻¹               */
    ct_prim_gemm(c, 1, X, &Vt, 0, F);
    solve_right(c, 1, a->L, F); /* F = X Vᵀ S⁻¹ = (B Z)ᵀ      */
    if (B_bar || D_bar) {
        ct_prim_gemm(c, -1, F, a->V, 1, X);
        ct_prim_trsm(c, CT_UPPER | CT_TRANS | CT_RIGHT, 1, a->R, &rows); /* X = (λZ)ᵀ */
    }
    if (D_bar) shared_D_bar(c, s, a->D, X, Pt, D_bar);
    if (B_bar) { /* B̄ = S⁻¹ (λZ)ᵀ - (BZ) Pᵀ, for I - BP = λ S⁻¹ */
        ct_prim_copy(c, X, B_bar);
        solve_left(c, a->L, B_bar);
        ct_prim_gemm(c, -1, &Ft, Pt, 1, B_bar);
    }
    if (lambda_bar) { /* λ̄ = -⟨RZ, RP⟩ = -tr(F S⁻¹) */
        solve_right(c, -1, a->L, F);
        ct_tensor diagonal = ct__diagonal(F);
        ct_shape kept = s->batch;
        kept.dim[kept.ndim++] = 1;
        if (!c->status) ct__reduce(c, CT_REDUCE_SUM, &diagonal, kept, lambda_bar);
    }
}
