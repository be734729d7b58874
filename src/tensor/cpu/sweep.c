/* The Cholesky factor or the inverse of a symmetric positive definite matrix, in place on one packed
 * triangle, by one sweep over blocks of pivots. A step takes the next b rows as its pivots. Let L Lᵀ = A_kk,
 * and let S00 be the part swept so far, which holds an inverse:
 *
 *     A = [ S00         ]     W_i = A_ik L⁻ᵀ for all other i              S00 = A00⁻¹
 *         [ Ak0 Akk     ]     A_ij -= W_i W_jᵀ, but S_ij += W_i W_jᵀ      Ak0 = -A_k0 A00⁻¹ at first
 *         [ A20 A2k A22 ]     A_ik = -W_i L⁻¹ (swept: + W_i L⁻¹),  A_kk = L⁻ᵀL⁻¹,
 *
 * The sweep takes n³ operations, as Cholesky, trtri and lauum in sequence do. But nearly all of them are in
 * one rank-b update of the whole triangle, which has the same size in every step, so all threads stay busy.
 * The next pivot block is updated and factorised first (look-ahead), while other threads update the rest.
 * Without the inverse, the rows already swept are skipped, W_i replaces A_ik, and the result is L.
 * [Bientinesi, Gunter & van de Geijn 2008, "Families of algorithms related to the inversion of a symmetric
 * positive definite matrix"]
 *
 * The panel W is packed in slivers. A sliver has as many rows as a register tile is wide, and stores one
 * pivot's numbers contiguously. The product reads both of its operands in this form. */
#include "kernel/kit.h"
#include "kernel/subnormals.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>

/* Where element {p, q} of the symmetric matrix lies: at row_offset(p) + q if p < n1 and p <= q (the first
 * part) or if n1 <= q <= p (the second part). In rectangular full packed format (op.h) the two parts share a
 * rectangle. A square matrix has n1 = 0, and its lower triangle is the second part. */
typedef struct layout {
    int64_t n, n1, ld;
    int64_t column, row; /* the first column of the first part, the first row of the second */
} layout;

static layout layout_of(int64_t n, const ct_view *A)
{
    if (A->dim[0] == n) return (layout){ .n = n, .ld = A->stride[0] };
    return (layout){ n, n - n / 2, A->stride[0], 1 - n % 2, n % 2 };
}

static int64_t row_offset(const layout *A, int64_t p)
{
    return p < A->n1 ? p * A->ld + A->column : (A->row + p - A->n1) * A->ld - A->n1;
}

/* The offset of A_ik, k <= i */
static int64_t element(const layout *A, int64_t i, int64_t k)
{
    return k < A->n1 ? row_offset(A, k) + i : row_offset(A, i) + k;
}

/* The number of pivots in the block at k0: at most `block`, and at the end rounded up to whole groups */
static int64_t padded_block(const layout *A, int64_t k0, int64_t block, int64_t group)
{
    return ct__min(block, (A->n - k0 + group - 1) / group * group);
}

/* -- scheduling --
 *
 * Stretch P is the P-th group of `grain` rows; tile (P, Q) is where rows P meet columns Q. A tile belongs to
 * part (P + Q) mod parts in every step, so it stays in one core's cache. Only the panel moves between
 * cores, which matters where they share no cache. Each part has work queues of its own. A thread empties its
 * part's queue, then takes tasks from the others' (work stealing). */

typedef struct queue {
    _Alignas(CT__ALIGNMENT) atomic_llong slivers; /* taken so far */
    _Alignas(CT__ALIGNMENT) atomic_llong tiles;
} queue;

/* The number of stretches in n rows, counting one of every `every`, rounded up */
static int64_t stretches_of(int64_t n, int64_t grain, int64_t every)
{
    return (n + grain * every - 1) / (grain * every);
}

/* The i-th Q whose tile (P, Q) belongs to `owner` */
static int64_t owned(int owner, int parts, int64_t P, int64_t i)
{
    return (owner + parts - P % parts) % parts + i * parts;
}

/* -- sweeps ---------------------------------------------------------------------------------------------- */

typedef struct problem {
    layout A;
    bool inverse;
    double tolerance;
    void *data, *z, *diagonal;
    int64_t columns; /* of z */
    int parts, team;
} problem;

/* Chooses the number of pivots in a step and the size of a tile. With few pivots the panel is a small share
 * of the work; with many, products are deep and threads synchronise rarely. Large tiles read less memory per
 * operation; small tiles balance the load, and a part should have a dozen stretches of rows. */
static int64_t choose_block(int64_t n, int64_t width, int parts, int64_t *grain)
{
    const int64_t all = (n + width - 1) / width * width;
    const int64_t share = n * CT__SWEEP_SHARE / 100;
    const int64_t rows = ct__min(share > CT__SWEEP_LEAST ? share : CT__SWEEP_LEAST, CT__SWEEP_MOST);
    *grain = (rows + width - 1) / width * width;
    int64_t b = *grain * (n <= CT__SWEEP_LARGE ? CT__SWEEP_TASKS : CT__SWEEP_DEEP);
    while (*grain < b && n >= CT__SWEEP_STRETCHES * parts * *grain) *grain *= 2;
    if (all < *grain) *grain = all;
    return ct__min(b, (all + *grain - 1) / *grain * *grain);
}

#define VECTOR_CODE "tensor/cpu/sweep_run.h"
#include "kernel/each_isa.h"

static problem problem_of(const ct_device *dev, layout A, bool inverse, double tolerance, void *data, void *z,
                          int64_t columns, void *diagonal)
{
    const int parts = A.n <= CT__SWEEP_ALONE ? 1 : dev->threads;
    return (problem){ A, inverse, tolerance, data, z, diagonal, columns, parts, ct__team(dev, parts) };
}

static size_t memory_of(const ct_device *dev, ct_dtype dtype, const problem *t)
{
    static size_t (*const memories[][CT__ISA_COUNT])(const problem *) = CT__EACH(memory);
    return memories[dtype][dev->isa](t);
}

static int64_t run(const ct_device *dev, ct_dtype dtype, const problem *t, char *memory)
{
    static int64_t (*const runs[][CT__ISA_COUNT])(const problem *, char *) = CT__EACH(run);
    return runs[dtype][dev->isa](t, memory);
}

ct_status ct__cpu_packed_sweep(ct_device *dev, int64_t n, bool inverse, double tolerance, ct_view *A,
                               ct_view *z, ct_view *diagonal, ct_failure *failure)
{
    if (!n) return CT_OK;
    const problem t =
        problem_of(dev, layout_of(n, A), inverse, tolerance, A->data, z->data, z->dim[1], diagonal->data);
    size_t bytes = memory_of(dev, A->dtype, &t);
    char *memory = ct__pool_get(dev, &bytes);
    if (!memory) return CT_ENOMEM;
    const ct__stopwatch begin = ct__pace_begin(t.team);
    const int64_t failed = run(dev, A->dtype, &t, memory);
    ct__pace_end(dev, &begin);
    ct__pool_put(dev, memory, bytes);
    if (failed && failure && !failure->set) ct__failure_set(failure, 0, failed, "leading minor %lld", NULL);
    return CT_OK;
}

/* -- a square matrix ------------------------------------------------------------------------------------- */

size_t ct__sweep_memory(const ct_device *dev, ct_dtype dtype, int64_t n, int64_t ld)
{
    const problem t = problem_of(dev, (layout){ .n = n, .ld = ld }, false, 0, NULL, NULL, 1, NULL);
    return memory_of(dev, dtype, &t) + 2 * (size_t)(n + CT__ALIGNMENT) * ct_dtype_size(dtype);
}

int64_t ct__sweep_factor(const ct_device *dev, ct_dtype dtype, int64_t n, void *a, int64_t ld, void *memory)
{
    problem t = problem_of(dev, (layout){ .n = n, .ld = ld }, false, 0, a, NULL, 1, NULL);
    t.z = (char *)memory + memory_of(dev, dtype, &t);
    t.diagonal = ct__at(t.z, dtype, n + CT__ALIGNMENT);
    memset(t.z, 0, (size_t)n * ct_dtype_size(dtype));
    return run(dev, dtype, &t, memory);
}
