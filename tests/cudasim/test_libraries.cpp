/* cuBLAS, cuSOLVER and CUB: results against loops, late execution, and the argument checks and workspaces of
 * the real libraries. */
#include "check_sim.h"

#include <cub/block/block_reduce.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

static cudaStream_t s;
static cublasHandle_t blas;
static cusolverDnHandle_t solver;
static cusolverDnParams_t params;

static int setup(void **)
{
    return cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking) || cublasCreate(&blas) ||
           cusolverDnCreate(&solver) || cusolverDnCreateParams(&params) || cublasSetStream(blas, s) ||
           cusolverDnSetStream(solver, s);
}

static int teardown(void **)
{
    return cublasDestroy(blas) || cusolverDnDestroyParams(params) || cusolverDnDestroy(solver) ||
           cudaStreamDestroy(s) || cudasim_live();
}

template <class T> static T *upload(const double *x, int n)
{
    T *p, *converted = (T *)malloc((size_t)n * sizeof(T));
    for (int i = 0; i < n; i++) converted[i] = (T)x[i];
    assert_cuda(cudaMalloc((void **)&p, (size_t)n * sizeof(T)));
    assert_cuda(cudaMemcpy(p, converted, (size_t)n * sizeof(T), cudaMemcpyHostToDevice));
    free(converted);
    return p;
}

template <class T> static void download(const T *p, double *x, int n)
{
    T *raw = (T *)malloc((size_t)n * sizeof(T));
    assert_cuda(cudaMemcpyAsync(raw, p, (size_t)n * sizeof(T), cudaMemcpyDeviceToHost, s));
    for (int i = 0; i < n; i++) x[i] = (double)raw[i];
    free(raw);
}

/* -- products: C = 2 op(A) op(B) + 3 C, two of them, 3 x 2 over 4, with room between the columns --------- */

enum { M = 3, N = 2, K = 4, LD = 6, BATCH = 2, STRIDE = 40 };

template <class T, class S>
static void check_product(cudaDataType ab, cudaDataType c, cublasComputeType_t compute, double tolerance)
{
    double a[BATCH * STRIDE], b[BATCH * STRIDE], before[BATCH * STRIDE], after[BATCH * STRIDE];
    for (int i = 0; i < BATCH * STRIDE; i++) a[i] = i % 7 - 3, b[i] = i % 5 - 1, before[i] = i % 3;
    for (int forms = 0; forms < 4; forms++) {
        bool ta = forms & 1, tb = forms & 2;
        T *da = upload<T>(a, BATCH * STRIDE), *db = upload<T>(b, BATCH * STRIDE);
        S *dc = upload<S>(before, BATCH * STRIDE);
        float two_f = 2, three_f = 3;
        double two = 2, three = 3;
        const void *alpha = compute == CUBLAS_COMPUTE_64F ? (void *)&two : (void *)&two_f,
                   *beta = compute == CUBLAS_COMPUTE_64F ? (void *)&three : (void *)&three_f;
        assert_int_equal(cublasGemmStridedBatchedEx_64(blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                       tb ? CUBLAS_OP_T : CUBLAS_OP_N, M, N, K, alpha, da, ab,
                                                       LD, STRIDE, db, ab, LD, STRIDE, beta, dc, c, LD,
                                                       STRIDE, BATCH, compute, CUBLAS_GEMM_DEFAULT),
                         CUBLAS_STATUS_SUCCESS);
        two = three = two_f = three_f = NAN; /* they were read */
        download(dc, after, BATCH * STRIDE);
        for (int m = 0; m < BATCH; m++)
            for (int j = 0; j < LD; j++)
                for (int i = 0; i < LD; i++) {
                    int at = m * STRIDE + i + j * LD;
                    double wanted = before[at];
                    if (i < M && j < N) {
                        wanted *= 3;
                        for (int k = 0; k < K; k++)
                            wanted += 2 * a[m * STRIDE + (ta ? k + i * LD : i + k * LD)] *
                                      b[m * STRIDE + (tb ? j + k * LD : k + j * LD)];
                    }
                    assert_close(after[at], wanted, tolerance, 0);
                }
        assert_cuda(cudaFree(da));
        assert_cuda(cudaFree(db));
        assert_cuda(cudaFree(dc));
    }
}

static void products(void **)
{
    check_product<double, double>(CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 1e-14);
    check_product<float, float>(CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    check_product<__nv_bfloat16, __nv_bfloat16>(CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1e-2);
    check_product<__nv_bfloat16, float>(CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
    check_product<__half, __half>(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 1e-3);
    check_product<__half, float>(CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-6);
}

/* 256·1 + 1·1 + 0·1 + 1·1 is a bf16, 257 is not: parts of the sum are rounded unless the math mode rules it
 * out. */
static void parts_of_a_sum(void **)
{
    const double a[] = { 256, 1, 0, 1 }, ones[] = { 1, 1, 1, 1 };
    double c;
    const float one = 1, zero = 0;
    __nv_bfloat16 *x = upload<__nv_bfloat16>(a, 4), *y = upload<__nv_bfloat16>(ones, 4),
                  *z = upload<__nv_bfloat16>(ones, 1);
    for (int exact = 0; exact < 2; exact++) {
        assert_int_equal(cublasSetMathMode(blas, exact ? CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
                                                       : CUBLAS_DEFAULT_MATH),
                         CUBLAS_STATUS_SUCCESS);
        assert_int_equal(cublasGemmStridedBatchedEx_64(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 4, &one, x,
                                                       CUDA_R_16BF, 1, 0, y, CUDA_R_16BF, 4, 0, &zero, z,
                                                       CUDA_R_16BF, 1, 0, 1, CUBLAS_COMPUTE_32F,
                                                       CUBLAS_GEMM_DEFAULT),
                         CUBLAS_STATUS_SUCCESS);
        download(z, &c, 1);
        assert_true(c == (exact ? 258 : 256));
    }
    assert_int_equal(cublasSetMathMode(blas, CUBLAS_TF32_TENSOR_OP_MATH), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasSetMathMode(blas, CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_SUCCESS);
    for (__nv_bfloat16 *p : { x, y, z }) assert_cuda(cudaFree(p));
}

static cublasStatus_t gemm(const double *a, int lda, const double *b, int ldb, double *c, int ldc,
                           int64_t stride, int batch, const double *scalars)
{
    return cublasGemmStridedBatchedEx_64(blas, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, scalars, a, CUDA_R_64F, lda,
                                         12, b, CUDA_R_64F, ldb, 8, scalars + 1, c, CUDA_R_64F, ldc, stride,
                                         batch, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT);
}

static void product_misuse(void **)
{
    double zero[24] = { 0 }, scalars[2] = { 1, 0 };
    double *a = upload<double>(zero, 12), *b = upload<double>(zero, 8), *c = upload<double>(zero, 12),
           *on_device = upload<double>(scalars, 2);
    assert_int_equal(gemm(a, 2, b, 4, c, 3, 6, 1, scalars), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(a, 3, b, 3, c, 3, 6, 1, scalars), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(a, 3, b, 4, c, 2, 6, 1, scalars), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(a, 3, b, 4, c, 3, 6, -1, scalars), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT("", (gemm(a, 3, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    EXPECT("A of gemm", (gemm(a, 3, b, 4, c, 3, 6, 2, scalars), cudaStreamSynchronize(s)));
    EXPECT("A of gemm", (gemm(a, 4, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    EXPECT("C of gemm", (gemm(a, 3, b, 4, c, 12, 6, 1, scalars), cudaStreamSynchronize(s)));
    EXPECT("not aligned",
           (gemm((double *)((char *)a + 4), 3, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    EXPECT("overlap", (gemm(a, 3, b, 4, c, 3, 5, 2, scalars), cudaStreamSynchronize(s)));
    EXPECT("pointer mode is host", (gemm(a, 3, b, 4, c, 3, 6, 1, on_device), cudaStreamSynchronize(s)));
    EXPECT("no device memory", (gemm(zero, 3, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE), 0);
    EXPECT("", (gemm(a, 3, b, 4, c, 3, 6, 1, on_device), cudaStreamSynchronize(s)));
    EXPECT("scalar", (gemm(a, 3, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    assert_int_equal(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_HOST), 0);
    assert_int_equal(cublasSetWorkspace(blas, (char *)a + 8, 8), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasSetWorkspace(blas, a, 4096), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(gemm(a, 3, b, 4, c, 3, 6, 1, scalars), CUBLAS_STATUS_ALLOC_FAILED);
    assert_int_equal(cublasSetWorkspace(blas, a, 32 << 20), CUBLAS_STATUS_SUCCESS);
    EXPECT("workspace", (gemm(a, 3, b, 4, c, 3, 6, 1, scalars), cudaStreamSynchronize(s)));
    assert_int_equal(cublasSetStream(blas, s), 0); /* the library's own workspace again */
    for (double *p : { a, b, c, on_device }) assert_cuda(cudaFree(p));
}

/* T X = 2 B and X T = 2 B for every triangle and form of T; the other triangle holds NaN. */
template <class T, class F> static void check_trsm(F trsm, double tolerance)
{
    for (int forms = 0; forms < 16; forms++) {
        bool left = forms & 1, lower = forms & 2, trans = forms & 4, unit = forms & 8;
        int n = left ? M : N;
        double t[LD * LD], b[LD * LD], x[LD * LD];
        for (int j = 0; j < LD; j++)
            for (int i = 0; i < LD; i++) {
                t[i + j * LD] = i == j ? (unit ? NAN : 3 + i) : (i > j) == lower ? 1 + i - 2 * j : NAN;
                b[i + j * LD] = i + 3 * j;
            }
        T *dt = upload<T>(t, LD * LD), *db = upload<T>(b, LD * LD), two = 2;
        assert_int_equal(trsm(blas, left ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT,
                              lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER,
                              trans ? CUBLAS_OP_T : CUBLAS_OP_N,
                              unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, M, N, &two, dt, LD, db, LD),
                         CUBLAS_STATUS_SUCCESS);
        download(db, x, LD * LD);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                double sum = 0;
                for (int k = 0; k < n; k++) {
                    int row = left ? i : k, col = left ? k : j;
                    if (trans) {
                        int swap = row;
                        row = col;
                        col = swap;
                    }
                    double entry = row == col             ? (unit ? 1 : t[row + col * LD])
                                   : (row > col) == lower ? t[row + col * LD]
                                                          : 0;
                    sum += entry * x[left ? k + j * LD : i + k * LD];
                }
                assert_close(sum, 2 * b[i + j * LD], tolerance, tolerance);
            }
        assert_cuda(cudaFree(dt));
        assert_cuda(cudaFree(db));
    }
}

static void triangular_solves(void **)
{
    check_trsm<double>(cublasDtrsm_64, 1e-12);
    check_trsm<float>(cublasStrsm_64, 1e-4);
}

/* -- factorisations -------------------------------------------------------------------------------------- */

struct buffers {
    size_t device_bytes = 0, host_bytes = 0;
    void *device = nullptr, *host = nullptr;
    int *info = nullptr;
    void make()
    {
        assert_cuda(cudaMalloc(&device, device_bytes));
        assert_cuda(cudaMalloc((void **)&info, sizeof *info));
        host = malloc(host_bytes);
    }
    int result() const
    {
        int i;
        assert_cuda(cudaMemcpyAsync(&i, info, sizeof i, cudaMemcpyDeviceToHost, s));
        return i;
    }
    void drop()
    {
        assert_cuda(cudaFree(device));
        assert_cuda(cudaFree(info));
        free(host);
    }
};

static void cholesky(void **)
{
    double a[16], l[16];
    for (int i = 0; i < 16; i++) a[i] = i / 4 == i % 4 ? 5 : i / 4 < i % 4 ? 1 : NAN;
    double *d = upload<double>(a, 16);
    buffers w;
    assert_int_equal(cusolverDnXpotrf_bufferSize(solver, params, CUBLAS_FILL_MODE_LOWER, 4, CUDA_R_64F, d, 4,
                                                 CUDA_R_64F, &w.device_bytes, &w.host_bytes),
                     CUSOLVER_STATUS_SUCCESS);
    w.make();
    auto factor = [&](size_t device_bytes, size_t host_bytes, int64_t lda) {
        return cusolverDnXpotrf(solver, params, CUBLAS_FILL_MODE_LOWER, 4, CUDA_R_64F, d, lda, CUDA_R_64F,
                                w.device, device_bytes, w.host, host_bytes, w.info);
    };
    assert_int_equal(factor(w.device_bytes - 1, w.host_bytes, 4), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(w.device_bytes, w.host_bytes - 1, 4), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(w.device_bytes, w.host_bytes, 3), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(w.device_bytes, w.host_bytes, 4), CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(w.result(), 0);
    download(d, l, 16);
    for (int j = 0; j < 4; j++)
        for (int i = j; i < 4; i++) {
            double sum = 0;
            for (int k = 0; k <= j; k++) sum += l[i + 4 * k] * l[j + 4 * k];
            assert_close(sum, i == j ? 5 : 1, 1e-14, 0);
        }
    EXPECT("A of potrf", (factor(w.device_bytes, w.host_bytes, 5), cudaStreamSynchronize(s)));
    assert_cuda(cudaMemsetAsync(d, 0, 8, s));
    assert_int_equal(factor(w.device_bytes, w.host_bytes, 4), CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(w.result(), 1);
    w.drop();
    assert_cuda(cudaFree(d));
}

static void lu(void **)
{
    double a[6] = { 1, 4, 2, 3, 5, 7 }, f[6]; /* 3 x 2 */
    double *d = upload<double>(a, 6);
    int64_t *ipiv, pivots[2];
    assert_cuda(cudaMalloc((void **)&ipiv, sizeof pivots));
    buffers w;
    assert_int_equal(cusolverDnXgetrf_bufferSize(solver, params, 3, 2, CUDA_R_64F, d, 3, CUDA_R_64F,
                                                 &w.device_bytes, &w.host_bytes),
                     CUSOLVER_STATUS_SUCCESS);
    w.make();
    assert_int_equal(cusolverDnXgetrf(solver, params, 3, 2, CUDA_R_64F, d, 3, ipiv, CUDA_R_64F, w.device,
                                      w.device_bytes, w.host, w.host_bytes, w.info),
                     CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(w.result(), 0);
    download(d, f, 6);
    assert_cuda(cudaMemcpyAsync(pivots, ipiv, sizeof pivots, cudaMemcpyDeviceToHost, s));
    assert_int_equal(pivots[0], 2);
    assert_int_equal(pivots[1], 3);
    const double wanted[6] = { 4, .5, .25, 5, 4.5, 1.75 / 4.5 };
    for (int i = 0; i < 6; i++) assert_close(f[i], wanted[i], 1e-15, 0);
    w.drop();
    assert_cuda(cudaFree(d));
    assert_cuda(cudaFree(ipiv));
}

/* Of 3 I + 1 1ᵀ, with NaN in the triangle that is not read: 3, 3 and 6. */
static void eigenvectors(void **)
{
    double a[12], v[12], w[3];
    for (int i = 0; i < 12; i++) a[i] = i % 4 > i / 4 ? NAN : i % 4 == i / 4 ? 4 : 1; /* columns of 4 */
    double *d = upload<double>(a, 12), *values = upload<double>(a, 3);
    const cusolverEigMode_t both = CUSOLVER_EIG_MODE_VECTOR;
    buffers r;
    assert_int_equal(cusolverDnXsyevd_bufferSize(solver, params, both, CUBLAS_FILL_MODE_UPPER, 3, CUDA_R_64F,
                                                 d, 4, CUDA_R_64F, values, CUDA_R_64F, &r.device_bytes,
                                                 &r.host_bytes),
                     CUSOLVER_STATUS_SUCCESS);
    r.make();
    auto factor = [&](size_t device_bytes, int64_t n, int64_t lda) {
        return cusolverDnXsyevd(solver, params, both, CUBLAS_FILL_MODE_UPPER, n, CUDA_R_64F, d, lda,
                                CUDA_R_64F, values, CUDA_R_64F, r.device, device_bytes, r.host, r.host_bytes,
                                r.info);
    };
    assert_int_equal(factor(r.device_bytes - 1, 3, 4), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(r.device_bytes, 3, 2), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor(r.device_bytes, 3, 4), CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(r.result(), 0);
    download(d, v, 12);
    download(values, w, 3);
    for (int k = 0; k < 3; k++) {
        assert_close(w[k], k < 2 ? 3 : 6, 1e-14, 0);
        const double sum = v[4 * k] + v[4 * k + 1] + v[4 * k + 2];
        for (int i = 0; i < 3; i++) assert_close(3 * v[4 * k + i] + sum, w[k] * v[4 * k + i], 0, 1e-14);
    }
    EXPECT("A of syevd", (factor(r.device_bytes, 3, 5), cudaStreamSynchronize(s)));
    r.drop();
    assert_cuda(cudaFree(d));
    assert_cuda(cudaFree(values));
}

/* Of (3 0; 4 0; 0 2), by columns of 4: 5 and 2. */
static void singular_vectors(void **)
{
    const double a[8] = { 3, 4, 0, NAN, 0, 0, 2, NAN };
    double u[6], v[4], values[2];
    double *d = upload<double>(a, 8), *dv = upload<double>(a, 4), *ds = upload<double>(a, 2),
           *du = upload<double>(a, 6);
    buffers r;
    assert_int_equal(cusolverDnXgesvd_bufferSize(solver, params, 'S', 'S', 3, 2, CUDA_R_64F, d, 4, CUDA_R_64F,
                                                 ds, CUDA_R_64F, du, 3, CUDA_R_64F, dv, 2, CUDA_R_64F,
                                                 &r.device_bytes, &r.host_bytes),
                     CUSOLVER_STATUS_SUCCESS);
    r.make();
    auto factor = [&](signed char job, int64_t m, int64_t n, int64_t ldu) {
        return cusolverDnXgesvd(solver, params, job, job, m, n, CUDA_R_64F, d, 4, CUDA_R_64F, ds, CUDA_R_64F,
                                du, ldu, CUDA_R_64F, dv, 2, CUDA_R_64F, r.device, r.device_bytes, r.host,
                                r.host_bytes, r.info);
    };
    assert_int_equal(factor('S', 1, 2, 3), CUSOLVER_STATUS_INVALID_VALUE); /* wide */
    assert_int_equal(factor('S', 3, 2, 2), CUSOLVER_STATUS_INVALID_VALUE);
    assert_int_equal(factor('A', 3, 2, 3), CUSOLVER_STATUS_NOT_SUPPORTED);
    assert_int_equal(factor('S', 3, 2, 3), CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(r.result(), 0);
    download(du, u, 6), download(dv, v, 4), download(ds, values, 2);
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 3; i++)
            assert_close(u[i] * values[0] * v[2 * j] + u[3 + i] * values[1] * v[2 * j + 1], a[4 * j + i], 0,
                         1e-14);
    assert_close(values[0], 5, 1e-15, 0);
    r.drop();
    for (double *p : { d, dv, ds, du }) assert_cuda(cudaFree(p));
}

/* A factorisation may wait, and a captured stream refuses it. */
static void waits_and_captures(void **)
{
    double four = 4;
    double *d = upload<double>(&four, 1);
    buffers w;
    auto sizes = [&]() {
        return cusolverDnXpotrf_bufferSize(solver, params, CUBLAS_FILL_MODE_LOWER, 1, CUDA_R_64F, d, 1,
                                           CUDA_R_64F, &w.device_bytes, &w.host_bytes);
    };
    auto factor = [&]() {
        return cusolverDnXpotrf(solver, params, CUBLAS_FILL_MODE_LOWER, 1, CUDA_R_64F, d, 1, CUDA_R_64F,
                                w.device, w.device_bytes, w.host, w.host_bytes, w.info);
    };
    assert_int_equal(sizes(), CUSOLVER_STATUS_SUCCESS);
    w.make();
    cudasim_watch();
    assert_int_equal(factor(), CUSOLVER_STATUS_SUCCESS);
    assert_int_equal(cudasim_waits(), 1);
    assert_string_equal(cudasim_first_wait(), "cusolverDnXpotrf");
    for (int ask = 0; ask < 2; ask++) {
        cudaGraph_t g;
        assert_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
        assert_int_equal(ask ? sizes() : factor(), CUSOLVER_STATUS_INTERNAL_ERROR);
        assert_int_equal(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    }
    cudaGetLastError();
    download(d, &four, 1);
    assert_true(four == 2);
    w.drop();
    assert_cuda(cudaFree(d));
}

/* -- CUB ------------------------------------------------------------------------------------------------- */

/* By two bits of the keys, and stable. */
static void radix_sort(void **)
{
    enum { COUNT = 6 };
    const double keys[COUNT] = { 2, 5, 1, 2, 1, 0 }, positions[COUNT] = { 0, 1, 2, 3, 4, 5 },
                 sorted_keys[COUNT] = { 0, 5, 1, 1, 2, 2 }, sorted[COUNT] = { 5, 1, 2, 4, 0, 3 };
    int64_t *k = upload<int64_t>(keys, COUNT), *v = upload<int64_t>(positions, COUNT),
            *k_out = upload<int64_t>(keys, COUNT), *v_out = upload<int64_t>(keys, COUNT);
    double got[COUNT];
    size_t bytes = 0, too_few = 1;
    void *room = nullptr;
    const auto sort = [&](size_t &size) {
        return cub::DeviceRadixSort::SortPairs(room, size, k, k_out, v, v_out, COUNT, 0, 2, s);
    };
    assert_cuda(sort(bytes));
    assert_cuda(cudaMalloc(&room, bytes));
    assert_int_equal(sort(too_few), cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    assert_cuda(sort(bytes));
    download(k_out, got, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(got[i] == sorted_keys[i]);
    download(v_out, got, COUNT);
    for (int i = 0; i < COUNT; i++) assert_true(got[i] == sorted[i]);
    int64_t *whole = k_out;
    k_out = (int64_t *)((char *)whole + 8);
    EXPECT("sorted keys of CUB", (sort(bytes), cudaStreamSynchronize(s)));
    for (void *p : { (void *)k, (void *)v, (void *)whole, (void *)v_out, room }) assert_cuda(cudaFree(p));
}

static __global__ void sum_kernel(const double *x, double *sum)
{
    typedef cub::BlockReduce<double, 64> reduce;
    CT__SHARED(reduce::TempStorage, room, );
    const double all = reduce(room).Reduce(x[threadIdx.x], [](double a, double b) { return a + b; });
    if (!threadIdx.x) sum[0] = all;
}

static void block_sums(void **)
{
    double x[64], sum;
    for (int i = 0; i < 64; i++) x[i] = i;
    double *dx = upload<double>(x, 64), *dsum = upload<double>(x, 1);
    CT__LAUNCH_BLOCK(sum_kernel, 1, 64, s, dx, dsum);
    download(dsum, &sum, 1);
    assert_true(sum == 63 * 32);
    EXPECT("a block of 32 threads",
           (CT__LAUNCH_BLOCK(sum_kernel, 1, 32, s, dx, dsum), cudaStreamSynchronize(s)));
    assert_cuda(cudaFree(dx));
    assert_cuda(cudaFree(dsum));
}

/* -- half and bfloat16 ----------------------------------------------------------------------------------- */

template <class H> static void check_every(void)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        H h, back;
        h.bits = (uint16_t)bits;
        float x = h;
        back = x;
        if (x == x) assert_int_equal(back.bits, bits);
    }
}

static void halves(void **)
{
    check_every<__half>();
    check_every<__nv_bfloat16>();
    assert_true((float)__half(1.f / 3) == 0x1.554p-2f);
    assert_true((float)__half(65519.f) == 65504.f);
    assert_true(isinf((float)__half(65520.f)));
    assert_true((float)__half(2049.f) == 2048.f); /* ties to even */
    assert_true((float)__half(2051.f) == 2052.f);
    assert_true((float)__half(0x1p-25f) == 0);
    assert_true((float)__half(0x1.8p-25f) == 0x1p-24f);
    assert_true((float)__nv_bfloat16(257.f) == 256.f);
    assert_true((float)__nv_bfloat16(259.f) == 260.f);
    assert_true((float)__nv_bfloat16(257 + 0x1p-40) == 258.f); /* rounded once */
    assert_true((float)__half(2049 + 0x1p-40) == 2050.f);
    assert_true((float)__nv_bfloat16((long long)257 << 45 | 1) == 0x1.02p53f);
    assert_true(isnan((float)__half(NAN)) && isnan((float)__nv_bfloat16(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),           cmocka_unit_test(parts_of_a_sum),
        cmocka_unit_test(product_misuse),     cmocka_unit_test(triangular_solves),
        cmocka_unit_test(cholesky),           cmocka_unit_test(lu),
        cmocka_unit_test(eigenvectors),       cmocka_unit_test(singular_vectors),
        cmocka_unit_test(radix_sort),         cmocka_unit_test(block_sums),
        cmocka_unit_test(waits_and_captures), cmocka_unit_test(halves),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
