/* How a covariance matrix is shared among blocks, and what memory they have: planned on the host. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_PLAN_CUH
#define CT_TENSOR_CUDA_COVARIANCE_PLAN_CUH

#include "covariance.cuh"

static int64_t ct__rounded(int64_t bytes, int64_t to) { return ct__divide_up(bytes, to) * to; }

template <typename T> static ct__place ct__plan_take(ct__plan<T> *p, int64_t bytes)
{
    bytes = ct__rounded(bytes, CT__COV_GRANULE);
    const bool global = p->shared + bytes > CT__COV_ROOM;
    int64_t *used = global ? &p->global : &p->shared;
    const ct__place place = { *used, global };
    *used += bytes;
    return place;
}

/* The tasks, and as many blocks as there is memory for: it is to fit where a factorisation had its panel,
 * which ct_gp_bytes_needed counts. */
template <typename T> static void ct__plan_tasks(ct__plan<T> *p, int64_t params, int64_t columns)
{
    const int64_t number = sizeof(double), most = columns ? (CT__COV_SPREAD + columns) / columns : INT64_MAX;
    p->row_tiles = ct__divide_up(p->n, CT__COV_LANES);
    p->columns = CT__COV_LEAST;
    while (p->columns < CT__COV_MOST && p->row_tiles * ct__divide_up(p->m, p->columns) > CT__COV_TASKS)
        p->columns *= 2;
    while (ct__divide_up(p->m, p->columns) > most) p->columns *= 2;
    p->pieces = p->m ? ct__divide_up(p->m, p->columns) : 1;
    p->tasks = p->row_tiles * p->pieces;
    const int64_t panel = (p->n + 384) * (96 + 2 * p->d) * 8 - p->pieces * columns * p->n * number,
                  each = p->global + params * number;
    const int64_t blocks = each ? ct__smaller(panel / each, CT__COV_BLOCKS) : (int64_t)CT__COV_BLOCKS;
    p->blocks = ct__smaller(blocks < CT__COV_FEW ? (int64_t)CT__COV_FEW : blocks, p->tasks ? p->tasks : 1);
}

/* Points that are read from global memory lie there by columns, neighbours side by side; but few of many
 * columns stay where they are. */
template <typename T> static bool ct__plan_moves(const ct__plan<T> *p, const ct__points<T> &points)
{
    return !p->small && (points.col > INT32_MAX || (points.row != 1 && 2 * (int64_t)p->n_dims >= p->d));
}

/* Plans that part of the matrix of x and z; z NULL: the symmetric matrix of x. A thread gets room for sums
 * of so many parameters and of so many columns of x. */
template <typename T>
static void ct__plan_make(const ct_cov_program *program, const ct_view *theta, const ct_view *x,
                          const ct_view *z, int64_t part, int64_t params, int64_t columns, ct__plan<T> *p)
{
    const ct_view *other = z ? z : x;
    const int64_t size = sizeof(T), sum = CT__COV_THREADS * (int64_t)sizeof(double),
                  numbers = (program->n_params + 2 * (int64_t)program->n_dims) * size;
    memset(p, 0, sizeof *p);
    p->symmetric = !z, p->part = part;
    p->n = x->dim[0], p->m = other->dim[0], p->d = x->dim[1];
    p->x = ct__points<T>{ (const T *)x->data, x->stride[0], x->stride[1] };
    p->z = ct__points<T>{ (const T *)other->data, other->stride[0], other->stride[1] };
    p->theta_from = (const T *)theta->data, p->theta_step = theta->stride[0];
    p->n_nodes = program->n_nodes, p->n_params = program->n_params, p->n_dims = program->n_dims;
    if (program->bytes <= CT__COV_PROGRAM && program->n_params <= CT__COV_PROGRAM / 4) {
        p->bytes = (int32_t)program->bytes;
        memcpy(&p->program, program, (size_t)program->bytes);
        p->program_at = ct__plan_take(p, ct__rounded(program->bytes, 8) + numbers);
    }
    p->values_at = ct__plan_take(p, size * (p->n_nodes - 1) * CT__COV_THREADS * ct__pairs<T>::COUNT);
    p->sums_at = ct__plan_take(p, params * sum);
    p->x_sums_at = ct__plan_take(p, columns * sum);
    p->x_at = ct__plan_take(p, CT__X_PITCH * p->d * size);
    p->z_at = ct__plan_take(p, CT__Z_PITCH * p->d * size);
    p->small = p->bytes && !p->x_at.global && !p->z_at.global;
    ct__plan_tasks(p, params, columns);
    const int64_t bytes[CT__PARTS] = {
        p->small ? 0 : program->bytes,
        p->small ? 0 : numbers,
        ct__plan_moves(p, p->x) ? p->n * p->d * size : 0,
        z && ct__plan_moves(p, p->z) ? p->m * p->d * size : 0,
        p->global * p->blocks,
    };
    for (int k = 0; k < CT__PARTS; k++) p->begin[k + 1] = p->begin[k] + ct__rounded(bytes[k], CT__ALIGNMENT);
}

/* -- what is in global memory ---------------------------------------------------------------------------- */

/* Kernel arguments as the way to the device: nothing of the host's is read later, so a captured graph may
 * repeat it. */
static __global__ void ct__write_kernel(ct__words from, int32_t *to, int n)
{
    CT__EACH(i, n) to[i] = from.word[i];
}

/* One block. */
template <typename T> static __global__ void ct__prepare_kernel(ct__plan<T> p, T *theta)
{
    ct__prepare(p, p.nodes, theta);
}

/* A program that is too large for the arguments of a kernel. */
template <typename T>
static ct_status ct__write_program(ct_device *dev, const ct_cov_program *program, ct__plan<T> *p, char *to,
                                   T *numbers)
{
    ct_status s = CT_OK;
    for (int64_t at = 0; at < program->bytes && !s; at += CT__COV_PROGRAM) {
        const int64_t bytes = ct__smaller(program->bytes - at, CT__COV_PROGRAM);
        ct__words piece = {};
        memcpy(&piece, (const char *)program + at, (size_t)bytes);
        s = CT__RUN_EACH(dev, "covariance", ct__write_kernel, bytes / 4, piece, (int32_t *)(to + at),
                         (int)(bytes / 4));
    }
    p->nodes = ct_cov_nodes((const ct_cov_program *)(void *)to);
    p->dims = (const int32_t *)(const void *)(p->nodes + p->n_nodes);
    p->theta = numbers, p->weight = numbers + p->n_params;
    return s ? s : CT__RUN_EACH(dev, "covariance", ct__prepare_kernel<T>, CT__BLOCK, *p, numbers);
}

/* `to` has column k of point i at [k * n + i], and is where the points are from then on. */
template <typename T>
static ct_status ct__plan_move(ct_device *dev, int64_t n, int64_t d, T *to, ct__points<T> *points)
{
    const ct_dtype dtype = sizeof(T) == 8 ? CT_F64 : CT_F32;
    const ct_view x = { NULL, (void *)points->at, dtype, 2, { n, d }, { points->row, points->col } };
    ct_view copy = { NULL, to, dtype, 2, { n, d }, { 1, n } };
    *points = ct__points<T>{ to, 1, n };
    return ct__cuda_copy(dev, &x, &copy);
}

/* Queues what the kernels are to find in `room`. */
template <typename T>
static ct_status ct__plan_fill(ct_device *dev, const ct_cov_program *program, ct__plan<T> *p, void *memory)
{
    if (p->n > INT32_MAX - CT__COV_CHUNK || p->m > INT32_MAX - CT__COV_CHUNK)
        return ct__fail(dev, CT_EUNSUPPORTED, "a covariance matrix of more than 2^31 rows or columns on %s",
                        dev->name);
    char *room = (char *)memory;
    p->room = room + p->begin[CT__OF_BLOCKS];
    ct_status s = CT_OK;
    if (ct__plan_moves(p, p->x)) s = ct__plan_move(dev, p->n, p->d, (T *)(room + p->begin[CT__X]), &p->x);
    if (p->symmetric)
        p->z = p->x;
    else if (!s && ct__plan_moves(p, p->z))
        s = ct__plan_move(dev, p->m, p->d, (T *)(room + p->begin[CT__Z]), &p->z);
    if (!s && !p->small)
        s = ct__write_program(dev, program, p, room + p->begin[CT__PROGRAM],
                              (T *)(room + p->begin[CT__NUMBERS]));
    return s;
}

#endif
