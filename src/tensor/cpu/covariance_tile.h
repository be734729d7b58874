/* Tiles of covariance matrices and of their gradients, for one dtype T. Included by covariance.c once per
 * dtype, with T, FN(f) (f or ff), NAME(n) (n_f64 or n_f32), WIDE (whether T is double) and MOST, its largest
 * number. What is CT__INLINE goes into the entry points of one instruction set;
 * `fused` is a constant there.
 *
 * One row x_i against WIDTH columns z_j at a time: every array below is WIDTH numbers that stay in the
 * first-level cache, and every loop runs along j. */

typedef struct NAME(plan) {
    const ct_cov_node *nodes;
    const int32_t *dims;
    int n_nodes;
    bool symmetric;
    const T *theta;
    const T *
        weight; /* 1/l² of each active column, in the order of the program's; 1 without a lengthscale, NaN where it is not
                        to be used: then s is NaN, too */
    const T *x; /* x_id = x[i * x_row + d * x_col] */
    int64_t x_row, x_col;
    const T *z; /* z_jd = z[d * z_row + j] */
    int64_t z_row;
    const T *const *norm; /* of each node: Σ w z_j² where distances come from products, else NULL */
} NAME(plan);

/* What one thread works in: five arrays per node, in whole cache lines. */
typedef struct NAME(node_space) {
    T value[WIDTH], slope[WIDTH], extra_slope[WIDTH], s[WIDTH], bar[WIDTH];
    alignas(64) bool wild; /* s, or some of its parts, left the range of T */
} NAME(node_space);

/* -- s --------------------------------------------------------------------------------------------------- */

/* Σ w (x - z_j)² from differences: zero for equal points, and with all its digits for near ones */
CT__INLINE void NAME(differences)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z,
                                  int64_t m, T *s, bool fused)
{
    for (int64_t j = 0; j < m; j++) s[j] = 0;
    for (int32_t k = 0; k < n->n_dims; k++) {
        int64_t d = p->dims[n->dims + k];
        const T a = x[d * p->x_col], *b = z + d * p->z_row;
        T w = n->ard ? p->weight[n->dims + k] : 1;
        if (n->ard) {
            for (int64_t j = 0; j < m; j++) {
                T difference = a - b[j];
                s[j] = FN(ct__mad)(difference * difference, w, s[j], fused);
            }
        } else {
            for (int64_t j = 0; j < m; j++) {
                T difference = a - b[j];
                s[j] = FN(ct__mad)(difference, difference, s[j], fused);
            }
        }
    }
}

/* The same as Σ w x² + Σ w z_j² - 2 Σ w x z_j where that is at least a quarter of the first two, so that it
 * loses two bits at most; nearer points, and what overflows, from differences. */
CT__INLINE void NAME(distances)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z, int64_t m,
                                T *s, const T *norm, bool fused)
{
    enum { STEP = 8 };
    T size = 0;
    for (int64_t j = 0; j < m; j++) s[j] = 0;
    for (int32_t k = 0; k < n->n_dims; k += STEP) {
        T a[STEP];
        const T *b[STEP];
        for (int32_t i = 0; i < STEP; i++) {
            int32_t at = k + i < n->n_dims ? k + i : n->n_dims - 1;
            int64_t d = p->dims[n->dims + at];
            T w = n->ard ? p->weight[n->dims + at] : 1, u = k + i < n->n_dims ? x[d * p->x_col] : 0;
            a[i] = -2 * w * u;
            b[i] = z + d * p->z_row;
            size += w * u * u;
        }
        for (int64_t j = 0; j < m; j++) {
            T sum = s[j];
            sum = FN(ct__mad)(a[0], b[0][j], sum, fused);
            sum = FN(ct__mad)(a[1], b[1][j], sum, fused);
            sum = FN(ct__mad)(a[2], b[2][j], sum, fused);
            sum = FN(ct__mad)(a[3], b[3][j], sum, fused);
            sum = FN(ct__mad)(a[4], b[4][j], sum, fused);
            sum = FN(ct__mad)(a[5], b[5][j], sum, fused);
            sum = FN(ct__mad)(a[6], b[6][j], sum, fused);
            sum = FN(ct__mad)(a[7], b[7][j], sum, fused);
            s[j] = sum;
        }
    }
    int64_t near = 0;
    for (int64_t j = 0; j < m; j++) {
        T both = size + norm[j], square = both + s[j];
        s[j] = square >= both / 4 && both <= (T)CT__FAR(WIDE) ? square : -1;
        near += s[j] < 0;
    }
    if (near > m / 4) {
        NAME(differences)(p, n, x, z, m, s, fused);
        return;
    }
    for (int64_t j = 0; j < m && near; j++) {
        if (s[j] >= 0) continue;
        NAME(differences)(p, n, x, z + j, 1, s + j, fused);
        near--;
    }
}

static double NAME(lengthscale)(const NAME(plan) * p, const ct_cov_node *n, int32_t k)
{
    return n->lengthscale < 0 ? 1 : (double)p->theta[n->lengthscale + (n->ard ? k : 0)];
}

/* sin²πt and sin 2πt for any t; a whole number of turns where it is infinite */
static void NAME(sines)(double t, double *square, double *slope)
{
    *square = *slope = 0;
    if (!isinf(t)) ct__sine_square(t, square, slope, false);
}

/* The largest s of a node. */
static double NAME(far)(const NAME(plan) * p, const ct_cov_node *n)
{
    return n->tail == CT_HEAVY ? fmin(CT__FAR(WIDE), p->theta[n->extra] * MOST) : CT__FAR(WIDE);
}

/* s of one pair whatever the range of its parts: differences, sines and coordinates are divided by the
 * lengthscales first. */
static double NAME(careful)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z)
{
    const int geometry = n->geometry;
    double s = 0, square, slope;
    for (int32_t k = 0; k < n->n_dims; k++) {
        int64_t d = p->dims[n->dims + k];
        const double a = x[d * p->x_col], b = z[d * p->z_row], l = NAME(lengthscale)(p, n, k);
        if (geometry == CT_SINE) {
            NAME(sines)((a - b) / p->theta[n->extra], &square, &slope);
            s += square / l / l;
        } else {
            s += geometry == CT_DOT ? (a / l) * (b / l) : ((a - b) / l) * ((a - b) / l);
        }
    }
    bool heavy = n->tail == CT_HEAVY && p->theta[n->extra] < CT__HEAVY(WIDE);
    if (geometry == CT_DOT) return s;
    return s > CT__FAR(WIDE) && heavy ? NAN : s > NAME(far)(p, n) ? NAME(far)(p, n) : s;
}

/* s_j; whether some of it had to be computed carefully */
CT__INLINE bool NAME(geometry)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z, int64_t m,
                               T *s, bool fused)
{
    const int geometry = n->geometry;
    const bool turns = geometry == CT_SINE || geometry == CT_DOT;
    const T *norm = p->norm[n - p->nodes];
    if (norm)
        NAME(distances)(p, n, x, z, m, s, norm + (z - p->z), fused);
    else if (!turns)
        NAME(differences)(p, n, x, z, m, s, fused);
    else
        for (int64_t j = 0; j < m; j++) s[j] = 0;
    for (int32_t k = 0; k < n->n_dims && turns; k++) {
        int64_t d = p->dims[n->dims + k];
        const T a = x[d * p->x_col], *b = z + d * p->z_row;
        T w = n->ard ? p->weight[n->dims + k] : 1;
        if (geometry == CT_SINE) {
            T period = p->theta[n->extra];
            for (int64_t j = 0; j < m; j++) {
                T square, unused;
                FN(ct__sine_square)((a - b[j]) / period, &square, &unused, fused);
                s[j] = FN(ct__mad)(square, w, s[j], fused);
            }
        } else {
            for (int64_t j = 0; j < m; j++) s[j] = FN(ct__mad)(a * b[j], w, s[j], fused);
        }
    }
    T common = n->ard ? 1 : p->weight[n->dims];
    const T far = (T)NAME(far)(p, n);
    NAME(count) wild = 0;
    for (int64_t j = 0; j < m; j++) {
        s[j] *= common;
        wild |= !(FN(fabs)(s[j]) <= far);
    }
    for (int64_t j = 0; j < m && wild; j++)
        if (!(FN(fabs)(s[j]) <= far)) s[j] = (T)NAME(careful)(p, n, x, z + j);
    return wild;
}

/* -- profiles -------------------------------------------------------------------------------------------- */

CT__INLINE T NAME(power)(T x, int n)
{
    T y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

#define EXP(x)     FN(ct__exp)(x, fused)
#define LOG1P(x)   FN(ct__log1p)(x, fused)
#define SQRT(x)    FN(sqrt)(x)
#define SIN2PI(x)  FN(ct__sin2pi)(x, fused)
#define COS2PI(x)  FN(ct__cos2pi)(x, fused)
#define POWI(x, n) NAME(power)(x, n)

/* value, and where `slopes` ∂k/∂s and ∂k/∂a */
CT__INLINE void NAME(leaf)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z, int64_t m,
                           NAME(node_space) * w, T *value, bool slopes, bool fused)
{
    const T a = n->extra < 0 ? 1 : p->theta[n->extra];
    const int degree = n->degree;
    (void)degree;
    w->wild = NAME(geometry)(p, n, x, z, m, w->s, fused);
    switch (n->code) {
#define PROFILE(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, second, by_s, by_a) \
    case CT_COV_##CODE:                                                                                 \
        if (!slopes) {                                                                                  \
            for (int64_t j = 0; j < m; j++) {                                                           \
                const T s = w->s[j], r = SQRT(s), u = first;                                            \
                (void)r;                                                                                \
                value[j] = second;                                                                      \
            }                                                                                           \
        } else {                                                                                        \
            for (int64_t j = 0; j < m; j++) {                                                           \
                const T s = w->s[j], r = SQRT(s), r1 = r, u = first, y = second;                        \
                (void)r1;                                                                               \
                value[j] = y;                                                                           \
                w->slope[j] = by_s;                                                                     \
                w->extra_slope[j] = by_a;                                                               \
            }                                                                                           \
        }                                                                                               \
        break;
        CT_PROFILES(PROFILE)
#undef PROFILE
    default: break;
    }
}

#undef EXP
#undef LOG1P
#undef SQRT
#undef SIN2PI
#undef COS2PI
#undef POWI

/* -- values ---------------------------------------------------------------------------------------------- */

/* All nodes' values at row i, columns [j0, j0 + m); the root's go to `out`. */
CT__INLINE void NAME(values)(const NAME(plan) * p, NAME(node_space) * w, int64_t i, int64_t j0, int64_t m,
                             T *out, bool slopes, bool fused)
{
    const T *x = p->x + i * p->x_row, *z = p->z + j0;
    for (int k = 0; k < p->n_nodes; k++) {
        const ct_cov_node *n = &p->nodes[k];
        T *restrict y = k == p->n_nodes - 1 ? out : w[k].value;
        if (n->code < CT_COV_PROFILES) {
            NAME(leaf)(p, n, x, z, m, &w[k], y, slopes, fused);
        } else if (n->code == CT_COV_CONSTANT) {
            for (int64_t j = 0; j < m; j++) y[j] = p->theta[n->extra];
        } else if (n->code == CT_COV_WHITE) {
            for (int64_t j = 0; j < m; j++) y[j] = 0;
            if (p->symmetric && i >= j0 && i < j0 + m) y[i - j0] = p->theta[n->extra];
        } else if (n->code == CT_COV_SCALE) {
            const T *b = w[n->right].value, v = p->theta[n->extra];
            for (int64_t j = 0; j < m; j++) y[j] = v * b[j];
        } else {
            const T *a = w[n->left].value, *b = w[n->right].value;
            if (n->code == CT_COV_SUM)
                for (int64_t j = 0; j < m; j++) y[j] = a[j] + b[j];
            else
                for (int64_t j = 0; j < m; j++) y[j] = a[j] * b[j];
        }
    }
}

/* K[i, j] for i in [i0, i1), j in [j0, j0 + m), m <= WIDTH, to out[(i - i0) * ld + j - j0] */
CT__INLINE void NAME(tile)(const NAME(plan) * p, NAME(node_space) * w, int64_t i0, int64_t i1, int64_t j0,
                           int64_t m, T *out, int64_t ld, bool fused)
{
    for (int64_t i = i0; i < i1; i++) NAME(values)(p, w, i, j0, m, out + (i - i0) * ld, false, fused);
}

/* -- gradients ------------------------------------------------------------------------------------------- */

CT__INLINE T NAME(dot)(const T *a, const T *b, int64_t m)
{
    T sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++) sum += a[j] * b[j];
    return sum;
}

/* The sums over column k of leaf_bar whatever the range of their parts, one pair after the other. */
static void NAME(careful_column)(const NAME(plan) * p, const ct_cov_node *n, int32_t k, const T *x,
                                 const T *z, int64_t m, const T *g, double *by_x, double *by_l, double *by_p)
{
    const int geometry = n->geometry;
    const int64_t d = p->dims[n->dims + k];
    const double a = x[d * p->x_col], l = NAME(lengthscale)(p, n, k), far = sqrt(CT__FAR(WIDE));
    *by_x = *by_l = *by_p = 0;
    for (int64_t j = 0; j < m; j++) {
        const double b = z[d * p->z_row + j], g_j = g[j];
        double square, slope, t = (a - b) / l;
        if (g_j == 0) continue; /* k is flat there */
        if (geometry == CT_SINE) {
            const double period = p->theta[n->extra], turns = (a - b) / period;
            NAME(sines)(turns, &square, &slope);
            slope = slope == 0 ? 0 : g_j * (slope / l / l) * CT__PI / period;
            *by_x += slope;
            *by_l -= 2 * g_j * (square / l / l) / l;
            *by_p -= slope == 0 ? 0 : slope * turns;
        } else if (geometry == CT_DOT) {
            *by_x += g_j * (b / l) / l;
            *by_l -= 2 * g_j * (a / l) * (b / l) / l;
        } else {
            t = t > far ? far : t < -far ? -far : t;
            *by_x += 2 * g_j * t / l;
            *by_l -= 2 * g_j * t * t / l;
        }
    }
}

static void NAME(careful_bar)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z, int64_t m,
                              const T *g, double *theta_bar, double *x_bar)
{
    double by_x, by_l, by_p;
    for (int32_t k = 0; k < n->n_dims; k++) {
        NAME(careful_column)(p, n, k, x, z, m, g, &by_x, &by_l, &by_p);
        if (x_bar) x_bar[p->dims[n->dims + k]] += by_x;
        if (theta_bar && n->lengthscale >= 0) theta_bar[n->lengthscale + (n->ard ? k : 0)] += by_l;
        if (theta_bar && n->geometry == CT_SINE) theta_bar[n->extra] += by_p;
    }
}

/* A profile's share: g = ȳ ∂k/∂s goes on to the lengthscales, the period and x. Of s over column d, with
 * difference δ_j = x_d - z_jd and weight w = 1/l²:
 *     distance  ∂s/∂l = -2 w δ²/l          ∂s/∂x = 2 w δ
 *     sine      ∂s/∂l = -2 w sin²(πδ/p)/l  ∂s/∂x = w (π/p) sin(2πδ/p)      ∂s/∂p = -w (πδ/p²) sin(2πδ/p)
 *     dot       ∂s/∂l = -2 w x z/l         ∂s/∂x = w z */
CT__INLINE void NAME(leaf_bar)(const NAME(plan) * p, const ct_cov_node *n, const T *x, const T *z, int64_t m,
                               NAME(node_space) * w, const T *y_bar, double *theta_bar, double *x_bar,
                               bool fused)
{
    const int geometry = n->geometry;
    T *restrict g = w->slope;
    if (theta_bar && n->extra >= 0 && geometry != CT_SINE)
        theta_bar[n->extra] += NAME(dot)(y_bar, w->extra_slope, m);
    for (int64_t j = 0; j < m; j++) g[j] *= y_bar[j];
    if (w->wild) {
        NAME(careful_bar)(p, n, x, z, m, g, theta_bar, x_bar);
        return;
    }
    bool lengths = theta_bar && n->lengthscale >= 0 && n->ard;
    if (theta_bar && n->lengthscale >= 0 && !n->ard)
        theta_bar[n->lengthscale] -= 2 / p->theta[n->lengthscale] * NAME(dot)(g, w->s, m);
    if (!lengths && !x_bar && !(theta_bar && geometry == CT_SINE)) return;

    for (int32_t k = 0; k < n->n_dims; k++) {
        int64_t d = p->dims[n->dims + k];
        const T a = x[d * p->x_col], *b = z + d * p->z_row, weight = p->weight[n->dims + k];
        T by_x = 0, by_l = 0, by_p = 0;
        if (geometry == CT_SINE) {
            T period = p->theta[n->extra];
            T *restrict square = w->value, *restrict slope = w->extra_slope;
            for (int64_t j = 0; j < m; j++)
                FN(ct__sine_square)((a - b[j]) / period, &square[j], &slope[j], fused);
            by_l = NAME(dot)(g, square, m);
            for (int64_t j = 0; j < m; j++) slope[j] *= g[j];
#pragma omp simd reduction(+ : by_x, by_p)
            for (int64_t j = 0; j < m; j++) {
                by_x += slope[j];
                by_p += slope[j] * (a - b[j]);
            }
            by_p /= period;
            by_x = by_x * (T)CT__PI / period; /* in this order: 0 is 0 for any period */
            by_p = by_p * (T)CT__PI / period;
            if (theta_bar) theta_bar[n->extra] -= weight * by_p;
        } else if (geometry == CT_DOT) {
#pragma omp simd reduction(+ : by_x)
            for (int64_t j = 0; j < m; j++) by_x += g[j] * b[j];
            by_l = by_x * a;
        } else {
#pragma omp simd reduction(+ : by_x, by_l)
            for (int64_t j = 0; j < m; j++) {
                T difference = a - b[j], t = g[j] * difference;
                by_x += t;
                by_l += t * difference;
            }
            by_x *= 2;
        }
        if (lengths) theta_bar[n->lengthscale + k] -= 2 * weight / p->theta[n->lengthscale + k] * by_l;
        if (x_bar) x_bar[d] += weight * by_x;
    }
}

/* Contracts K̄[i, j0 .. j0 + m) with the derivatives of that piece of row i: adds to theta_bar[P] and
 * x_bar[d], each of which may be NULL. */
CT__INLINE void NAME(row_bar)(const NAME(plan) * p, NAME(node_space) * w, int64_t i, int64_t j0, int64_t m,
                              const T *K_bar, double *theta_bar, double *x_bar, const T **bar, bool fused)
{
    const T *x = p->x + i * p->x_row, *z = p->z + j0;
    int root = p->n_nodes - 1;
    NAME(values)(p, w, i, j0, m, w[root].value, true, fused);
    bar[root] = K_bar;
    for (int k = root; k >= 0; k--) {
        const ct_cov_node *n = &p->nodes[k];
        const T *y_bar = bar[k];
        switch (n->code) {
        case CT_COV_CONSTANT: {
            T sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t j = 0; j < m; j++) sum += y_bar[j];
            if (theta_bar) theta_bar[n->extra] += sum;
            break;
        }
        case CT_COV_WHITE:
            if (theta_bar && p->symmetric && i >= j0 && i < j0 + m) theta_bar[n->extra] += y_bar[i - j0];
            break;
        case CT_COV_SCALE: {
            if (theta_bar) theta_bar[n->extra] += NAME(dot)(y_bar, w[n->right].value, m);
            T *restrict b = w[n->right].bar;
            const T v = p->theta[n->extra];
            for (int64_t j = 0; j < m; j++) b[j] = v * y_bar[j];
            bar[n->right] = b;
            break;
        }
        case CT_COV_SUM: bar[n->left] = bar[n->right] = y_bar; break;
        case CT_COV_PRODUCT: {
            T *restrict a = w[n->left].bar, *restrict b = w[n->right].bar;
            const T *av = w[n->left].value, *bv = w[n->right].value;
            for (int64_t j = 0; j < m; j++) a[j] = y_bar[j] * bv[j];
            for (int64_t j = 0; j < m; j++) b[j] = y_bar[j] * av[j];
            bar[n->left] = a;
            bar[n->right] = b;
            break;
        }
        default: NAME(leaf_bar)(p, n, x, z, m, &w[k], y_bar, theta_bar, x_bar, fused);
        }
    }
}
