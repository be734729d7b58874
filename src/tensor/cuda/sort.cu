/* A stable sort of small integers by digits, without atomics. A block sorts its tile in shared memory, so
 * that equal digits are neighbours: that gives each its rank among them, and their number. Sums of the
 * numbers over blocks, then over digits, say where each goes. Positions alone are moved: the integers stay
 * where they are. */
#include "sort.cuh"

#include "check.cuh"
#include "pieces.cuh"

enum {
    THREADS = CT__BLOCK,
    EACH = CT__SORT_EACH,
    TILE = THREADS * EACH,
    PLACE = 10, /* bits of a place in a tile */
    BITS = CT__SORT_BITS,
    DIGITS = 1 << BITS,
    SCANNED = CT__SORT_SCANNED,
    LANES = THREADS / SCANNED,
};
static_assert(TILE == 1 << PLACE && BITS + 2 * PLACE < 32, "a digit, a rank and a place fit a word");

typedef struct pass {
    int64_t n, step, groups, blocks, digits, shift;
    const int64_t *index, *from; /* NULL: 0, 1, 2, ... */
    int64_t *to, *offsets;       /* NULL: more passes than this one */
    int64_t *counts, *totals;    /* counts[block][digit]; once summed up, of the blocks before */
    uint32_t *word;              /* tile by tile in order: digit, rank among its equals, place in the tile */
} pass;

static __device__ int64_t key_of(const pass &p, int64_t position)
{
    const int64_t k = p.index[position * p.step];
    return k < 0 || k >= p.groups ? 0 : k;
}

/* Runs of 2^level in order become runs of twice that: each element counts those before it in the run beside
 * its own; no two are equal. A thread's searches go side by side, for each of their steps waits for
 * memory. */
static __device__ void merge(uint32_t *word, int level)
{
    const int t = (int)threadIdx.x, width = 1 << level;
    uint32_t x[EACH];
    int at[EACH]; /* all before it in the other run are below x */
    for (int e = 0; e < EACH; e++) {
        const int i = t + e * THREADS;
        x[e] = word[i];
        at[e] = ((i >> level) ^ 1) << level;
    }
    for (int half = width / 2; half; half /= 2)
        for (int e = 0; e < EACH; e++)
            if (word[at[e] + half - 1] < x[e]) at[e] += half;
    for (int e = 0; e < EACH; e++)
        if (word[at[e]] < x[e]) at[e]++;
    __syncthreads();
    for (int e = 0; e < EACH; e++) {
        const int i = t + e * THREADS, mine = i >> level << level;
        word[i + at[e] - (mine > (mine ^ width) ? mine : mine ^ width)] = x[e];
    }
    __syncthreads();
}

static __global__ void tile_kernel(pass p)
{
    CT__SHARED(uint32_t, word, [TILE]);
    CT__SHARED(uint16_t, first, [DIGITS]);
    CT__SHARED(uint16_t, count, [DIGITS]);
    const int t = (int)threadIdx.x;
    const int64_t from = (int64_t)blockIdx.x * TILE, size = p.n - from < TILE ? p.n - from : (int64_t)TILE;
    for (int d = t; d < p.digits; d += THREADS) count[d] = 0;
    for (int e = 0; e < EACH; e++) {
        const int i = t + e * THREADS;
        const int64_t digit =
            i < size ? key_of(p, p.from ? p.from[from + i] : from + i) >> p.shift & (p.digits - 1)
                     : (int64_t)DIGITS; /* behind all that there are */
        word[i] = (uint32_t)(digit << PLACE) | (uint32_t)i;
    }
    __syncthreads();
    for (int level = 0; 1 << level < size; level++) merge(word, level);
    for (int i = t; i < size; i += THREADS)
        if (!i || word[i - 1] >> PLACE != word[i] >> PLACE) first[word[i] >> PLACE] = (uint16_t)i;
    __syncthreads();
    for (int i = t; i < size; i += THREADS) {
        const uint32_t digit = word[i] >> PLACE, rank = (uint32_t)i - first[digit];
        p.word[from + i] = (digit << PLACE | rank) << PLACE | (word[i] & (TILE - 1));
        if (i + 1 == size || word[i + 1] >> PLACE != digit) count[digit] = (uint16_t)(rank + 1);
    }
    __syncthreads();
    for (int d = t; d < p.digits; d += THREADS) p.counts[blockIdx.x * p.digits + d] = count[d];
}

/* Exclusive sums over blocks, and the totals, of SCANNED digits; the first blocks check the indices
 * meanwhile. */
static __global__ void scan_kernel(pass p, ct__check check, unsigned checkers)
{
    CT__SHARED(int64_t, sum, [LANES][SCANNED]);
    if (blockIdx.x < checkers)
        return ct__check_piece<THREADS>(check, blockIdx.x, p.index, p.n, p.step, p.groups);
    const int lane = (int)threadIdx.x / SCANNED, column = (int)threadIdx.x % SCANNED;
    const int64_t d = (int64_t)(blockIdx.x - checkers) * SCANNED + column, from = p.blocks * lane / LANES,
                  to = d < p.digits ? p.blocks * (lane + 1) / LANES : from;
    int64_t mine = 0, before = 0;
    for (int64_t b = from; b < to; b++) mine += p.counts[b * p.digits + d];
    sum[lane][column] = mine;
    __syncthreads();
    for (int k = 0; k < lane; k++) before += sum[k][column];
    if (lane == LANES - 1 && d < p.digits) p.totals[d] = before + mine;
    for (int64_t b = from; b < to; b++) {
        const int64_t here = p.counts[b * p.digits + d];
        p.counts[b * p.digits + d] = before;
        before += here;
    }
}

/* The sum of what the threads before this one bring. */
static __device__ int64_t sum_before(int64_t mine)
{
    CT__SHARED(int64_t, sum, [THREADS]);
    const int t = (int)threadIdx.x;
    sum[t] = mine;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        const int64_t more = t >= step ? sum[t - step] : 0;
        __syncthreads();
        sum[t] += more;
        __syncthreads();
    }
    return sum[t] - mine;
}

/* Where the sum of a digit is in shared memory: a gap in eight, so that threads that walk over neighbours
 * meet other banks. */
static __device__ int spaced(int d) { return d + d / 8; }

static __global__ void move_kernel(pass p)
{
    CT__SHARED(int64_t, base, [DIGITS + DIGITS / 8]); /* elements with a lower digit */
    const int t = (int)threadIdx.x, digits = (int)p.digits, each = (digits + THREADS - 1) / THREADS;
    for (int d = t; d < digits; d += THREADS) base[spaced(d)] = p.totals[d];
    __syncthreads();
    int64_t mine = 0;
    for (int d = t * each; d < (t + 1) * each && d < digits; d++) mine += base[spaced(d)];
    int64_t before = sum_before(mine);
    for (int d = t * each; d < (t + 1) * each && d < digits; d++) {
        const int64_t here = base[spaced(d)];
        base[spaced(d)] = before;
        before += here;
    }
    __syncthreads();
    const int64_t from = (int64_t)blockIdx.x * TILE;
    for (int e = 0; e < EACH; e++) {
        const int64_t i = from + t + e * THREADS;
        if (i >= p.n) break;
        const uint32_t word = p.word[i], digit = word >> 2 * PLACE, rank = word >> PLACE & (TILE - 1);
        const int64_t at = from + (word & (TILE - 1));
        p.to[base[spaced((int)digit)] + p.counts[blockIdx.x * p.digits + digit] + rank] =
            p.from ? p.from[at] : at;
    }
    if (blockIdx.x || !p.offsets) return;
    for (int64_t m = t; m <= p.groups; m += THREADS) p.offsets[m] = m < p.groups ? base[spaced((int)m)] : p.n;
}

/* offsets[m] = the number of keys below m */
static __global__ void offsets_kernel(pass p, int64_t *offsets)
{
    CT__EACH(m, p.groups + 1)
    {
        offsets[m] = ct__first_not(0, p.n, [&](int64_t i) { return key_of(p, p.to[i]) < m; });
    }
}

ct_status ct__cuda_sort(ct_device *dev, const char *what, const int64_t *index, int64_t n, int64_t step,
                        int64_t groups, int64_t *offsets, int64_t *positions)
{
    int bits = 0;
    while (bits < 62 && (int64_t)1 << bits < groups) bits++;
    const int passes = bits ? (bits + BITS - 1) / BITS : 1;
    bits = (bits + passes - 1) / passes;
    const int64_t digits = (int64_t)1 << bits, blocks = n ? ct__divide_up(n, TILE) : 1,
                  others = passes > 1 ? n : 0;
    ct__scratch room(dev, (others + (blocks + 1) * digits) * (int64_t)sizeof(int64_t) +
                              n * (int64_t)sizeof(uint32_t));
    if (!room.data) return CT_ENOMEM;
    int64_t *other = room, *counts = other + others, *totals = counts + blocks * digits;
    const ct__check check = ct__new_check(ct__cuda_of(dev), what);
    pass p = { n,
               step,
               groups,
               blocks,
               digits,
               0,
               index,
               NULL,
               NULL,
               passes == 1 ? offsets : NULL,
               counts,
               totals,
               (uint32_t *)(totals + digits) };
    ct_status s = CT_OK;
    for (int i = 0; i < passes && !s; i++) {
        const unsigned checkers = i ? 0 : ct__checkers(n, THREADS);
        p.shift = (int64_t)i * bits;
        p.from = p.to;
        p.to = (passes - 1 - i) % 2 ? other : positions; /* the last one's */
        /* nothing is moved to where no count has said */
        s = CT__RUN_BLOCKS(dev, what, tile_kernel, blocks, THREADS, p);
        if (!s)
            s = CT__RUN_BLOCKS(dev, what, scan_kernel, ct__divide_up(digits, SCANNED) + checkers, THREADS, p,
                               check, checkers);
        if (!s) s = CT__RUN_BLOCKS(dev, what, move_kernel, blocks, THREADS, p);
    }
    return s || passes == 1 ? s : CT__RUN_EACH(dev, what, offsets_kernel, groups + 1, p, offsets);
}
