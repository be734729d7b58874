/* Elementwise kernels over strided tensors of one shape: where element i of each operand lies. */
#ifndef CT_TENSOR_CUDA_LOOP_CUH
#define CT_TENSOR_CUDA_LOOP_CUH

#include "cuda.h"

enum { CT__OPERANDS = 4 };

/* Operand k's element of number i is data[k][Σ_d i_d stride[k][d]]; operand 0 is the output. Dimensions are
 * sorted by the output's strides, so that neighbouring threads write neighbours, and coalesced. The order of
 * elements is free. */
typedef struct ct__span {
    int64_t ndim; /* as wide as what follows: no padding, whose bytes would be anything */
    int64_t count, dim[CT_MAX_DIMS], stride[CT__OPERANDS][CT_MAX_DIMS];
    void *data[CT__OPERANDS];
    ct_dtype dtype[CT__OPERANDS];
} ct__span;

static inline ct__span ct__make_span(int n, const ct_view *const *t)
{
    ct__span s;
    memset(&s, 0, sizeof s);
    s.count = ct__count(t[0]);
    for (int k = 0; k < n; k++) s.data[k] = t[k]->data, s.dtype[k] = t[k]->dtype;
    for (int d = 0; d < t[0]->ndim; d++) {
        if (t[0]->dim[d] == 1) continue;
        int at = (int)s.ndim++;
        for (; at > 0 && s.stride[0][at - 1] < t[0]->stride[d]; at--) {
            s.dim[at] = s.dim[at - 1];
            for (int k = 0; k < n; k++) s.stride[k][at] = s.stride[k][at - 1];
        }
        s.dim[at] = t[0]->dim[d];
        for (int k = 0; k < n; k++) s.stride[k][at] = t[k]->stride[d];
    }
    int kept = 0;
    for (int d = 1; d < s.ndim; d++) {
        bool merge = true;
        for (int k = 0; k < n; k++) merge = merge && s.stride[k][kept] == s.stride[k][d] * s.dim[d];
        if (merge)
            s.dim[kept] *= s.dim[d];
        else
            s.dim[++kept] = s.dim[d];
        for (int k = 0; k < n; k++) s.stride[k][kept] = s.stride[k][d];
    }
    if (s.ndim) s.ndim = kept + 1;
    return s;
}

/* at[k]: element i of operand k, in elements. */
template <int N> static __device__ __forceinline__ void ct__locate(const ct__span &s, int64_t i, int64_t *at)
{
    for (int k = 0; k < N; k++) at[k] = 0;
    for (int d = (int)s.ndim - 1; d >= 0; d--) {
        int64_t index = i;
        if (d && i >> 32) {
            int64_t rest = i / s.dim[d];
            index = i - rest * s.dim[d];
            i = rest;
        } else if (d) { /* a division of 32 bits is several times cheaper */
            uint32_t low = (uint32_t)i, rest = s.dim[d] >> 32 ? 0 : low / (uint32_t)s.dim[d];
            index = low - rest * (uint32_t)s.dim[d];
            i = rest;
        }
        for (int k = 0; k < N; k++) at[k] += index * s.stride[k][d];
    }
}

/* One element of 4 or 8 bytes as it is. */
static inline __device__ void ct__move(int bytes, void *out, int64_t to, const void *x, int64_t from)
{
    if (bytes == 8)
        ((uint64_t *)out)[to] = ((const uint64_t *)x)[from];
    else
        ((uint32_t *)out)[to] = ((const uint32_t *)x)[from];
}

#endif
