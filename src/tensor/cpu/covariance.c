/* Covariance matrices and the contraction of their gradients, tile by tile: no array of the matrix's size
 * besides the result (or the cotangent) exists. */
#include "tensor/covariance.h"
#include "cpu.h"
#include "isa.h"
#include "vmath.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

/* A loop that a sanitizer keeps from being vectorised is no fault. */
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif

enum {
    ROWS = 32,   /* of one task; theta_bar is summed by such blocks, whatever the threads       */
    WIDTH = 256, /* columns of one tile                                                          */
    PITCH = 264, /* between a stored tile's rows: no power of two, which would meet in the cache */
    GROUP =
        16, /* columns that vector loops take whole: what is computed beyond a tile is cast away, or has weight 0 */
    SMALL = 8192, /* entries that one thread had better do alone                                  */
};

/* Columns of the data from which on distances come from products, by measurement: f64, f32. */
static const int32_t many[] = { 32, 64 };

static bool by_products(const ct_cov_node *n, size_t size)
{
    return n->code < CT_COV_PROFILES && n->geometry == CT_DISTANCE &&
           n->n_dims >= many[size == sizeof(float)];
}

/* As wide as the numbers, so that comparisons of them can be counted in vectors. */
typedef int64_t count_f64;
typedef int32_t count_f32;

typedef struct problem {
    const ct_cov_program *program;
    const ct_view *theta, *x, *z;
    int64_t n, m, d, z_row, blocks;
    bool symmetric, lower; /* lower: that triangle alone */
    int threads, isa;
} problem;

static int64_t whole(int64_t columns) { return (columns + GROUP - 1) / GROUP * GROUP; }

/* The next piece of a block, aligned; NULL where the block is. */
static void *take(char *block, size_t *used, size_t bytes)
{
    void *piece = block ? block + *used : NULL;
    *used += (bytes + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT;
    return piece;
}

#define T        double
#define FN(name) name
#define NAME(n)  n##_f64
#define WIDE     true
#define MOST     DBL_MAX
#include "covariance_tile.h"

#include "covariance_run.h"
#undef T
#undef FN
#undef NAME
#undef WIDE
#undef MOST

#define T        float
#define FN(name) name##f
#define NAME(n)  n##_f32
#define WIDE     false
#define MOST     FLT_MAX
#include "covariance_tile.h"

#include "covariance_run.h"

static problem describe(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *x,
                        const ct_view *z)
{
    problem q = {
        .program = program, .theta = theta, .x = x, .z = z ? z : x, .symmetric = !z, .isa = dev->isa
    };
    q.n = x->dim[0];
    q.m = q.z->dim[0];
    q.d = x->dim[1];
    q.z_row = whole(q.m) + GROUP;
    q.blocks = (q.n + ROWS - 1) / ROWS;
    q.threads = q.n * q.m * program->n_nodes < SMALL || q.n <= ROWS ? 1 : ct__team(dev, dev->threads);
    return q;
}

ct_status ct__cpu_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                             const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    problem q = describe(dev, program, theta, x, z);
    if (!q.n || !q.m) return CT_OK;
    bool f64 = out->dtype == CT_F64, upper = lower && out->stride[1] != 1 && out->stride[0] == 1;
    bool direct = upper || out->stride[1] == 1;
    q.lower = lower;
    room_f64 wide;
    room_f32 narrow;
    size_t work = f64 ? cut_f64(NULL, &q, false, &wide) : cut_f32(NULL, &q, false, &narrow);
    size_t bytes = work + (direct ? 0 : (size_t)(q.n * q.m) * ct_dtype_size(out->dtype));
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    void *K = direct ? out->data : block + work;
    int64_t ld = upper ? out->stride[1] : direct ? out->stride[0] : q.m;
    if (f64)
        forward_f64(&q, block, K, ld, upper);
    else
        forward_f32(&q, block, K, ld, upper);
    if (!direct && !lower)
        ct__copy_matrix(dev, out->dtype, q.n, q.m, K, ld, 1, out->data, out->stride[0], out->stride[1]);
    for (int64_t i = 0; !direct && lower && i < q.n; i++)
        ct__copy_matrix(dev, out->dtype, 1, i + 1, ct__at(K, out->dtype, i * ld), ld, 1,
                        ct__at(out->data, out->dtype, i * out->stride[0]), out->stride[0], out->stride[1]);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

ct_status ct__cpu_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                 const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                 ct_view *theta_bar, ct_view *x_bar)
{
    problem q = describe(dev, program, theta, x, z);
    bool f64 = theta->dtype == CT_F64;
    q.lower = K_bar->lower;
    room_f64 wide;
    room_f32 narrow;
    size_t bytes = f64 ? cut_f64(NULL, &q, true, &wide) : cut_f32(NULL, &q, true, &narrow);
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    if (f64)
        backward_f64(&q, block, K_bar, add, theta_bar, x_bar);
    else
        backward_f32(&q, block, K_bar, add, theta_bar, x_bar);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}
