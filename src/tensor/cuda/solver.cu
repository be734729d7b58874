/* Factors by cuBLAS and cuSOLVER. */
#include "batch.cuh"
#include "block.cuh"

#include <math.h>

/* One block per member. failed[member] is the first diagonal element, counted from 1, that is not finite or
 * outside the domain, or cuSOLVER's verdict if `info` is given. Row exchanges, which the libraries count
 * from 1, are converted; those of cuBLAS are in `narrow`. */
template <typename T>
static __global__ void verdict_kernel(ct__batch b, ct__matrix m, ct_domain domain, const int *info,
                                      const int *narrow, int64_t *pivots, int64_t *failed)
{
    const int64_t n = m.rows, member = blockIdx.x;
    int64_t *pivot = pivots ? pivots + member * n : NULL;
    const int64_t first = ct__first<CT__BLOCK>(n, [&](int64_t i) {
        const T d = ct__at_entry<T>(b, m, ct__entry{ member, i, i });
        return !(d - d == 0 && (domain == CT_FINITE || d > 0 || (domain == CT_NONZERO && d < 0)));
    });
    for (int64_t j = threadIdx.x; pivot && j < n; j += CT__BLOCK) {
        const int64_t row = narrow ? narrow[member * n + j] : pivot[j];
        pivot[j] = row > j + 1 && row <= n ? row - 1 : j;
    }
    if (!threadIdx.x) failed[member] = info && info[member] > 0 ? info[member] : first < n ? first + 1 : 0;
}

/* -- by cuBLAS, all members together, also in a graph ---------------------------------------------------- */

ct_status ct__lu_batched(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed)
{
    const cublasHandle_t blas = ct__cuda_of(b.dev)->blas;
    const int64_t n = m.rows, all = b.members;
    const ct__addresses of_m(b, m);
    const ct__workspace integers(b, all * (n + 1) * (int64_t)sizeof(int));
    if (b.status) return b.status;
    int *rows = integers, *info = rows + all * n;
    CT__ASK(b, "lu",
            b.dtype == CT_F64 ? cublasDgetrfBatched(blas, (int)n, of_m, (int)m.cs, rows, info, (int)all)
                              : cublasSgetrfBatched(blas, (int)n, of_m, (int)m.cs, rows, info, (int)all));
    return CT__BATCH_BLOCKS("lu", b, verdict_kernel, all, CT__BLOCK, m, CT_NONZERO, nullptr, rows, pivot,
                            failed);
}

ct_status ct__qr_batched(const ct__job &b, const ct__matrix &m, const ct__matrix &tau)
{
    const cublasHandle_t blas = ct__cuda_of(b.dev)->blas;
    const int rows = (int)m.rows, cols = (int)m.cols, ld = (int)m.cs, all = (int)b.members;
    const ct__addresses of_m(b, m), of_tau(b, tau);
    int wrong = 0; /* an invalid argument, which the status also reports */
    return CT__ASK(b, "qr",
                   b.dtype == CT_F64 ? cublasDgeqrfBatched(blas, rows, cols, of_m, ld, of_tau, &wrong, all)
                                     : cublasSgeqrfBatched(blas, rows, cols, of_m, ld, of_tau, &wrong, all));
}

/* -- by cuSOLVER, one after the other --------------------------------------------------------------------
 * Not in a step: cuSOLVER does not promise that its work can be recorded. */

/* cuSOLVER's handles, its workspaces on device and host, and its verdict on a member, on the device. */
struct workspace {
    cusolverDnHandle_t solver;
    cusolverDnParams_t params;
    cudaDataType type;
    size_t device_bytes = 0, host_bytes = 0;
    void *data = NULL, *host = NULL;
    int *info = NULL;
};

/* cuSOLVER's verdicts on all members. */
struct verdicts : ct__workspace {
    explicit verdicts(const ct__job &b) : ct__workspace(b, b.members * (int64_t)sizeof(int)) {}
};

/* sizes(workspace) queries the workspace sizes; factor(i, a, workspace) factors member i. */
template <typename Sizes, typename Factor>
static ct_status looped(const char *what, const ct__job &b, const ct__matrix &m, const verdicts &infos,
                        Sizes sizes, Factor factor)
{
    const ct__cuda *cuda = ct__cuda_of(b.dev);
    workspace r = { cuda->solver, cuda->params, b.dtype == CT_F64 ? CUDA_R_64F : CUDA_R_32F };
    CT__ASK(b, what, sizes(r));
    const ct__workspace memory(b, (int64_t)r.device_bytes);
    if (!b.status && r.host_bytes) r.host = ct__cuda_host_workspace(b.dev, r.host_bytes);
    CT__DO(b, r.host_bytes && !r.host ? CT_ENOMEM : CT_OK);
    r.data = memory;
    for (int64_t i = 0; i < b.members && !b.status; i++) {
        r.info = (int *)infos + i;
        b.status = ct__status(b.dev, what, factor(i, m.data + ct__member_at(b, m, i) * ct__bytes_of(b), r));
    }
    return b.status;
}

ct_status ct__cholesky_looped(const ct__job &b, const ct__matrix &A, int64_t *failed)
{
    const cublasFillMode_t fill = A.columns ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
    const int64_t n = A.rows, ld = A.columns ? A.cs : A.rs;
    const auto sizes = [&](workspace &r) {
        return cusolverDnXpotrf_bufferSize(r.solver, r.params, fill, n, r.type, A.data, ld, r.type,
                                           &r.device_bytes, &r.host_bytes);
    };
    const verdicts infos(b);
    looped("cholesky", b, A, infos, sizes, [&](int64_t, void *a, const workspace &r) {
        return cusolverDnXpotrf(r.solver, r.params, fill, n, r.type, a, ld, r.type, r.data, r.device_bytes,
                                r.host, r.host_bytes, r.info);
    });
    return CT__BATCH_BLOCKS("cholesky", b, verdict_kernel, b.members, CT__BLOCK, A, CT_POSITIVE, infos,
                            nullptr, nullptr, failed);
}

ct_status ct__lu_looped(const ct__job &b, const ct__matrix &m, int64_t *pivot, int64_t *failed)
{
    const int64_t n = m.rows;
    const auto sizes = [&](workspace &r) {
        return cusolverDnXgetrf_bufferSize(r.solver, r.params, n, n, r.type, m.data, m.cs, r.type,
                                           &r.device_bytes, &r.host_bytes);
    };
    looped("lu", b, m, verdicts(b), sizes, [&](int64_t i, void *a, const workspace &r) {
        return cusolverDnXgetrf(r.solver, r.params, n, n, r.type, a, m.cs, pivot + i * n, r.type, r.data,
                                r.device_bytes, r.host, r.host_bytes, r.info);
    });
    return CT__BATCH_BLOCKS("lu", b, verdict_kernel, b.members, CT__BLOCK, m, CT_NONZERO, nullptr, nullptr,
                            pivot, failed);
}

ct_status ct__qr_looped(const ct__job &b, const ct__matrix &m, const ct__matrix &tau)
{
    const auto sizes = [&](workspace &r) {
        return cusolverDnXgeqrf_bufferSize(r.solver, r.params, m.rows, m.cols, r.type, m.data, m.cs, r.type,
                                           tau.data, r.type, &r.device_bytes, &r.host_bytes);
    };
    return looped("qr", b, m, verdicts(b), sizes, [&](int64_t i, void *a, const workspace &r) {
        return cusolverDnXgeqrf(r.solver, r.params, m.rows, m.cols, r.type, a, m.cs, r.type,
                                tau.data + ct__member_at(b, tau, i) * ct__bytes_of(b), r.type, r.data,
                                r.device_bytes, r.host, r.host_bytes, r.info);
    });
}

/* Judges members by cuSOLVER and by their values, a row, which those that have failed before lose. */
static ct_status judge(const char *what, const ct__job &b, const ct__matrix &values, const verdicts &infos,
                       int64_t *failed)
{
    ct__matrix diagonal = values;
    diagonal.rows = values.cols, diagonal.rs = values.cs, diagonal.cs = 0;
    ct__poison(b, failed, false, values);
    return CT__BATCH_BLOCKS(what, b, verdict_kernel, b.members, CT__BLOCK, diagonal, CT_FINITE, infos,
                            nullptr, nullptr, failed);
}

static void *of_member(const ct__job &b, const ct__matrix &m, int64_t i)
{
    return m.data + ct__member_at(b, m, i) * ct__bytes_of(b);
}

ct_status ct__eigen_looped(const ct__job &b, const ct__matrix &A, const ct__matrix &w, int64_t *failed)
{
    const cusolverEigMode_t both = CUSOLVER_EIG_MODE_VECTOR;
    const cublasFillMode_t fill = CUBLAS_FILL_MODE_UPPER; /* the lower triangle, by rows */
    const int64_t n = A.rows;
    const auto sizes = [&](workspace &r) {
        return cusolverDnXsyevd_bufferSize(r.solver, r.params, both, fill, n, r.type, A.data, n, r.type,
                                           w.data, r.type, &r.device_bytes, &r.host_bytes);
    };
    const verdicts infos(b);
    looped("eigen", b, A, infos, sizes, [&](int64_t i, void *a, const workspace &r) {
        return cusolverDnXsyevd(r.solver, r.params, both, fill, n, r.type, a, n, r.type, of_member(b, w, i),
                                r.type, r.data, r.device_bytes, r.host, r.host_bytes, r.info);
    });
    return judge("eigen", b, w, infos, failed);
}

/* A by rows is Aᵀ = V S Uᵀ by columns. */
ct_status ct__svd_looped(const ct__job &b, const ct__matrix &A, const ct__matrix &s, const ct__matrix &U,
                         const ct__matrix &Vt, int64_t *failed)
{
    const int64_t m = A.cols, n = A.rows;
    const auto sizes = [&](workspace &r) {
        return cusolverDnXgesvd_bufferSize(r.solver, r.params, 'S', 'S', m, n, r.type, A.data, m, r.type,
                                           s.data, r.type, Vt.data, m, r.type, U.data, n, r.type,
                                           &r.device_bytes, &r.host_bytes);
    };
    const verdicts infos(b);
    looped("svd", b, A, infos, sizes, [&](int64_t i, void *a, const workspace &r) {
        return cusolverDnXgesvd(r.solver, r.params, 'S', 'S', m, n, r.type, a, m, r.type, of_member(b, s, i),
                                r.type, of_member(b, Vt, i), m, r.type, of_member(b, U, i), n, r.type, r.data,
                                r.device_bytes, r.host, r.host_bytes, r.info);
    });
    return judge("svd", b, s, infos, failed);
}
