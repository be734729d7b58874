/* bf16 and f16 as element types of kernels: read as f32, rounded once where they are written. */
#ifndef CT_TENSOR_CUDA_HALF_CUH
#define CT_TENSOR_CUDA_HALF_CUH

#include "cuda.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* of(S) with the type S of numbers of a dtype. */
#define CT__PER_DTYPE(dtype, of)              \
    ((dtype) == CT_F64    ? of(double)        \
     : (dtype) == CT_BF16 ? of(__nv_bfloat16) \
     : (dtype) == CT_F16  ? of(__half)        \
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
/* CUDA's types have no conversion from `long` before 12.2. */
template <> struct ct__arithmetic<int64_t> {
    typedef long long type;
};

#endif
