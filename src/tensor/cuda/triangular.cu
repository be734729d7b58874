/* trsm, trmm, trtri and lauum by halves down to tiles, so that nearly all the work is in gemm. */
#include "batch.cuh"

enum { BLOCK = CT__TRIANGLE_BLOCK };

/* -- B = alpha M⁻¹ B, B = alpha M B ---------------------------------------------------------------------- */

/* One triangle by cuBLAS; for many matrices only solving. cuBLAS reads a row-major triangle as the other one,
 * transposed, and a row-major B exchanges the sides. */
static ct_status by_cublas(const ct__job &b, bool inverse, bool lower, bool unit, double alpha,
                           const ct__matrix &M, const ct__matrix &B)
{
    const bool columns = M.columns != 0, left = B.columns != 0;
    const cublasSideMode_t side = left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t fill = lower == columns ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t op = columns == left ? CUBLAS_OP_N : CUBLAS_OP_T;
    const cublasDiagType_t diag = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const int64_t rows = left ? B.rows : B.cols, cols = left ? B.cols : B.rows, ldm = columns ? M.cs : M.rs,
                  ldb = left ? B.cs : B.rs;
    const cublasHandle_t blas = ct__cuda_of(b.dev)->blas;
    const auto call = [&](auto trsm, auto trmm, auto trsm_batched, auto factor) {
        typedef decltype(factor) T;
        const T *m = (const T *)M.data;
        T *x = (T *)B.data;
        if (b.members == 1)
            return CT__ASK(
                b, inverse ? "trsm" : "trmm",
                inverse ? trsm(blas, side, fill, op, diag, rows, cols, &factor, m, ldm, x, ldb)
                        : trmm(blas, side, fill, op, diag, rows, cols, &factor, m, ldm, x, ldb, x, ldb));
        const ct__addresses of_M(b, M), of_B(b, B);
        return CT__ASK(
            b, "tri_solve",
            trsm_batched(blas, side, fill, op, diag, rows, cols, &factor, of_M, ldm, of_B, ldb, b.members));
    };
    return b.dtype == CT_F64 ? call(cublasDtrsm_64, cublasDtrmm_64, cublasDtrsmBatched_64, alpha)
                             : call(cublasStrsm_64, cublasStrmm_64, cublasStrsmBatched_64, (float)alpha);
}

/* For many matrices: a product with the whole of each, with zeros beside the triangle. */
static ct_status multiply(const ct__job &b, bool lower, bool unit, double alpha, const ct__matrix &M,
                          const ct__matrix &B)
{
    const ct__temporary T(b, M.rows, M.rows), X(b, B.rows, B.cols);
    ct__triangle(b, M, !lower, 0, unit ? CT__ONES : CT__ZEROS, T.m);
    ct__copy_matrices(b, B, X.m);
    return ct__gemm(b, alpha, T.m, X.m, 0, B);
}

/* B = alpha M⁻¹ B or alpha M B for many matrices, by halves. For a lower M:
 *     solve:     X1 = alpha M11⁻¹ B1,  then  X2 = M22⁻¹ (alpha B2 - M21 X1)
 *     multiply:  B2 = alpha M22 B2 + alpha M21 B1,  then  B1 = alpha M11 B1
 * and likewise from the other end for an upper M. */
ct_status ct__apply(const ct__job &b, ct__action action, bool lower, bool unit, double alpha,
                    const ct__matrix &M, const ct__matrix &B)
{
    const bool inverse = action == CT__SOLVE;
    const int64_t n = M.rows, h = ct__half(n), r = n - h;
    if (!n || !B.cols || !b.members || b.status) return b.status;
    if (b.members == 1 || (inverse && n <= CT__TILE)) return by_cublas(b, inverse, lower, unit, alpha, M, B);
    if (n <= CT__TILE) return multiply(b, lower, unit, alpha, M, B);
    const bool down = inverse == lower;
    const ct__matrix M11 = ct__block(b, M, 0, 0, h, h), M22 = ct__block(b, M, h, h, r, r),
                     beside = lower ? ct__block(b, M, h, 0, r, h) : ct__block(b, M, 0, h, h, r),
                     B1 = ct__block(b, B, 0, 0, h, B.cols), B2 = ct__block(b, B, h, 0, r, B.cols),
                     &early = down ? B1 : B2, &late = down ? B2 : B1;
    ct__apply(b, action, lower, unit, alpha, down ? M11 : M22, early);
    if (inverse)
        ct__gemm(b, -1, beside, early, alpha, late);
    else
        ct__gemm(b, alpha, beside, late, 1, early);
    return ct__apply(b, action, lower, unit, inverse ? 1 : alpha, down ? M22 : M11, late);
}

/* X op(T) = B is op(T)ᵀ Xᵀ = Bᵀ, so everything is applied from the left, to transposed views. */
static ct_status run(ct_device *dev, ct__action action, unsigned flags, double alpha, const ct_view *t,
                     ct_view *x)
{
    const ct__matrices<2> b(dev, { t, x });
    if (!ct__entries(b, b.m[1])) return CT_OK;
    ct__formed ft(b, b.m[0]), fx(b, b.m[1], ct__formed::ALL, ct__formed::ALL);
    const bool right = flags & CT_RIGHT, transpose = !(flags & CT_TRANS) == right, upper = flags & CT_UPPER;
    ct__apply(b, action, upper == transpose, flags & CT_UNIT, alpha, transpose ? ct__transposed(ft.m) : ft.m,
              right ? ct__transposed(fx.m) : fx.m);
    return fx.finish();
}

ct_status ct__cuda_trsm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run(dev, CT__SOLVE, flags, alpha, t, b);
}

ct_status ct__cuda_trmm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run(dev, CT__MULTIPLY, flags, alpha, t, b);
}

/* -- L⁻¹ and LᵀL in place -------------------------------------------------------------------------------- */

/* Solves M L = I by rows, as L⁻ᵀL⁻¹ needs it (docs/ops/inverse.md). */
static ct_status invert_block(const ct__job &b, const ct__matrix &L)
{
    const ct__temporary M(b, L.rows, L.rows);
    ct__triangle(b, M.m, true, L.rows, CT__ONES, M.m);
    by_cublas(b, true, false, false, 1, ct__transposed(L), ct__transposed(M.m));
    return ct__copy_lower(b, M.m, L);
}

static ct_status square_block(const ct__job &b, const ct__matrix &L)
{
    const ct__temporary T(b, L.rows, L.rows);
    ct__triangle(b, L, false, 0, CT__ZEROS, T.m);
    return ct__syrk(b, 1, ct__transposed(T.m), 0, L);
}

/* By halves; a half that the other one still reads is changed last:
 *     [L11 0; L21 L22]⁻¹ = [M11 0; M21 M22],  M21 L11 = -M22 L21, solved instead of multiplied by M11, so
 *     that M L - I is small, as L⁻ᵀL⁻¹ needs it (docs/ops/inverse.md).
 *     LᵀL = [L11ᵀL11 + L21ᵀL21 .; L22ᵀL21 L22ᵀL22]
 * A single matrix gets larger blocks, because no other members keep the GPU busy. */
ct_status ct__change_lower(const ct__job &b, ct__change change, const ct__matrix &L)
{
    const bool invert = change == CT__INVERT;
    const int64_t n = L.rows, h = ct__half(n), r = n - h;
    if (!n || !b.members || b.status) return b.status;
    if (n <= CT__TILE || (b.members == 1 && n <= BLOCK)) return (invert ? invert_block : square_block)(b, L);
    const ct__matrix L11 = ct__block(b, L, 0, 0, h, h), L21 = ct__block(b, L, h, 0, r, h),
                     L22 = ct__block(b, L, h, h, r, r);
    ct__change_lower(b, change, invert ? L22 : L11);
    if (invert) {
        ct__apply(b, CT__MULTIPLY, true, false, -1, L22, L21);
        ct__apply(b, CT__SOLVE, false, false, 1, ct__transposed(L11), ct__transposed(L21));
    } else {
        ct__syrk(b, 1, ct__transposed(L21), 1, L11);
        ct__apply(b, CT__MULTIPLY, false, false, 1, ct__transposed(L22), L21);
    }
    return ct__change_lower(b, change, invert ? L11 : L22);
}

static ct_status in_place(ct_device *dev, ct__change change, ct_view *a)
{
    const ct__matrices<1> b(dev, { a });
    if (!b.members || !b.m[0].rows) return CT_OK;
    ct__formed f(b, b.m[0], ct__formed::LOWER, ct__formed::LOWER);
    ct__change_lower(b, change, f.m);
    return f.finish();
}

ct_status ct__cuda_trtri(ct_device *dev, ct_view *a) { return in_place(dev, CT__INVERT, a); }
ct_status ct__cuda_lauum(ct_device *dev, ct_view *a) { return in_place(dev, CT__SQUARE, a); }
