/* Elementwise kernels over strided tensors of one shape: element types, and the address of element i of each
 * operand. bf16 and f16 are computed in f32, and rounded once when they are written. */
#ifndef CT_TENSOR_CUDA_LOOP_CUH
#define CT_TENSOR_CUDA_LOOP_CUH

#include "cuda.h"
#include "tensor/loop.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* of(S), where S is the element type of a floating-point dtype. */
#define CT__PER_DTYPE(dtype, of)              \
    ((dtype) == CT_F64    ? of(double)        \
     : (dtype) == CT_BF16 ? of(__nv_bfloat16) \
     : (dtype) == CT_F16  ? of(__half)        \
                          : of(float))

/* The same, including integers. */
#define CT__PER_ANY(dtype, of) ((dtype) == CT_I64 ? of(int64_t) : CT__PER_DTYPE(dtype, of))

/* The type of arithmetic for elements of type S. */
template <typename S> struct ct__arithmetic {
    typedef float type;
};
template <> struct ct__arithmetic<double> {
    typedef double type;
};
/* CUDA's half types have no conversion from `long` before 12.2. */
template <> struct ct__arithmetic<int64_t> {
    typedef long long type;
};

/* Element i of operand k is data[k][Σ_d i_d axis[d].stride[k]]; operand 0 is the output. Axes are merged and
 * sorted by the output's strides, so that neighbouring threads write neighbours. */
typedef struct ct__span {
    int64_t ndim; /* 64 bits, so that there is no padding with undefined bytes */
    int64_t count;
    ct__axis axis[CT_MAX_DIMS];
    void *data[CT__OPERANDS];
    ct_dtype dtype[CT__OPERANDS];
} ct__span;

template <int N> static ct__span ct__make_span(const ct_view *const (&t)[N])
{
    ct__span s = { 0, ct__count(t[0]), {}, {}, {} };
    s.ndim = ct__axis_list(N, t, 0, t[0]->ndim, true, s.axis);
    for (int k = 0; k < N; k++) s.data[k] = t[k]->data, s.dtype[k] = t[k]->dtype;
    return s;
}

/* [k]: the offset of element i of operand k, in elements; Axes is any type with ndim axes. */
template <int N> struct ct__located {
    int64_t at[N];
    template <typename Axes> __device__ __forceinline__ ct__located(const Axes &s, int64_t i) : at{}
    {
        for (int d = (int)s.ndim - 1; d >= 0; d--) {
            const ct__axis &axis = s.axis[d];
            int64_t index = i;
            if (d && i >> 32) {
                int64_t rest = i / axis.dim;
                index = i - rest * axis.dim;
                i = rest;
            } else if (d) { /* a 32-bit division is several times cheaper */
                uint32_t low = (uint32_t)i, rest = axis.dim >> 32 ? 0 : low / (uint32_t)axis.dim;
                index = low - rest * (uint32_t)axis.dim;
                i = rest;
            }
            for (int k = 0; k < N; k++) at[k] += index * axis.stride[k];
        }
    }
    __device__ __forceinline__ int64_t operator[](int k) const { return at[k]; }
};

/* n elements, loaded and stored by one instruction; aligned to their total size. */
template <typename S, int n> struct alignas(n * sizeof(S)) ct__pack {
    S x[n];
};

/* Copies one element of 2, 4 or 8 bytes. */
static inline __device__ void ct__move(int bytes, void *out, int64_t to, const void *x, int64_t from)
{
    if (bytes == 8)
        ((uint64_t *)out)[to] = ((const uint64_t *)x)[from];
    else if (bytes == 4)
        ((uint32_t *)out)[to] = ((const uint32_t *)x)[from];
    else
        ((uint16_t *)out)[to] = ((const uint16_t *)x)[from];
}

#endif
