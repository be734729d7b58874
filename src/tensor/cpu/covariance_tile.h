/* Vector code: strips of covariance matrices.
 *
 * An array of a node holds one number for each pair of a strip, at most CT__COV_WIDTH, and stays in the
 * first-level cache. Several short rows share a strip, so that loops over its pairs stay long. A strip's
 * width is a multiple of the vector length. */

#include "covariance_plan.h"

/* -- s --------------------------------------------------------------------------------------------------- */

CT__INLINE const T *point(const plan *p, int64_t i) { return p->x + i * p->x_row; }

/* Loads an element of theta, weight or x: one number broadcast to all lanes, or each lane's own member's */
CT__INLINE vec spread(const plan *p, const T *x)
{
    const vec zero = { 0 };
    return p->lanes == 1 ? (vec)(*x - zero) : LOAD(x);
}

/* δ = x - z, or for CT_DIFFER δ = [x ≠ z]; NaN if x or z is */
CT__INLINE vec apart(const bool differ, vec x, vec z)
{
    return differ ? 0 * (x - z) - __builtin_convertvector(x != z, vec) : x - z;
}

/* s_j = Σ w δ_j² over `dims` active columns from the k-th on; for k > 0 added to s_j */
CT__INLINE void add_squares(const int dims, const bool differ, const plan *p, const ct_cov_node *n, int32_t k,
                            const T *x, const T *z, int64_t m, T *s)
{
    const vec zero = { 0 };
    vec a[4], w[4];
    const T *b[4];
    UNROLL for (int i = 0; i < dims; i++)
    {
        const int64_t d = p->dims[n->dims + k + i];
        a[i] = spread(p, x + d * p->x_col);
        w[i] = n->ard ? spread(p, p->weight + (n->dims + k + i) * p->lanes) : (vec)(1 - zero);
        b[i] = z + d * p->z_row;
    }
    for (int64_t j = 0; j < m; j += L) {
        vec sum = k ? LOAD(s + j) : zero;
        UNROLL for (int i = 0; i < dims; i++)
        {
            const vec difference = apart(differ, a[i], LOAD(b[i] + j));
            sum = MAD(difference * difference, w[i], sum);
        }
        VEC(s + j) = sum;
    }
}

/* s_j = Σ w δ_j² from differences: exactly zero for equal points, and without cancellation for near ones */
CT__INLINE void set_differences(const plan *p, const ct_cov_node *n, const T *x, const T *z, int64_t m, T *s)
{
    int32_t k = 0;
    const bool differ = n->geometry == CT_DIFFER;
    for (; k + 4 <= n->n_dims && !differ; k += 4) add_squares(4, false, p, n, k, x, z, m, s);
    for (; k < n->n_dims && !differ; k++) add_squares(1, false, p, n, k, x, z, m, s);
    for (; k < n->n_dims; k++) add_squares(1, true, p, n, k, x, z, m, s);
}

/* The same from products, s_j = Σ w x² + Σ w z_j² - 2 Σ w x z_j, if that is at least a quarter of the first
 * two terms: then cancellation costs at most two bits. Nearer points, and overflow, use differences. */
CT__INLINE void set_distances(const plan *p, const ct_cov_node *n, const T *x, const T *z, int64_t m, T *s,
                              const T *norm)
{
    enum { STEP = 8 };
    const vec zero = { 0 };
    T size = 0;
    for (int32_t k = 0; k < n->n_dims; k += STEP) {
        vec a[STEP];
        const T *b[STEP];
        for (int32_t i = 0; i < STEP; i++) {
            int32_t at = k + i < n->n_dims ? k + i : n->n_dims - 1;
            int64_t d = p->dims[n->dims + at];
            T w = n->ard ? p->weight[n->dims + at] : 1, u = k + i < n->n_dims ? x[d * p->x_col] : 0;
            a[i] = -2 * w * u - zero;
            b[i] = z + d * p->z_row;
            size += w * u * u;
        }
        for (int64_t j = 0; j < m; j += L) {
            vec sum = k ? LOAD(s + j) : zero;
            UNROLL for (int i = 0; i < STEP; i++) sum = MAD(a[i], LOAD(b[i] + j), sum);
            VEC(s + j) = sum;
        }
    }
    int64_t near = 0;
    for (int64_t j = 0; j < m; j++) {
        T both = size + norm[j], square = both + s[j];
        s[j] = square >= both / 4 && both <= (T)CT__FAR(F64) ? square : -1;
        near += s[j] < 0;
    }
    if (near > m / 4)
        set_differences(p, n, x, z, m, s);
    else
        for (int64_t j = 0; j < m && near; j++)
            if (s[j] < 0) set_differences(p, n, x, z + j / L * L, L, s + j / L * L);
}

static double lengthscale_of(const plan *p, const ct_cov_node *n, int32_t k, int64_t lane)
{
    return n->lengthscale < 0 ? 1 : (double)p->theta[(n->lengthscale + (n->ard ? k : 0)) * p->lanes + lane];
}

#define CAREFUL(name)                 careful_##name
#define CAREFUL_FN                    static
#define SINE_SQUARE(t, square, slope) ct__sine_square(t, square, slope, false)
#include "tensor/covariance_careful.h"
#undef CAREFUL
#undef CAREFUL_FN
#undef SINE_SQUARE

/* The k-th active column's term of s for the points x and z. */
static double careful_part(const plan *p, const ct_cov_node *n, int32_t k, const T *x, const T *z,
                           double *by_x, double *turns)
{
    const int64_t d = p->dims[n->dims + k];
    return careful_term(n->geometry, x[d * p->x_col], z[d * p->z_row], lengthscale_of(p, n, k, 0),
                        n->geometry == CT_SINE ? p->theta[n->extra] : 1, F64, by_x, turns);
}

/* The largest s of a node. */
static double far_s(const plan *p, const ct_cov_node *n)
{
    return n->tail == CT_HEAVY ? fmin(CT__FAR(F64), p->theta[n->extra] * (F64 ? DBL_MAX : FLT_MAX))
                               : CT__FAR(F64);
}

/* s of one pair as the sum of these. NaN if members are computed side by side, which fails the batch. */
static double careful_s(const plan *p, const ct_cov_node *n, const T *x, const T *z)
{
    const bool heavy = n->tail == CT_HEAVY && p->theta[n->extra] < CT__HEAVY(F64);
    double s = p->lanes > 1 ? NAN : 0, by_x, turns;
    for (int32_t k = 0; k < n->n_dims; k++) s += careful_part(p, n, k, x, z, &by_x, &turns);
    if (n->geometry == CT_DOT) return s;
    return s > CT__FAR(F64) && heavy ? NAN : s > far_s(p, n) ? far_s(p, n) : s;
}

/* s_j for CT_SINE or CT_DOT */
CT__INLINE void set_turns(const plan *p, const ct_cov_node *n, const T *x, const T *z, int64_t m, T *s)
{
    for (int64_t j = 0; j < m; j++) s[j] = 0;
    for (int32_t k = 0; k < n->n_dims; k++) {
        int64_t d = p->dims[n->dims + k];
        const T a = x[d * p->x_col], *b = z + d * p->z_row;
        T w = n->ard ? p->weight[n->dims + k] : 1;
        if (n->geometry == CT_SINE) {
            T period = p->theta[n->extra];
            for (int64_t j = 0; j < m; j++) {
                T square, unused;
                FN(ct__sine_square)((a - b[j]) / period, &square, &unused, FUSED);
                s[j] = FN(ct__mad)(square, w, s[j], FUSED);
            }
        } else {
            for (int64_t j = 0; j < m; j++) s[j] = FN(ct__mad)(a * b[j], w, s[j], FUSED);
        }
    }
}

/* Computes s on a strip. Returns whether some pair needed `careful`. */
CT__INLINE bool set_s(const plan *p, const ct_cov_node *n, const strip *t, T *s)
{
    const T *norm = p->norm[n - p->nodes], *z = p->z + t->j;
    const int64_t m = t->rows * t->width;
    for (int64_t r = 0; r < t->rows; r++) {
        const T *x = point(p, t->i + r);
        T *to = s + r * t->width;
        if (norm)
            set_distances(p, n, x, z, t->width, to, norm + t->j);
        else if (n->geometry == CT_DISTANCE || n->geometry == CT_DIFFER)
            set_differences(p, n, x, z, t->width, to);
        else
            set_turns(p, n, x, z, t->width, to);
    }
    const T far = (T)far_s(p, n);
    integer wild = 0;
    for (int64_t j = 0; j < m && !n->ard; j += L)
        VEC(s + j) = LOAD(s + j) * spread(p, p->weight + n->dims * p->lanes);
    for (int64_t j = 0; j < m; j++) wild |= !(FN(fabs)(s[j]) <= far);
    for (int64_t j = 0; j < m && wild; j++)
        if (!(FN(fabs)(s[j]) <= far))
            s[j] = (T)careful_s(p, n, point(p, t->i + j / t->width), z + j % t->width);
    return wild;
}

#include "covariance_index.h"

/* -- profiles -------------------------------------------------------------------------------------------- */

CT__INLINE T power(T x, int n)
{
    T y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

#define EXP(x)     FN(ct__exp)(x, FUSED)
#define LOG1P(x)   FN(ct__log1p)(x, FUSED)
#define SQRT(x)    FN(sqrt)(x)
#define SIN2PI(x)  FN(ct__sin2pi)(x, FUSED)
#define COS2PI(x)  FN(ct__cos2pi)(x, FUSED)
#define POWI(x, n) power(x, n)

/* A profile's values on a strip and, with `slopes`, ∂k/∂s and ∂k/∂a */
CT__INLINE void leaf(const plan *p, const ct_cov_node *n, const strip *t, node_space *w, T *value,
                     bool slopes)
{
    const int64_t m = t->rows * t->width;
    const T a = n->extra < 0 ? 1 : p->theta[n->extra];
    const int degree = n->degree;
    (void)degree;
    w->wild = false;
    if (n->code == CT_COV_CATEGORY && n->n_dims == 1 && one_category(p, n, t, w, value)) return;
    w->wild = set_s(p, n, t, w->s);
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

/* The values of all nodes on a strip; the root's go to `out`. */
static void node_values(const plan *p, node_space *w, const strip *t, T *out, bool slopes)
{
    const int64_t m = t->rows * t->width;
    for (int k = 0; k < p->n_nodes; k++) {
        const ct_cov_node *n = &p->nodes[k];
        T *restrict y = k == p->n_nodes - 1 ? out : w[k].value;
        if (n->code < CT_COV_PROFILES) {
            leaf(p, n, t, &w[k], y, slopes);
        } else if (n->code == CT_COV_CONSTANT) {
            for (int64_t j = 0; j < m; j += L) VEC(y + j) = spread(p, p->theta + n->extra * p->lanes);
        } else if (n->code == CT_COV_WHITE) {
            for (int64_t j = 0; j < m; j++) y[j] = 0;
            for (int64_t r = 0; r < t->rows && p->symmetric; r++)
                if (holds(t, t->i + r)) y[r * t->width + t->i + r - t->j] = p->theta[n->extra];
        } else if (n->code == CT_COV_INDEX) {
            index_strip(p, n, t, y);
        } else if (n->code == CT_COV_SCALE) {
            const T *b = w[n->right].value;
            for (int64_t j = 0; j < m; j += L)
                VEC(y + j) = spread(p, p->theta + n->extra * p->lanes) * LOAD(b + j);
        } else {
            const T *a = w[n->left].value, *b = w[n->right].value;
            if (n->code == CT_COV_SUM)
                for (int64_t j = 0; j < m; j++) y[j] = a[j] + b[j];
            else
                for (int64_t j = 0; j < m; j++) y[j] = a[j] * b[j];
        }
    }
}
