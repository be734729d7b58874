/* What the files of the CUDA backend share. nvcc compiles them, and so does any C++17 compiler against
 * headers of the same names that simulate a GPU (tests/cudasim/include); those headers list what is used of
 * CUDA. Kernels use __syncthreads, <math.h>'s functions for double and float, rsqrt, nvcuda::wmma, and shared
 * memory by CT__SHARED and CT__SHARED_DYNAMIC. They use no atomics, warp intrinsics, textures, cooperative
 * groups or printf.
 *
 * Kernels are launched by the macros below only. CT__LAUNCH, mostly by CT__RUN_EACH, is for kernels whose
 * threads share nothing. CT__LAUNCH_SHARED, by CT__RUN_BLOCKS and CT__RUN_SHARED, is for kernels with shared
 * memory and __syncthreads. Arguments are plain data, passed by value. The simulator defines CT__LAUNCH,
 * CT__LAUNCH_SHARED, CT__SHARED and CT__SHARED_DYNAMIC before this header or in its cuda_runtime.h, and with
 * them CT__UNROLL and CT__BY_FOUR.
 *
 * Each device has one stream for all work. So the pool may reuse a block as soon as the work that used it is
 * queued, and only `download` and `synchronize` wait. */
#ifndef CT_TENSOR_CUDA_H
#define CT_TENSOR_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include "config.h"
#include "module.h"

/* CT__LAUNCH(kernel, grid, block, stream, argument...) queues a kernel and returns the launch's own error.
 * cudaGetLastError would also return those of other users of the runtime. */
#ifndef CT__LAUNCH
template <typename... P, typename... A>
static inline cudaError_t ct__launch(void (*kernel)(P...), unsigned grid, unsigned block, int64_t bytes,
                                     cudaStream_t stream, A &&...argument)
{
    const cudaLaunchConfig_t config = { grid, block, (size_t)bytes, stream, NULL, 0 };
    return cudaLaunchKernelEx(&config, kernel, static_cast<A &&>(argument)...);
}
#    define CT__LAUNCH(kernel, grid, block, ...) ct__launch(kernel, grid, block, 0, __VA_ARGS__)
#    define CT__LAUNCH_SHARED                    ct__launch
#endif
/* Queues a kernel and gives the status of the launch; `what` names the work in a message. A count of 0 gives
 * CT_OK. CT__RUN_EACH: the kernel's CT__EACH loops over `count` items. CT__RUN_SHARED and CT__RUN_BLOCKS:
 * `blocks` blocks with barriers, each with `bytes` bytes of dynamic shared memory. */
#define CT__RUN_EACH(dev, what, kernel, count, ...)                                               \
    ((count) != 0 ? ct__status(dev, what,                                                         \
                               CT__LAUNCH(kernel, ct__grid(count), ct__threads(count, CT__BLOCK), \
                                          ct__cuda_of(dev)->stream, __VA_ARGS__))                 \
                  : CT_OK)
#define CT__RUN_SHARED(dev, what, kernel, blocks, threads, bytes, ...)                        \
    ((blocks) != 0 ? ct__status(dev, what,                                                    \
                                CT__LAUNCH_SHARED(kernel, ct__blocks(blocks), threads, bytes, \
                                                  ct__cuda_of(dev)->stream, __VA_ARGS__))     \
                   : CT_OK)
#define CT__RUN_BLOCKS(dev, what, kernel, blocks, threads, ...) \
    CT__RUN_SHARED(dev, what, kernel, blocks, threads, 0, __VA_ARGS__)

/* CT__SHARED(T, name, [extent]...): an array of T in shared memory, aligned to 32 bytes.
 * CT__SHARED_DYNAMIC(name): the launch's dynamic shared memory, aligned to 16. */
#ifndef CT__SHARED
#    define CT__SHARED(type, name, ...) alignas(32) __shared__ type name __VA_ARGS__
#    define CT__SHARED_DYNAMIC(name)                   \
        extern __shared__ double2 ct__shared_memory[]; \
        char *const name = (char *)ct__shared_memory
#endif

/* CT__UNROLL unrolls the next loop, so that an array indexed by its variable stays in registers. CT__BY_FOUR
 * unrolls it by four, so that the loads of four steps overlap. */
#ifndef CT__UNROLL
#    define CT__UNROLL  _Pragma("unroll")
#    define CT__BY_FOUR _Pragma("unroll 4")
#endif

/* An index outside its range: its place and its value. `order` numbers the checks; 0: none was found. `what`
 * is minus the address of a text, so that a kernel cannot dereference it. In a check for permutations, an
 * `extent` below 0 means that the index occurs twice. */
typedef struct ct__bad {
    int64_t order, what, at, value, extent;
} ct__bad;

/* Header of host memory for cuSOLVER, which follows at CT__ALIGNMENT. Queued work may still read it, so
 * outgrown blocks are kept. */
typedef struct ct__host_workspace {
    struct ct__host_workspace *older;
    size_t bytes;
} ct__host_workspace;

/* Driver functions without an equivalent in the runtime. A context stands for its GPU; NULL: no GPU is
 * current in this thread. They return a cudaError_t. */
typedef struct ct__driver {
    int (*current)(struct CUctx_st **);
    int (*make_current)(struct CUctx_st *);
    int (*context_of)(cudaStream_t, struct CUctx_st **);
    int (*device_of)(int *, int ordinal);
    int (*retain)(struct CUctx_st **, int device); /* its primary context, as the runtime uses */
} ct__driver;

/* The state of a device. */
typedef struct ct__cuda {
    ct__driver driver;
    struct CUctx_st *context;     /* NULL until retained */
    int ordinal, gpu, processors; /* gpu: the driver's handle */
    /* `aside` allocates and frees memory while `stream` is recorded; NULL until first needed */
    cudaStream_t stream, aside;
    cudaMemPool_t pool; /* NULL if the runtime has none */
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t params;
    void *blas_workspace;
    ct__host_workspace *host_workspace;
    ct__bad *bad; /* CT__CHECKERS of them in device memory: indices found since they were last read */
    int64_t checks;
    bool recording, checked; /* checked: an index check was queued since then */
} ct__cuda;

static inline ct__cuda *ct__cuda_of(ct_device *dev) { return (ct__cuda *)dev->backend_state; }

/* Makes the device's GPU current in this thread during its lifetime, then restores the previous one. The
 * runtime cannot restore "none": its cudaSetDevice creates a context and leaves that GPU current. */
struct ct__current {
    int (*const make_current)(CUctx_st *);
    CUctx_st *context, *before;
    ct__current(const ct__cuda *cuda, CUctx_st *of)
        : make_current(cuda->driver.make_current), context(of), before(of)
    {
        if (!cuda->driver.current(&before) && before != context) make_current(context);
    }
    explicit ct__current(const ct__cuda *cuda) : ct__current(cuda, cuda->context) {}
    ~ct__current()
    {
        if (before != context) make_current(before);
    }
};

/* Whether it is cudaSuccess. An error of ours is cleared from cudaGetLastError, where others look for their
 * errors; theirs stay. */
static inline bool ct__done(cudaError_t error)
{
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
}
/* Stores a message with `what` and the error of the runtime, cuBLAS, cuSOLVER or the driver, if it is one. */
ct_status ct__status(ct_device *dev, const char *what, cudaError_t error);
ct_status ct__status(ct_device *dev, const char *what, cublasStatus_t error);
ct_status ct__status(ct_device *dev, const char *what, cusolverStatus_t error);
ct_status ct__driver_status(ct_device *dev, const char *what, int error);
/* If s is CT_OK, makes the call and stores its status in s. */
#define CT__TRY(what, call) (s = s ? s : ct__status(dev, what, call))
/* At least `bytes` bytes of host memory for cuSOLVER, kept until the device closes. NULL with a message. */
void *ct__cuda_host_workspace(ct_device *dev, size_t bytes);
/* Queues setting n integers to 0. */
ct_status ct__zero(ct_device *dev, const char *what, int64_t *x, int64_t n);
/* Uploads by kernel arguments. A graph keeps the bytes. */
ct_status ct__cuda_put(ct_device *dev, const char *what, void *dst, const void *src, size_t bytes);

/* Memory from the pool for the duration of a call. It may go back before its work is done, because later
 * users are queued behind that work. A negative size gives none. */
struct ct__scratch {
    ct_device *dev;
    size_t bytes;
    void *data;
    ct__scratch(ct_device *device, int64_t size)
        : dev(device), bytes((size_t)size), data(size < 0 ? NULL : ct__pool_get(dev, &bytes))
    {
    }
    ~ct__scratch() { ct__pool_put(dev, data, bytes); }
    template <typename T> operator T *() const { return (T *)data; }
    ct__scratch(const ct__scratch &) = delete;
    ct__scratch &operator=(const ct__scratch &) = delete;
};

static inline int64_t ct__divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Quotient of numbers >= 0. A 32-bit division is several times cheaper. */
static __device__ __forceinline__ int64_t ct__quotient(int64_t a, int64_t b)
{
    return (a | b) >> 32 ? a / b : (int64_t)((uint32_t)a / (uint32_t)b);
}

static inline unsigned ct__grid(int64_t count)
{
    return (unsigned)ct__min(ct__divide_up(count, CT__BLOCK), CT__GRID);
}

/* Threads for n items: a power of two, in whole warps, at most `most`. */
static inline unsigned ct__threads(int64_t n, unsigned most)
{
    unsigned threads = CT__WARP;
    while (threads < most && threads < n) threads *= 2;
    return threads;
}

/* One block per item; 0, which the launch refuses, if a grid cannot have so many. */
static inline unsigned ct__blocks(int64_t count) { return count <= INT32_MAX ? (unsigned)count : 0; }

/* A kernel's loop over `count` items. */
#define CT__EACH(i, count)                                                              \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i##_end = (count), \
                 i##_step = (int64_t)gridDim.x * blockDim.x;                            \
         i < i##_end; i += i##_step)

#endif
