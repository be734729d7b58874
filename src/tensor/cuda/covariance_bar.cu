/* The contraction of a covariance matrix's derivatives: no array of the matrix's size. A thread walks over some pairs and
 * adds to sums of its own, [parameter][thread] in global memory, where neighbours lie side by side; these are then added
 * in an order that the shape alone decides. */
#include "covariance.cuh"

enum {
    LANES = 32,      /* threads that share a row, at least */
    THREADS = 65536, /* in all, where there is enough to do, */
    FEW = 1024,      /* and where their sums would take much memory */
};

template <typename T> struct contraction {
    ct__plan<T> plan;
    int64_t n, m, d, rows,
        lanes;      /* thread (r, l) has the rows r, r + rows, ... and the columns l, l + lanes, ... */
    int64_t by_row; /* threads are numbered along a row of M, else along a column */
    int64_t lower, triangle; /* M's lower triangle alone is read; each pair is met once */
    const T *M, *u, *v;
    int64_t rs, cs, us, vs;
    double alpha;
    double *theta_bar, *x_bar; /* [parameter][thread], [column][thread]; NULL: not wanted */
};

/* K̄_ij, in the symmetric case with its mirror image; half of that on the diagonal where each pair is met once */
template <typename T> static __device__ T bar_of(const contraction<T> &q, int64_t i, int64_t j)
{
    T bar = q.lower ? 2 * (j <= i ? q.M[i * q.rs + j * q.cs] : q.M[j * q.rs + i * q.cs])
                    : q.M[i * q.rs + j * q.cs];
    if (q.plan.symmetric && !q.lower) bar += q.M[j * q.rs + i * q.cs];
    if (q.u) {
        T outer = q.u[i * q.us] * q.v[j * q.vs];
        if (q.plan.symmetric) outer += q.u[j * q.us] * q.v[i * q.vs];
        bar -= outer;
    }
    bar *= (T)q.alpha;
    return q.triangle && i == j ? bar / 2 : bar;
}

/* A profile's share: g = ȳ ∂k/∂s goes on to the lengthscales, the period and x. Of s over column d, with difference
 * δ = x_d - z_d and weight w = 1/l²:
 *     distance  ∂s/∂l = -2 w δ²/l          ∂s/∂x = 2 w δ
 *     sine      ∂s/∂l = -2 w sin²(πδ/p)/l  ∂s/∂x = w (π/p) sin(2πδ/p)      ∂s/∂p = -w (πδ/p²) sin(2πδ/p)
 *     dot       ∂s/∂l = -2 w x z/l         ∂s/∂x = w z */
template <typename T>
static __device__ void leaf_bar(const ct__plan<T> &p, const ct_cov_node *n, const T *x, const T *z, T y_bar,
                                double *theta_bar, double *x_bar, int64_t threads)
{
    const int geometry = ct__geometry_of(n->code);
    const T s = ct__distance(p, n, x, z), a = n->extra < 0 ? (T)1 : p.theta[n->extra];
    T value, by_s, by_a;
    ct__profile(n, s, a, &value, &by_s, &by_a);
    const T g = by_s * y_bar;
    if (theta_bar && n->extra >= 0 && geometry != CT_SINE)
        theta_bar[n->extra * threads] += (double)(y_bar * by_a);
    if (theta_bar && n->lengthscale >= 0 && !n->ard)
        theta_bar[n->lengthscale * threads] -= (double)(2 / p.theta[n->lengthscale] * (g * s));
    const bool lengths = theta_bar && n->lengthscale >= 0 && n->ard;
    if (!lengths && !x_bar && !(theta_bar && geometry == CT_SINE)) return;
    for (int k = 0; k < n->n_dims; k++) {
        const int64_t d = p.dims[n->dims + k];
        const T x_d = x[d * p.x_col], z_d = z[d * p.z_col], w = p.weight[n->dims + k], difference = x_d - z_d;
        T by_x, by_l;
        if (geometry == CT_SINE) {
            const T period = p.theta[n->extra], pi_by_period = (T)CT__PI / period;
            T square, slope;
            ct__sine_square(difference / period, &square, &slope);
            by_l = g * square;
            by_x = g * slope * pi_by_period;
            if (theta_bar) theta_bar[n->extra * threads] -= (double)(w * by_x * difference / period);
        } else if (geometry == CT_DOT) {
            by_x = g * z_d;
            by_l = by_x * x_d;
        } else {
            by_x = 2 * g * difference;
            by_l = g * difference * difference;
        }
        if (lengths)
            theta_bar[(n->lengthscale + k) * threads] -= (double)(2 * w / p.theta[n->lengthscale + k] * by_l);
        if (x_bar) x_bar[d * threads] += (double)(w * by_x);
    }
}

template <typename T, int NODES> static __global__ void contract_kernel(contraction<T> q)
{
    const ct__plan<T> &p = q.plan;
    const int64_t threads = q.rows * q.lanes;
    CT__EACH(id, threads)
    {
        const int64_t row = q.by_row ? id / q.lanes : id % q.rows,
                      lane = q.by_row ? id % q.lanes : id / q.rows;
        double *tb = q.theta_bar ? q.theta_bar + id : NULL, *xb = q.x_bar ? q.x_bar + id : NULL;
        for (int k = 0; tb && k < p.n_params; k++) tb[k * threads] = 0;
        for (int64_t d = 0; xb && d < q.d; d++) xb[d * threads] = 0;
        for (int64_t i = row; i < q.n; i += q.rows) {
            const T *x = p.x + i * p.x_row;
            const int64_t end = q.triangle ? i + 1 : q.m;
            for (int64_t j = lane; j < end; j += q.lanes) {
                const T *z = p.z + j * p.z_row;
                const bool same = p.symmetric && i == j;
                T value[NODES], bar[NODES];
                ct__values(p, x, z, same, value);
                bar[p.n_nodes - 1] = bar_of(q, i, j);
                for (int k = p.n_nodes - 1; k >= 0; k--) {
                    const ct_cov_node *n = &p.nodes[k];
                    const T y_bar = bar[k];
                    switch (n->code) {
                    case CT_COV_CONSTANT:
                        if (tb) tb[n->extra * threads] += (double)y_bar;
                        break;
                    case CT_COV_WHITE:
                        if (tb && same) tb[n->extra * threads] += (double)y_bar;
                        break;
                    case CT_COV_SCALE:
                        if (tb) tb[n->extra * threads] += (double)(y_bar * value[n->right]);
                        bar[n->right] = p.theta[n->extra] * y_bar;
                        break;
                    case CT_COV_SUM: bar[n->left] = bar[n->right] = y_bar; break;
                    case CT_COV_PRODUCT:
                        bar[n->left] = y_bar * value[n->right];
                        bar[n->right] = y_bar * value[n->left];
                        break;
                    default: leaf_bar(p, n, x, z, y_bar, tb, xb, threads);
                    }
                }
            }
        }
    }
}

/* out = share from, or added to what out holds */
template <typename T>
static __global__ void finish_kernel(const double *from, int64_t rows, int64_t cols, int64_t from_rs,
                                     int64_t from_cs, double share, bool add, T *out, int64_t rs, int64_t cs)
{
    CT__EACH(e, rows * cols)
    {
        const int64_t i = e / cols, j = e % cols;
        T *to = out + i * rs + j * cs;
        *to = (T)(share * from[i * from_rs + j * from_cs] + (add ? (double)*to : 0));
    }
}

/* to[i] (or to[i][j]) = the sum over what is left of a thread's sums, an array (dim0, dim1, dim2) reduced along `along` */
static ct_status add_up(ct_device *dev, double *from, const int64_t *dim, const int64_t *stride, int along,
                        double *to)
{
    ct_tensor x, sum;
    memset(&x, 0, sizeof x);
    x.dtype = CT_F64;
    x.data = from;
    x.ndim = 3;
    for (int d = 0; d < 3; d++) x.dim[d] = dim[d], x.stride[d] = stride[d];
    sum = x;
    sum.data = to;
    sum.dim[along] = 1;
    for (int64_t d = 2, step = 1; d >= 0; step *= sum.dim[d--]) sum.stride[d] = step;
    return ct__cuda_reduce(dev, CT_REDUCE_SUM, &x, &sum);
}

template <typename T>
static ct_status contract(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                          const ct_tensor *x, const ct_tensor *z, const ct_cov_bar *K_bar, bool add,
                          ct_tensor *theta_bar, ct_tensor *x_bar)
{
    contraction<T> q;
    memset(&q, 0, sizeof q);
    q.n = x->dim[0], q.m = z ? z->dim[0] : q.n, q.d = x->dim[1];
    q.M = (const T *)K_bar->M->data, q.rs = K_bar->M->stride[0], q.cs = K_bar->M->stride[1];
    if (K_bar->u) {
        q.u = (const T *)K_bar->u->data, q.us = K_bar->u->stride[0];
        q.v = (const T *)K_bar->v->data, q.vs = K_bar->v->stride[0];
    }
    q.alpha = K_bar->alpha;
    q.lower = K_bar->lower;
    q.triangle = !z && !x_bar;
    q.by_row = q.cs <= q.rs;
    /* Their sums fit where the factorisation had its panel, which ct_gp_bytes_needed counts. */
    const int64_t P = program->n_params, panel = (q.n + 384) * (96 + 2 * q.d) / (P + 1),
                  wanted = panel > THREADS ? (int64_t)THREADS
                           : panel < FEW   ? (int64_t)FEW
                                           : panel;
    const int64_t least = q.m < LANES ? (q.m ? q.m : 1) : (int64_t)LANES, most = q.n ? q.n : 1;
    q.rows = x_bar || most * least <= wanted ? most : wanted / least;
    q.lanes = ct__divide_up(wanted, q.rows);
    if (q.lanes > q.m) q.lanes = q.m ? q.m : 1;
    if (q.lanes < least) q.lanes = least;
    const int64_t threads = q.rows * q.lanes, plan = ct__divide_up(ct__plan_bytes(program), 8) * 8;
    const int64_t sums = theta_bar ? P * (threads + 1) : 0, x_sums = x_bar ? q.d * (threads + q.n) : 0;
    ct__scratch room(dev, plan + (sums + x_sums) * (int64_t)sizeof(double));
    if (!room.data) return CT_ENOMEM;
    double *theta_sums = (double *)((char *)room.data + plan), *x_rows = theta_sums + sums;
    if (theta_bar) q.theta_bar = theta_sums;
    if (x_bar) q.x_bar = x_rows;
    ct_status s = ct__make_plan(dev, program, theta, x, z, room.data, &q.plan);
    if (s) return s;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    if (program->n_nodes <= CT__FEW_NODES)
        CT__LAUNCH((contract_kernel<T, CT__FEW_NODES>), ct__grid(threads), CT__BLOCK, stream, q);
    else
        CT__LAUNCH((contract_kernel<T, CT__MOST_NODES>), ct__grid(threads), CT__BLOCK, stream, q);
    s = ct__cuda_launched(dev, "covariance_bar");
    if (!s && theta_bar && P) {
        const int64_t dim[3] = { 1, P, threads }, stride[3] = { P * threads, threads, 1 };
        double *sum = theta_sums + P * threads;
        s = add_up(dev, theta_sums, dim, stride, 2, sum);
        if (!s)
            CT__LAUNCH(finish_kernel<T>, ct__grid(P), CT__BLOCK, stream, sum, P, (int64_t)1, (int64_t)1,
                       (int64_t)1, !z && !q.triangle ? 0.5 : 1., add, (T *)theta_bar->data,
                       theta_bar->stride[0], (int64_t)1);
    }
    if (!s && x_bar && q.n && q.d) {
        const int64_t dim[3] = { q.d, q.n, q.lanes },
                      stride[3] = { threads, q.by_row ? q.lanes : 1, q.by_row ? 1 : q.rows };
        double *sum = x_rows + q.d * threads;
        s = add_up(dev, x_rows, dim, stride, 2, sum);
        if (!s)
            CT__LAUNCH(finish_kernel<T>, ct__grid(q.n * q.d), CT__BLOCK, stream, sum, q.n, q.d, (int64_t)1,
                       q.n, 1., add, (T *)x_bar->data, x_bar->stride[0], x_bar->stride[1]);
    }
    return s ? s : ct__cuda_launched(dev, "covariance_bar");
}

ct_status ct__cuda_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                                  const ct_tensor *x, const ct_tensor *z, const ct_cov_bar *K_bar, bool add,
                                  ct_tensor *theta_bar, ct_tensor *x_bar)
{
    return theta->dtype == CT_F64 ? contract<double>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar)
                                  : contract<float>(dev, program, theta, x, z, K_bar, add, theta_bar, x_bar);
}
