/* trsm, trmm, trtri, lauum, triangle: by halves, so that nearly all the work is in gemm, down to the tiles of
 * tile.cu. */
#include "tile.cuh"

enum { BLOCK = CT__TRIANGLE_BLOCK };

/* -- B = alpha M⁻¹ B, B = alpha M B ---------------------------------------------------------------------- */

/* One large system: a row-major triangle is to cuBLAS the other one transposed, a row-major B turns the
 * sides. */
static ct_status solve_large(ct_device *dev, const ct__batch *b, bool lower, bool unit, double alpha,
                             const ct__matrix &M, const ct__matrix &B)
{
    const bool trans = M.columns != B.columns;
    const cublasSideMode_t side = B.columns ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT;
    const cublasFillMode_t fill = lower == M.columns ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t op = trans ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasDiagType_t diag = unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    const int64_t rows = B.columns ? B.rows : B.cols, cols = B.columns ? B.cols : B.rows,
                  ldm = M.columns ? M.cs : M.rs, ldb = B.columns ? B.cs : B.rs;
    cublasHandle_t blas = ct__cuda_of(dev)->blas;
    const float alpha32 = (float)alpha;
    cublasStatus_t s = b->dtype == CT_F64 ? cublasDtrsm_64(blas, side, fill, op, diag, rows, cols, &alpha,
                                                           (const double *)M.data, ldm, (double *)B.data, ldb)
                                          : cublasStrsm_64(blas, side, fill, op, diag, rows, cols, &alpha32,
                                                           (const float *)M.data, ldm, (float *)B.data, ldb);
    return ct__cublas_status(dev, "tri_solve", s);
}

/* M and B cut in two, in the order in which their halves are worked on, and what of M is beside its diagonal:
 * of the early half's columns and the late one's rows, or the other way round. */
struct parts {
    ct__matrix M_early, M_late, off, early, late;
    parts(const ct__batch *b, bool lower, bool downwards, const ct__matrix &M, const ct__matrix &B)
    {
        const int64_t n = M.rows, h = ct__half(n), r = n - h;
        const ct__matrix M11 = ct__block(b, M, 0, 0, h, h), M22 = ct__block(b, M, h, h, r, r),
                         top = ct__block(b, B, 0, 0, h, B.cols), bottom = ct__block(b, B, h, 0, r, B.cols);
        M_early = downwards ? M11 : M22, M_late = downwards ? M22 : M11;
        early = downwards ? top : bottom, late = downwards ? bottom : top;
        off = lower ? ct__block(b, M, h, 0, r, h) : ct__block(b, M, 0, h, h, r);
    }
};

/* M11 X1 = alpha B1,  M22 X2 = alpha B2 - M21 X1, or from below where M is upper */
ct_status ct__solve(ct_device *dev, const ct__batch *b, bool lower, bool unit, double alpha,
                    const ct__matrix &M, const ct__matrix &B)
{
    const int64_t n = M.rows;
    if (!n || !B.cols || !b->members) return CT_OK;
    if (n <= CT__TILE) return ct__tile_solve(dev, b, lower, unit, alpha, M, B);
    if (n >= CT__TRIANGLE_LARGE && b->members == 1) return solve_large(dev, b, lower, unit, alpha, M, B);
    const parts p(b, lower, lower, M, B);
    ct_status s = ct__solve(dev, b, lower, unit, alpha, p.M_early, p.early);
    if (!s) s = ct__gemm(dev, b, -1, p.off, p.early, alpha, p.late);
    return s ? s : ct__solve(dev, b, lower, unit, 1, p.M_late, p.late);
}

/* Where M is lower: B2 = M22 B2 + M21 B1 first, then B1 = M11 B1 */
ct_status ct__multiply(ct_device *dev, const ct__batch *b, bool lower, bool unit, double alpha,
                       const ct__matrix &M, const ct__matrix &B)
{
    const int64_t n = M.rows;
    if (!n || !B.cols || !b->members) return CT_OK;
    if (n <= CT__TILE) return ct__tile_multiply(dev, b, lower, unit, alpha, M, B);
    const parts p(b, lower, !lower, M, B);
    ct_status s = ct__multiply(dev, b, lower, unit, alpha, p.M_early, p.early);
    if (!s) s = ct__gemm(dev, b, alpha, p.off, p.late, 1, p.early);
    return s ? s : ct__multiply(dev, b, lower, unit, alpha, p.M_late, p.late);
}

typedef ct_status side_by_side(ct_device *, const ct__batch *, bool, bool, double, const ct__matrix &,
                               const ct__matrix &);

/* X op(T) = B is op(T)ᵀ Xᵀ = Bᵀ: everything from the left, on turned views. */
static ct_status run(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *x,
                     side_by_side *work)
{
    const ct__matrices<2> b({ t, x });
    if (!ct__entries(&b, b.m[1])) return CT_OK;
    ct__formed ft(dev, &b, b.m[0], ct__formed::ALL, ct__formed::NOTHING),
        fx(dev, &b, b.m[1], ct__formed::ALL, ct__formed::ALL);
    if (ft.status || fx.status) return ft.status ? ft.status : fx.status;
    const bool right = flags & CT_RIGHT, turn = !(flags & CT_TRANS) == right, upper = flags & CT_UPPER;
    ct_status s = work(dev, &b, upper == turn, flags & CT_UNIT, alpha, turn ? ct__turned(ft.m) : ft.m,
                       right ? ct__turned(fx.m) : fx.m);
    return s ? s : fx.finish();
}

ct_status ct__cuda_trsm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run(dev, flags, alpha, t, b, ct__solve);
}

ct_status ct__cuda_trmm(ct_device *dev, unsigned flags, double alpha, const ct_view *t, ct_view *b)
{
    return run(dev, flags, alpha, t, b, ct__multiply);
}

/* -- L⁻¹ and LᵀL in place -------------------------------------------------------------------------------- */

/* What is done to a triangle, whose blocks of BLOCK rows on the diagonal may be done already, aside: `done`
 * has the first. */
typedef ct_status by_halves(ct_device *, const ct__batch *, const ct__matrix &, const ct__matrix *done);

/* The blocks on the diagonal of one large triangle have nothing to do with one another: side by side they
 * take the time of one. Each is put in its place when its turn comes, since what is beside it needs the
 * triangle that it was. */
static ct_status blocks_first(ct_device *dev, const ct__batch *b, const ct__matrix &L, by_halves *work)
{
    const int64_t blocks = L.rows / BLOCK;
    if (b->members > 1 || blocks < 2) return work(dev, b, L, NULL);
    ct__batch all = ct__one(b->dtype);
    all.ndim = 1;
    all.members = all.dim[0] = blocks;
    ct__scratch room(dev, blocks * BLOCK * BLOCK * ct__bytes_of(b));
    if (!room.data) return CT_ENOMEM;
    const ct__matrix done = ct__dense(&all, room, BLOCK, BLOCK);
    ct__matrix given = ct__block(b, L, 0, 0, BLOCK, BLOCK);
    given.step[0] = BLOCK * (L.rs + L.cs);
    ct_status s = ct__copy_lower(dev, &all, &given, &done);
    if (!s) s = work(dev, &all, done, NULL);
    return s ? s : work(dev, b, L, &done);
}

/* Both halves of L, where it is cut, and what is done of the second. */
struct halves {
    int64_t h;
    ct__matrix L11, L21, L22, done;
    halves(const ct__batch *b, const ct__matrix &L, const ct__matrix *first)
        : h(first ? ct__divide_up(L.rows / 2, BLOCK) * BLOCK : ct__half(L.rows)),
          L11(ct__block(b, L, 0, 0, h, h)), L21(ct__block(b, L, h, 0, L.rows - h, h)),
          L22(ct__block(b, L, h, h, L.rows - h, L.rows - h)), done(first ? *first : L)
    {
        done.data += h * BLOCK * ct__bytes_of(b);
    }
};

/* [L11 0; L21 L22]⁻¹ = [M11 0; M21 M22],  M21 L11 = -M22 L21: solved for, not multiplied by M11, so that
 * M L - I is small, which L⁻ᵀL⁻¹ needs (docs/ops/inverse.md) */
static ct_status invert(ct_device *dev, const ct__batch *b, const ct__matrix &L, const ct__matrix *done)
{
    const int64_t n = L.rows;
    if (done && n == BLOCK) return ct__copy_lower(dev, b, done, &L);
    if (n <= CT__TILE) return ct__tile_invert(dev, b, L);
    if (n < BLOCK) done = NULL;
    const halves of(b, L, done);
    ct_status s = invert(dev, b, of.L22, done ? &of.done : NULL);
    if (!s) s = ct__multiply(dev, b, true, false, -1, of.L22, of.L21);
    if (!s) s = ct__solve(dev, b, false, false, 1, ct__turned(of.L11), ct__turned(of.L21));
    return s ? s : invert(dev, b, of.L11, done);
}

/* LᵀL = [L11ᵀL11 + L21ᵀL21 .; L22ᵀL21 L22ᵀL22] */
static ct_status square(ct_device *dev, const ct__batch *b, const ct__matrix &L, const ct__matrix *done)
{
    const int64_t n = L.rows;
    if (done && n == BLOCK) return ct__copy_lower(dev, b, done, &L);
    if (n <= CT__TILE) return ct__tile_square(dev, b, L);
    if (n < BLOCK) done = NULL;
    const halves of(b, L, done);
    ct_status s = square(dev, b, of.L11, done);
    if (!s) s = ct__syrk(dev, b, 1, ct__turned(of.L21), 1, of.L11);
    if (!s) s = ct__multiply(dev, b, false, false, 1, ct__turned(of.L22), of.L21);
    return s ? s : square(dev, b, of.L22, done ? &of.done : NULL);
}

ct_status ct__invert_lower(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
    return L.rows && b->members ? blocks_first(dev, b, L, invert) : CT_OK;
}

ct_status ct__square_lower(ct_device *dev, const ct__batch *b, const ct__matrix &L)
{
    return L.rows && b->members ? blocks_first(dev, b, L, square) : CT_OK;
}

static ct_status in_place(ct_device *dev, ct_view *a,
                          ct_status (*work)(ct_device *, const ct__batch *, const ct__matrix &))
{
    const ct__matrices<1> b({ a });
    if (!b.members || !b.m[0].rows) return CT_OK;
    ct__formed f(dev, &b, b.m[0], ct__formed::LOWER, ct__formed::LOWER);
    ct_status s = f.status ? f.status : work(dev, &b, f.m);
    return s ? s : f.finish();
}

ct_status ct__cuda_trtri(ct_device *dev, ct_view *a) { return in_place(dev, a, ct__invert_lower); }
ct_status ct__cuda_lauum(ct_device *dev, ct_view *a) { return in_place(dev, a, ct__square_lower); }

/* -- triangle -------------------------------------------------------------------------------------------- */

/* T: bits of an element. */
template <typename T>
static __global__ void triangle_kernel(ct__batch b, ct__matrix x, ct__matrix out, bool upper, int64_t k)
{
    CT__EACH_ENTRY(at, b, out)
    {
        const bool inside = upper ? at.j - at.i >= k : at.j - at.i <= k;
        ct__at_entry<T>(b, out, at) = inside ? ct__at_entry<T>(b, x, at) : 0;
    }
}

ct_status ct__cuda_triangle(ct_device *dev, const ct_view *x, bool upper, int64_t k, ct_view *out)
{
    const ct__matrices<2> b({ x, out });
    const int64_t count = ct__entries(&b, b.m[1]);
    return ct__bytes_of(&b) == 8
               ? CT__RUN_EACH(dev, "triangle", triangle_kernel<uint64_t>, count, b, b.m[0], b.m[1], upper, k)
               : CT__RUN_EACH(dev, "triangle", triangle_kernel<uint32_t>, count, b, b.m[0], b.m[1], upper, k);
}
