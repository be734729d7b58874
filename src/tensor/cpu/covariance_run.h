/* Whole covariance matrices and their gradients from tiles, for each type and instruction set
 * (each_isa.h). */
#include "covariance_tile.h"

#include "covariance_bar.h"

/* One block of memory from the pool, cut into pieces. */
typedef struct NAME(room) {
    T *weight, *theta, *z, *norm, *tile;
    const T **norm_of;
    NAME(node_space) * space;
    const T **bar;
    double *theta_bar, *x_bar;
} NAME(room);

/* Sets the pieces where `block` is not NULL; returns their size. */
static size_t NAME(cut)(char *block, const problem *q, bool bars, NAME(room) * r)
{
    size_t used = 0, threads = (size_t)q->threads, nodes = (size_t)q->program->n_nodes;
    r->weight = ct__take(block, &used, (size_t)q->program->n_dims * sizeof(T));
    r->theta = ct__take(block, &used, (size_t)q->program->n_params * sizeof(T));
    r->z = ct__take(block, &used, (size_t)q->d * (size_t)q->z_row * sizeof(T));
    size_t norms = 0;
    for (size_t k = 0; k < nodes; k++) norms += by_products(&ct_cov_nodes(q->program)[k], sizeof(T));
    r->norm = ct__take(block, &used, norms * (size_t)q->z_row * sizeof(T));
    r->norm_of = ct__take(block, &used, nodes * sizeof(T *));
    r->tile = ct__take(block, &used, threads * CT__COV_ROWS * CT__COV_PITCH * sizeof(T));
    r->space = ct__take(block, &used, threads * nodes * sizeof(NAME(node_space)));
    r->bar = ct__take(block, &used, threads * nodes * sizeof(T *));
    r->theta_bar =
        ct__take(block, &used, bars ? (size_t)q->blocks * (size_t)q->program->n_params * sizeof(double) : 0);
    r->x_bar = ct__take(block, &used, bars ? threads * CT__COV_ROWS * (size_t)q->d * sizeof(double) : 0);
    return used;
}

/* norm_j = Σ w z_j², less the common weight as the distances */
static void NAME(sum_squares)(const ct_cov_node *n, const int32_t *dims, const T *weight, const T *z,
                              int64_t z_row, T *norm)
{
    for (int64_t j = 0; j < z_row; j++) norm[j] = 0;
    for (int32_t k = n->dims; k < n->dims + n->n_dims; k++) {
        const T *row = z + dims[k] * z_row, w = n->ard ? weight[k] : 1;
        for (int64_t j = 0; j < z_row; j++) norm[j] += w * row[j] * row[j];
    }
}

static size_t NAME(room_of)(const problem *q, bool bars)
{
    NAME(room) r;
    return NAME(cut)(NULL, q, bars, &r);
}

static NAME(plan) NAME(prepare)(const problem *q, const NAME(room) * r)
{
    const ct_cov_program *program = q->program;
    const ct_cov_node *nodes = ct_cov_nodes(program);
    const T *theta = q->theta->data, *z = q->z->data;
    for (int32_t i = 0; i < program->n_params; i++) r->theta[i] = theta[i * q->theta->stride[0]];
    for (int32_t k = 0; k < program->n_nodes; k++) {
        const ct_cov_node *n = &nodes[k];
        if (n->code >= CT_COV_PROFILES) continue;
        for (int32_t i = 0; i < n->n_dims; i++) {
            double l = n->lengthscale < 0 ? 1 : r->theta[n->lengthscale + (n->ard ? i : 0)];
            double w = 1 / (l * l);
            r->weight[n->dims + i] = (T)(w <= CT__STEEP(F64) && w >= 1 / CT__STEEP(F64) ? w : NAN);
        }
    }
    for (int64_t d = 0; d < q->d; d++) {
        T *row = r->z + d * q->z_row;
        for (int64_t j = 0; j < q->m; j++) row[j] = z[j * q->z->stride[0] + d * q->z->stride[1]];
        for (int64_t j = q->m; j < q->z_row; j++) row[j] = row[q->m - 1];
    }
    T *norm = r->norm;
    for (int32_t k = 0; k < program->n_nodes; k++) {
        r->norm_of[k] = NULL;
        if (!by_products(&nodes[k], sizeof(T))) continue;
        NAME(sum_squares)(&nodes[k], ct_cov_dims(program), r->weight, r->z, q->z_row, norm);
        r->norm_of[k] = norm;
        norm += q->z_row;
    }
    return (NAME(plan)){ .nodes = nodes,
                         .dims = ct_cov_dims(program),
                         .n_nodes = program->n_nodes,
                         .symmetric = q->symmetric,
                         .theta = r->theta,
                         .weight = r->weight,
                         .x = q->x->data,
                         .x_row = q->x->stride[0],
                         .x_col = q->x->stride[1],
                         .z = r->z,
                         .z_row = q->z_row,
                         .norm = r->norm_of };
}

/* -- values ---------------------------------------------------------------------------------------------- */

/* The part of a tile on and below the diagonal, and its mirror image. */
static void NAME(mirrored_tile)(const NAME(plan) * p, NAME(node_space) * w, T *tile, int64_t i0, int64_t i1,
                                int64_t j0, int64_t j1, T *K, int64_t ld)
{
    for (int64_t i = i0; i < i1; i++) {
        int64_t width = (j1 < i + 1 ? j1 : i + 1) - j0;
        if (width <= 0) continue;
        T *row = tile + (i - i0) * CT__COV_PITCH;
        NAME(tile)(p, w, i, i + 1, j0, whole(width), row, CT__COV_PITCH);
        memcpy(K + i * ld + j0, row, (size_t)width * sizeof(T));
    }
    for (int64_t j = j0; j < j1 && j < i1; j++)
        for (int64_t i = i0 > j ? i0 : j; i < i1; i++)
            K[j * ld + i] = tile[(i - i0) * CT__COV_PITCH + j - j0];
}

/* The part of a tile in one triangle, the diagonal included; the other one is not touched. */
static void NAME(triangle_tile)(const NAME(plan) * p, NAME(node_space) * w, T *row, int64_t i0, int64_t i1,
                                int64_t j0, int64_t j1, T *K, int64_t ld, bool upper)
{
    bool inside = upper ? j0 + 1 >= i1 : j1 <= i0 + 1;
    if (inside) {
        NAME(tile)(p, w, i0, i1, j0, j1 - j0, K + i0 * ld + j0, ld);
        return;
    }
    for (int64_t i = i0; i < i1; i++) {
        int64_t from = upper && i > j0 ? i : j0, to = upper || i + 1 > j1 ? j1 : i + 1;
        if (to <= from) continue;
        NAME(tile)(p, w, i, i + 1, from, whole(to - from), row, CT__COV_PITCH);
        memcpy(K + i * ld + from, row, (size_t)(to - from) * sizeof(T));
    }
}

/* What one thread does of the whole: tiles, as they come. */
static void NAME(forward_part)(const problem *q, const NAME(plan) * p, const NAME(room) * r, int part,
                               atomic_llong *next, T *K, int64_t ld, bool upper)
{
    NAME(node_space) *w = r->space + (int64_t)part * p->n_nodes;
    T *tile = r->tile + (int64_t)part * CT__COV_ROWS * CT__COV_PITCH;
    const int64_t across = (q->m + CT__COV_WIDTH - 1) / CT__COV_WIDTH, tasks = q->blocks * across;
    for (int64_t task; (task = atomic_fetch_add(next, 1)) < tasks;) {
        int64_t reversed = tasks - 1 - task, i0 = reversed / across * CT__COV_ROWS,
                j0 = reversed % across * CT__COV_WIDTH;
        int64_t i1 = i0 + CT__COV_ROWS < q->n ? i0 + CT__COV_ROWS : q->n,
                j1 = j0 + CT__COV_WIDTH < q->m ? j0 + CT__COV_WIDTH : q->m;
        if (!q->symmetric)
            NAME(tile)(p, w, i0, i1, j0, j1 - j0, K + i0 * ld + j0, ld);
        else if (q->lower)
            NAME(triangle_tile)(p, w, tile, i0, i1, j0, j1, K, ld, upper);
        else if (j0 < i1)
            NAME(mirrored_tile)(p, w, tile, i0, i1, j0, j1, K, ld);
    }
}

/* K: row i begins at K + i * ld */
static void NAME(forward)(const problem *q, char *block, void *K, int64_t ld, bool upper)
{
    NAME(room) r;
    NAME(cut)(block, q, false, &r);
    const NAME(plan) p = NAME(prepare)(q, &r);
    atomic_llong next = 0;
    if (q->threads == 1) {
        NAME(forward_part)(q, &p, &r, 0, &next, K, ld, upper);
        return;
    }
    ct__meeting end = CT__MEETING;
#pragma omp parallel num_threads(q->threads)
    {
#pragma omp for schedule(static) nowait
        for (int part = 0; part < q->threads; part++)
            NAME(forward_part)(q, &p, &r, part, &next, K, ld, upper);
        ct__meet(&end);
    }
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
    int64_t below = j1 < i0 ? j1 : i0; /* columns that lie below the diagonal in every row */
    if (below > j0) {
        NAME(load)(dst, M + i0 * rs + j0 * cs, rs, cs, i1 - i0, below - j0, false);
        for (int64_t i = i0; i < i1; i++)
            for (int64_t j = j0; j < below; j++) dst[(i - i0) * CT__COV_PITCH + j - j0] *= 2;
    }
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = below > j0 ? below : j0; j < j1; j++)
            dst[(i - i0) * CT__COV_PITCH + j - j0] = 2 * (j <= i ? M[i * rs + j * cs] : M[j * rs + i * cs]);
}

/* A tile of K̄, plus in the symmetric case its mirror image. */
static void NAME(load_bar)(T *tile, const problem *q, const ct_cov_bar *K_bar, int64_t i0, int64_t i1,
                           int64_t j0, int64_t j1)
{
    const T *M = K_bar->M->data;
    int64_t rs = K_bar->M->stride[0], cs = K_bar->M->stride[1];
    if (q->lower) {
        NAME(load_lower)(tile, M, rs, cs, i0, i1, j0, j1);
    } else {
        NAME(load)(tile, M + i0 * rs + j0 * cs, rs, cs, i1 - i0, j1 - j0, false);
        if (q->symmetric) NAME(load)(tile, M + j0 * rs + i0 * cs, cs, rs, i1 - i0, j1 - j0, true);
    }
    if (!K_bar->u && K_bar->alpha == 1) return;
    const T alpha = (T)K_bar->alpha, *u = K_bar->u ? K_bar->u->data : NULL, *v = u ? K_bar->v->data : NULL;
    int64_t us = u ? K_bar->u->stride[0] : 0, vs = u ? K_bar->v->stride[0] : 0;
    for (int64_t i = i0; i < i1; i++) {
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
static void NAME(backward_part)(const problem *q, const NAME(plan) * p, const NAME(room) * r, int part,
                                atomic_llong *next, const ct_cov_bar *K_bar, bool add, ct_view *x_bar)
{
    const int64_t n_params = q->program->n_params;
    const bool lower = q->symmetric && !x_bar;
    NAME(node_space) *w = r->space + (int64_t)part * p->n_nodes;
    const T **bar = r->bar + (int64_t)part * p->n_nodes;
    T *tile = r->tile + (int64_t)part * CT__COV_ROWS * CT__COV_PITCH;
    double *xb = x_bar ? r->x_bar + (int64_t)part * CT__COV_ROWS * q->d : NULL;
    for (int64_t task; (task = atomic_fetch_add(next, 1)) < q->blocks;) {
        int64_t number = q->blocks - 1 - task, i0 = number * CT__COV_ROWS;
        int64_t i1 = i0 + CT__COV_ROWS < q->n ? i0 + CT__COV_ROWS : q->n, end = lower ? i1 : q->m;
        double *tb = r->theta_bar ? r->theta_bar + number * n_params : NULL;
        if (xb) memset(xb, 0, (size_t)(CT__COV_ROWS * q->d) * sizeof *xb);
        for (int64_t j0 = 0; j0 < end; j0 += CT__COV_WIDTH) {
            int64_t j1 = j0 + CT__COV_WIDTH < end ? j0 + CT__COV_WIDTH : end;
            NAME(load_bar)(tile, q, K_bar, i0, i1, j0, j1);
            for (int64_t i = i0; i < i1; i++) {
                T *row = tile + (i - i0) * CT__COV_PITCH;
                int64_t width = (lower && i + 1 < j1 ? i + 1 : j1) - j0;
                if (width <= 0) continue;
                if (lower && i >= j0 && i < j1) row[i - j0] /= 2;
                for (int64_t j = width; j < whole(width); j++) row[j] = 0;
                NAME(row_bar)(p, w, i, j0, whole(width), row, tb, xb ? xb + (i - i0) * q->d : NULL, bar);
            }
        }
        for (int64_t i = i0; xb && i < i1; i++)
            for (int64_t d = 0; d < q->d; d++) {
                T *out = (T *)x_bar->data + i * x_bar->stride[0] + d * x_bar->stride[1];
                *out = (T)(xb[(i - i0) * q->d + d] + (add ? *out : 0));
            }
    }
}

static void NAME(backward)(const problem *q, char *block, const ct_cov_bar *K_bar, bool add,
                           ct_view *theta_bar, ct_view *x_bar)
{
    NAME(room) r;
    NAME(cut)(block, q, true, &r);
    const NAME(plan) p = NAME(prepare)(q, &r);
    int64_t n_params = q->program->n_params;
    if (theta_bar)
        memset(r.theta_bar, 0, (size_t)(q->blocks * n_params) * sizeof *r.theta_bar);
    else
        r.theta_bar = NULL;
    atomic_llong next = 0;
    if (q->threads == 1) {
        NAME(backward_part)(q, &p, &r, 0, &next, K_bar, add, x_bar);
    } else {
        ct__meeting end = CT__MEETING;
#pragma omp parallel num_threads(q->threads)
        {
#pragma omp for schedule(static) nowait
            for (int part = 0; part < q->threads; part++)
                NAME(backward_part)(q, &p, &r, part, &next, K_bar, add, x_bar);
            ct__meet(&end);
        }
    }
    double share = q->symmetric && x_bar ? 0.5 : 1;
    for (int64_t k = 0; theta_bar && k < n_params; k++) {
        double sum = 0;
        for (int64_t b = 0; b < q->blocks; b++) sum += r.theta_bar[b * n_params + k];
        T *out = (T *)theta_bar->data + k * theta_bar->stride[0];
        *out = (T)(share * sum + (add ? *out : 0));
    }
}
