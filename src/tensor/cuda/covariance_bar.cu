/* Contracts a covariance matrix's derivatives without an array of the matrix's size. A thread adds its pairs
 * to its own sums, [parameter][thread] and [column][thread] of its block. These are added within blocks and
 * then over the blocks, in an order that depends on the shape alone. */
#include "block.cuh"
#include "covariance_plan.cuh"
#include "covariance_slopes.cuh"

template <typename T> struct contraction {
    ct__plan<T> plan;
    /* lower: only M's lower triangle is read, or its upper one in the transposed problem */
    int64_t lower, transposed;
    const T *M, *u, *v;
    int64_t rs, cs, us, vs;
    double alpha;
    double *parts, *x_parts; /* [parameter][block], [piece][column][row]; NULL: not requested */
};

/* The visitor of ct__walk. sums, x_sums and the row are this thread's. */
template <typename T> struct contractor {
    enum { PAIRS = ct__pairs<T>::COUNT };
    const contraction<T> &q;
    double *sums, *x_sums;
    T u, v; /* the row's elements */

    __device__ __forceinline__ void begin(int i)
    {
        u = q.u ? q.u[i * q.us] : (T)0, v = q.u && q.plan.symmetric ? q.v[i * q.vs] : (T)0;
        for (int k = 0; x_sums && k < q.plan.d; k++) x_sums[k * CT__COV_THREADS] = 0;
    }
    /* K̄_ij, in the symmetric case plus K̄_ji; half of that on the diagonal if each pair is visited once.
     * There is no branch per pair, which would delay the next one's loads: a pair that does not count reads
     * its neighbour's element, or the mirrored one. */
    __device__ __forceinline__ void bars_of(const ct__thread<T> &t, int i, int j, const bool *live,
                                            T *bar) const
    {
        const T *along = q.M + i * q.rs + j * q.cs, *across = q.M + j * q.rs + i * q.cs;
        int at[PAIRS];
        CT__EACH_PAIR(p)
        {
            at[p] = p < t.last ? p : t.last;
            const bool other = q.lower && (q.transposed ? j + at[p] < i : j + at[p] > i);
            bar[p] = *(other ? across + at[p] * q.rs : along + at[p] * q.cs);
        }
        if (q.lower)
            CT__EACH_PAIR(p) bar[p] *= 2;
        else if (q.plan.symmetric)
            CT__EACH_PAIR(p) bar[p] += across[at[p] * q.rs];
        if (q.u) CT__EACH_PAIR(p) bar[p] -= u * q.v[(j + at[p]) * q.vs];
        if (q.u && q.plan.symmetric) CT__EACH_PAIR(p) bar[p] -= v * q.u[(j + at[p]) * q.us];
        CT__EACH_PAIR(p)
        {
            const bool half = q.plan.part != CT__ALL && i == j + at[p];
            bar[p] = live[p] ? bar[p] * (T)(half ? q.alpha / 2 : q.alpha) : (T)0;
        }
    }
    __device__ __forceinline__ void pairs(const ct__thread<T> &t, int i, int j, const bool *live)
    {
        T bar[PAIRS], top[PAIRS] = {};
        ct__leaf<T> leaf;
        leaf.node = -1;
        bars_of(t, i, j, live, bar);
        const int nodes = q.plan.n_nodes;
        for (int step = 0; step < 2 * nodes; step++) { /* up, then down: the last leaf is reused */
            const bool back = step >= nodes;
            const int k = back ? 2 * nodes - 1 - step : step;
            if (t.nodes[k].code < CT_COV_PROFILES && k != leaf.node) ct__evaluate(t, k, leaf);
            if (back)
                ct__down(t, k, leaf, bar, sums, x_sums);
            else
                ct__up(t, k, k + 1 == nodes, leaf, top);
        }
    }
    /* Adds a row's sums over the warps. */
    __device__ __forceinline__ void end(int i0, int rows, int piece)
    {
        if (!x_sums) return;
        __syncthreads();
        const double *all = x_sums - threadIdx.x;
        double *to = q.x_parts + piece * q.plan.d * q.plan.n + i0;
        for (int e = (int)threadIdx.x; e < q.plan.d * CT__COV_LANES; e += CT__COV_THREADS) {
            const int k = e / CT__COV_LANES, row = e % CT__COV_LANES;
            double sum = 0;
            for (int warp = 0; warp < CT__COV_WARPS; warp++)
                sum += all[k * CT__COV_THREADS + warp * CT__COV_LANES + row];
            if (row < rows) to[k * q.plan.n + row] = sum;
        }
        __syncthreads();
    }
};

template <typename T>
static __global__ void __launch_bounds__(CT__COV_THREADS, CT__COV_RESIDENT) contract_kernel(contraction<T> q)
{
    CT__SHARED_DYNAMIC(shared);
    const int t = (int)threadIdx.x, n_params = q.plan.n_params;
    ct__thread<T> v = ct__open(q.plan, shared);
    double *sums = q.parts ? ct__find<double>(q.plan, q.plan.sums_at, shared) : NULL,
           *x_sums = q.x_parts ? ct__find<double>(q.plan, q.plan.x_sums_at, shared) : NULL;
    for (int k = 0; sums && k < n_params; k++) sums[k * CT__COV_THREADS + t] = 0;
    contractor<T> c = { q, sums ? sums + t : NULL, x_sums ? x_sums + t : NULL, 0, 0 };
    ct__walk(q.plan, v, c);
    for (int k = 0; sums && k < n_params; k++) {
        const double sum = ct__over_block<CT__COV_THREADS>(sums[k * CT__COV_THREADS + t], ct__plus());
        if (!t) q.parts[(int64_t)k * gridDim.x + blockIdx.x] = sum;
    }
}

/* An output of `count` sums over `pieces` parts: [output][piece] for theta_bar, [piece][output] for x_bar. */
template <typename T> struct result {
    const double *parts;
    T *to;
    int64_t rows, cols, rs, cs, pieces;
};

template <typename T> static __device__ void put(const result<T> &r, int64_t e, double value, int64_t add)
{
    T *to = r.to + e % r.rows * r.rs + e / r.rows * r.cs;
    *to = (T)(value + (add ? (double)*to : 0));
}

/* One block per parameter, then one thread per element of x_bar: stores share times the sum, or adds it. */
template <typename T>
static __global__ void finish_kernel(result<T> theta, result<T> x, double share, int64_t add)
{
    const int t = (int)threadIdx.x;
    double sum = 0;
    if (blockIdx.x >= theta.rows) {
        const int64_t e = (blockIdx.x - theta.rows) * blockDim.x + t, count = x.rows * x.cols;
        for (int64_t k = 0; k < x.pieces && e < count; k++) sum += x.parts[k * count + e];
        if (e < count) put(x, e, sum, add);
        return;
    }
    for (int64_t k = t; k < theta.pieces; k += blockDim.x) sum += theta.parts[blockIdx.x * theta.pieces + k];
    sum = ct__over_block<CT__BLOCK>(sum, ct__plus());
    if (!t) put(theta, blockIdx.x, share * sum, add);
}

template <typename T>
static ct_status contract(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                          const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                          ct_view *theta_bar, ct_view *x_bar)
{
    const int64_t P = theta_bar ? program->n_params : 0, d = x_bar ? x->dim[1] : 0;
    if (!P && !(d && x->dim[0])) return CT_OK;
    contraction<T> q;
    memset(&q, 0, sizeof q);
    ct__plan<T> *p = &q.plan;
    /* Without x_bar the problem whose neighbours read neighbours of M. */
    q.transposed = !d && K_bar->M.stride[1] < K_bar->M.stride[0];
    const ct_view *first = q.transposed && z ? z : x, *second = q.transposed && z ? x : z;
    const int64_t part = z || d ? CT__ALL : q.transposed ? CT__UPPER : CT__LOWER, number = sizeof(double);
    ct__plan_make(program, theta, first, second, part, P, d, p);
    const int64_t parts = P * p->blocks, x_parts = p->pieces * d * p->n;
    ct__scratch workspace(dev, (parts + x_parts) * number + p->begin[CT__PARTS]);
    if (!workspace.data) return CT_ENOMEM;
    double *numbers = workspace;
    ct_status s = ct__plan_fill(dev, program, first, second, p, numbers + parts + x_parts);
    if (s) return s;
    if (P) q.parts = numbers;
    if (d) q.x_parts = numbers + parts;
    const ct_view *M = &K_bar->M, *u = q.transposed ? &K_bar->v : &K_bar->u,
                  *v = q.transposed ? &K_bar->u : &K_bar->v;
    q.M = (const T *)M->data, q.rs = M->stride[q.transposed], q.cs = M->stride[!q.transposed];
    if (u->storage)
        q.u = (const T *)u->data, q.us = u->stride[0], q.v = (const T *)v->data, q.vs = v->stride[0];
    q.alpha = K_bar->alpha, q.lower = K_bar->lower;
    result<T> to_theta = {}, to_x = {};
    if (P) to_theta = { q.parts, (T *)theta_bar->data, P, 1, theta_bar->stride[0], 0, p->blocks };
    if (d) to_x = { q.x_parts, (T *)x_bar->data, p->n, d, x_bar->stride[0], x_bar->stride[1], p->pieces };
    const double share = !z && part == CT__ALL ? 0.5 : 1;
    s = CT__RUN_SHARED(dev, "covariance_bar", contract_kernel<T>, p->blocks, CT__COV_THREADS, p->shared, q);
    return s ? s
             : CT__RUN_BLOCKS(dev, "covariance_bar", finish_kernel<T>, P + ct__divide_up(p->n * d, CT__BLOCK),
                              CT__BLOCK, to_theta, to_x, share, add);
}

ct_status ct__cuda_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                  const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                  ct_view *theta_bar, ct_view *x_bar)
{
    return theta->dtype == CT_F64 ? contract<double>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar)
                                  : contract<float>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar);
}
