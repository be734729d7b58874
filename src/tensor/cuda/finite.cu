/* Where an array has an element that is infinite or no number. */
#include "block.cuh"
#include "loop.cuh"

enum { THREADS = 256 };

/* One block. */
template <typename T> static __global__ void finite_kernel(ct__span s, int64_t position, int64_t *note)
{
    int64_t mine = s.count, at;
    for (int64_t i = threadIdx.x; i < s.count && mine == s.count; i += blockDim.x) {
        ct__locate<1>(s, i, &at);
        const T x = ((const T *)s.data[0])[at];
        if (!(x - x == 0)) mine = i;
    }
    const int64_t least = ct__over_block<THREADS>(mine, ct__least());
    if (threadIdx.x || least == s.count || note[0]) return;
    note[0] = position + 1;
    note[1] = 0;
    note[2] = least;
}

ct_status ct__cuda_finite(ct_device *dev, const ct_tensor *x, const char *what, const char *why,
                          ct_failure *failure)
{
    if (failure->set || !ct__count(x)) return CT_OK;
    int64_t *note = ct__failure_note(dev, failure);
    if (!note) return CT_ENOMEM;
    ct__span s; /* row-major, not as the elements lie in memory */
    memset(&s, 0, sizeof s);
    s.ndim = x->ndim;
    s.count = ct__count(x);
    s.data[0] = x->data;
    for (int d = 0; d < x->ndim; d++) s.dim[d] = x->dim[d], s.stride[0][d] = x->stride[d];
    failure->suspected = true;
    failure->what = what;
    failure->why = why;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    const unsigned threads = ct__threads(s.count, THREADS);
    if (x->dtype == CT_F64)
        CT__LAUNCH_BLOCK(finite_kernel<double>, 1, threads, stream, s, failure->call, note);
    else
        CT__LAUNCH_BLOCK(finite_kernel<float>, 1, threads, stream, s, failure->call, note);
    return ct__cuda_launched(dev, "looking for what is not finite");
}
