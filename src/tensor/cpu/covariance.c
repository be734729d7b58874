/* Covariance matrices and the contraction of their gradients, tile by tile: no array of the matrix's size
 * besides the result (or the cotangent) exists. */
#include "tensor/covariance.h"
#include "cpu.h"
#include "kernel/isa.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

/* A loop that a sanitizer keeps from being vectorised is no fault. */
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
    const ct_view *theta, *x, *z;
    int64_t n, m, d, z_row, blocks;
    bool symmetric, lower; /* lower: that triangle alone */
    int threads;
} problem;

static int64_t whole(int64_t columns)
{
    return (columns + CT__COV_GROUP - 1) / CT__COV_GROUP * CT__COV_GROUP;
}

#define VECTOR_CODE "tensor/cpu/covariance_run.h"
#include "kernel/each_isa.h"

static problem describe(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *x,
                        const ct_view *z)
{
    problem q = { .program = program, .theta = theta, .x = x, .z = z ? z : x, .symmetric = !z };
    q.n = x->dim[0];
    q.m = q.z->dim[0];
    q.d = x->dim[1];
    q.z_row = whole(q.m) + CT__COV_GROUP;
    q.blocks = (q.n + CT__COV_ROWS - 1) / CT__COV_ROWS;
    q.threads =
        q.n * q.m * program->n_nodes < CT__COV_ALONE || q.n <= CT__COV_ROWS ? 1 : ct__team(dev, dev->threads);
    return q;
}

static size_t room_of(const ct_device *dev, const problem *q, bool bars)
{
    static size_t (*const rooms[][CT__ISA_COUNT])(const problem *, bool) = CT__EACH(room_of);
    return rooms[q->theta->dtype][dev->isa](q, bars);
}

ct_status ct__cpu_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                             const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    static void (*const forward[][CT__ISA_COUNT])(const problem *, char *, void *, int64_t, bool) =
        CT__EACH(forward);
    problem q = describe(dev, program, theta, x, z);
    if (!q.n || !q.m) return CT_OK;
    const ct_dtype t = out->dtype;
    bool upper = lower && out->stride[1] != 1 && out->stride[0] == 1, direct = upper || out->stride[1] == 1;
    q.lower = lower;
    const size_t work = room_of(dev, &q, false);
    size_t bytes = work + (direct ? 0 : (size_t)(q.n * q.m) * ct_dtype_size(t));
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    void *K = direct ? out->data : block + work;
    int64_t ld = upper ? out->stride[1] : direct ? out->stride[0] : q.m;
    forward[t][dev->isa](&q, block, K, ld, upper);
    if (!direct && !lower)
        ct__copy_matrix(dev, t, q.n, q.m, K, ld, 1, out->data, out->stride[0], out->stride[1]);
    for (int64_t i = 0; !direct && lower && i < q.n; i++)
        ct__copy_matrix(dev, t, 1, i + 1, ct__at(K, t, i * ld), ld, 1,
                        ct__at(out->data, t, i * out->stride[0]), out->stride[0], out->stride[1]);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

ct_status ct__cpu_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                 const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                 ct_view *theta_bar, ct_view *x_bar)
{
    static void (*const backward[][CT__ISA_COUNT])(const problem *, char *, const ct_cov_bar *, bool,
                                                   ct_view *, ct_view *) = CT__EACH(backward);
    problem q = describe(dev, program, theta, x, z);
    q.lower = K_bar->lower;
    size_t bytes = room_of(dev, &q, true);
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    backward[theta->dtype][dev->isa](&q, block, K_bar, add, theta_bar, x_bar);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}
