/* bf16 and f16 as element types of kernels: read as f32, rounded once where they are written. */
#ifndef CT_TENSOR_CUDA_HALF_CUH
#define CT_TENSOR_CUDA_HALF_CUH

#include "cuda.h"

#define CT__HALF_FN static __device__ __forceinline__
#include "../half.h"

struct ct__bf16 {
    uint16_t bits;
    ct__bf16() = default;
    __device__ ct__bf16(float x) : bits(ct__to_bf16(x)) {}
    __device__ ct__bf16(double x) : bits(ct__to_bf16(ct__odd_f32(x))) {}
    __device__ ct__bf16(int64_t x) : ct__bf16(ct__odd_f64(x)) {}
    __device__ operator float() const { return ct__from_bf16(bits); }
};

struct ct__f16 {
    uint16_t bits;
    ct__f16() = default;
    __device__ ct__f16(float x) : bits(ct__to_f16(x)) {}
    __device__ ct__f16(double x) : bits(ct__to_f16(ct__odd_f32(x))) {}
    __device__ ct__f16(int64_t x) : ct__f16(ct__odd_f64(x)) {}
    __device__ operator float() const { return ct__from_f16(bits); }
};

/* What is computed in, for numbers of the type S. */
template <typename S> struct ct__arithmetic {
    typedef float type;
};
template <> struct ct__arithmetic<double> {
    typedef double type;
};

#endif
