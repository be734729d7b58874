/* Products: cuBLAS on strided batches. cuBLAS reads a row-major matrix as its transpose in column-major
 * order, so for a row-major C it computes Cᵀ = Bᵀ Aᵀ. bf16 and f16 are multiplied exactly and added in
 * f32. */
#include "batch.cuh"

enum { A, B, C };
enum { DIAGONAL = CT__SYRK_DIAGONAL };

static ct_status scale(const ct__job &b, double beta, const ct__matrix &c)
{
    const double p[2] = { beta, 0 };
    ct_view all = ct__as_view(b, c);
    return CT__DO(b, beta == 0 ? ct__cuda_fill(b.dev, &all, 0)
                               : ct__cuda_map1(b.dev, CT_MAP_scale, p, &all, &all));
}

/* One call per strided batch over the largest batch dimension; a loop runs over the other dimensions. */
ct_status ct__gemm(const ct__job &b, double alpha, const ct__matrix &A_, const ct__matrix &B_, double beta,
                   const ct__matrix &C_)
{
    ct__matrix a = C_.columns ? A_ : ct__transposed(B_), x = C_.columns ? B_ : ct__transposed(A_),
               c = C_.columns ? C_ : ct__transposed(C_);
    if (!b.members || !c.rows || !c.cols) return b.status;
    if (a.cols == 0 || alpha == 0) return scale(b, beta, C_);
    ct__cuda *cuda = ct__cuda_of(b.dev);
    const float alpha32 = (float)alpha, beta32 = (float)beta;
    const bool f64 = b.dtype == CT_F64;
    const cudaDataType type = f64                  ? CUDA_R_64F
                              : b.dtype == CT_BF16 ? CUDA_R_16BF
                              : b.dtype == CT_F16  ? CUDA_R_16F
                                                   : CUDA_R_32F;
    const cublasComputeType_t compute = f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
    int along = 0;
    int64_t apart = 1; /* members between neighbours along the dimension */
    for (int d = 1; d < b.ndim; d++) {
        apart *= b.dim[d];
        if (b.dim[d] >= b.dim[along]) along = d, apart = 1;
    }
    const int64_t together = b.ndim ? b.dim[along] : 1;
    for (int64_t k = 0; k < b.members / together && !b.status; k++) {
        const int64_t i = k / apart * apart * together + k % apart;
        CT__ASK(b, "gemm",
                cublasGemmStridedBatchedEx_64(
                    cuda->blas, a.columns ? CUBLAS_OP_N : CUBLAS_OP_T, x.columns ? CUBLAS_OP_N : CUBLAS_OP_T,
                    c.rows, c.cols, a.cols, f64 ? (const void *)&alpha : &alpha32,
                    a.data + ct__member_at(b, a, i) * ct__bytes_of(b), type, a.columns ? a.cs : a.rs,
                    a.step[along], x.data + ct__member_at(b, x, i) * ct__bytes_of(b), type,
                    x.columns ? x.cs : x.rs, x.step[along], f64 ? (const void *)&beta : &beta32,
                    c.data + ct__member_at(b, c, i) * ct__bytes_of(b), type, c.cs, c.step[along], together,
                    compute, CUBLAS_GEMM_DEFAULT));
    }
    return b.status;
}

/* Members with a shared B are one product with more rows, if A and C have one row each or the rows of each
 * member continue those of the previous one. Likewise for a shared A and columns. False otherwise. */
static bool stack(int64_t members, const ct__matrix &shared, ct__matrix *x, ct__matrix *c,
                  int64_t ct__matrix::*extent, int64_t ct__matrix::*stride)
{
    if (shared.step[0] != 0) return false;
    if (x->*extent == 1 && x->step[0] > 0) {
        x->*stride = x->step[0];
        c->*stride = c->step[0];
    }
    if (x->step[0] != x->*extent * x->*stride || c->step[0] != c->*extent * c->*stride) return false;
    x->*extent *= members;
    c->*extent *= members;
    return true;
}

ct_status ct__cuda_gemm(ct_device *dev, double alpha, const ct_view *a, const ct_view *b, double beta,
                        ct_view *c)
{
    ct__matrices<3> batch(dev, { a, b, c });
    ct__matrix *m = batch.m;
    if (batch.ndim == 1 && (stack(batch.members, m[B], &m[A], &m[C], &ct__matrix::rows, &ct__matrix::rs) ||
                            stack(batch.members, m[A], &m[B], &m[C], &ct__matrix::cols, &ct__matrix::cs)))
        batch.members = 1, batch.ndim = 0;
    ct__formed fa(batch, m[A]), fb(batch, m[B]),
        fc(batch, m[C], beta == 0 ? ct__formed::NOTHING : ct__formed::ALL, ct__formed::ALL);
    ct__gemm(batch, alpha, fa.m, fb.m, beta, fc.m);
    return fc.finish();
}

/* -- symmetric products ---------------------------------------------------------------------------------- */

/* Computes C by columns of blocks: the part below the diagonal block in one product, the diagonal block whole
 * in scratch memory, of which the lower triangle is kept. */
ct_status ct__syrk(const ct__job &b, double alpha, const ct__matrix &a, double beta, const ct__matrix &c)
{
    const int64_t n = c.rows, k = a.cols, widest = ct__min(n, DIAGONAL);
    if (!n || !b.members) return b.status;
    const ct__workspace workspace(b, b.members * widest * widest * ct__bytes_of(b));
    for (int64_t i = 0; i < n && !b.status; i += widest) {
        const int64_t w = ct__min(n - i, widest), r = n - i - w;
        const ct__matrix strip = ct__block(b, a, i, 0, w, k), below = ct__block(b, a, i + w, 0, r, k),
                         whole = ct__dense(b, workspace, w, w), corner = ct__block(b, c, i, i, w, w);
        ct__gemm(b, alpha, below, ct__transposed(strip), beta, ct__block(b, c, i + w, i, r, w));
        if (beta != 0) ct__copy_lower(b, corner, whole);
        ct__gemm(b, alpha, strip, ct__transposed(strip), beta, whole);
        ct__copy_lower(b, whole, corner);
    }
    return b.status;
}

ct_status ct__cuda_syrk(ct_device *dev, double alpha, const ct_view *a, double beta, ct_view *c)
{
    const ct__matrices<2> b(dev, { a, c });
    ct__formed fa(b, b.m[0]),
        fc(b, b.m[1], beta == 0 ? ct__formed::NOTHING : ct__formed::LOWER, ct__formed::LOWER);
    ct__syrk(b, alpha, fa.m, beta, fc.m);
    return fc.finish();
}
