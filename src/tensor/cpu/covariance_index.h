/* Vector code: strips of levels, CT_COV_CATEGORY of one column, and CT_COV_INDEX. */

/* CT_COV_CATEGORY of one column, with δ = [x ≠ z]: s = w δ, so one exponential serves all pairs, and
 * k = δ e⁻ʷ + (1 - δ) is exact. False if the weight is out of range. */
CT__INLINE bool one_category(const plan *p, const ct_cov_node *n, const strip *t, node_space *w, T *value)
{
    const int64_t column = p->dims[n->dims];
    const vec weight = spread(p, p->weight + n->dims * p->lanes);
    vec e = { 0 };
    bool good = true;
    for (int l = 0; l < L; l++) e[l] = FN(ct__exp)(-weight[l], FUSED), good = good && weight[l] == weight[l];
    for (int64_t r = 0, at = 0; r < t->rows && good; r++) {
        const vec x = spread(p, point(p, t->i + r) + column * p->x_col);
        const T *z = p->z + column * p->z_row + t->j;
        for (int64_t j = 0; j < t->width; j += L, at += L) {
            const vec d = apart(true, x, LOAD(z + j)), y = MAD(d, e, 1 - d);
            VEC(w->s + at) = weight * d;
            VEC(value + at) = y;
            VEC(w->slope + at) = -y;
        }
    }
    return good;
}

#define INDEX(name) index_##name
#define INDEX_FN    CT__INLINE
#include "tensor/covariance_index.h"
#undef INDEX
#undef INDEX_FN

CT__INLINE int slot_count(const ct_cov_node *n) { return n->levels + 2; }

/* Fills the table B and the slots of z's rows. */
static void tabulate(const plan *p, const ct_cov_node *n, const level_codes *c)
{
    const int slots = slot_count(n);
    const T *W = p->theta + n->extra, *code = p->z + p->dims[n->dims] * p->z_row;
    for (int i = 0; i < slots * slots; i++)
        c->table[i] = index_value(W, n->levels, n->degree, i / slots, i % slots);
    for (int64_t j = 0; j < p->z_row; j++) c->slot[j] = index_slot(code[j], n->levels);
}

CT__INLINE int row_slot(const plan *p, const ct_cov_node *n, int64_t i)
{
    return index_slot(point(p, i)[p->dims[n->dims] * p->x_col], n->levels);
}

CT__INLINE void index_strip(const plan *p, const ct_cov_node *n, const strip *t, T *restrict y)
{
    const level_codes *c = &p->codes[n - p->nodes];
    for (int64_t r = 0; r < t->rows; r++) {
        const T *row = c->table + row_slot(p, n, t->i + r) * slot_count(n);
        const integer *slot = c->slot + t->j;
        for (int64_t j = 0; j < t->width; j++) y[r * t->width + j] = row[slot[j]];
    }
}

/* B̄_ab = Σ ȳ over the pairs in slots a and b; all pairs of a row have the same a. Each sum is kept as four
 * partial sums, so that an addition need not wait for the previous one. */
CT__INLINE void index_bars(const plan *p, const ct_cov_node *n, const strip *t, const T *y_bar,
                           double *theta_bar)
{
    const T *W = p->theta + n->extra;
    T sums[4 * (CT_COV_MOST_LEVELS + 2)];
    for (int64_t r = 0; r < t->rows; r++, y_bar += t->width) {
        const integer *slot = p->codes[n - p->nodes].slot + t->j;
        const int a = row_slot(p, n, t->i + r);
        memset(sums, 0, 4 * (size_t)slot_count(n) * sizeof *sums);
        for (int64_t j = 0; j < t->width; j += 4)
            UNROLL for (int k = 0; k < 4; k++) sums[4 * slot[j + k] + k] += y_bar[j + k];
        for (int b = 0; b <= n->levels; b++) {
            const T *s = sums + 4 * b, h = (s[0] + s[1]) + (s[2] + s[3]);
            if (h != 0) index_bar(W, n->levels, n->degree, a, b, (double)h, theta_bar + n->extra * L, L);
        }
    }
}
