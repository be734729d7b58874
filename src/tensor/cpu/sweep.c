/* In place, on one packed triangle: the Cholesky factor, or the inverse of a symmetric positive definite
 * matrix, in one sweep of steps of the same form. A step takes the next b rows as pivots. With Ā the part
 * swept so far, which holds an inverse, and L Lᵀ = A_kk:
 *
 *     A = [ S00         ]     W_i = A_ik L⁻ᵀ for all other i              S00 = A00⁻¹
 *         [ Ak0 Akk     ]     A_ij -= W_i W_jᵀ, but S_ij += W_i W_jᵀ      Ak0 = -A_k0 A00⁻¹ at first
 *         [ A20 A2k A22 ]     A_ik = -W_i L⁻¹ (swept: + W_i L⁻¹),  A_kk = L⁻ᵀL⁻¹,
 *
 * n³ operations, as Cholesky, trtri and lauum in sequence, but all nearly in one product of rank b on the
 * whole triangle, whatever the step, so threads always have enough to do. The next pivots are updated and
 * factorised first, while others update the rest. Without the inverse the rows swept are left out, W_i takes
 * A_ik's place, and the result is L.
 * [Bientinesi, Gunter & van de Geijn 2008, "Families of algorithms related to the inversion of a symmetric
 * positive definite matrix"]
 *
 * A panel is kept in slivers of as many rows as a register tile is wide, a sliver's numbers of one pivot side
 * by side: that is the form in which the product reads its both operands. */
#include "kernel/kit.h"
#include "kernel/subnormals.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>

/* A triangle in two parts: pairs p <= q with p < n1 lie at row_offset(p) + q, those with n1 <= q <= p, too.
 * Packed (op.h), the parts share a rectangle; of a square the lower triangle is the second part, and
 * n1 = 0. */
typedef struct layout {
    int64_t n, n1, ld;
    int64_t column, row; /* where the first part's columns and the second part's rows begin */
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

/* Of (i, k), k <= i */
static int64_t element(const layout *A, int64_t i, int64_t k)
{
    return k < A->n1 ? row_offset(A, k) + i : row_offset(A, i) + k;
}

/* How many pivots there are from k0 on, in whole groups */
static int64_t padded_block(const layout *A, int64_t k0, int64_t block, int64_t group)
{
    return ct__min(block, (A->n - k0 + group - 1) / group * group);
}

/* -- who does what --
 *
 * A tile of the triangle belongs to part (P + Q) mod parts, in every step: it stays in one core's cache, and
 * between cores goes little but the panel, which counts where they have no cache in common. Each thread does
 * what belongs to its part, then what the others have not come to. */

typedef struct queue {
    _Alignas(CT__ALIGNMENT) atomic_llong slivers; /* taken already */
    _Alignas(CT__ALIGNMENT) atomic_llong tiles;
} queue;

/* How many stretches of rows there are, of every so many one */
static int64_t stretches_of(int64_t n, int64_t grain, int64_t every)
{
    return (n + grain * every - 1) / (grain * every);
}

/* The i-th Q of which (P, Q) belongs to a part */
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
    int parts, team;
} problem;

/* Few pivots keep panels short against the rest; many keep products deep, and what cores must tell each other
 * seldom. The larger a task of `grain` rows and columns, the less is read for it; many tasks let threads end
 * together, and a part should have a dozen stretches of rows. */
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
                          void *diagonal)
{
    const int parts = A.n <= CT__SWEEP_ALONE ? 1 : dev->threads;
    return (problem){ A, inverse, tolerance, data, z, diagonal, parts, ct__team(dev, parts) };
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
    const problem t = problem_of(dev, layout_of(n, A), inverse, tolerance, A->data, z->data, diagonal->data);
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
    const problem t = problem_of(dev, (layout){ .n = n, .ld = ld }, false, 0, NULL, NULL, NULL);
    return memory_of(dev, dtype, &t) + 2 * (size_t)(n + CT__ALIGNMENT) * ct_dtype_size(dtype);
}

int64_t ct__sweep_factor(const ct_device *dev, ct_dtype dtype, int64_t n, void *a, int64_t ld, void *memory)
{
    problem t = problem_of(dev, (layout){ .n = n, .ld = ld }, false, 0, a, NULL, NULL);
    t.z = (char *)memory + memory_of(dev, dtype, &t);
    t.diagonal = ct__at(t.z, dtype, n + CT__ALIGNMENT);
    memset(t.z, 0, (size_t)n * ct_dtype_size(dtype));
    return run(dev, dtype, &t, memory);
}
