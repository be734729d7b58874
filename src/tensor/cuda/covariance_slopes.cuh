/* Contributions of a thread's pairs to the gradients of the parameters and of x. Sums are [parameter][thread]
 * and [column][thread] of the block; NULL: not requested. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_SLOPES_CUH
#define CT_TENSOR_CUDA_COVARIANCE_SLOPES_CUH

#include "covariance_pairs.cuh"

template <typename T> static __device__ __forceinline__ void ct__add_pairs(double *sum, const T *by_pair)
{
    double all = 0;
    CT__EACH_PAIR(p) all += (double)by_pair[p];
    *sum += all;
}

/* As ct__leaf_bar, given g, but safe from overflow. Codes are equal here, or l is huge. */
template <typename T>
static __device__ void ct__careful_bar(const ct__thread<T> &v, const ct_cov_node *n, const T *g, double *sums,
                                       double *x_sums)
{
    for (int e = 0; e < n->n_dims * ct__pairs<T>::COUNT && n->geometry != CT_DIFFER; e++) {
        const int k = e / ct__pairs<T>::COUNT, p = e % ct__pairs<T>::COUNT;
        double by_x, turns, part = ct__careful_part(v, n, k, p, &by_x, &turns);
        if (g[p] == 0) continue; /* k is flat here */
        if (n->geometry == CT_DISTANCE && part > CT__FAR(sizeof(T) == 8)) part = CT__FAR(sizeof(T) == 8);
        by_x *= (double)g[p];
        if (sums && n->geometry == CT_SINE && by_x != 0) sums[n->extra * CT__COV_THREADS] -= by_x * turns;
        if (x_sums) x_sums[v.dims[n->dims + k] * CT__COV_THREADS] += by_x;
        if (sums && n->lengthscale >= 0)
            sums[(n->lengthscale + (n->ard ? k : 0)) * CT__COV_THREADS] -=
                2 * (double)g[p] * part / ct__lengthscale(v, n, k);
    }
}

/* Passes g = ȳ ∂k/∂s of a profile to the lengthscales, the period and x. For s over column d, with difference
 * δ = x_d - z_d and weight w = 1/l²:
 *     distance  ∂s/∂l = -2 w δ²/l          ∂s/∂x = 2 w δ
 *     sine      ∂s/∂l = -2 w sin²(πδ/p)/l  ∂s/∂x = w (π/p) sin(2πδ/p)      ∂s/∂p = -w (πδ/p²) sin(2πδ/p)
 *     dot       ∂s/∂l = -2 w x z/l         ∂s/∂x = w z
 *     differ    ∂s/∂l = -w δ/l             ∂s/∂x = 0                       with δ = [x ≠ z], w = 1/l */
template <typename T>
static __device__ __forceinline__ void ct__leaf_bar(const ct__thread<T> &v, const ct_cov_node *n,
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
        ct__add_pairs(sums + n->extra * CT__COV_THREADS, by_a);
    }
    if (leaf.wild) {
        ct__careful_bar(v, n, g, sums, x_sums);
        return;
    }
    const bool lengths = sums && n->lengthscale >= 0 && n->ard;
    if (sums && n->lengthscale >= 0 && !n->ard && n->n_dims) {
        const T slope = v.slope[n->dims];
        T by_l[PAIRS];
        CT__EACH_PAIR(p) by_l[p] = -slope * (g[p] * leaf.s[p]);
        ct__add_pairs(sums + n->lengthscale * CT__COV_THREADS, by_l);
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
            if (sums) ct__add_pairs(sums + n->extra * CT__COV_THREADS, by_period);
        } else {
            CT__EACH_PAIR(p)
            {
                const T b = v.z_at(d, p), difference = a - b;
                by_x[p] = w * (geometry == CT_DOT ? g[p] * b : 2 * g[p] * difference);
                by_l[p] = g[p] * (geometry == CT_DOT ? a * b : difference * difference);
                if (geometry == CT_DIFFER) by_x[p] = 0, by_l[p] = g[p] * ct__differ(a, b);
            }
        }
        if (lengths) {
            const T slope = v.slope[n->dims + k];
            CT__EACH_PAIR(p) by_l[p] *= -slope;
            ct__add_pairs(sums + (n->lengthscale + k) * CT__COV_THREADS, by_l);
        }
        if (x_sums) ct__add_pairs(x_sums + d * CT__COV_THREADS, by_x);
    }
}

/* Passes node k's cotangent to its children. A left child's waits in the place of its value, which is no
 * longer needed; a right child comes next and takes `bar`. In postfix order the node before a leaf is a left
 * child, whose cotangent is then loaded. */
template <typename T>
static __device__ __forceinline__ void ct__down(const ct__thread<T> &v, int k, const ct__leaf<T> &leaf,
                                                T *bar, double *sums, double *x_sums)
{
    const ct_cov_node *n = &v.nodes[k];
    double *sum = sums && n->extra >= 0 ? sums + n->extra * CT__COV_THREADS : NULL;
    switch (n->code) {
    case CT_COV_SCALE: {
        const T factor = v.theta[n->extra];
        T by_factor[ct__pairs<T>::COUNT];
        CT__EACH_PAIR(p) by_factor[p] = bar[p] * ct__value(v, k - 1, p), bar[p] *= factor;
        if (sum) ct__add_pairs(sum, by_factor);
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
        if (sum) ct__add_pairs(sum, bar);
        break;
    case CT_COV_WHITE:
        CT__EACH_PAIR(p) bar[p] = v.same[p] ? bar[p] : (T)0;
        if (sum) ct__add_pairs(sum, bar);
        break;
    case CT_COV_INDEX:
        for (int p = 0; sum && p < ct__pairs<T>::COUNT; p++)
            ct__index_bar(CT__INDEX(v, n, p), (double)bar[p], sum, CT__COV_THREADS);
        break;
    default: ct__leaf_bar(v, n, leaf, bar, sums, x_sums);
    }
    if (k) CT__EACH_PAIR(p) bar[p] = ct__value(v, k - 1, p);
}

#endif
