/* Looks for indices out of their range. CT__CHECKERS blocks share a check, each notes the first that it found
 * in a place of its own, and the host takes the first of all. They may be blocks of a kernel that does
 * something else: then no launch is needed for them. */
#ifndef CT_TENSOR_CUDA_CHECK_CUH
#define CT_TENSOR_CUDA_CHECK_CUH

#include "block.cuh"

typedef struct ct__check {
    ct__bad *bad;
    int64_t order, what;
} ct__check;

static inline ct__check ct__new_check(ct__cuda *cuda, const char *what)
{
    cuda->checked = true;
    return ct__check{ cuda->bad, ++cuda->checks, -(int64_t)(uintptr_t)what };
}

/* As many blocks as n indices keep busy. */
static inline unsigned ct__checkers(int64_t n, int threads)
{
    const int64_t blocks = ct__divide_up(n, threads);
    return blocks < CT__CHECKERS ? (unsigned)blocks : (unsigned)CT__CHECKERS;
}

/* Whether nothing is to be said: here, or in an earlier check anywhere, something was found before. */
static inline __device__ bool ct__silent(const ct__check &c, unsigned block)
{
    if (c.bad[block].order) return true;
    for (int k = 0; k < CT__CHECKERS; k++)
        if (c.bad[k].order && c.bad[k].order != c.order) return true;
    return false;
}

/* The block's threads bring the first bad place that each found in x, or `end`. `orders`: what is inside [0,
 * extent) is there twice. */
template <int THREADS>
static __device__ void ct__note(const ct__check &c, unsigned block, int64_t mine, int64_t end,
                                const int64_t *x, int64_t step, int64_t extent, bool orders = false)
{
    const int64_t first = ct__over_block<THREADS>(mine, ct__least());
    if (threadIdx.x || first == end || ct__silent(c, block)) return;
    const int64_t value = x[first * step];
    const bool twice = orders && 0 <= value && value < extent;
    c.bad[block] = ct__bad{ c.order, c.what, first, value, twice ? -extent : extent };
}

/* Block number `block` of those that check n indices, `step` apart. */
template <int THREADS>
static __device__ void ct__check_piece(const ct__check &c, unsigned block, const int64_t *index, int64_t n,
                                       int64_t step, int64_t extent)
{
    int64_t mine = n;
    /* No way out of the loop: so the loads need not wait for one another. */
    for (int64_t i = (int64_t)block * THREADS + threadIdx.x; i < n; i += CT__CHECKERS * THREADS) {
        const int64_t k = index[i * step];
        if ((k < 0 || k >= extent) && i < mine) mine = i;
    }
    ct__note<THREADS>(c, block, mine, n, index, step, extent);
}

#endif
