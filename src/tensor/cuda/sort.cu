/* A stable sort of small integers by digits, without atomics: each thread counts the digits of a few neighbours, and the
 * sums over (digit, thread), then over (digit, block), say where each element goes. */
#include "sort.cuh"

enum {
    THREADS = 256,
    EACH = 8, /* neighbours of a thread */
    TILE = THREADS * EACH,
    BITS = 5,
    DIGITS = 1 << BITS,
};

typedef struct pass {
    int64_t n, blocks;
    int64_t shift;
    const int64_t *key, *position;
    int64_t *key_out, *position_out, *counts; /* counts[digit][block] */
} pass;

static __device__ int digit_of(const pass &p, int64_t i) { return (int)(p.key[i] >> p.shift & (DIGITS - 1)); }

static __global__ void start_kernel(const int64_t *index, int64_t n, int64_t step, int64_t groups,
                                    int64_t *key, int64_t *position)
{
    CT__EACH(i, n)
    {
        int64_t k = index[i * step];
        key[i] = k < 0 || k >= groups ? 0 : k;
        position[i] = i;
    }
}

/* This thread's digits, into count[digit][thread]. */
static __device__ void count_digits(const pass &p, uint16_t (*count)[THREADS])
{
    const int t = (int)threadIdx.x;
    const int64_t from = (int64_t)blockIdx.x * TILE + t * EACH;
    for (int d = 0; d < DIGITS; d++) count[d][t] = 0;
    for (int64_t i = from; i < from + EACH && i < p.n; i++) count[digit_of(p, i)][t]++;
}

static __global__ void count_kernel(pass p)
{
    __shared__ uint16_t count[DIGITS][THREADS];
    const int t = (int)threadIdx.x;
    count_digits(p, count);
    __syncthreads();
    if (t >= DIGITS) return;
    int64_t sum = 0;
    for (int k = 0; k < THREADS; k++) sum += count[t][k];
    p.counts[t * p.blocks + blockIdx.x] = sum;
}

/* Exclusive sums of n numbers in place; one block. */
static __global__ void scan_kernel(int64_t *x, int64_t n)
{
    __shared__ int64_t sum[THREADS];
    const int t = (int)threadIdx.x;
    const int64_t lane = (n + THREADS - 1) / THREADS, from = t * lane, to = from + lane < n ? from + lane : n;
    int64_t mine = 0;
    for (int64_t i = from; i < to; i++) mine += x[i];
    sum[t] = mine;
    __syncthreads();
    if (t == 0) {
        int64_t before = 0;
        for (int k = 0; k < THREADS; k++) {
            int64_t next = before + sum[k];
            sum[k] = before;
            before = next;
        }
    }
    __syncthreads();
    int64_t before = sum[t];
    for (int64_t i = from; i < to; i++) {
        int64_t next = before + x[i];
        x[i] = before;
        before = next;
    }
}

static __global__ void move_kernel(pass p)
{
    __shared__ uint16_t count[DIGITS][THREADS];
    const int t = (int)threadIdx.x;
    count_digits(p, count);
    __syncthreads();
    if (t < DIGITS) { /* among the same digits of the block, those of the threads before */
        uint16_t before = 0;
        for (int k = 0; k < THREADS; k++) {
            uint16_t next = (uint16_t)(before + count[t][k]);
            count[t][k] = before;
            before = next;
        }
    }
    __syncthreads();
    const int64_t from = (int64_t)blockIdx.x * TILE + t * EACH;
    for (int64_t i = from; i < from + EACH && i < p.n; i++) {
        int d = digit_of(p, i);
        int64_t to = p.counts[d * p.blocks + blockIdx.x] + count[d][t]++;
        p.key_out[to] = p.key[i];
        p.position_out[to] = p.position[i];
    }
}

/* offsets[g] = the number of keys below g */
static __global__ void offsets_kernel(const int64_t *key, int64_t n, int64_t groups, int64_t *offsets)
{
    CT__EACH(g, groups + 1)
    {
        int64_t low = 0, high = n;
        while (low < high) {
            int64_t middle = (low + high) / 2;
            if (key[middle] < g)
                low = middle + 1;
            else
                high = middle;
        }
        offsets[g] = low;
    }
}

ct_status ct__cuda_sort(ct_device *dev, const int64_t *index, int64_t n, int64_t step, int64_t groups,
                        int64_t *offsets, int64_t *positions)
{
    ct__cuda *cuda = ct__cuda_of(dev);
    const int64_t blocks = ct__divide_up(n, TILE), counts = DIGITS * blocks;
    ct__scratch room(dev, (3 * n + counts) * (int64_t)sizeof(int64_t));
    if (!room.data) return CT_ENOMEM;
    int64_t *key[2] = { (int64_t *)room.data, (int64_t *)room.data + n }, *other = key[1] + n;
    int passes = 0;
    while (groups > 1 && passes * BITS < 63 && (groups - 1) >> (passes * BITS)) passes++;
    /* so that the last pass ends in `positions` */
    int64_t *place[2] = { passes % 2 ? other : positions, passes % 2 ? positions : other };
    if (n) {
        CT__LAUNCH(start_kernel, ct__grid(n), CT__BLOCK, cuda->stream, index, n, step, groups, key[0],
                   place[0]);
        for (int i = 0; i < passes; i++) {
            pass p = { n,
                       blocks,
                       (int64_t)i * BITS,
                       key[i % 2],
                       place[i % 2],
                       key[(i + 1) % 2],
                       place[(i + 1) % 2],
                       other + n };
            /* nothing is moved to where no count has said */
            CT__LAUNCH_BLOCK(count_kernel, ct__blocks(blocks), THREADS, cuda->stream, p);
            if (ct_status s = ct__cuda_launched(dev, "group_by")) return s;
            CT__LAUNCH_BLOCK(scan_kernel, 1, THREADS, cuda->stream, p.counts, counts);
            if (ct_status s = ct__cuda_launched(dev, "group_by")) return s;
            CT__LAUNCH_BLOCK(move_kernel, ct__blocks(blocks), THREADS, cuda->stream, p);
        }
    }
    CT__LAUNCH(offsets_kernel, ct__grid(groups + 1), CT__BLOCK, cuda->stream, key[passes % 2], n, groups,
               offsets);
    return ct__cuda_launched(dev, "group_by");
}
