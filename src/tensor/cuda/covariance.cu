/* Covariance matrices. */
#include "covariance_pairs.cuh"
#include "covariance_plan.cuh"

template <typename T> struct writer {
    T *K;
    int64_t rs, cs;
    int n_nodes;
    __device__ void begin(int) {}
    __device__ __forceinline__ void pairs(const ct__thread<T> &v, int i, int j, const bool *live)
    {
        T top[ct__pairs<T>::COUNT] = {};
        ct__leaf<T> leaf;
        for (int k = 0; k < n_nodes; k++) {
            if (v.nodes[k].code < CT_COV_PROFILES) ct__evaluate(v, k, leaf);
            ct__up(v, k, k + 1 == n_nodes, leaf, top);
        }
        CT__EACH_PAIR(p) if (live[p]) K[i * rs + (int64_t)(j + p) * cs] = top[p];
    }
    __device__ void end(int, int, int) {}
};

/* Both triangles of a symmetric matrix are computed, with equal bits, so that writes are contiguous. */
template <typename T>
static __global__ void __launch_bounds__(CT__COV_THREADS, CT__COV_FILLING)
    covariance_kernel(ct__plan<T> p, T *K, int64_t rs, int64_t cs)
{
    CT__SHARED_DYNAMIC(shared);
    ct__thread<T> v = ct__open(p, shared);
    writer<T> w = { K, rs, cs, p.n_nodes };
    ct__walk(p, v, w);
}

ct_status ct__cuda_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                              const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    if (!out->dim[0] || !out->dim[1]) return CT_OK;
    const bool by_row = out->stride[1] < out->stride[0]; /* then the transposed problem, as k is symmetric */
    const ct_view *first = by_row && z ? z : x, *second = by_row && z ? x : z;
    const int64_t part = !lower ? CT__ALL : by_row ? CT__UPPER : CT__LOWER;
    const auto fill = [&](auto number) {
        typedef decltype(number) T;
        ct__plan<T> p;
        ct__plan_make(program, theta, first, second, part, 0, 0, &p);
        ct__scratch workspace(dev, p.begin[CT__PARTS]);
        ct_status s =
            workspace.data ? ct__plan_fill(dev, program, first, second, &p, workspace.data) : CT_ENOMEM;
        if (s) return s;
        return CT__RUN_SHARED(dev, "covariance", covariance_kernel<T>, p.blocks, CT__COV_THREADS, p.shared, p,
                              (T *)out->data, out->stride[by_row], out->stride[!by_row]);
    };
    return out->dtype == CT_F64 ? fill(0.0) : fill(0.f);
}
