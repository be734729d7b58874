/* cuSOLVER on LAPACK, executed late. Each routine needs the workspace that its _bufferSize names, on the
 * device and, for the 64-bit interface, on the host; both are filled with NaN when it runs. info is written
 * to device memory. NVIDIA promises neither that a factorisation returns before it is done ("prefers to keep
 * asynchronous execution as much as possible") nor that it can be captured. So here it counts as a wait, and
 * a captured stream refuses it. */
#include "sim.h"

#include <algorithm>
#include <cstring>

extern "C" {
void spotrf_(const char *, const int *, float *, const int *, int *);
void dpotrf_(const char *, const int *, double *, const int *, int *);
void sgetrf_(const int *, const int *, float *, const int *, int *, int *);
void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
void sgeqrf_(const int *, const int *, float *, const int *, float *, float *, const int *, int *);
void dgeqrf_(const int *, const int *, double *, const int *, double *, double *, const int *, int *);
void ssyevd_(const char *, const char *, const int *, float *, const int *, float *, float *, const int *,
             int *, const int *, int *);
void dsyevd_(const char *, const char *, const int *, double *, const int *, double *, double *, const int *,
             int *, const int *, int *);
void sgesvd_(const char *, const char *, const int *, const int *, float *, const int *, float *, float *,
             const int *, float *, const int *, float *, const int *, int *);
void dgesvd_(const char *, const char *, const int *, const int *, double *, const int *, double *, double *,
             const int *, double *, const int *, double *, const int *, int *);
}

using namespace sim;

struct cusolverDnContext {
    cudaStream_t stream = nullptr;
};
struct cusolverDnParams {
    int unused;
};

static void potrf(char uplo, int n, float *a, int lda, int *info) { spotrf_(&uplo, &n, a, &lda, info); }
static void potrf(char uplo, int n, double *a, int lda, int *info) { dpotrf_(&uplo, &n, a, &lda, info); }
static void getrf(int m, int n, float *a, int lda, int *ipiv, int *info)
{
    sgetrf_(&m, &n, a, &lda, ipiv, info);
}
static void getrf(int m, int n, double *a, int lda, int *ipiv, int *info)
{
    dgetrf_(&m, &n, a, &lda, ipiv, info);
}
static void geqrf(int m, int n, float *a, int lda, float *tau, float *work, int *info)
{
    sgeqrf_(&m, &n, a, &lda, tau, work, &n, info);
}
static void geqrf(int m, int n, double *a, int lda, double *tau, double *work, int *info)
{
    dgeqrf_(&m, &n, a, &lda, tau, work, &n, info);
}

static void syevd(char job, char uplo, int n, float *a, int lda, float *w, float *work, int count, int *whole,
                  int whole_count, int *info)
{
    ssyevd_(&job, &uplo, &n, a, &lda, w, work, &count, whole, &whole_count, info);
}
static void syevd(char job, char uplo, int n, double *a, int lda, double *w, double *work, int count,
                  int *whole, int whole_count, int *info)
{
    dsyevd_(&job, &uplo, &n, a, &lda, w, work, &count, whole, &whole_count, info);
}

static void gesvd(char job, int m, int n, float *a, int lda, float *s, float *u, int ldu, float *vt, int ldvt,
                  float *work, int count, int *info)
{
    sgesvd_(&job, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &count, info);
}
static void gesvd(char job, int m, int n, double *a, int lda, double *s, double *u, int ldu, double *vt,
                  int ldvt, double *work, int count, int *info)
{
    dgesvd_(&job, &job, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &count, info);
}

static cusolverStatus_t status_of(cudaError_t error)
{
    return error == cudaSuccess               ? CUSOLVER_STATUS_SUCCESS
           : error == cudaErrorIllegalAddress ? CUSOLVER_STATUS_EXECUTION_FAILED
                                              : CUSOLVER_STATUS_INTERNAL_ERROR;
}

/* -- handles --------------------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle)
{
    entry e("cusolverDnCreate", WAITS | UNSAFE);
    if (e.refused) return e.error == cudaErrorUnknown ? CUSOLVER_STATUS_ALLOC_FAILED : status_of(e.error);
    *handle = new cusolverDnContext();
    live++;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle)
{
    entry e("cusolverDnDestroy", WAITS | UNSAFE | RELEASES);
    if (e.refused) return status_of(e.error);
    if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
    finish_all();
    delete handle;
    live--;
    return status_of(e.error);
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t streamId)
{
    entry e("cusolverDnSetStream");
    if (e.refused) return status_of(e.error);
    if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!is_stream(streamId)) return CUSOLVER_STATUS_INVALID_VALUE;
    handle->stream = streamId;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *params)
{
    entry e("cusolverDnCreateParams");
    if (e.refused) return e.error == cudaErrorUnknown ? CUSOLVER_STATUS_ALLOC_FAILED : status_of(e.error);
    *params = new cusolverDnParams();
    live++;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params)
{
    entry e("cusolverDnDestroyParams", RELEASES);
    if (e.refused) return status_of(e.error);
    if (!params) return CUSOLVER_STATUS_NOT_INITIALIZED;
    delete params;
    live--;
    return status_of(e.error);
}

/* -- what the factorisations share ----------------------------------------------------------------------- */

/* Sizes nobody would guess. */
static size_t device_need(int64_t n, size_t element)
{
    return (size_t)(32 * std::max<int64_t>(n, 1) + 7) * element;
}
static size_t host_need(int64_t n) { return (size_t)(8 * std::max<int64_t>(n, 1) + 24); }

struct workspace {
    void *device;
    size_t device_bytes;
    void *host;
    size_t host_bytes;
    int *info;

    bool enough(int64_t n, size_t element) const
    {
        return device_bytes >= device_need(n, element) && host_bytes >= host_need(n) && device && host &&
               info;
    }
    bool use() const
    {
        if (!check(device, device_bytes, "workspace of cuSOLVER") ||
            !check(info, sizeof *info, "info of cuSOLVER"))
            return false;
        poison(device, device_bytes);
        memset(host, 0xff, host_bytes);
        return true;
    }
};

static bool is_real(cudaDataType t) { return t == CUDA_R_32F || t == CUDA_R_64F; }
static size_t size_of(cudaDataType t) { return t == CUDA_R_64F ? 8 : 4; }

/* Why a call cannot be queued. */
static cusolverStatus_t refuse(const entry &e, cusolverDnHandle_t handle, cusolverDnParams_t params,
                               int64_t m, int64_t n, cudaDataType type, int64_t lda, cudaDataType compute)
{
    if (e.refused) return status_of(e.error);
    if (!handle || !params) return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || lda < std::max<int64_t>(m, 1)) return CUSOLVER_STATUS_INVALID_VALUE;
    if (!is_real(type) || compute != type || lda > INT32_MAX || n > INT32_MAX)
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    if (capturing(handle->stream)) spoil(handle->stream);
    return launchable(handle->stream) ? CUSOLVER_STATUS_INTERNAL_ERROR : CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t tell_size(const char *name, cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  int64_t m, int64_t n, cudaDataType type, int64_t lda, cudaDataType compute,
                                  size_t *on_device, size_t *on_host)
{
    entry e(name);
    if (cusolverStatus_t s = refuse(e, handle, params, m, n, type, lda, compute)) return s;
    *on_device = device_need(n, size_of(type));
    *on_host = host_need(n);
    return CUSOLVER_STATUS_SUCCESS;
}

/* -- Cholesky -------------------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t, int64_t n, cudaDataType dataTypeA,
                                             const void *, int64_t lda, cudaDataType computeType,
                                             size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
    return tell_size("cusolverDnXpotrf_bufferSize", handle, params, n, n, dataTypeA, lda, computeType,
                     workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, cudaDataType dataTypeA, void *A, int64_t lda,
                                  cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    entry e("cusolverDnXpotrf", WAITS);
    if (cusolverStatus_t s = refuse(e, handle, params, n, n, dataTypeA, lda, computeType)) return s;
    workspace w = { bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info };
    if (!w.enough(n, size_of(dataTypeA))) return CUSOLVER_STATUS_INVALID_VALUE;
    enqueue(handle->stream, called("cusolverDnXpotrf", { n }), [=] {
        if (!w.use() || !check_matrix(A, n, n, lda, 0, 1, size_of(dataTypeA), "A of potrf")) return;
        char triangle = uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
        if (dataTypeA == CUDA_R_64F)
            potrf(triangle, (int)n, (double *)A, (int)lda, info);
        else
            potrf(triangle, (int)n, (float *)A, (int)lda, info);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

/* -- LU -------------------------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                             int64_t n, cudaDataType dataTypeA, const void *, int64_t lda,
                                             cudaDataType computeType, size_t *workspaceInBytesOnDevice,
                                             size_t *workspaceInBytesOnHost)
{
    return tell_size("cusolverDnXgetrf_bufferSize", handle, params, m, n, dataTypeA, lda, computeType,
                     workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType dataTypeA, void *A, int64_t lda, int64_t *ipiv,
                                  cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    entry e("cusolverDnXgetrf", WAITS);
    if (cusolverStatus_t s = refuse(e, handle, params, m, n, dataTypeA, lda, computeType)) return s;
    workspace w = { bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info };
    if (!w.enough(n, size_of(dataTypeA))) return CUSOLVER_STATUS_INVALID_VALUE;
    if (!ipiv) return CUSOLVER_STATUS_NOT_SUPPORTED; /* the real one does not pivot then */
    enqueue(handle->stream, called("cusolverDnXgetrf", { m, n }), [=] {
        int64_t k = std::min(m, n);
        if (!w.use() || !check_matrix(A, m, n, lda, 0, 1, size_of(dataTypeA), "A of getrf") ||
            !check(ipiv, (size_t)k * sizeof *ipiv, "pivots of getrf"))
            return;
        std::vector<int> pivot((size_t)k + 1);
        if (dataTypeA == CUDA_R_64F)
            getrf((int)m, (int)n, (double *)A, (int)lda, pivot.data(), info);
        else
            getrf((int)m, (int)n, (float *)A, (int)lda, pivot.data(), info);
        std::copy_n(pivot.begin(), k, ipiv);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

/* -- QR -------------------------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                             int64_t n, cudaDataType dataTypeA, const void *, int64_t lda,
                                             cudaDataType, const void *, cudaDataType computeType,
                                             size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
    return tell_size("cusolverDnXgeqrf_bufferSize", handle, params, m, n, dataTypeA, lda, computeType,
                     workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeTau,
                                  void *tau, cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    entry e("cusolverDnXgeqrf", WAITS);
    if (cusolverStatus_t s = refuse(e, handle, params, m, n, dataTypeA, lda, computeType)) return s;
    workspace w = { bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info };
    if (!w.enough(n, size_of(dataTypeA)) || dataTypeTau != dataTypeA) return CUSOLVER_STATUS_INVALID_VALUE;
    enqueue(handle->stream, called("cusolverDnXgeqrf", { m, n }), [=] {
        if (!w.use() || !check_matrix(A, m, n, lda, 0, 1, size_of(dataTypeA), "A of geqrf") ||
            !check(tau, (size_t)std::min(m, n) * size_of(dataTypeA), "tau of geqrf"))
            return;
        if (dataTypeA == CUDA_R_64F)
            geqrf((int)m, (int)n, (double *)A, (int)lda, (double *)tau, (double *)w.device, info);
        else
            geqrf((int)m, (int)n, (float *)A, (int)lda, (float *)tau, (float *)w.device, info);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

/* -- eigenvectors and singular vectors ------------------------------------------------------------------- */

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                             cudaDataType dataTypeA, const void *, int64_t lda, cudaDataType,
                                             const void *, cudaDataType computeType,
                                             size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
    return tell_size("cusolverDnXsyevd_bufferSize", handle, params, n, n, dataTypeA, lda, computeType,
                     workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

template <class T> static void run_syevd(char job, char uplo, int n, void *A, int lda, void *W, int *info)
{
    std::vector<T> work((size_t)(1 + 6 * n + 2 * n * n));
    std::vector<int> whole((size_t)(3 + 5 * n));
    syevd(job, uplo, n, (T *)A, lda, (T *)W, work.data(), (int)work.size(), whole.data(), (int)whole.size(),
          info);
}

cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cusolverEigMode_t jobz, cublasFillMode_t uplo, int64_t n,
                                  cudaDataType dataTypeA, void *A, int64_t lda, cudaDataType dataTypeW,
                                  void *W, cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    entry e("cusolverDnXsyevd", WAITS);
    if (cusolverStatus_t s = refuse(e, handle, params, n, n, dataTypeA, lda, computeType)) return s;
    workspace w = { bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info };
    if (!w.enough(n, size_of(dataTypeA)) || dataTypeW != dataTypeA) return CUSOLVER_STATUS_INVALID_VALUE;
    enqueue(handle->stream, called("cusolverDnXsyevd", { n }), [=] {
        if (!w.use() || !check_matrix(A, n, n, lda, 0, 1, size_of(dataTypeA), "A of syevd") ||
            !check(W, (size_t)n * size_of(dataTypeA), "W of syevd"))
            return;
        const char job = jobz == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N';
        const char triangle = uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U';
        (dataTypeA == CUDA_R_64F ? run_syevd<double> : run_syevd<float>)(job, triangle, (int)n, A, (int)lda,
                                                                         W, info);
    });
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             signed char, signed char, int64_t m, int64_t n,
                                             cudaDataType dataTypeA, const void *, int64_t lda, cudaDataType,
                                             const void *, cudaDataType, const void *, int64_t, cudaDataType,
                                             const void *, int64_t, cudaDataType computeType,
                                             size_t *workspaceInBytesOnDevice, size_t *workspaceInBytesOnHost)
{
    return tell_size("cusolverDnXgesvd_bufferSize", handle, params, m, n, dataTypeA, lda, computeType,
                     workspaceInBytesOnDevice, workspaceInBytesOnHost);
}

template <class T>
static void run_gesvd(int m, int n, void *A, int lda, void *S, void *U, int ldu, void *VT, int ldvt,
                      int *info)
{
    std::vector<T> work((size_t)(5 * (m + n) + 1));
    gesvd('S', m, n, (T *)A, lda, (T *)S, (T *)U, ldu, (T *)VT, ldvt, work.data(), (int)work.size(), info);
}

/* Only for m >= n, and 'S' for both jobs. */
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char jobu,
                                  signed char jobvt, int64_t m, int64_t n, cudaDataType dataTypeA, void *A,
                                  int64_t lda, cudaDataType dataTypeS, void *S, cudaDataType dataTypeU,
                                  void *U, int64_t ldu, cudaDataType dataTypeVT, void *VT, int64_t ldvt,
                                  cudaDataType computeType, void *bufferOnDevice,
                                  size_t workspaceInBytesOnDevice, void *bufferOnHost,
                                  size_t workspaceInBytesOnHost, int *info)
{
    entry e("cusolverDnXgesvd", WAITS);
    if (cusolverStatus_t s = refuse(e, handle, params, m, n, dataTypeA, lda, computeType)) return s;
    workspace w = { bufferOnDevice, workspaceInBytesOnDevice, bufferOnHost, workspaceInBytesOnHost, info };
    const size_t size = size_of(dataTypeA);
    if (!w.enough(n, size) || dataTypeS != dataTypeA || dataTypeU != dataTypeA || dataTypeVT != dataTypeA ||
        m < n || ldu < m || ldvt < n)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (jobu != 'S' || jobvt != 'S') return CUSOLVER_STATUS_NOT_SUPPORTED;
    enqueue(handle->stream, called("cusolverDnXgesvd", { m, n }), [=] {
        if (!w.use() || !check_matrix(A, m, n, lda, 0, 1, size, "A of gesvd") ||
            !check(S, (size_t)n * size, "S of gesvd") ||
            !check_matrix(U, m, n, ldu, 0, 1, size, "U of gesvd") ||
            !check_matrix(VT, n, n, ldvt, 0, 1, size, "VT of gesvd"))
            return;
        (dataTypeA == CUDA_R_64F ? run_gesvd<double> : run_gesvd<float>)((int)m, (int)n, A, (int)lda, S, U,
                                                                         (int)ldu, VT, (int)ldvt, info);
    });
    return CUSOLVER_STATUS_SUCCESS;
}
