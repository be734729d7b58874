/* bf16 and f16 as element types of kernels: read as f32, rounded once where they are written. */
#ifndef CT_TENSOR_CUDA_HALF_CUH
#define CT_TENSOR_CUDA_HALF_CUH

#include "cuda.h"

#define CT__HALF_FN static __device__ __forceinline__
#include "tensor/half.h"

template <ct_dtype D> struct ct__half_of {
    uint16_t bits;
    ct__half_of() = default;
    __device__ ct__half_of(float x) : bits(ct__to_half(D, x)) {}
    __device__ ct__half_of(double x) : bits(ct__to_half(D, ct__odd_f32(x))) {}
    __device__ ct__half_of(int64_t x) : ct__half_of(ct__odd_f64(x)) {}
    __device__ operator float() const { return ct__from_half(D, bits); }
};
typedef ct__half_of<CT_BF16> ct__bf16;
typedef ct__half_of<CT_F16> ct__f16;

/* of(S) with the type S of numbers of a dtype. */
#define CT__PER_DTYPE(dtype, of)         \
    ((dtype) == CT_F64    ? of(double)   \
     : (dtype) == CT_BF16 ? of(ct__bf16) \
     : (dtype) == CT_F16  ? of(ct__f16)  \
                          : of(float))

/* The same of those that may be integers. */
#define CT__PER_ANY(dtype, of) ((dtype) == CT_I64 ? of(int64_t) : CT__PER_DTYPE(dtype, of))

/* What is computed in, for numbers of the type S. */
template <typename S> struct ct__arithmetic {
    typedef float type;
};
template <> struct ct__arithmetic<double> {
    typedef double type;
};

#endif
