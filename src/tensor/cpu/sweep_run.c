/* Vector code: the whole sweep of sweep.c. */
#include "sweep_run.h"
#include "kernel/subnormals.h"
#include "kernel/vector.h"

#include <omp.h>
#include <stdatomic.h>

#include "sweep_step.h"

/* Chooses the number of pivots in a step and the size of a tile. With few pivots the panel is a small share
 * of the work; with many, products are deep and threads synchronise rarely. Large tiles read less memory per
 * operation; small tiles balance the load, and a part should have a dozen row blocks. */
static int64_t choose_block(const ct__tuning *c, int64_t n, int64_t width, int parts, int64_t *grain)
{
    const int64_t all = (n + width - 1) / width * width;
    const int64_t share = n * c->sweep_share / 100,
                  rows = ct__min(ct__max(share, c->sweep_least), c->sweep_most);
    *grain = (rows + width - 1) / width * width;
    int64_t b = *grain * (n <= c->sweep_large ? c->sweep_tasks : c->sweep_deep);
    while (*grain < b && n >= c->sweep_blocks * parts * *grain) *grain *= 2;
    if (all < *grain) *grain = all;
    return ct__min(b, (all + *grain - 1) / *grain * *grain);
}

/* Chooses the blocks and divides `memory` (NULL: only measures) among the arrays. Returns the bytes
 * needed. */
static size_t prepare(const ct__sweep *t, char *memory, sweep *s)
{
    *s = (sweep){ .A = t->A,
                  .inverse = t->inverse,
                  .tolerance = (T)t->tolerance,
                  .data = t->data,
                  .z = t->z,
                  .columns = t->columns,
                  .diagonal = t->diagonal,
                  .parts = t->parts,
                  .team = t->team };
    s->block = choose_block(t->tuning, t->A.n, WIDTH, t->parts, &s->grain);
    const size_t b = (size_t)s->block, slivers = ((size_t)s->A.n + WIDTH - 1) / WIDTH;
    size_t used = 0;
    s->W = ct__take(memory, &used, slivers * b * WIDTH * sizeof(T));
    s->F = ct__take(memory, &used, b * b * sizeof(T));
    s->Ft = ct__take(memory, &used, b * b * sizeof(T));
    s->y = ct__take(memory, &used, (size_t)s->columns * b * sizeof(T));
    s->reciprocal = ct__take(memory, &used, b * sizeof(T));
    s->spare = ct__take(memory, &used, (size_t)s->parts * b * WIDTH * sizeof(T));
    s->queues = ct__take(memory, &used, (size_t)s->parts * sizeof(queue));
    return used;
}

/* Applies the previous step's update to the pivot block at k0 and factorises it. Returns as factor. */
static int64_t next_pivots(const sweep *s, int64_t k0)
{
    const int64_t first = k0 / s->grain, row_blocks = (s->A.n + s->grain - 1) / s->grain;
    const int64_t end = ct__min(first + s->block / s->grain, row_blocks);
    for (int64_t P = first; P < end && k0; P++)
        for (int64_t Q = first; Q < end; Q++) update_tile(s, k0 - s->block, P, Q);
    return factor_block(s, k0);
}

/* Computes the panel of the pivots at k0: first the slivers of `part`, then what is left of the other
 * parts'. */
static void panels(const sweep *s, int64_t k0, int part)
{
    const int64_t slivers = (s->A.n + WIDTH - 1) / WIDTH, each = s->grain / WIDTH;
    const int64_t across = row_blocks_of(s->A.n, s->grain, s->parts);
    atomic_store(&s->queues[part].tiles, 0);
    for (int k = 0; k < s->parts; k++) {
        const int owner = (part + k) % s->parts;
        for (int64_t task; (task = atomic_fetch_add(&s->queues[owner].slivers, 1)) < across * each;) {
            const int64_t P = owned(owner, s->parts, k0 / s->grain, task / each), i = P * each + task % each;
            if (i < slivers) panel_sliver(s, k0, i, s->spare + part * s->block * WIDTH);
        }
    }
}

/* Updates the tiles with the panel, likewise, and factorises the next pivot block. Sets *failed, which all
 * parts share, to the failing minor. */
static void updates(const sweep *s, int64_t k0, int part, int64_t *failed)
{
    const int64_t n = s->A.n, block = s->block, next = k0 + block, pivots = block / s->grain;
    const int64_t row_blocks = row_blocks_of(n, s->grain, 1), across = row_blocks_of(n, s->grain, s->parts);
    const int first = (int)(2 * (next / s->grain) % s->parts); /* the part that owns the next pivots */
    atomic_store(&s->queues[part].slivers, 0);
    for (int k = 0; k < s->parts; k++) {
        const int owner = (part + k) % s->parts;
        for (int64_t task; (task = atomic_fetch_add(&s->queues[owner].tiles, 1)) <= row_blocks * across;) {
            if (!task && owner == first && next < n) *failed = next_pivots(s, next);
            if (!task) continue;
            const int64_t P = (task - 1) / across, Q = owned(owner, s->parts, P, (task - 1) % across);
            const int64_t p = P / pivots * block, q = Q / pivots * block;
            if (Q >= row_blocks || p == k0 || q == k0 || (p == next && q == next)) continue;
            if (s->inverse || (p > k0 && q > k0)) update_tile(s, k0, P, Q);
        }
    }
}

static size_t memory_of(const ct__sweep *t)
{
    sweep s;
    return prepare(t, NULL, &s);
}

/* Copies the diagonal. Returns whether subnormal numbers may be flushed to zero: they may if the diagonal,
 * its reciprocals, z, and z over the diagonal are all so large that a subnormal number is below their
 * round-off. Covariances of distant points are subnormal. */
static bool take_diagonal(const sweep *s)
{
    const T small = sizeof(T) == 8 ? (T)0x1p-450 : (T)0x1p-40f;
    bool flush = true;
    for (int64_t k = 0; k < s->A.n; k++) {
        const T d = s->diagonal[k] = s->data[element(&s->A, k, k)];
        flush = flush && d > small && d < 1 / small;
    }
    for (int64_t k = 0; k < s->A.n * s->columns && flush; k++)
        flush = s->z[k] == 0 || s->z[k] > small || s->z[k] < -small;
    return flush;
}

/* One thread's share of all steps. */
static void run_steps(const sweep *s, int thread, int team, ct__barrier *barrier, int64_t *failed)
{
    const uint64_t before = ct__flush_begin(s->flush);
    for (int64_t k0 = 0; k0 < s->A.n && !*failed; k0 += s->block) {
        for (int part = thread; part < s->parts; part += team) panels(s, k0, part);
        ct__barrier_wait(barrier, team);
        for (int part = thread; part < s->parts; part += team) updates(s, k0, part, failed);
        ct__barrier_wait(barrier, team);
    }
    ct__flush_end(before);
}

static int64_t run(const ct__sweep *t, char *memory)
{
    sweep all, *s = &all;
    prepare(t, memory, s);
    s->flush = take_diagonal(s);
    for (int part = 0; part < s->parts; part++) atomic_init(&s->queues[part].slivers, 0);
    const uint64_t before = ct__flush_begin(s->flush);
    int64_t failed = next_pivots(s, 0);
    ct__flush_end(before);
    ct__barrier barrier = CT__BARRIER_INITIALIZER;
    if (s->team == 1) {
        run_steps(s, 0, 1, &barrier, &failed);
        return failed;
    }
#pragma omp parallel num_threads(s->team)
    run_steps(s, omp_get_thread_num(), omp_get_num_threads(), &barrier, &failed);
    return failed;
}

const ct__sweep_code NAME(ct__sweep_code) = { memory_of, run };
