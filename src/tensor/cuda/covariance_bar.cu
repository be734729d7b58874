/* The contraction of a covariance matrix's derivatives: no array of the matrix's size. A thread adds what its
 * pairs give to sums of its own, [parameter][thread] and [column][thread] of its block; these are added up in
 * an order that the shape alone decides, within blocks and then over them. */
#include "block.cuh"
#include "covariance.cuh"

enum {
    FINISHERS = 256, /* threads at most that add up the blocks' sums                   */
    GROUPS = 8,      /* in which the sums of a block's threads are added up first      */
    SPREAD = 64,     /* pieces of a row, by the columns of x: so much memory for x_bar */
};

template <typename T> struct contraction {
    ct__plan<T> plan;
    int64_t lower,
        turned; /* M's lower triangle alone is read; turned: its upper one, and the problem is the transposed one */
    const T *M, *u, *v;
    int64_t rs, cs, us, vs;
    double alpha;
    ct__place sums_at, x_sums_at;
    double *parts, *x_parts; /* [parameter][block], [piece][column][row]; NULL: not wanted */
};

template <typename T> static __device__ __forceinline__ void add(double *sum, const T *by_pair)
{
    double all = 0;
    CT__EACH_PAIR(p) all += (double)by_pair[p];
    *sum += all;
}

/* What leaf_bar adds whatever the range of its parts, given g. */
template <typename T, bool SHARED>
static __device__ void careful_bar(const ct__thread<T, SHARED> &v, const ct_cov_node *n, const T *g,
                                   double *sums, double *x_sums)
{
    const int geometry = n->geometry;
    const double far = sqrt(CT__FAR(sizeof(T) == 8));
    for (int e = 0; e < n->n_dims * ct__pairs<T>::COUNT; e++) {
        const int k = e / ct__pairs<T>::COUNT, p = e % ct__pairs<T>::COUNT, d = v.dims[n->dims + k];
        const double a = v.x_at(d), b = v.z_at(d, p), l = ct__lengthscale(v, n, k), bar = g[p];
        double by_x, by_l, square, slope, t = (a - b) / l;
        if (bar == 0) continue; /* k is flat there */
        if (geometry == CT_SINE) {
            const double period = v.theta[n->extra], turns = (a - b) / period;
            ct__sines(turns, &square, &slope);
            by_x = slope == 0 ? 0 : bar * (slope / l / l) * CT__PI / period;
            by_l = -2 * bar * (square / l / l) / l;
            if (sums && slope != 0) sums[n->extra * CT__THREADS] -= by_x * turns;
        } else if (geometry == CT_DOT) {
            by_x = bar * (b / l) / l;
            by_l = -2 * bar * (a / l) * (b / l) / l;
        } else {
            t = t > far ? far : t < -far ? -far : t;
            by_x = 2 * bar * t / l;
            by_l = -2 * bar * t * t / l;
        }
        if (x_sums) x_sums[d * CT__THREADS] += by_x;
        if (sums && n->lengthscale >= 0) sums[(n->lengthscale + (n->ard ? k : 0)) * CT__THREADS] += by_l;
    }
}

/* A profile's share: g = ȳ ∂k/∂s goes on to the lengthscales, the period and x. Of s over column d, with
 * difference δ = x_d - z_d and weight w = 1/l²:
 *     distance  ∂s/∂l = -2 w δ²/l          ∂s/∂x = 2 w δ
 *     sine      ∂s/∂l = -2 w sin²(πδ/p)/l  ∂s/∂x = w (π/p) sin(2πδ/p)      ∂s/∂p = -w (πδ/p²) sin(2πδ/p)
 *     dot       ∂s/∂l = -2 w x z/l         ∂s/∂x = w z */
template <typename T, bool SHARED>
static __device__ __forceinline__ void leaf_bar(const ct__thread<T, SHARED> &v, const ct_cov_node *n,
                                                const ct__leaf<T> &leaf, const T *y_bar, double *sums,
                                                double *x_sums)
{
    enum { PAIRS = ct__pairs<T>::COUNT };
    const int geometry = n->geometry;
    T g[PAIRS];
    CT__EACH_PAIR(p) g[p] = leaf.by_s[p] * y_bar[p];
    if (sums && n->extra >= 0 && geometry != CT_SINE) {
        T by_a[PAIRS];
        CT__EACH_PAIR(p) by_a[p] = leaf.by_a[p] * y_bar[p];
        add(sums + n->extra * CT__THREADS, by_a);
    }
    if (leaf.wild) {
        careful_bar(v, n, g, sums, x_sums);
        return;
    }
    const bool lengths = sums && n->lengthscale >= 0 && n->ard;
    if (sums && n->lengthscale >= 0 && !n->ard && n->n_dims) {
        const T slope = v.slope[n->dims];
        T by_l[PAIRS];
        CT__EACH_PAIR(p) by_l[p] = -slope * (g[p] * leaf.s[p]);
        add(sums + n->lengthscale * CT__THREADS, by_l);
    }
    if (!lengths && !x_sums && !(sums && geometry == CT_SINE)) return;
    for (int k = 0; k < n->n_dims; k++) {
        const int d = v.dims[n->dims + k];
        const T a = v.x_at(d), w = v.weight[n->dims + k];
        T by_x[PAIRS], by_l[PAIRS];
        if (geometry == CT_SINE) {
            const T period = v.theta[n->extra], pi_by_period = (T)CT__PI / period;
            T by_period[PAIRS];
            CT__EACH_PAIR(p)
            {
                const T turns = (a - v.z_at(d, p)) / period;
                T square, change;
                ct__sine_square(turns, &square, &change);
                by_l[p] = g[p] * square;
                by_x[p] = change == 0 ? (T)0 : w * (g[p] * change * pi_by_period);
                by_period[p] = -by_x[p] * turns;
            }
            if (sums) add(sums + n->extra * CT__THREADS, by_period);
        } else {
            CT__EACH_PAIR(p)
            {
                const T b = v.z_at(d, p), difference = a - b;
                by_x[p] = w * (geometry == CT_DOT ? g[p] * b : 2 * g[p] * difference);
                by_l[p] = g[p] * (geometry == CT_DOT ? a * b : difference * difference);
            }
        }
        if (lengths) {
            const T slope = v.slope[n->dims + k];
            CT__EACH_PAIR(p) by_l[p] *= -slope;
            add(sums + (n->lengthscale + k) * CT__THREADS, by_l);
        }
        if (x_sums) add(x_sums + d * CT__THREADS, by_x);
    }
}

/* Node k's cotangent goes on to its children. A left child's waits in the place of its value, which nobody
 * needs any more; a right child is next, and has `bar`. In postfix order, what comes before a leaf is a left
 * child whose turn it is. */
template <typename T, bool SHARED>
static __device__ __forceinline__ void down(const ct__thread<T, SHARED> &v, int k, const ct__leaf<T> &leaf,
                                            T *bar, double *sums, double *x_sums)
{
    const ct_cov_node *n = &v.nodes[k];
    double *sum = sums && n->extra >= 0 ? sums + n->extra * CT__THREADS : NULL;
    switch (n->code) {
    case CT_COV_SCALE: {
        const T factor = v.theta[n->extra];
        T by_factor[ct__pairs<T>::COUNT];
        CT__EACH_PAIR(p) by_factor[p] = bar[p] * ct__value(v, k - 1, p), bar[p] *= factor;
        if (sum) add(sum, by_factor);
        return;
    }
    case CT_COV_SUM: CT__EACH_PAIR(p) ct__value(v, n->left, p) = bar[p]; return;
    case CT_COV_PRODUCT:
        CT__EACH_PAIR(p)
        {
            T &left = ct__value(v, n->left, p);
            const T to_left = bar[p] * ct__value(v, k - 1, p);
            bar[p] *= left;
            left = to_left;
        }
        return;
    case CT_COV_CONSTANT:
        if (sum) add(sum, bar);
        break;
    case CT_COV_WHITE:
        CT__EACH_PAIR(p) bar[p] = v.same[p] ? bar[p] : (T)0;
        if (sum) add(sum, bar);
        break;
    default: leaf_bar(v, n, leaf, bar, sums, x_sums);
    }
    if (k) CT__EACH_PAIR(p) bar[p] = ct__value(v, k - 1, p);
}

/* The visitor of ct__walk; sums and x_sums are this thread's, and so is the row. */
template <typename T> struct contractor {
    enum { PAIRS = ct__pairs<T>::COUNT };
    const contraction<T> &q;
    double *sums, *x_sums;
    T u, v; /* of the row */

    __device__ __forceinline__ void begin(int i)
    {
        u = q.u ? q.u[i * q.us] : (T)0, v = q.u && q.plan.symmetric ? q.v[i * q.vs] : (T)0;
        for (int k = 0; x_sums && k < q.plan.d; k++) x_sums[k * CT__THREADS] = 0;
    }
    /* K̄_ij, in the symmetric case with its mirror image; half of that on the diagonal where each pair is met
     * once. No branch for a pair, which would hold up the next one's loads: one that does not count reads
     * what its neighbour does, or its mirror image. */
    template <bool SHARED>
    __device__ __forceinline__ void bars_of(const ct__thread<T, SHARED> &t, int i, int j, const bool *live,
                                            T *bar) const
    {
        const T *along = q.M + i * q.rs + j * q.cs, *across = q.M + j * q.rs + i * q.cs;
        int at[PAIRS];
        CT__EACH_PAIR(p)
        {
            at[p] = p < t.last ? p : t.last;
            const bool other = q.lower && (q.turned ? j + at[p] < i : j + at[p] > i);
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
    template <bool SHARED>
    __device__ __forceinline__ void pairs(const ct__thread<T, SHARED> &t, int i, int j, const bool *live)
    {
        T bar[PAIRS], top[PAIRS] = {};
        ct__leaf<T> leaf;
        leaf.node = -1;
        bars_of(t, i, j, live, bar);
        const int nodes = q.plan.n_nodes;
        for (int step = 0; step < 2 * nodes;
             step++) { /* up, then down: the last leaf is at hand when it comes again */
            const bool back = step >= nodes;
            const int k = back ? 2 * nodes - 1 - step : step;
            if (t.nodes[k].code < CT_COV_PROFILES && k != leaf.node) ct__evaluate(t, k, leaf);
            if (back)
                down(t, k, leaf, bar, sums, x_sums);
            else
                ct__up(t, k, k + 1 == nodes, leaf, top);
        }
    }
    /* A row's sums, one of each warp. */
    __device__ __forceinline__ void end(int i0, int rows, int piece)
    {
        if (!x_sums) return;
        __syncthreads();
        const double *all = x_sums - threadIdx.x;
        double *to = q.x_parts + piece * q.plan.d * q.plan.n + i0;
        for (int e = (int)threadIdx.x; e < q.plan.d * CT__LANES; e += CT__THREADS) {
            const int k = e / CT__LANES, row = e % CT__LANES;
            double sum = 0;
            for (int warp = 0; warp < CT__WARPS; warp++) sum += all[k * CT__THREADS + warp * CT__LANES + row];
            if (row < rows) to[k * q.plan.n + row] = sum;
        }
        __syncthreads();
    }
};

/* Four blocks a processor: without the bound registers are for three. */
template <typename T, bool SHARED>
static __global__ void __launch_bounds__(CT__THREADS, 4) contract_kernel(contraction<T> q)
{
    __shared__ int64_t shared[CT__ROOM / 8];
    const int t = (int)threadIdx.x, n_params = q.plan.n_params;
    ct__thread<T, SHARED> v;
    ct__open(q.plan, (char *)shared, v);
    double *sums = q.parts ? ct__find<double>(q.plan, q.sums_at, (char *)shared) : NULL,
           *x_sums = q.x_parts ? ct__find<double>(q.plan, q.x_sums_at, (char *)shared) : NULL;
    for (int k = 0; sums && k < n_params; k++) sums[k * CT__THREADS + t] = 0;
    contractor<T> c = { q, sums ? sums + t : NULL, x_sums ? x_sums + t : NULL, 0, 0 };
    ct__walk(q.plan, (char *)shared, v, c);
    if (!sums) return;
    __syncthreads();
    for (int e = t; e < n_params * GROUPS; e += CT__THREADS) {
        double *of_group = sums + e / GROUPS * CT__THREADS + e % GROUPS, sum = 0;
        for (int k = 0; k < CT__THREADS; k += GROUPS) sum += of_group[k];
        *of_group = sum;
    }
    __syncthreads();
    for (int k = t; k < n_params; k += CT__THREADS) {
        double sum = 0;
        for (int group = 0; group < GROUPS; group++) sum += sums[k * CT__THREADS + group];
        q.parts[(int64_t)k * gridDim.x + blockIdx.x] = sum;
    }
}

/* An output of `count` sums of `pieces` parts, [output][piece] for theta_bar, [piece][output] for x_bar. */
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

/* A block for each parameter, then a thread for each element of x_bar: share times their sums, or added to
 * what is there */
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
    sum = ct__over_block<FINISHERS>(sum, ct__plus());
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
    q.turned = !d && K_bar->M.stride[1] < K_bar->M.stride[0]; /* of no x_bar: neighbours of M to neighbours */
    const bool swap = q.turned && z;
    ct__plan_begin(program, theta, swap ? z : x, swap ? x : z, p);
    p->part = z || d ? CT__ALL : q.turned ? CT__UPPER : CT__LOWER;
    if (P) q.sums_at = ct__plan_take(p, P * CT__THREADS * (int64_t)sizeof(double));
    if (d) q.x_sums_at = ct__plan_take(p, d * CT__THREADS * (int64_t)sizeof(double));
    ct__plan_points(p);
    ct__plan_tasks(p, d ? (SPREAD + d) / d : INT64_MAX);
    const int64_t pieces = p->row_tiles ? p->tasks / p->row_tiles : 0, x_parts = pieces * d * p->n;
    const int64_t number = sizeof(double);
    const unsigned blocks = ct__plan_blocks(p, P * number, x_parts * number);
    const int64_t parts = P * blocks;
    ct__scratch room(dev, (parts + x_parts) * number + ct__plan_bytes(p, program, blocks));
    if (!room.data) return CT_ENOMEM;
    double *numbers = (double *)room.data;
    ct_status s = ct__plan_fill(dev, program, p, blocks, numbers + parts + x_parts);
    if (s) return s;
    if (P) q.parts = numbers;
    if (d) q.x_parts = numbers + parts;
    q.M = (const T *)K_bar->M.data;
    q.rs = K_bar->M.stride[q.turned], q.cs = K_bar->M.stride[!q.turned];
    const ct_view *u = q.turned ? &K_bar->v : &K_bar->u, *v = q.turned ? &K_bar->u : &K_bar->v;
    if (u->storage)
        q.u = (const T *)u->data, q.us = u->stride[0], q.v = (const T *)v->data, q.vs = v->stride[0];
    q.alpha = K_bar->alpha;
    q.lower = K_bar->lower;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    if (p->small)
        CT__LAUNCH_BLOCK((contract_kernel<T, true>), blocks, CT__THREADS, stream, q);
    else
        CT__LAUNCH_BLOCK((contract_kernel<T, false>), blocks, CT__THREADS, stream, q);
    result<T> to_theta, to_x;
    memset(&to_theta, 0, sizeof to_theta);
    memset(&to_x, 0, sizeof to_x);
    if (P) to_theta = { q.parts, (T *)theta_bar->data, P, 1, theta_bar->stride[0], 0, (int64_t)blocks };
    if (d) to_x = { q.x_parts, (T *)x_bar->data, p->n, d, x_bar->stride[0], x_bar->stride[1], pieces };
    const double share = !z && p->part == CT__ALL ? 0.5 : 1;
    const unsigned finishers = ct__threads(blocks, FINISHERS);
    CT__LAUNCH_BLOCK(finish_kernel<T>, ct__blocks(P + ct__divide_up(p->n * d, finishers)), finishers, stream,
                     to_theta, to_x, share, (int64_t)add);
    return ct__cuda_launched(dev, "covariance_bar");
}

ct_status ct__cuda_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                  const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                  ct_view *theta_bar, ct_view *x_bar)
{
    return theta->dtype == CT_F64 ? contract<double>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar)
                                  : contract<float>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar);
}
