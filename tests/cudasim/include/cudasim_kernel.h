/* Kernels as C++: the keywords of nvcc, and launches. A kernel is a function. A launch runs it once for each
 * thread of the grid, later, when its stream reaches the launch. */
#ifndef CUDASIM_KERNEL_H
#define CUDASIM_KERNEL_H

#include <functional>
#include <tuple>
#include <type_traits>

/* The thread sanitizer leaves kernels out: they run one thread at a time, under one lock, in memory that is
 * closed to all other threads. */
#ifdef __SANITIZE_THREAD__
#    define CUDASIM_UNSEEN __attribute__((no_sanitize_thread))
#else
#    define CUDASIM_UNSEEN
#endif
#define __global__ CUDASIM_UNSEEN
#define __device__ CUDASIM_UNSEEN
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
/* Shared memory is the block's that runs: each has its own, as several are under way at once. */
#define CT__SHARED(type, name, ...)       \
    static char name##_key;               \
    typedef type name##_type __VA_ARGS__; \
    name##_type &name = *(name##_type *)cudasim::shared_memory(&name##_key, sizeof(name##_type))
#define CT__SHARED_DYNAMIC(name) char *const name = (char *)cudasim::shared_dynamic()

#define threadIdx (cudasim::here.thread)
#define blockIdx  (cudasim::here.block)
#define blockDim  (cudasim::here.block_dim)
#define gridDim   (cudasim::here.grid_dim)

/* A macro, since a newer C library has a function of this name, too. */
#define rsqrt(x) (1 / sqrt(x))

#define __syncthreads() cudasim::barrier(__FILE__, __LINE__)

/* The compiler decides how to unroll loops. */
#define CT__UNROLL
#define CT__BY_FOUR

/* A launch, and its error; a kernel's name is what macros in it stand for */
#define CUDASIM_NAME(...) #__VA_ARGS__
#define CT__LAUNCH(kernel, grid, block, stream, ...) \
    cudasim::launch(CUDASIM_NAME(kernel), false, kernel, grid, block, 0, stream, __VA_ARGS__)
#define CT__LAUNCH_BLOCK(kernel, grid, block, stream, ...) \
    CT__LAUNCH_SHARED(kernel, grid, block, 0, stream, __VA_ARGS__)
#define CT__LAUNCH_SHARED(kernel, grid, block, room, stream, ...) \
    cudasim::launch(CUDASIM_NAME(kernel), true, kernel, grid, block, room, stream, __VA_ARGS__)

namespace cudasim
{
struct place {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
};
extern place here; /* of the thread that runs */

void barrier(const char *file, int line);
/* Reports a block of another number of threads than its code was compiled for. */
void check_block(int threads);
void *shared_memory(const void *key, size_t bytes);
void *shared_dynamic();
/* Reports an address that tensor cores cannot read from, rows of so many bytes, and a warp whose threads do
 * not all come here, in the same order. */
void check_tile(const void *at, size_t row);

/* Reports a host address, which no kernel can follow: a pointer, or a word of a struct without padding that
 * could hold one. */
void check_addresses(const char *kernel, int number, const void *bytes, size_t size);

template <class P> void check_argument(const char *kernel, int number, const P &p)
{
    if constexpr (std::is_pointer<P>::value || (std::is_class<P>::value && alignof(P) >= alignof(void *) &&
                                                std::has_unique_object_representations<P>::value))
        check_addresses(kernel, number, &p, sizeof p);
}

/* `shares`: its threads meet at barriers, so each needs a stack of its own. room: bytes of shared_dynamic. */
cudaError_t enqueue_kernel(const char *name, const void *kernel, bool shares, dim3 grid, dim3 block,
                           size_t room, cudaStream_t stream, std::function<void()> thread);

/* One thread. */
template <class... P, size_t... I>
CUDASIM_UNSEEN void call(void (*kernel)(P...), const std::tuple<P...> &held, std::index_sequence<I...>)
{
    kernel(std::get<I>(held)...);
}

template <class... P, class... A>
cudaError_t launch(const char *name, bool shares, void (*kernel)(P...), dim3 grid, dim3 block, size_t room,
                   cudaStream_t stream, const A &...argument)
{
    static_assert((std::is_trivially_copyable<P>::value && ...), "kernel arguments are plain data");
    static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
    std::tuple<P...> held(static_cast<P>(argument)...);
    std::apply(
        [name](const P &...p) {
            int number = 0;
            (check_argument(name, ++number, p), ...);
        },
        held);
    return enqueue_kernel(name, (const void *)kernel, shares, grid, block, room, stream,
                          [kernel, held] { call(kernel, held, std::index_sequence_for<P...>()); });
}
} // namespace cudasim

#endif
