/* Covariance matrices and the contraction of their gradients, tile by tile: no n×m array exists besides the
 * result (or the cotangent). */
#include "tensor/covariance.h"
#include "cpu.h"
#include "kernel/isa.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdatomic.h>

/* clang warns of loops that it cannot vectorise; under a sanitizer that is expected. */
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif

static bool by_products(const ct_cov_node *n, size_t size)
{
    return n->code < CT_COV_PROFILES && n->geometry == CT_DISTANCE &&
           n->n_dims >= (size == sizeof(float) ? CT__COV_MANY_F32 : CT__COV_MANY_F64);
}

typedef struct problem {
    const ct_cov_program *program;
    const ct_view *theta, *x, *z, *r, *noise;
    /* lanes: members of a batch that are computed side by side, L or 1; members: of the batch */
    int64_t n, m, d, z_row, blocks, lanes, members;
    bool symmetric, lower; /* lower: only the lower triangle */
    int threads;
    atomic_llong next; /* the next task, a tile or a block of rows; threads share this counter */
    /* For values; row i begins at K + i * ld: */
    void *K;
    int64_t ld;
    bool upper;                      /* K is transposed: the lower triangle is its upper one */
    enum { ALL, LOWER, UPPER } clip; /* the part of the rows and columns that is computed */
    /* For gradients; theta_bar or x_bar may be NULL: */
    const ct_cov_bar *K_bar;
    ct_view *theta_bar, *x_bar;
    bool add;
    /* For Gaussians; theta_bar and noise_bar may both be NULL: */
    ct_view *alpha, *diagonal, *noise_bar;
    double tolerance;
    char *block; /* `room` bytes for each thread */
    size_t room;
    atomic_bool failed;
} problem;

/* Rows [i, i + rows) and columns [j, j + width): pair (r, c) has number r * width + c. */
typedef struct strip {
    int64_t i, rows, j, width;
} strip;

/* Whether t contains the diagonal element of row i */
static inline bool holds(const strip *t, int64_t i) { return i >= t->j && i < t->j + t->width; }

/* The columns of [j0, j1) that are computed in row i */
static inline int64_t first_column(const problem *q, int64_t i, int64_t j0)
{
    return q->clip == UPPER ? ct__max(i, j0) : j0;
}

static inline int64_t end_column(const problem *q, int64_t i, int64_t j1)
{
    return q->clip == LOWER ? ct__min(i + 1, j1) : j1;
}

static int64_t whole(int64_t columns, int64_t group) { return (columns + group - 1) / group * group; }

/* The strip that begins in row i: as many of the rows [i, i1) as fit, and what is computed of the columns
 * [j0, j1), in whole groups. In a triangle only rows of similar length share a strip. */
static strip strip_from(const problem *q, int64_t i, int64_t i1, int64_t j0, int64_t j1, int64_t group)
{
    const int64_t most = ct__min(i1 - i, q->clip == ALL ? i1 - i : group), j = first_column(q, i, j0);
    const int64_t width = whole(end_column(q, i + most - 1, j1) - j, group);
    const int64_t rows = width > 0 ? ct__max(1, ct__min(most, CT__COV_WIDTH / width)) : most;
    return (strip){ i, rows, j, whole(end_column(q, i + rows - 1, j1) - j, group) };
}

/* Calls run(plan, part) for every part, one thread for each */
static void each_part(int parts, void (*run)(const void *plan, int part), const void *plan)
{
    if (parts == 1) {
        run(plan, 0);
        return;
    }
    ct__meeting end = CT__MEETING;
#pragma omp parallel num_threads(parts)
    {
#pragma omp for schedule(static) nowait
        for (int part = 0; part < parts; part++) run(plan, part);
        ct__meet(&end, omp_get_num_threads());
    }
}

#define VECTOR_CODE "tensor/cpu/covariance_run.h"
#include "kernel/each_isa.h"

static problem describe(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *x,
                        const ct_view *z)
{
    const int64_t n = ct__dim(x, -2), m = ct__dim(z ? z : x, -2);
    const bool alone = n * m * program->n_nodes < CT__COV_ALONE || n <= CT__COV_ROWS;
    return (problem){ .program = program,
                      .theta = theta,
                      .x = x,
                      .z = z ? z : x,
                      .n = n,
                      .m = m,
                      .d = ct__dim(x, -1),
                      .lanes = 1,
                      .members = 1,
                      .z_row = whole(m, CT__COV_GROUP),
                      .blocks = (n + CT__COV_ROWS - 1) / CT__COV_ROWS,
                      .symmetric = !z,
                      .threads = alone ? 1 : ct__team(dev, dev->threads) };
}

static size_t room_of(const ct_device *dev, const problem *q)
{
    static size_t (*const rooms[][CT__ISA_COUNT])(const problem *) = CT__EACH(room_of);
    return rooms[q->theta->dtype][dev->isa](q);
}

ct_status ct__cpu_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                             const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    static void (*const forward[][CT__ISA_COUNT])(problem *, char *) = CT__EACH(forward);
    problem q = describe(dev, program, theta, x, z);
    if (!q.n || !q.m) return CT_OK;
    const ct_dtype t = out->dtype;
    q.lower = lower;
    q.upper = lower && out->stride[1] != 1 && out->stride[0] == 1;
    q.clip = z ? ALL : q.upper ? UPPER : LOWER;
    if (q.upper) q.z_row += CT__COV_GROUP; /* strips may begin at any column */
    const bool direct = q.upper || out->stride[1] == 1;
    const size_t work = room_of(dev, &q);
    size_t bytes = work + (direct ? 0 : (size_t)(q.n * q.m) * ct_dtype_size(t));
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    q.K = direct ? out->data : block + work;
    q.ld = q.upper ? out->stride[1] : direct ? out->stride[0] : q.m;
    forward[t][dev->isa](&q, block);
    if (!direct && !lower)
        ct__copy_matrix(dev, t, q.n, q.m, q.K, q.ld, 1, out->data, out->stride[0], out->stride[1]);
    for (int64_t i = 0; !direct && lower && i < q.n; i++)
        ct__copy_matrix(dev, t, 1, i + 1, ct__at(q.K, t, i * q.ld), q.ld, 1,
                        ct__at(out->data, t, i * out->stride[0]), out->stride[0], out->stride[1]);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

ct_status ct__cpu_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                 const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                 ct_view *theta_bar, ct_view *x_bar)
{
    static void (*const backward[][CT__ISA_COUNT])(problem *, char *) = CT__EACH(backward);
    problem q = describe(dev, program, theta, x, z);
    q.lower = K_bar->lower;
    q.K_bar = K_bar;
    q.theta_bar = theta_bar;
    q.x_bar = x_bar;
    q.clip = z || x_bar ? ALL : LOWER;
    q.add = add;
    size_t bytes = room_of(dev, &q);
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    backward[theta->dtype][dev->isa](&q, block);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

/* -- Gaussians of a batch -------------------------------------------------------------------------------- */

bool ct__cpu_gaussians(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *X,
                       const ct_view *r, const ct_view *noise, double tolerance, ct_view *alpha,
                       ct_view *diagonal, ct_view *theta_bar, ct_view *noise_bar)
{
    static void (*const gaussians[][CT__ISA_COUNT])(problem *, int) = CT__EACH(gaussians);
    const int64_t size = (int64_t)ct__size(X->dtype), lanes = ((int64_t)16 << dev->isa) / size,
                  n = ct__dim(X, -2);
    problem q = { .program = program,
                  .theta = theta,
                  .x = X,
                  .z = X,
                  .r = r,
                  .noise = noise,
                  .n = n,
                  .m = n,
                  .d = ct__dim(X, -1),
                  .z_row = n * lanes,
                  .blocks = 1,
                  .lanes = lanes,
                  .members = n ? ct__count(r) / n : 0,
                  .symmetric = true,
                  .threads = 1,
                  .theta_bar = theta_bar,
                  .noise_bar = noise_bar,
                  .alpha = alpha,
                  .diagonal = diagonal,
                  .tolerance = tolerance,
                  .failed = 2 * ct__count(r) < n * lanes || ct__count(r) < 2 * n || !n ||
                            n * lanes > CT__COV_WIDTH };
    for (const ct_cov_node *k = ct_cov_nodes(program), *end = k + program->n_nodes; k < end; k++)
        if (k->code == CT_COV_WHITE || k->code == CT_COV_INDEX || by_products(k, (size_t)size) ||
            (k->code < CT_COV_PROFILES &&
             (k->geometry == CT_SINE || k->geometry == CT_DOT || k->tail == CT_HEAVY)))
            q.failed = true;
    const int64_t groups = (q.members + lanes - 1) / lanes, work = q.members * n * n * program->n_nodes;
    const int threads = work < CT__COV_ALONE ? 1 : ct__team(dev, (int)ct__min(dev->threads, groups));
    size_t bytes = (size_t)threads * (q.room = room_of(dev, &q));
    if (q.failed || !(q.block = ct__pool_get(dev, &bytes))) return false;
    gaussians[X->dtype][dev->isa](&q, threads);
    ct__pool_put(dev, q.block, bytes);
    return !q.failed;
}
