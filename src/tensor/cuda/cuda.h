/* What the files of the CUDA backend share. They are compiled by nvcc, and as C++17 by any compiler against
 * headers of the same names that simulate a GPU (tests/cudasim/include): those list what is used of CUDA.
 * Kernels have __syncthreads, <math.h>'s functions for double and float, rsqrt, nvcuda::wmma and shared
 * memory by CT__SHARED and CT__SHARED_ROOM. They have no atomics, warp intrinsics, textures, cooperative
 * groups or printf.
 *
 * Kernels are launched through the macros below alone: CT__LAUNCH for kernels whose threads share nothing,
 * nearly all of them by CT__RUN_EACH; CT__LAUNCH_ROOM, by CT__RUN_BLOCKS and CT__RUN_ROOM, for those that
 * use shared memory and __syncthreads. Arguments are plain data, passed by value. The stand-in defines
 * CT__LAUNCH, CT__LAUNCH_ROOM, CT__SHARED and CT__SHARED_ROOM before this header, or in its cuda_runtime.h,
 * and with them CT__UNROLL and CT__BY_FOUR.
 *
 * One stream per device carries everything: so the pool may hand out a block again as soon as the work that
 * used it has been queued, and nothing here waits but `download` and `synchronize`. */
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
static inline cudaError_t ct__launch(void (*kernel)(P...), unsigned grid, unsigned block, int64_t room,
                                     cudaStream_t stream, A &&...argument)
{
    const cudaLaunchConfig_t config = { grid, block, (size_t)room, stream, NULL, 0 };
    return cudaLaunchKernelEx(&config, kernel, static_cast<A &&>(argument)...);
}
#    define CT__LAUNCH(kernel, grid, block, ...) ct__launch(kernel, grid, block, 0, __VA_ARGS__)
#    define CT__LAUNCH_ROOM                      ct__launch
#endif
/* Queues a kernel, and is the status: whether it was accepted, while doing `what`; CT_OK where there is
 * nothing to do. The kernel's CT__EACH goes over `count` things; or its blocks, so many, have barriers, and
 * `room` bytes each. */
#define CT__RUN_EACH(dev, what, kernel, count, ...)                                               \
    ((count) != 0 ? ct__status(dev, what,                                                         \
                               CT__LAUNCH(kernel, ct__grid(count), ct__threads(count, CT__BLOCK), \
                                          ct__cuda_of(dev)->stream, __VA_ARGS__))                 \
                  : CT_OK)
#define CT__RUN_ROOM(dev, what, kernel, blocks, threads, room, ...)                        \
    ((blocks) != 0 ? ct__status(dev, what,                                                 \
                                CT__LAUNCH_ROOM(kernel, ct__blocks(blocks), threads, room, \
                                                ct__cuda_of(dev)->stream, __VA_ARGS__))    \
                   : CT_OK)
#define CT__RUN_BLOCKS(dev, what, kernel, blocks, threads, ...) \
    CT__RUN_ROOM(dev, what, kernel, blocks, threads, 0, __VA_ARGS__)

/* CT__SHARED(T, name, [extent]...): an array of T in shared memory, at a multiple of 32 bytes.
 * CT__SHARED_ROOM(name): the room that the launch gave, at a multiple of 16. */
#ifndef CT__SHARED
#    define CT__SHARED(type, name, ...) alignas(32) __shared__ type name __VA_ARGS__
#    define CT__SHARED_ROOM(name)             \
        extern __shared__ double2 ct__room[]; \
        char *const name = (char *)ct__room
#endif

/* The loop that follows becomes straight code, where an array in registers is indexed by its variable; or
 * goes four steps at a time, whose loads need not wait for one another. */
#ifndef CT__UNROLL
#    define CT__UNROLL  _Pragma("unroll")
#    define CT__BY_FOUR _Pragma("unroll 4")
#endif

/* An index outside its range: where, and whose; `what` is a text's address, below 0, for a kernel must not
 * follow it. `order` counts the checks; 0: none was found. Of what is to be a permutation: there twice, where
 * `extent` is below 0. */
typedef struct ct__bad {
    int64_t order, what, at, value, extent;
} ct__bad;

/* Host memory of cuSOLVER, behind this at CT__ALIGNMENT. It may be read until the work is done: so what is
 * outgrown stays. */
typedef struct ct__host_room {
    struct ct__host_room *older;
    size_t bytes;
} ct__host_room;

/* Functions of the driver that the runtime does not have. A context stands for its GPU; NULL: no GPU is
 * current in this thread. They return a cudaError_t. */
typedef struct ct__driver {
    int (*current)(struct CUctx_st **);
    int (*make_current)(struct CUctx_st *);
    int (*context_of)(cudaStream_t, struct CUctx_st **);
    int (*device_of)(int *, int ordinal);
    int (*retain)(struct CUctx_st **, int device); /* its primary context, which is the runtime's */
    int (*release)(int device);
} ct__driver;

/* The inside of a device. */
typedef struct ct__cuda {
    ct__driver driver;
    struct CUctx_st *context;     /* NULL before it is retained */
    int ordinal, gpu, processors; /* gpu: the driver's name for it */
    /* aside gives and takes memory while `stream` is recorded, which cannot; NULL before */
    cudaStream_t stream, aside;
    cudaMemPool_t pool; /* NULL where the runtime has none */
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t params;
    void *blas_workspace;
    ct__host_room *host_workspace;
    ct__bad *bad; /* CT__CHECKERS of them in device memory: what was found since they were last read */
    int64_t checks;
    bool recording, checked; /* checked: since then an index has been */
} ct__cuda;

static inline ct__cuda *ct__cuda_of(ct_device *dev) { return (ct__cuda *)dev->backend_state; }

/* While this lives, the device's GPU is current in this thread; then that of before is again. The runtime
 * cannot go back to none: its cudaSetDevice makes a context, and stays with that GPU. */
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

/* Whether it is cudaSuccess. An error of ours does not stay in cudaGetLastError, where others look for
 * theirs, which stay. */
static inline bool ct__done(cudaError_t error)
{
    if (error != cudaSuccess) cudaGetLastError();
    return error == cudaSuccess;
}
/* What is wrong, in the device's words: the runtime's, the driver's, cuBLAS's or cuSOLVER's status while
 * doing `what`. */
ct_status ct__status(ct_device *dev, const char *what, cudaError_t error);
ct_status ct__status(ct_device *dev, const char *what, cublasStatus_t error);
ct_status ct__status(ct_device *dev, const char *what, cusolverStatus_t error);
ct_status ct__driver_status(ct_device *dev, const char *what, int error);
/* s becomes the status of the call, which is made where s is CT_OK. */
#define CT__TRY(what, call) (s = s ? s : ct__status(dev, what, call))
/* At least so many bytes of host memory for cuSOLVER, kept while the device lives. NULL with a message. */
void *ct__cuda_host_workspace(ct_device *dev, size_t bytes);
/* Queues that n integers become 0. */
ct_status ct__zero(ct_device *dev, const char *what, int64_t *x, int64_t n);
/* An upload by kernel arguments: in a graph, too, which keeps the bytes. */
ct_status ct__cuda_put(ct_device *dev, const char *what, void *dst, const void *src, size_t bytes);

/* Memory from the pool for the time of a call; it may go back before the work on it is done, since what gets
 * it next is queued behind. Of a size below 0 there is none. */
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
static inline int64_t ct__smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Quotient of numbers >= 0: a division of 32 bits is several times cheaper. */
static __device__ __forceinline__ int64_t ct__quotient(int64_t a, int64_t b)
{
    return (a | b) >> 32 ? a / b : (int64_t)((uint32_t)a / (uint32_t)b);
}

static inline unsigned ct__grid(int64_t count)
{
    return (unsigned)ct__smaller(ct__divide_up(count, CT__BLOCK), CT__GRID);
}

/* Threads for n things: a power of two of them, whole warps, `most` at most. */
static inline unsigned ct__threads(int64_t n, unsigned most)
{
    unsigned threads = CT__WARP;
    while (threads < most && threads < n) threads *= 2;
    return threads;
}

/* A block per thing. More than a grid can have: none, which the launch refuses. */
static inline unsigned ct__blocks(int64_t count) { return count <= INT32_MAX ? (unsigned)count : 0; }

/* For a kernel's loop over `count` things. */
#define CT__EACH(i, count)                                                              \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, i##_end = (count), \
                 i##_step = (int64_t)gridDim.x * blockDim.x;                            \
         i < i##_end; i += i##_step)

#endif
