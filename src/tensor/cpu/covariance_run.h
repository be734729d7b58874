/* Whole covariance matrices and their gradients from tiles, for each type and instruction set
 * (each_isa.h). */
#include "covariance_tile.h"

#include "covariance_bar.h"

/* -- plans ----------------------------------------------------------------------------------------------- */

/* Cuts the plan's arrays out of a block, where that is not NULL; returns their size. */
static size_t NAME(cut)(const problem *q, char *block, NAME(plan) * p)
{
    const size_t threads = (size_t)q->threads, nodes = (size_t)q->program->n_nodes,
                 params = (size_t)q->program->n_params, d = (size_t)q->d, row = (size_t)q->z_row * sizeof(T);
    size_t used = 0, norms = 0;
    for (size_t k = 0; k < nodes; k++) norms += by_products(&ct_cov_nodes(q->program)[k], sizeof(T));
    p->weight = ct__take(block, &used, (size_t)q->program->n_dims * sizeof(T));
    p->theta = ct__take(block, &used, params * sizeof(T));
    p->z = ct__take(block, &used, d * row);
    p->norms = ct__take(block, &used, norms * row);
    p->norm = ct__take(block, &used, nodes * sizeof(T *));
    p->tile = ct__take(block, &used, threads * CT__COV_ROWS * CT__COV_PITCH * sizeof(T));
    p->space = ct__take(block, &used, threads * nodes * sizeof(NAME(node_space)));
    if (q->theta_bar) p->theta_bar = ct__take(block, &used, (size_t)q->blocks * params * sizeof(double));
    if (q->x_bar) p->x_bar = ct__take(block, &used, threads * CT__COV_ROWS * d * sizeof(double));
    return used;
}

static size_t NAME(room_of)(const problem *q)
{
    NAME(plan) p;
    return NAME(cut)(q, NULL, &p);
}

/* norm_j = Σ w z_j², less the common weight as the distances */
static void NAME(sum_squares)(const NAME(plan) * p, const ct_cov_node *n, T *norm)
{
    for (int64_t j = 0; j < p->z_row; j++) norm[j] = 0;
    for (int32_t k = n->dims; k < n->dims + n->n_dims; k++) {
        const T *row = p->z + p->dims[k] * p->z_row, w = n->ard ? p->weight[k] : 1;
        for (int64_t j = 0; j < p->z_row; j++) norm[j] += w * row[j] * row[j];
    }
}

static NAME(plan) NAME(prepare)(problem *q, char *block)
{
    NAME(plan)
    p = { .q = q,
          .nodes = ct_cov_nodes(q->program),
          .dims = ct_cov_dims(q->program),
          .n_nodes = q->program->n_nodes,
          .symmetric = q->symmetric,
          .x = q->x->data,
          .x_row = q->x->stride[0],
          .x_col = q->x->stride[1],
          .z_row = q->z_row };
    NAME(cut)(q, block, &p);
    const T *theta = q->theta->data, *z = q->z->data;
    for (int32_t i = 0; i < q->program->n_params; i++) p.theta[i] = theta[i * q->theta->stride[0]];
    for (int64_t d = 0; d < q->d; d++) {
        T *row = p.z + d * q->z_row;
        for (int64_t j = 0; j < q->m; j++) row[j] = z[j * q->z->stride[0] + d * q->z->stride[1]];
        for (int64_t j = q->m; j < q->z_row; j++) row[j] = row[q->m - 1];
    }
    T *norm = p.norms;
    for (int32_t k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &p.nodes[k];
        for (int32_t i = 0; i < n->n_dims && n->code < CT_COV_PROFILES; i++) {
            const double l = NAME(lengthscale)(&p, n, i), w = 1 / (l * l);
            p.weight[n->dims + i] = (T)(w <= CT__STEEP(F64) && w >= 1 / CT__STEEP(F64) ? w : NAN);
        }
        p.norm[k] = by_products(n, sizeof(T)) ? norm : NULL;
        if (!p.norm[k]) continue;
        NAME(sum_squares)(&p, n, norm);
        norm += q->z_row;
    }
    return p;
}

/* -- values ---------------------------------------------------------------------------------------------- */

/* The part of a tile on one side of the diagonal, which is included; its mirror image, too, where the matrix
 * is wanted whole. */
static void NAME(symmetric_tile)(const NAME(plan) * p, NAME(node_space) * w, T *tile, int64_t i0, int64_t i1,
                                 int64_t j0, int64_t j1)
{
    const bool mirrored = !p->q->lower, upper = p->q->upper;
    const int64_t ld = p->q->ld;
    T *K = p->q->K;
    if (!mirrored && (upper ? j0 + 1 >= i1 : j1 <= i0 + 1)) {
        NAME(tile)(p, w, i0, i1, j0, j1 - j0, K + i0 * ld + j0, ld);
        return;
    }
    for (int64_t i = i0; i < i1; i++) {
        const int64_t from = upper ? ct__max(i, j0) : j0, to = upper ? j1 : ct__min(i + 1, j1);
        if (to <= from) continue;
        T *row = tile + (i - i0) * CT__COV_PITCH;
        NAME(tile)(p, w, i, i + 1, from, whole(to - from), row, CT__COV_PITCH);
        memcpy(K + i * ld + from, row, (size_t)(to - from) * sizeof(T));
    }
    for (int64_t j = j0; mirrored && j < ct__min(j1, i1); j++)
        for (int64_t i = ct__max(i0, j); i < i1; i++) K[j * ld + i] = tile[(i - i0) * CT__COV_PITCH + j - j0];
}

/* What one thread does of the whole: tiles, as they come. */
static void NAME(forward_part)(const void *plan, int part)
{
    const NAME(plan) *p = plan;
    problem *q = p->q;
    NAME(node_space) *w = p->space + (int64_t)part * p->n_nodes;
    T *tile = p->tile + (int64_t)part * CT__COV_ROWS * CT__COV_PITCH, *K = q->K;
    const int64_t across = (q->m + CT__COV_WIDTH - 1) / CT__COV_WIDTH, tasks = q->blocks * across;
    for (int64_t task; (task = atomic_fetch_add(&q->next, 1)) < tasks;) {
        const int64_t reversed = tasks - 1 - task, i0 = reversed / across * CT__COV_ROWS,
                      j0 = reversed % across * CT__COV_WIDTH, i1 = ct__min(i0 + CT__COV_ROWS, q->n),
                      j1 = ct__min(j0 + CT__COV_WIDTH, q->m);
        if (!q->symmetric)
            NAME(tile)(p, w, i0, i1, j0, j1 - j0, K + i0 * q->ld + j0, q->ld);
        else if (q->lower || j0 < i1)
            NAME(symmetric_tile)(p, w, tile, i0, i1, j0, j1);
    }
}

static void NAME(forward)(problem *q, char *block)
{
    const NAME(plan) p = NAME(prepare)(q, block);
    each_part(q->threads, NAME(forward_part), &p);
}

/* -- gradients ------------------------------------------------------------------------------------------- */

/* dst[i * CT__COV_PITCH + j] (+)= src[i * rs + j * cs] */
static void NAME(load)(T *dst, const T *src, int64_t rs, int64_t cs, int64_t rows, int64_t cols, bool add)
{
    bool by_row = cs <= rs;
    for (int64_t a = 0; a < (by_row ? rows : cols); a++) {
        for (int64_t b = 0; b < (by_row ? cols : rows); b++) {
            int64_t i = by_row ? a : b, j = by_row ? b : a;
            T value = src[i * rs + j * cs];
            dst[i * CT__COV_PITCH + j] = add ? dst[i * CT__COV_PITCH + j] + value : value;
        }
    }
}

/* dst[i * CT__COV_PITCH + j] = M_ij + M_ji, given the lower triangle of M; (i0, j0) is the tile's first
 * element */
static void NAME(load_lower)(T *dst, const T *M, int64_t rs, int64_t cs, int64_t i0, int64_t i1, int64_t j0,
                             int64_t j1)
{
    /* columns before this one lie below the diagonal in every row */
    const int64_t below = ct__max(j0, ct__min(j1, i0));
    NAME(load)(dst, M + i0 * rs + j0 * cs, rs, cs, i1 - i0, below - j0, false);
    for (int64_t i = i0; i < i1; i++) {
        T *row = dst + (i - i0) * CT__COV_PITCH;
        for (int64_t j = 0; j < below - j0; j++) row[j] *= 2;
        for (int64_t j = below; j < j1; j++)
            row[j - j0] = 2 * (j <= i ? M[i * rs + j * cs] : M[j * rs + i * cs]);
    }
}

/* A tile of K̄, plus in the symmetric case its mirror image. */
static void NAME(load_bar)(T *tile, const problem *q, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const ct_cov_bar *K_bar = q->K_bar;
    const T *M = K_bar->M.data, alpha = (T)K_bar->alpha, *u = K_bar->u.data, *v = K_bar->v.data;
    const int64_t rs = K_bar->M.stride[0], cs = K_bar->M.stride[1], us = u ? K_bar->u.stride[0] : 0,
                  vs = u ? K_bar->v.stride[0] : 0;
    if (q->lower)
        NAME(load_lower)(tile, M, rs, cs, i0, i1, j0, j1);
    else
        NAME(load)(tile, M + i0 * rs + j0 * cs, rs, cs, i1 - i0, j1 - j0, false);
    if (q->symmetric && !q->lower) NAME(load)(tile, M + j0 * rs + i0 * cs, cs, rs, i1 - i0, j1 - j0, true);
    for (int64_t i = i0; i < i1 && (u || alpha != 1); i++) {
        T *row = tile + (i - i0) * CT__COV_PITCH;
        if (u && !q->symmetric)
            for (int64_t j = j0; j < j1; j++) row[j - j0] -= u[i * us] * v[j * vs];
        else if (u)
            for (int64_t j = j0; j < j1; j++) row[j - j0] -= u[i * us] * v[j * vs] + u[j * us] * v[i * vs];
        for (int64_t j = j0; j < j1; j++) row[j - j0] *= alpha;
    }
}

/* What one thread does of the whole: blocks of rows, as they come. In the symmetric case the derivatives of
 * k_ij and k_ji are the same, so K̄ + K̄ᵀ meets the lower triangle alone. With X_bar each row is wanted
 * whole: theta_bar comes out twice, then. */
static void NAME(backward_part)(const void *plan, int part)
{
    const NAME(plan) *p = plan;
    problem *q = p->q;
    const bool lower = q->symmetric && !q->x_bar;
    NAME(node_space) *w = p->space + (int64_t)part * p->n_nodes;
    T *tile = p->tile + (int64_t)part * CT__COV_ROWS * CT__COV_PITCH;
    double *xb = p->x_bar ? p->x_bar + (int64_t)part * CT__COV_ROWS * q->d : NULL;
    for (int64_t task; (task = atomic_fetch_add(&q->next, 1)) < q->blocks;) {
        const int64_t number = q->blocks - 1 - task, i0 = number * CT__COV_ROWS,
                      i1 = ct__min(i0 + CT__COV_ROWS, q->n), end = lower ? i1 : q->m;
        double *tb = p->theta_bar ? p->theta_bar + number * q->program->n_params : NULL;
        if (xb) memset(xb, 0, (size_t)(CT__COV_ROWS * q->d) * sizeof *xb);
        for (int64_t j0 = 0; j0 < end; j0 += CT__COV_WIDTH) {
            const int64_t j1 = ct__min(j0 + CT__COV_WIDTH, end);
            NAME(load_bar)(tile, q, i0, i1, j0, j1);
            for (int64_t i = i0; i < i1; i++) {
                T *row = tile + (i - i0) * CT__COV_PITCH;
                const int64_t width = (lower ? ct__min(i + 1, j1) : j1) - j0;
                if (width <= 0) continue;
                if (lower && i >= j0 && i < j1) row[i - j0] /= 2;
                for (int64_t j = width; j < whole(width); j++) row[j] = 0;
                NAME(row_bar)(p, w, i, j0, whole(width), row, tb, xb ? xb + (i - i0) * q->d : NULL);
            }
        }
        for (int64_t i = i0; xb && i < i1; i++)
            for (int64_t d = 0; d < q->d; d++) {
                T *out = (T *)q->x_bar->data + i * q->x_bar->stride[0] + d * q->x_bar->stride[1];
                *out = (T)(xb[(i - i0) * q->d + d] + (q->add ? *out : 0));
            }
    }
}

static void NAME(backward)(problem *q, char *block)
{
    const NAME(plan) p = NAME(prepare)(q, block);
    const int64_t n_params = q->program->n_params;
    if (q->theta_bar) memset(p.theta_bar, 0, (size_t)(q->blocks * n_params) * sizeof *p.theta_bar);
    each_part(q->threads, NAME(backward_part), &p);
    for (int64_t k = 0; q->theta_bar && k < n_params; k++) {
        double sum = 0;
        for (int64_t b = 0; b < q->blocks; b++) sum += p.theta_bar[b * n_params + k];
        T *out = (T *)q->theta_bar->data + k * q->theta_bar->stride[0];
        *out = (T)((q->symmetric && q->x_bar ? 0.5 : 1) * sum + (q->add ? *out : 0));
    }
}
