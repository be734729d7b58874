/* Vector code: the gradients of a strip of covariance_tile.h: K̄ contracted with the derivatives of K. */

typedef double lane_sums __attribute__((vector_size(L * sizeof(double)), aligned(sizeof(double)), may_alias));

/* Adds a vector to the L partial sums of an element of theta_bar. */
CT__INLINE void add_lanes(double *sums, vec v)
{
    *(lane_sums *)(void *)sums += __builtin_convertvector(v, lane_sums);
}

/* Σ a_j b_j as L partial sums, one for each lane */
CT__INLINE vec dot_lanes(const T *a, const T *b, int64_t m)
{
    vec sum = { 0 };
    for (int64_t j = 0; j < m; j += L) sum = MAD(LOAD(a + j), LOAD(b + j), sum);
    return sum;
}

CT__INLINE T total(vec v)
{
    for (int half = L / 2; half; half /= 2)
        for (int l = 0; l < half; l++) v[l] += v[l + half];
    return v[0];
}

/* leaf_bar for one row, pair by pair, from careful_part. Codes are equal here, or l is huge. */
static void careful_bar(const plan *p, const ct_cov_node *n, const T *x, const T *z, int64_t m, const T *g,
                        double *theta_bar, double *x_bar)
{
    for (int32_t k = 0; k < n->n_dims && n->geometry != CT_DIFFER; k++) {
        const double l = lengthscale_of(p, n, k, 0);
        double by_x = 0, by_l = 0, by_p = 0;
        for (int64_t j = 0; j < m; j++) {
            double slope, turns, part = careful_part(p, n, k, x, z + j, &slope, &turns);
            if (g[j] == 0) continue; /* k is flat here */
            if (n->geometry == CT_DISTANCE) part = fmin(part, CT__FAR(F64));
            slope *= g[j];
            by_x += slope;
            by_l -= 2 * g[j] * part / l;
            by_p -= slope == 0 ? 0 : slope * turns;
        }
        if (x_bar) x_bar[p->dims[n->dims + k]] += by_x;
        if (theta_bar && n->lengthscale >= 0) theta_bar[(n->lengthscale + (n->ard ? k : 0)) * L] += by_l;
        if (theta_bar && n->geometry == CT_SINE) theta_bar[n->extra * L] += by_p;
    }
}

/* A profile's backward rule: g = ȳ ∂k/∂s is passed on to the lengthscales, the period and x. For column d's
 * term of s, with δ = x_d - z_jd and w = 1/l²:
 *     distance  ∂s/∂l = -2 w δ²/l          ∂s/∂x = 2 w δ
 *     sine      ∂s/∂l = -2 w sin²(πδ/p)/l  ∂s/∂x = w (π/p) sin(2πδ/p)      ∂s/∂p = -w (πδ/p²) sin(2πδ/p)
 *     dot       ∂s/∂l = -2 w x z/l         ∂s/∂x = w z
 *     differ    ∂s/∂l = -w δ/l             ∂s/∂x = 0                       with δ = [x ≠ z], w = 1/l
 * length_bar has an entry for each active column, x_bar for each row's coordinates; either may be NULL. */

/* CT_DISTANCE and CT_DIFFER over `dims` active columns from the k-th on. */
CT__INLINE void distance_bar(const int dims, const bool differ, const plan *p, const ct_cov_node *n,
                             int32_t k, const strip *t, const T *g, double *length_bar, double *x_bar)
{
    const T *weight = p->weight + (n->dims + k) * p->lanes;
    const int32_t *d = p->dims + n->dims + k;
    vec by_l[4] = { 0 };
    for (int64_t r = 0; r < t->rows; r++, g += t->width) {
        const T *x = point(p, t->i + r), *b[4];
        vec a[4], by_x[4] = { 0 };
        UNROLL for (int i = 0; i < dims; i++)
        {
            a[i] = spread(p, x + d[i] * p->x_col);
            b[i] = p->z + d[i] * p->z_row + t->j;
        }
        for (int64_t j = 0; j < t->width; j += L) UNROLL for (int i = 0; i < dims; i++)
            {
                const vec difference = apart(differ, a[i], LOAD(b[i] + j)), h = LOAD(g + j) * difference;
                by_l[i] = MAD(h, difference, by_l[i]);
                if (x_bar) by_x[i] += h;
            }
        for (int i = 0; i < dims && x_bar; i++) x_bar[r * p->q->d + d[i]] += weight[i] * (2 * total(by_x[i]));
    }
    for (int i = 0; i < dims && length_bar; i++)
        add_lanes(length_bar + (k + i) * L, -(T)CT_COV_POWER(n->geometry) * spread(p, weight + i * p->lanes) /
                                                spread(p, p->theta + (n->lengthscale + k + i) * p->lanes) *
                                                by_l[i]);
}

/* CT_SINE and CT_DOT over the k-th active column of one row. */
CT__INLINE void turn_bar(const plan *p, const ct_cov_node *n, int32_t k, const T *x, const T *z, int64_t m,
                         node_space *w, const T *g, double *theta_bar, double *length_bar, double *x_bar)
{
    const int64_t d = p->dims[n->dims + k];
    const T a = x[d * p->x_col], *b = z + d * p->z_row, weight = p->weight[n->dims + k];
    T by_x = 0, by_l = 0, by_p = 0;
    if (n->geometry == CT_SINE) {
        T period = p->theta[n->extra];
        T *restrict square = w->value, *restrict slope = w->extra_slope;
        for (int64_t j = 0; j < m; j++)
            FN(ct__sine_square)((a - b[j]) / period, &square[j], &slope[j], FUSED);
        by_l = total(dot_lanes(g, square, m));
        for (int64_t j = 0; j < m; j++) slope[j] *= g[j];
#pragma omp simd reduction(+ : by_x, by_p)
        for (int64_t j = 0; j < m; j++) {
            by_x += slope[j];
            by_p += slope[j] * (a - b[j]);
        }
        by_p /= period;
        by_x = by_x * (T)CT__PI / period; /* in this order 0 stays 0 for any period */
        by_p = by_p * (T)CT__PI / period;
        if (theta_bar) theta_bar[n->extra * L] -= weight * by_p;
    } else {
#pragma omp simd reduction(+ : by_x)
        for (int64_t j = 0; j < m; j++) by_x += g[j] * b[j];
        by_l = by_x * a;
    }
    if (length_bar) length_bar[k * L] -= 2 * weight / p->theta[n->lengthscale + k] * by_l;
    if (x_bar) x_bar[d] += weight * by_x;
}

CT__INLINE void leaf_bar(const plan *p, const ct_cov_node *n, const strip *t, node_space *w, const T *y_bar,
                         double *theta_bar, double *x_bar)
{
    const int geometry = n->geometry;
    const int64_t m = t->rows * t->width;
    T *restrict g = w->slope;
    if (theta_bar && n->extra >= 0 && geometry != CT_SINE)
        add_lanes(theta_bar + n->extra * L, dot_lanes(y_bar, w->extra_slope, m));
    for (int64_t j = 0; j < m; j++) g[j] *= y_bar[j];
    const bool scaled = theta_bar && n->lengthscale >= 0;
    if (scaled && !n->ard && !w->wild)
        add_lanes(theta_bar + n->lengthscale * L, -(T)CT_COV_POWER(geometry) /
                                                      spread(p, p->theta + n->lengthscale * p->lanes) *
                                                      dot_lanes(g, w->s, m));
    double *length_bar = scaled && n->ard ? theta_bar + n->lengthscale * L : NULL;
    if (!w->wild && !length_bar && !x_bar && !(theta_bar && geometry == CT_SINE)) return;
    if (!w->wild && (geometry == CT_DISTANCE || geometry == CT_DIFFER)) {
        int32_t k = 0;
        const bool differ = geometry == CT_DIFFER;
        for (; k + 4 <= n->n_dims && !differ; k += 4)
            distance_bar(4, false, p, n, k, t, g, length_bar, x_bar);
        for (; k < n->n_dims && !differ; k++) distance_bar(1, false, p, n, k, t, g, length_bar, x_bar);
        for (; k < n->n_dims && length_bar; k++) distance_bar(1, true, p, n, k, t, g, length_bar, NULL);
        return;
    }
    for (int64_t r = 0; r < t->rows; r++, g += t->width) {
        const T *x = point(p, t->i + r), *z = p->z + t->j;
        double *at = x_bar ? x_bar + r * p->q->d : NULL;
        if (w->wild) careful_bar(p, n, x, z, t->width, g, theta_bar, at);
        for (int32_t k = 0; k < n->n_dims && !w->wild; k++)
            turn_bar(p, n, k, x, z, t->width, w, g, theta_bar, length_bar, at);
    }
}

/* Contracts K̄ on a strip with the derivatives of k: adds to theta_bar[P] and x_bar[rows][d], unless they are
 * NULL. */
static void strip_bar(const plan *p, node_space *w, const strip *t, const T *K_bar, double *theta_bar,
                      double *x_bar)
{
    const int64_t m = t->rows * t->width;
    int root = p->n_nodes - 1;
    node_values(p, w, t, w[root].value, true);
    w[root].y_bar = K_bar;
    for (int k = root; k >= 0; k--) {
        const ct_cov_node *n = &p->nodes[k];
        const T *y_bar = w[k].y_bar;
        switch (n->code) {
        case CT_COV_CONSTANT: {
            vec sum = { 0 };
            for (int64_t j = 0; j < m; j += L) sum += LOAD(y_bar + j);
            if (theta_bar) add_lanes(theta_bar + n->extra * L, sum);
            break;
        }
        case CT_COV_WHITE:
            for (int64_t r = 0; r < t->rows && theta_bar && p->symmetric; r++)
                if (holds(t, t->i + r)) theta_bar[n->extra * L] += y_bar[r * t->width + t->i + r - t->j];
            break;
        case CT_COV_INDEX:
            if (theta_bar) index_bars(p, n, t, y_bar, theta_bar);
            break;
        case CT_COV_SCALE: {
            if (theta_bar) add_lanes(theta_bar + n->extra * L, dot_lanes(y_bar, w[n->right].value, m));
            T *restrict b = w[n->right].bar;
            const vec v = spread(p, p->theta + n->extra * p->lanes);
            for (int64_t j = 0; j < m; j += L) VEC(b + j) = v * LOAD(y_bar + j);
            w[n->right].y_bar = b;
            break;
        }
        case CT_COV_SUM: w[n->left].y_bar = w[n->right].y_bar = y_bar; break;
        case CT_COV_PRODUCT: {
            T *restrict a = w[n->left].bar, *restrict b = w[n->right].bar;
            const T *av = w[n->left].value, *bv = w[n->right].value;
            for (int64_t j = 0; j < m; j++) a[j] = y_bar[j] * bv[j];
            for (int64_t j = 0; j < m; j++) b[j] = y_bar[j] * av[j];
            w[n->left].y_bar = a;
            w[n->right].y_bar = b;
            break;
        }
        default: leaf_bar(p, n, t, &w[k], y_bar, theta_bar, x_bar);
        }
    }
}
