/* Every name the simulator declares, with the type, value or field it must have: compiled against the
 * simulator's headers, and where CUDA is at hand, against the real ones. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <type_traits>

template <class F> constexpr bool is(F *) { return true; }
#define SAME(function, ...) static_assert(is<__VA_ARGS__>(function), #function)
#define VALUE(name, value)  static_assert((int)name == value, #name)
#define FIELD(type, field, ...) \
    static_assert(std::is_same<decltype(type::field), __VA_ARGS__>::value, #type "." #field)

SAME(cudaGetDeviceCount, cudaError_t(int *));
SAME(cudaSetDevice, cudaError_t(int));
SAME(cudaGetDevice, cudaError_t(int *));
SAME(cudaGetDeviceProperties, cudaError_t(cudaDeviceProp *, int));
SAME(cudaDeviceGetAttribute, cudaError_t(int *, cudaDeviceAttr, int));
SAME(cudaDeviceSynchronize, cudaError_t());
SAME(cudaGetLastError, cudaError_t());
SAME(cudaGetDriverEntryPointByVersion,
     cudaError_t(const char *, void **, unsigned int, unsigned long long, cudaDriverEntryPointQueryResult *));
SAME(cudaGetErrorName, const char *(cudaError_t));
SAME(cudaGetErrorString, const char *(cudaError_t));
SAME(cudaMalloc, cudaError_t(void **, size_t));
SAME(cudaFree, cudaError_t(void *));
SAME(cudaMallocHost, cudaError_t(void **, size_t));
SAME(cudaFreeHost, cudaError_t(void *));
SAME(cudaMemGetInfo, cudaError_t(size_t *, size_t *));
SAME(cudaMallocAsync, cudaError_t(void **, size_t, cudaStream_t));
SAME(cudaFreeAsync, cudaError_t(void *, cudaStream_t));
SAME(cudaMemPoolCreate, cudaError_t(cudaMemPool_t *, const cudaMemPoolProps *));
SAME(cudaMemPoolSetAttribute, cudaError_t(cudaMemPool_t, cudaMemPoolAttr, void *));
SAME(cudaMemPoolTrimTo, cudaError_t(cudaMemPool_t, size_t));
SAME(cudaMemPoolDestroy, cudaError_t(cudaMemPool_t));
SAME(cudaMallocFromPoolAsync, cudaError_t(void **, size_t, cudaMemPool_t, cudaStream_t));
SAME(cudaMemcpy, cudaError_t(void *, const void *, size_t, cudaMemcpyKind));
SAME(cudaMemcpyAsync, cudaError_t(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t));
SAME(cudaMemsetAsync, cudaError_t(void *, int, size_t, cudaStream_t));
SAME(cudaStreamCreateWithFlags, cudaError_t(cudaStream_t *, unsigned int));
SAME(cudaStreamDestroy, cudaError_t(cudaStream_t));
SAME(cudaStreamSynchronize, cudaError_t(cudaStream_t));
SAME(cudaStreamWaitEvent, cudaError_t(cudaStream_t, cudaEvent_t, unsigned int));
SAME(cudaEventCreateWithFlags, cudaError_t(cudaEvent_t *, unsigned int));
SAME(cudaEventDestroy, cudaError_t(cudaEvent_t));
SAME(cudaEventRecord, cudaError_t(cudaEvent_t, cudaStream_t));
SAME(cudaEventSynchronize, cudaError_t(cudaEvent_t));
SAME(cudaEventQuery, cudaError_t(cudaEvent_t));
SAME(cudaThreadExchangeStreamCaptureMode, cudaError_t(cudaStreamCaptureMode *));
SAME(cudaStreamBeginCapture, cudaError_t(cudaStream_t, cudaStreamCaptureMode));
SAME(cudaStreamEndCapture, cudaError_t(cudaStream_t, cudaGraph_t *));
SAME(cudaStreamIsCapturing, cudaError_t(cudaStream_t, cudaStreamCaptureStatus *));
SAME(cudaGraphGetNodes, cudaError_t(cudaGraph_t, cudaGraphNode_t *, size_t *));
SAME(cudaGraphInstantiate, cudaError_t(cudaGraphExec_t *, cudaGraph_t, unsigned long long));
SAME(cudaGraphLaunch, cudaError_t(cudaGraphExec_t, cudaStream_t));
SAME(cudaGraphDestroy, cudaError_t(cudaGraph_t));
SAME(cudaGraphExecDestroy, cudaError_t(cudaGraphExec_t));

SAME(cublasCreate, cublasStatus_t(cublasHandle_t *));
SAME(cublasDestroy, cublasStatus_t(cublasHandle_t));
SAME(cublasSetStream, cublasStatus_t(cublasHandle_t, cudaStream_t));
SAME(cublasSetWorkspace, cublasStatus_t(cublasHandle_t, void *, size_t));
SAME(cublasSetPointerMode, cublasStatus_t(cublasHandle_t, cublasPointerMode_t));
SAME(cublasSetMathMode, cublasStatus_t(cublasHandle_t, cublasMath_t));
SAME(cublasGetStatusString, const char *(cublasStatus_t));
SAME(cublasGemmStridedBatchedEx_64,
     cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int64_t, int64_t, int64_t,
                    const void *, const void *, cudaDataType, int64_t, long long int, const void *,
                    cudaDataType, int64_t, long long int, const void *, void *, cudaDataType, int64_t,
                    long long int, int64_t, cublasComputeType_t, cublasGemmAlgo_t));
SAME(cublasStrsm_64,
     cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                    int64_t, int64_t, const float *, const float *, int64_t, float *, int64_t));
SAME(cublasDtrsm_64,
     cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                    int64_t, int64_t, const double *, const double *, int64_t, double *, int64_t));
SAME(cublasStrmm_64, cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                                    cublasDiagType_t, int64_t, int64_t, const float *, const float *, int64_t,
                                    const float *, int64_t, float *, int64_t));
SAME(cublasDtrmm_64, cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t,
                                    cublasDiagType_t, int64_t, int64_t, const double *, const double *,
                                    int64_t, const double *, int64_t, double *, int64_t));
SAME(cublasStrsmBatched_64,
     cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                    int64_t, int64_t, const float *, const float *const *, int64_t, float *const *, int64_t,
                    int64_t));
SAME(cublasDtrsmBatched_64,
     cublasStatus_t(cublasHandle_t, cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t,
                    int64_t, int64_t, const double *, const double *const *, int64_t, double *const *,
                    int64_t, int64_t));
SAME(cublasSgetrfBatched, cublasStatus_t(cublasHandle_t, int, float *const *, int, int *, int *, int));
SAME(cublasDgetrfBatched, cublasStatus_t(cublasHandle_t, int, double *const *, int, int *, int *, int));
SAME(cublasSgeqrfBatched,
     cublasStatus_t(cublasHandle_t, int, int, float *const *, int, float *const *, int *, int));
SAME(cublasDgeqrfBatched,
     cublasStatus_t(cublasHandle_t, int, int, double *const *, int, double *const *, int *, int));

SAME(cusolverDnCreate, cusolverStatus_t(cusolverDnHandle_t *));
SAME(cusolverDnDestroy, cusolverStatus_t(cusolverDnHandle_t));
SAME(cusolverDnSetStream, cusolverStatus_t(cusolverDnHandle_t, cudaStream_t));
SAME(cusolverDnCreateParams, cusolverStatus_t(cusolverDnParams_t *));
SAME(cusolverDnDestroyParams, cusolverStatus_t(cusolverDnParams_t));
SAME(cusolverDnXpotrf_bufferSize,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType,
                      const void *, int64_t, cudaDataType, size_t *, size_t *));
SAME(cusolverDnXpotrf,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t, cudaDataType, void *,
                      int64_t, cudaDataType, void *, size_t, void *, size_t, int *));
SAME(cusolverDnXgetrf_bufferSize,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void *,
                      int64_t, cudaDataType, size_t *, size_t *));
SAME(cusolverDnXgetrf,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void *, int64_t,
                      int64_t *, cudaDataType, void *, size_t, void *, size_t, int *));
SAME(cusolverDnXgeqrf_bufferSize,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, const void *,
                      int64_t, cudaDataType, const void *, cudaDataType, size_t *, size_t *));
SAME(cusolverDnXgeqrf,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType, void *, int64_t,
                      cudaDataType, void *, cudaDataType, void *, size_t, void *, size_t, int *));
SAME(cusolverDnXsyevd_bufferSize,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, int64_t,
                      cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType, size_t *,
                      size_t *));
SAME(cusolverDnXsyevd,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t, cublasFillMode_t, int64_t,
                      cudaDataType, void *, int64_t, cudaDataType, void *, cudaDataType, void *, size_t,
                      void *, size_t, int *));
SAME(cusolverDnXgesvd_bufferSize,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t,
                      cudaDataType, const void *, int64_t, cudaDataType, const void *, cudaDataType,
                      const void *, int64_t, cudaDataType, const void *, int64_t, cudaDataType, size_t *,
                      size_t *));
SAME(cusolverDnXgesvd,
     cusolverStatus_t(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t, int64_t,
                      cudaDataType, void *, int64_t, cudaDataType, void *, cudaDataType, void *, int64_t,
                      cudaDataType, void *, int64_t, cudaDataType, void *, size_t, void *, size_t, int *));

VALUE(CUSOLVER_EIG_MODE_NOVECTOR, 0);
VALUE(CUSOLVER_EIG_MODE_VECTOR, 1);
VALUE(CUDA_R_32F, 0);
VALUE(CUDA_R_64F, 1);
VALUE(CUDA_R_16F, 2);
VALUE(CUDA_R_16BF, 14);
VALUE(cudaSuccess, 0);
VALUE(cudaErrorInvalidValue, 1);
VALUE(cudaErrorMemoryAllocation, 2);
VALUE(cudaErrorCudartUnloading, 4);
VALUE(cudaErrorInvalidConfiguration, 9);
VALUE(cudaEnableDefault, 0);
VALUE(cudaDriverEntryPointSuccess, 0);
VALUE(cudaDriverEntryPointSymbolNotFound, 1);
VALUE(cudaErrorInvalidMemcpyDirection, 21);
VALUE(cudaErrorNoDevice, 100);
VALUE(cudaErrorInvalidDevice, 101);
VALUE(cudaErrorInvalidResourceHandle, 400);
VALUE(cudaErrorNotReady, 600);
VALUE(cudaErrorIllegalAddress, 700);
VALUE(cudaErrorLaunchFailure, 719);
VALUE(cudaErrorStreamCaptureUnsupported, 900);
VALUE(cudaErrorStreamCaptureInvalidated, 901);
VALUE(cudaErrorStreamCaptureUnmatched, 903);
VALUE(cudaErrorStreamCaptureUnjoined, 904);
VALUE(cudaErrorStreamCaptureIsolation, 905);
VALUE(cudaErrorUnknown, 999);
VALUE(cudaStreamDefault, 0);
VALUE(cudaStreamNonBlocking, 1);
VALUE(cudaEventDefault, 0);
VALUE(cudaEventBlockingSync, 1);
VALUE(cudaEventDisableTiming, 2);
VALUE(cudaMemcpyHostToHost, 0);
VALUE(cudaMemcpyHostToDevice, 1);
VALUE(cudaMemcpyDeviceToHost, 2);
VALUE(cudaMemcpyDeviceToDevice, 3);
VALUE(cudaMemcpyDefault, 4);
VALUE(cudaStreamCaptureModeGlobal, 0);
VALUE(cudaStreamCaptureModeThreadLocal, 1);
VALUE(cudaStreamCaptureModeRelaxed, 2);
VALUE(cudaStreamCaptureStatusNone, 0);
VALUE(cudaStreamCaptureStatusActive, 1);
VALUE(cudaStreamCaptureStatusInvalidated, 2);
VALUE(cudaDevAttrMaxThreadsPerBlock, 1);
VALUE(cudaDevAttrMaxSharedMemoryPerBlock, 8);
VALUE(cudaDevAttrMultiProcessorCount, 16);
VALUE(cudaDevAttrComputeCapabilityMajor, 75);
VALUE(cudaDevAttrComputeCapabilityMinor, 76);
VALUE(cudaDevAttrMemoryPoolsSupported, 115);
VALUE(cudaMemPoolAttrReleaseThreshold, 4);
VALUE(cudaMemAllocationTypeInvalid, 0);
VALUE(cudaMemAllocationTypePinned, 1);
VALUE(cudaMemHandleTypeNone, 0);
VALUE(cudaMemLocationTypeInvalid, 0);
VALUE(cudaMemLocationTypeDevice, 1);
VALUE(CUBLAS_STATUS_SUCCESS, 0);
VALUE(CUBLAS_STATUS_NOT_INITIALIZED, 1);
VALUE(CUBLAS_STATUS_ALLOC_FAILED, 3);
VALUE(CUBLAS_STATUS_INVALID_VALUE, 7);
VALUE(CUBLAS_STATUS_EXECUTION_FAILED, 13);
VALUE(CUBLAS_STATUS_INTERNAL_ERROR, 14);
VALUE(CUBLAS_STATUS_NOT_SUPPORTED, 15);
VALUE(CUBLAS_FILL_MODE_LOWER, 0);
VALUE(CUBLAS_FILL_MODE_UPPER, 1);
VALUE(CUBLAS_DIAG_NON_UNIT, 0);
VALUE(CUBLAS_DIAG_UNIT, 1);
VALUE(CUBLAS_SIDE_LEFT, 0);
VALUE(CUBLAS_SIDE_RIGHT, 1);
VALUE(CUBLAS_OP_N, 0);
VALUE(CUBLAS_OP_T, 1);
VALUE(CUBLAS_OP_C, 2);
VALUE(CUBLAS_POINTER_MODE_HOST, 0);
VALUE(CUBLAS_POINTER_MODE_DEVICE, 1);
VALUE(CUBLAS_DEFAULT_MATH, 0);
VALUE(CUBLAS_TF32_TENSOR_OP_MATH, 3);
VALUE(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION, 16);
VALUE(CUBLAS_GEMM_DEFAULT, -1);
VALUE(CUBLAS_COMPUTE_32F, 68);
VALUE(CUBLAS_COMPUTE_32F_PEDANTIC, 69);
VALUE(CUBLAS_COMPUTE_64F, 70);
VALUE(CUBLAS_COMPUTE_64F_PEDANTIC, 71);
VALUE(CUSOLVER_STATUS_SUCCESS, 0);
VALUE(CUSOLVER_STATUS_NOT_INITIALIZED, 1);
VALUE(CUSOLVER_STATUS_ALLOC_FAILED, 2);
VALUE(CUSOLVER_STATUS_INVALID_VALUE, 3);
VALUE(CUSOLVER_STATUS_EXECUTION_FAILED, 6);
VALUE(CUSOLVER_STATUS_INTERNAL_ERROR, 7);
VALUE(CUSOLVER_STATUS_NOT_SUPPORTED, 9);

FIELD(cudaDeviceProp, name, char[256]);
FIELD(cudaDeviceProp, totalGlobalMem, size_t);
FIELD(cudaDeviceProp, sharedMemPerBlock, size_t);
FIELD(cudaDeviceProp, warpSize, int);
FIELD(cudaDeviceProp, maxThreadsPerBlock, int);
FIELD(cudaDeviceProp, major, int);
FIELD(cudaDeviceProp, minor, int);
FIELD(cudaDeviceProp, multiProcessorCount, int);
FIELD(cudaMemPoolProps, allocType, cudaMemAllocationType);
FIELD(cudaMemPoolProps, handleTypes, cudaMemAllocationHandleType);
FIELD(cudaMemPoolProps, location, cudaMemLocation);
FIELD(cudaMemPoolProps, maxSize, size_t);
FIELD(cudaMemPoolProps, usage, unsigned short);
FIELD(cudaMemLocation, type, cudaMemLocationType);
FIELD(cudaMemLocation, id, int);

static_assert(sizeof(__half) == 2 && sizeof(__nv_bfloat16) == 2, "two bytes");
static_assert(sizeof(dim3) == 12 && sizeof(uint3) == 12, "three numbers");
static_assert(sizeof(cudaMemPoolProps) == 88, "as the real one");
