/* cuBLAS on OpenBLAS, executed late: arguments are checked when the call is made, memory when the stream
 * reaches the call. Products of half and bfloat16 are computed in float, in two parts that are added in their
 * type where the math mode allows it. Every call that may use the program's workspace fills it with NaN, and
 * fails if that is smaller than cuBLAS asks for. */
#include "sim.h"

#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include <algorithm>

extern "C" {
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void strsm_(const char *, const char *, const char *, const char *, const int *, const int *, const float *,
            const float *, const int *, float *, const int *);
void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void strmm_(const char *, const char *, const char *, const char *, const int *, const int *, const float *,
            const float *, const int *, float *, const int *);
void dtrmm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);
void sgetrf_(const int *, const int *, float *, const int *, int *, int *);
void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
void sgeqr2_(const int *, const int *, float *, const int *, float *, float *, int *);
void dgeqr2_(const int *, const int *, double *, const int *, double *, double *, int *);
}

using namespace sim;

struct cublasContext {
    cudaStream_t stream = nullptr;
    bool device_scalars = false, exact_sums = false;
    void *workspace = nullptr;
    size_t workspace_bytes = 0;
};

static void gemm(char ta, char tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,
                 int ldb, float beta, float *c, int ldc)
{
    sgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
static void gemm(char ta, char tb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc)
{
    dgemm_(&ta, &tb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}
static void trsm(char side, char uplo, char trans, char diag, int m, int n, float alpha, const float *a,
                 int lda, float *b, int ldb)
{
    strsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}
static void trsm(char side, char uplo, char trans, char diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb)
{
    dtrsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}

static void trmm(char side, char uplo, char trans, char diag, int m, int n, float alpha, const float *a,
                 int lda, float *b, int ldb)
{
    strmm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}
static void trmm(char side, char uplo, char trans, char diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb)
{
    dtrmm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}
static void getrf(int n, float *a, int lda, int *rows, int *info) { sgetrf_(&n, &n, a, &lda, rows, info); }
static void getrf(int n, double *a, int lda, int *rows, int *info) { dgetrf_(&n, &n, a, &lda, rows, info); }
static void geqrf(int m, int n, float *a, int lda, float *tau, float *work)
{
    int info;
    sgeqr2_(&m, &n, a, &lda, tau, work, &info);
}
static void geqrf(int m, int n, double *a, int lda, double *tau, double *work)
{
    int info;
    dgeqr2_(&m, &n, a, &lda, tau, work, &info);
}

static cublasStatus_t status_of(cudaError_t error)
{
    return error == cudaSuccess               ? CUBLAS_STATUS_SUCCESS
           : error == cudaErrorIllegalAddress ? CUBLAS_STATUS_EXECUTION_FAILED
                                              : CUBLAS_STATUS_INTERNAL_ERROR;
}

/* -- handles --------------------------------------------------------------------------------------------- */

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    entry e("cublasCreate", WAITS | UNSAFE);
    if (e.refused) return e.error == cudaErrorUnknown ? CUBLAS_STATUS_ALLOC_FAILED : status_of(e.error);
    *handle = new cublasContext();
    live++;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    entry e("cublasDestroy", WAITS | UNSAFE | RELEASES);
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    finish_all();
    delete handle;
    live--;
    return status_of(e.error);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
    entry e("cublasSetStream");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!is_stream(streamId)) return CUBLAS_STATUS_INVALID_VALUE;
    handle->stream = streamId;
    handle->workspace = nullptr; /* as the real one does */
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
    entry e("cublasSetWorkspace");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if ((uintptr_t)workspace % 256) return CUBLAS_STATUS_INVALID_VALUE;
    handle->workspace = workspace;
    handle->workspace_bytes = workspaceSizeInBytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    entry e("cublasSetPointerMode");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->device_scalars = mode == CUBLAS_POINTER_MODE_DEVICE;
    return CUBLAS_STATUS_SUCCESS;
}

/* The backend computes f32 in f32: a mode that allows less is reported. */
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    entry e("cublasSetMathMode");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) return CUBLAS_STATUS_NOT_SUPPORTED;
    handle->exact_sums = mode & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the function failed to launch on the GPU";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    }
    return "unknown status";
}

/* -- what the calls share -------------------------------------------------------------------------------- */

/* A scalar that is read at the call, or in device memory when the stream reaches the call. */
template <class T> struct scalar {
    const T *device;
    T value;
    scalar(const cublasContext *h, const void *p) : device(nullptr), value()
    {
        if (h->device_scalars) {
            device = (const T *)p;
            return;
        }
        if (is_device(p))
            report("a scalar lies in device memory, but the pointer mode is host");
        else
            value = *(const T *)p;
    }
    T get() const { return !device ? value : check(device, sizeof(T), "scalar") ? *device : T(); }
};

/* What cuBLAS's documentation asks for on Hopper, which this device says it is. The real one fails with less
 * than 16 KiB, and may be slow with less than it asks for. */
static bool too_small(const cublasContext *h)
{
    static const size_t ASKED = 32 << 20;
    return h->workspace && h->workspace_bytes < ASKED;
}

/* Only its beginning: filling all of it would take longer than the call. */
static void use_workspace(void *workspace, size_t bytes)
{
    if (workspace && check(workspace, bytes, "workspace of cuBLAS"))
        poison(workspace, std::min<size_t>(bytes, 4096));
}

static bool fits(std::initializer_list<int64_t> extents)
{
    for (int64_t x : extents)
        if (x > INT32_MAX) return false;
    return true;
}

static int64_t at_least_1(int64_t n) { return std::max<int64_t>(n, 1); }

/* -- products -------------------------------------------------------------------------------------------- */

static size_t size_of(cudaDataType t) { return t == CUDA_R_64F ? 8 : t == CUDA_R_32F ? 4 : 2; }

static float widen(cudaDataType t, const void *p, int64_t i)
{
    return t == CUDA_R_16BF  ? (float)((const __nv_bfloat16 *)p)[i]
           : t == CUDA_R_16F ? (float)((const __half *)p)[i]
                             : ((const float *)p)[i];
}

static void narrow(cudaDataType t, float x, void *p, int64_t i)
{
    if (t == CUDA_R_16BF)
        ((__nv_bfloat16 *)p)[i] = x;
    else if (t == CUDA_R_16F)
        ((__half *)p)[i] = x;
    else
        ((float *)p)[i] = x;
}

static float rounded(cudaDataType t, float x)
{
    narrow(t, x, &x, 0);
    return widen(t, &x, 0);
}

struct product {
    char ta, tb;
    int m, n, k;
    const char *a, *b;
    char *c;
    cudaDataType ab, ct;
    int lda, ldb, ldc;
    int64_t sa, sb, sc, batch;
    bool exact_sums;

    bool memory_is_right() const
    {
        return (k == 0 || (check_matrix(a, ta == 'N' ? m : k, ta == 'N' ? k : m, lda, sa, batch, size_of(ab),
                                        "A of gemm") &&
                           check_matrix(b, tb == 'N' ? k : n, tb == 'N' ? n : k, ldb, sb, batch, size_of(ab),
                                        "B of gemm"))) &&
               check_matrix(c, m, n, ldc, sc, batch, size_of(ct), "C of gemm");
    }

    template <class T> void run(T alpha, T beta) const
    {
        for (int64_t i = 0; i < batch; i++)
            gemm(ta, tb, m, n, k, alpha, (const T *)a + i * sa, lda, (const T *)b + i * sb, ldb, beta,
                 (T *)c + i * sc, ldc);
    }

    void run_in_float(float alpha, float beta) const
    {
        int64_t na = k ? (int64_t)lda * ((ta == 'N' ? k : m) - 1) + (ta == 'N' ? m : k) : 0,
                nb = k ? (int64_t)ldb * ((tb == 'N' ? n : k) - 1) + (tb == 'N' ? k : n) : 0;
        std::vector<float> wa((size_t)na + 1), wb((size_t)nb + 1), wc((size_t)m * (size_t)n);
        for (int64_t i = 0; i < batch; i++) {
            for (int64_t j = 0; j < na; j++) wa[(size_t)j] = widen(ab, a, i * sa + j);
            for (int64_t j = 0; j < nb; j++) wb[(size_t)j] = widen(ab, b, i * sb + j);
            /* Parts of the sum may be added in the type of C, unless the math mode rules it out. */
            const int first = exact_sums ? 0 : k / 2;
            gemm(ta, tb, m, n, first, alpha, wa.data(), lda, wb.data(), ldb, 0.f, wc.data(), m);
            for (float &x : wc) x = rounded(ct, x);
            gemm(ta, tb, m, n, k - first, alpha, wa.data() + (ta == 'N' ? (int64_t)first * lda : first), lda,
                 wb.data() + (tb == 'N' ? first : (int64_t)first * ldb), ldb, 1.f, wc.data(), m);
            for (int64_t col = 0; col < n; col++)
                for (int64_t row = 0; row < m; row++) {
                    int64_t to = i * sc + col * ldc + row;
                    narrow(ct, wc[(size_t)(col * m + row)] + (beta ? beta * widen(ct, c, to) : 0), c, to);
                }
        }
    }
};

/* The pairs of element types, and what they are computed in, that the backend may ask for. */
static bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t compute)
{
    bool f64 = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
    if (a != b || (f64 != (a == CUDA_R_64F))) return false;
    return a == c || ((a == CUDA_R_16F || a == CUDA_R_16BF) && c == CUDA_R_32F);
}

cublasStatus_t cublasGemmStridedBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                             cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                             const void *alpha, const void *A, cudaDataType Atype,
                                             int64_t lda, long long int strideA, const void *B,
                                             cudaDataType Btype, int64_t ldb, long long int strideB,
                                             const void *beta, void *C, cudaDataType Ctype, int64_t ldc,
                                             long long int strideC, int64_t batchCount,
                                             cublasComputeType_t computeType, cublasGemmAlgo_t)
{
    entry e("cublasGemmStridedBatchedEx");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batchCount < 0 || !alpha || !beta || lda < at_least_1(transa ? k : m) ||
        ldb < at_least_1(transb ? n : k) || ldc < at_least_1(m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!supported(Atype, Btype, Ctype, computeType)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!fits({ m, n, k, lda, ldb, ldc })) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (launchable(handle->stream)) return CUBLAS_STATUS_INTERNAL_ERROR;
    if (too_small(handle)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!m || !n || !batchCount) return CUBLAS_STATUS_SUCCESS;
    int64_t apart = std::abs(strideC);
    /* one after the other, or side by side within the columns */
    if (batchCount > 1 && apart < ldc * (n - 1) + m && (apart < m || apart * (batchCount - 1) + m > ldc))
        report("the results of a batched gemm overlap: stride %lld, %lld x %lld, ldc %lld", strideC,
               (long long)m, (long long)n, (long long)ldc);
    product p = { transa ? 'T' : 'N',
                  transb ? 'T' : 'N',
                  (int)m,
                  (int)n,
                  (int)k,
                  (const char *)A,
                  (const char *)B,
                  (char *)C,
                  Atype,
                  Ctype,
                  (int)lda,
                  (int)ldb,
                  (int)ldc,
                  strideA,
                  strideB,
                  strideC,
                  batchCount,
                  handle->exact_sums };
    void *workspace = handle->workspace;
    size_t bytes = handle->workspace_bytes;
    if (Atype == CUDA_R_64F) {
        scalar<double> al(handle, alpha), be(handle, beta);
        enqueue(handle->stream, called("cublasGemmStridedBatchedEx", { m, n, k, batchCount }), [=] {
            use_workspace(workspace, bytes);
            if (p.memory_is_right()) p.run<double>(al.get(), be.get());
        });
    } else {
        scalar<float> al(handle, alpha), be(handle, beta);
        enqueue(handle->stream, called("cublasGemmStridedBatchedEx", { m, n, k, batchCount }), [=] {
            use_workspace(workspace, bytes);
            if (!p.memory_is_right()) return;
            if (Atype == CUDA_R_32F)
                p.run<float>(al.get(), be.get());
            else
                p.run_in_float(al.get(), be.get());
        });
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* -- triangles ------------------------------------------------------------------------------------------- */

template <class T>
static cublasStatus_t trxm_late(const char *name, bool inverse, cublasHandle_t handle, cublasSideMode_t side,
                                cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag,
                                int64_t m, int64_t n, const T *alpha, const T *A, int64_t lda, T *B,
                                int64_t ldb)
{
    entry e(name);
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
    if (m < 0 || n < 0 || !alpha || lda < at_least_1(order) || ldb < at_least_1(m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!fits({ m, n, lda, ldb })) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (launchable(handle->stream)) return CUBLAS_STATUS_INTERNAL_ERROR;
    if (too_small(handle)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!m || !n) return CUBLAS_STATUS_SUCCESS;
    scalar<T> al(handle, alpha);
    void *workspace = handle->workspace;
    size_t bytes = handle->workspace_bytes;
    void (*run)(char, char, char, char, int, int, T, const T *, int, T *, int) = trsm;
    if (!inverse) run = trmm;
    enqueue(handle->stream, called(name, { m, n }), [=] {
        use_workspace(workspace, bytes);
        if (check_matrix(A, order, order, lda, 0, 1, sizeof(T), inverse ? "A of trsm" : "A of trmm") &&
            check_matrix(B, m, n, ldb, 0, 1, sizeof(T), inverse ? "B of trsm" : "B of trmm"))
            run(side == CUBLAS_SIDE_LEFT ? 'L' : 'R', uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U',
                trans ? 'T' : 'N', diag == CUBLAS_DIAG_UNIT ? 'U' : 'N', (int)m, (int)n, al.get(), A,
                (int)lda, B, (int)ldb);
    });
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasStrsm_v2_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                 cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                 const float *alpha, const float *A, int64_t lda, float *B, int64_t ldb)
{
    return trxm_late("cublasStrsm", true, handle, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb);
}

cublasStatus_t cublasDtrsm_v2_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                 cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                 const double *alpha, const double *A, int64_t lda, double *B, int64_t ldb)
{
    return trxm_late("cublasDtrsm", true, handle, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb);
}

/* In place alone, as the backend uses it. */
cublasStatus_t cublasStrmm_v2_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                 cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                 const float *alpha, const float *A, int64_t lda, const float *B, int64_t ldb,
                                 float *C, int64_t ldc)
{
    if (B != C || ldb != ldc) return CUBLAS_STATUS_NOT_SUPPORTED;
    return trxm_late("cublasStrmm", false, handle, side, uplo, trans, diag, m, n, alpha, A, lda, C, ldc);
}

cublasStatus_t cublasDtrmm_v2_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                 cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                 const double *alpha, const double *A, int64_t lda, const double *B,
                                 int64_t ldb, double *C, int64_t ldc)
{
    if (B != C || ldb != ldc) return CUBLAS_STATUS_NOT_SUPPORTED;
    return trxm_late("cublasDtrmm", false, handle, side, uplo, trans, diag, m, n, alpha, A, lda, C, ldc);
}

/* -- batches of pointers --------------------------------------------------------------------------------- */

/* Queues run(i) for each of `count` matrices, of which `lists` hold the addresses in device memory. */
template <class F>
static cublasStatus_t each_late(const entry &e, const char *name, cublasHandle_t handle, bool wrong,
                                int64_t m, int64_t n, int64_t count,
                                std::initializer_list<const void *> lists, F run)
{
    if (e.refused) return status_of(e.error);
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (wrong || m < 0 || n < 0 || count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (!fits({ m, n, count })) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (launchable(handle->stream)) return CUBLAS_STATUS_INTERNAL_ERROR;
    if (too_small(handle)) return CUBLAS_STATUS_ALLOC_FAILED;
    if (!m || !n || !count) return CUBLAS_STATUS_SUCCESS;
    void *workspace = handle->workspace;
    size_t bytes = handle->workspace_bytes;
    enqueue(handle->stream, called(name, { m, n, count }), [=, all = std::vector<const void *>(lists)] {
        use_workspace(workspace, bytes);
        for (const void *list : all)
            if (!check(list, (size_t)count * sizeof(void *), "addresses of matrices")) return;
        for (int64_t i = 0; i < count; i++) run(i);
    });
    return CUBLAS_STATUS_SUCCESS;
}

template <class T>
static cublasStatus_t trsm_each(const char *name, cublasHandle_t handle, cublasSideMode_t side,
                                cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag,
                                int64_t m, int64_t n, const T *alpha, const T *const A[], int64_t lda,
                                T *const B[], int64_t ldb, int64_t count)
{
    entry e(name);
    const int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
    const bool wrong = !alpha || lda < at_least_1(order) || ldb < at_least_1(m);
    const T al = alpha ? *alpha : 0;
    return each_late(e, name, handle, wrong, m, n, count, { A, B }, [=](int64_t i) {
        if (check_matrix(A[i], order, order, lda, 0, 1, sizeof(T), "A of trsm") &&
            check_matrix(B[i], m, n, ldb, 0, 1, sizeof(T), "B of trsm"))
            trsm(side == CUBLAS_SIDE_LEFT ? 'L' : 'R', uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U',
                 trans ? 'T' : 'N', diag == CUBLAS_DIAG_UNIT ? 'U' : 'N', (int)m, (int)n, al, A[i], (int)lda,
                 B[i], (int)ldb);
    });
}

cublasStatus_t cublasStrsmBatched_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                     cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                     const float *alpha, const float *const A[], int64_t lda,
                                     float *const B[], int64_t ldb, int64_t batchCount)
{
    return trsm_each("cublasStrsmBatched", handle, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb,
                     batchCount);
}

cublasStatus_t cublasDtrsmBatched_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                                     cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n,
                                     const double *alpha, const double *const A[], int64_t lda,
                                     double *const B[], int64_t ldb, int64_t batchCount)
{
    return trsm_each("cublasDtrsmBatched", handle, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb,
                     batchCount);
}

template <class T>
static cublasStatus_t getrf_each(const char *name, cublasHandle_t handle, int n, T *const A[], int lda,
                                 int *P, int *info, int count)
{
    entry e(name);
    if (!P) return CUBLAS_STATUS_NOT_SUPPORTED; /* the real one does not pivot then */
    return each_late(e, name, handle, lda < at_least_1(n) || !info, n, n, count, { A }, [=](int64_t i) {
        if (check_matrix(A[i], n, n, lda, 0, 1, sizeof(T), "A of getrf") &&
            check(P + i * n, (size_t)n * sizeof *P, "pivots of getrf") &&
            check(info + i, sizeof *info, "info of getrf"))
            getrf(n, A[i], lda, P + i * n, info + i);
    });
}

cublasStatus_t cublasSgetrfBatched(cublasHandle_t handle, int n, float *const A[], int lda, int *P, int *info,
                                   int batchSize)
{
    return getrf_each("cublasSgetrfBatched", handle, n, A, lda, P, info, batchSize);
}

cublasStatus_t cublasDgetrfBatched(cublasHandle_t handle, int n, double *const A[], int lda, int *P,
                                   int *info, int batchSize)
{
    return getrf_each("cublasDgetrfBatched", handle, n, A, lda, P, info, batchSize);
}

template <class T>
static cublasStatus_t geqrf_each(const char *name, cublasHandle_t handle, int m, int n, T *const A[], int lda,
                                 T *const Tau[], int *info, int count)
{
    entry e(name);
    if (!info || is_device(info)) return CUBLAS_STATUS_INVALID_VALUE; /* it is the host's */
    *info = 0;
    return each_late(e, name, handle, lda < at_least_1(m), m, n, count, { A, Tau }, [=](int64_t i) {
        std::vector<T> work((size_t)n);
        if (check_matrix(A[i], m, n, lda, 0, 1, sizeof(T), "A of geqrf") &&
            check(Tau[i], (size_t)std::min(m, n) * sizeof(T), "tau of geqrf"))
            geqrf(m, n, A[i], lda, Tau[i], work.data());
    });
}

cublasStatus_t cublasSgeqrfBatched(cublasHandle_t handle, int m, int n, float *const Aarray[], int lda,
                                   float *const TauArray[], int *info, int batchSize)
{
    return geqrf_each("cublasSgeqrfBatched", handle, m, n, Aarray, lda, TauArray, info, batchSize);
}

cublasStatus_t cublasDgeqrfBatched(cublasHandle_t handle, int m, int n, double *const Aarray[], int lda,
                                   double *const TauArray[], int *info, int batchSize)
{
    return geqrf_each("cublasDgeqrfBatched", handle, m, n, Aarray, lda, TauArray, info, batchSize);
}
