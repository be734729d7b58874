/* Plans on the host how a covariance matrix is shared among blocks, and their memory. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_PLAN_CUH
#define CT_TENSOR_CUDA_COVARIANCE_PLAN_CUH

#include "covariance_walk.cuh"

/* Takes `bytes` bytes, a multiple of 16, for each thread of a block. */
template <typename T> static ct__place ct__plan_take(ct__plan<T> *p, int64_t bytes)
{
    const bool global = p->shared + bytes > CT__COV_SHARED;
    int64_t *used = global ? &p->global : &p->shared;
    const ct__place place = { *used, global };
    *used += bytes;
    return place;
}

/* Plans the tasks, and as many blocks as memory allows. They must fit the workspace of a
 * factorisation, ct__cuda_sweep_bytes, and 2d + 64 numbers a row. */
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
    const int64_t panel =
                      (p->n + CT__FACTOR_PANEL) * (96 + 2 * p->d) * 8 - p->pieces * columns * p->n * number,
                  each = p->global + params * number;
    const int64_t blocks = each ? ct__min(panel / each, CT__COV_BLOCKS) : (int64_t)CT__COV_BLOCKS;
    p->blocks = ct__min(blocks < CT__COV_FEW ? (int64_t)CT__COV_FEW : blocks, p->tasks ? p->tasks : 1);
}

/* Plans a part of the matrix of x and z (z NULL: the symmetric matrix of x). A thread gets memory for the
 * sums of `params` parameters and `columns` columns of x. */
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
    p->theta_from = (const T *)theta->data, p->theta_step = theta->stride[0];
    p->n_nodes = program->n_nodes, p->n_params = program->n_params, p->n_dims = program->n_dims;
    p->values_at = ct__plan_take(p, size * (p->n_nodes - 1) * CT__COV_THREADS * ct__pairs<T>::COUNT);
    p->sums_at = ct__plan_take(p, params * sum);
    p->x_sums_at = ct__plan_take(p, columns * sum);
    ct__plan_tasks(p, params, columns);
    const int64_t bytes[CT__PARTS] = {
        program->bytes, numbers, p->n * p->d * size, z ? p->m * p->d * size : 0, p->global * p->blocks,
    };
    for (int k = 0; k < CT__PARTS; k++)
        p->begin[k + 1] = p->begin[k] + ct__divide_up(bytes[k], CT__ALIGNMENT) * CT__ALIGNMENT;
}

/* -- global memory --------------------------------------------------------------------------------------- */

/* Computes theta, weight and slope, one after the other. Launched with one block. */
template <typename T> static __global__ void ct__numbers_kernel(ct__plan<T> p, T *theta)
{
    const int t = (int)threadIdx.x, step = (int)blockDim.x;
    T *weight = theta + p.n_params, *slope = weight + p.n_dims;
    for (int i = t; i < p.n_params; i += step) theta[i] = p.theta_from[i * p.theta_step];
    for (int k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &p.nodes[k];
        if (n->code >= CT_COV_PROFILES) continue;
        for (int i = t; i < n->n_dims; i += step) {
            const T l =
                n->lengthscale < 0 ? (T)1 : p.theta_from[(n->lengthscale + (n->ard ? i : 0)) * p.theta_step];
            const int power = CT_COV_POWER(n->geometry);
            const double exact = 1 / (power == 2 ? (double)l * (double)l : (double)l),
                         steep = CT__STEEP(sizeof(T) == 8);
            const T w = (T)(exact <= steep && exact >= 1 / steep ? exact : NAN);
            weight[n->dims + i] = w;
            slope[n->dims + i] = (T)power * (n->ard ? w : (T)1) / l;
        }
    }
}

/* Stores the points by columns, so that neighbouring threads read neighbours. */
template <typename T>
static ct_status ct__plan_move(ct_device *dev, const ct_view *x, char *to, const T **points)
{
    ct_view columns = { NULL, to, x->dtype, 2, { x->dim[0], x->dim[1] }, { 1, x->dim[0] } };
    *points = (const T *)(void *)to;
    return ct__cuda_copy(dev, x, &columns);
}

/* Queues the preparation of what the kernels read in `workspace`. */
template <typename T>
static ct_status ct__plan_fill(ct_device *dev, const ct_cov_program *program, const ct_view *x,
                               const ct_view *z, ct__plan<T> *p, void *memory)
{
    if (p->n > INT32_MAX - CT__COV_MOST || p->m > INT32_MAX - CT__COV_MOST)
        return ct__fail(dev, CT_EUNSUPPORTED, "a covariance matrix of more than 2^31 rows or columns on %s",
                        dev->name);
    char *workspace = (char *)memory, *of_program = workspace + p->begin[CT__PROGRAM];
    T *numbers = (T *)(workspace + p->begin[CT__NUMBERS]);
    p->workspace = workspace + p->begin[CT__OF_BLOCKS];
    p->nodes = ct_cov_nodes((const ct_cov_program *)of_program);
    p->dims = (const int32_t *)(p->nodes + p->n_nodes);
    p->theta = numbers, p->weight = numbers + p->n_params, p->slope = p->weight + p->n_dims;
    ct_status s = ct__plan_move(dev, x, workspace + p->begin[CT__X], &p->x);
    p->z = p->x;
    if (!s && z) s = ct__plan_move(dev, z, workspace + p->begin[CT__Z], &p->z);
    if (!s) s = ct__cuda_put(dev, "covariance", of_program, program, (size_t)program->bytes);
    return s ? s : CT__RUN_EACH(dev, "covariance", ct__numbers_kernel<T>, CT__BLOCK, *p, numbers);
}

#endif
