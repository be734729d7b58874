/* What the files of the CUDA backend share. They are compiled by nvcc, and as C++17 by any compiler against headers
 * of the same names that simulate a GPU (tests/cudasim). What such headers must provide is what is used here:
 *
 * runtime    cudaGetDeviceCount cudaSetDevice cudaGetDevice cudaGetDeviceProperties (name, major, minor,
 *            multiProcessorCount, totalGlobalMem) cudaMemGetInfo cudaDeviceGetAttribute
 *            (cudaDevAttrMemoryPoolsSupported) cudaStreamCreateWithFlags (cudaStreamNonBlocking) cudaStreamDestroy
 *            cudaStreamSynchronize cudaStreamWaitEvent cudaEventCreateWithFlags (cudaEventDisableTiming)
 *            cudaEventRecord cudaEventDestroy cudaMalloc cudaFree cudaMallocHost cudaFreeHost cudaMemPoolCreate
 *            cudaMemPoolSetAttribute (cudaMemPoolAttrReleaseThreshold) cudaMemPoolDestroy cudaMallocFromPoolAsync
 *            cudaFreeAsync cudaMemcpyAsync cudaMemsetAsync cudaGetLastError cudaGetErrorName cudaGetErrorString
 *            cudaStreamBeginCapture (cudaStreamCaptureModeThreadLocal) cudaStreamEndCapture cudaStreamIsCapturing
 *            cudaGraphInstantiate cudaGraphLaunch cudaGraphDestroy cudaGraphExecDestroy
 * cuBLAS     cublasCreate cublasDestroy cublasSetStream cublasSetWorkspace cublasGemmStridedBatchedEx_64
 *            cublas{S,D}trsm_64 cublasGetStatusString
 * cuSOLVER   cusolverDnCreate cusolverDnDestroy cusolverDnSetStream cusolverDnCreateParams cusolverDnDestroyParams
 *            cusolverDnXpotrf, cusolverDnXgetrf, cusolverDnXgeqrf and their _bufferSize,
 *            cusolverDn{S,D}ormqr and their _bufferSize; algorithm 0, scalars and handles as in CUDA 13
 * in kernels __global__ __device__ __host__ __forceinline__ __restrict__ __launch_bounds__, blockIdx, blockDim,
 *            threadIdx, gridDim (x, y, z), static __shared__ arrays, __syncthreads, the math functions of <math.h>
 *            for double and float, __nv_bfloat16 and __half with their conversions to and from float. No dynamic
 *            shared memory, no atomics, no warp intrinsics, no textures, no cooperative groups, no printf.
 *
 * Kernels are launched through the two macros below alone: CT__LAUNCH for kernels whose threads share nothing,
 * CT__LAUNCH_BLOCK for those that use __shared__ and __syncthreads. Arguments are plain data, passed by value. The
 * stand-in defines both before this header, or in its cuda_runtime.h.
 *
 * One stream per device carries everything: so the pool may hand out a block again as soon as the work that used it
 * has been queued, and nothing here waits but `download` and `synchronize`. */
#ifndef CT_TENSOR_CUDA_H
#define CT_TENSOR_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

extern "C" {
#include "../internal.h"
}

/* CT__LAUNCH(kernel, grid, block, stream, argument...) */
#ifndef CT__LAUNCH
#    define CT__LAUNCH(kernel, grid, block, stream, ...) kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#    define CT__LAUNCH_BLOCK(kernel, grid, block, stream, ...) \
        kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#endif

#endif
