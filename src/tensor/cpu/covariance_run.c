/* Vector code: assembles covariance matrices and their gradients from tiles. */
#include "covariance_run.h"
#include "kernel/vector.h"

#include <float.h>

#include "covariance_tile.h"

#include "covariance_bar.h"

/* Numbers in a cache line, a multiple of the vector length. */
#define GROUP (CT__ALIGNMENT / (int64_t)sizeof(T))

/* The columns of [j0, j1) that are computed in row i */
static int64_t first_column(const ct__cov_problem *q, int64_t i, int64_t j0)
{
    return q->clip == CT__COV_UPPER ? ct__max(i, j0) : j0;
}

static int64_t end_column(const ct__cov_problem *q, int64_t i, int64_t j1)
{
    return q->clip == CT__COV_LOWER ? ct__min(i + 1, j1) : j1;
}

/* The strip that begins in row i: as many of the rows [i, i1) as fit, and what is computed of the columns
 * [j0, j1), in whole groups. In a triangle only rows of similar length share a strip. */
static strip strip_from(const ct__cov_problem *q, int64_t i, int64_t i1, int64_t j0, int64_t j1,
                        int64_t group)
{
    const int64_t most = ct__min(i1 - i, q->clip == CT__COV_ALL ? i1 - i : group), j = first_column(q, i, j0);
    const int64_t width = ct__cov_whole(end_column(q, i + most - 1, j1) - j, group);
    const int64_t rows = width > 0 ? ct__max(1, ct__min(most, CT__COV_WIDTH / width)) : most;
    return (strip){ i, rows, j, ct__cov_whole(end_column(q, i + rows - 1, j1) - j, group) };
}

/* -- plans ----------------------------------------------------------------------------------------------- */

/* Divides `block` (NULL: only measures) among the plan's arrays. Returns the bytes needed. */
static size_t cut(const ct__cov_problem *q, char *block, plan *p)
{
    const size_t threads = (size_t)q->threads, nodes = (size_t)q->program->n_nodes, n = (size_t)q->n,
                 params = (size_t)q->program->n_params, d = (size_t)q->d, row = (size_t)q->z_row * sizeof(T),
                 element = (size_t)q->lanes * sizeof(T);
    size_t used = 0, norms = 0;
    for (size_t k = 0; k < nodes; k++) norms += ct__cov_by_products(&ct_cov_nodes(q->program)[k], sizeof(T));
    p->weight = ct__take(block, &used, (size_t)q->program->n_dims * element);
    p->theta = ct__take(block, &used, params * element);
    p->z = ct__take(block, &used, d * row);
    p->norms = ct__take(block, &used, norms * row);
    if (q->K_bar && q->K_bar->u.storage) {
        p->u = ct__take(block, &used, (size_t)q->n * sizeof(T));
        p->v = ct__take(block, &used, (size_t)q->m * sizeof(T));
    }
    p->norm = ct__take(block, &used, nodes * sizeof(T *));
    p->codes = ct__take(block, &used, nodes * sizeof(level_codes));
    for (size_t k = 0; k < nodes; k++) {
        const ct_cov_node *node = &ct_cov_nodes(q->program)[k];
        if (node->code != CT_COV_INDEX) continue;
        const size_t slots = (size_t)slot_count(node);
        const level_codes codes = { .table = ct__take(block, &used, slots * slots * sizeof(T)),
                                    .slot = ct__take(block, &used, (size_t)q->z_row * sizeof(integer)) };
        if (block) p->codes[k] = codes;
    }
    p->space = ct__take(block, &used, threads * nodes * sizeof(node_space));
    if (q->theta_bar) p->theta_bar = ct__take(block, &used, (size_t)q->blocks * params * sizeof(lane_sums));
    if (q->x_bar) p->x_bar = ct__take(block, &used, threads * CT__COV_ROWS * d * sizeof(double));
    if (q->alpha) p->A = ct__take(block, &used, (n + 1) * (n + 2) / 2 * element);
    return used;
}

static size_t workspace_of(const ct__cov_problem *q)
{
    plan p;
    return cut(q, NULL, &p);
}

/* norm_j = Σ w z_j². A weight common to all columns is left out, as in `distances`: geometry multiplies by
 * it. */
static void sum_squares(const plan *p, const ct_cov_node *n, T *norm)
{
    for (int64_t j = 0; j < p->z_row; j++) norm[j] = 0;
    for (int32_t k = n->dims; k < n->dims + n->n_dims; k++) {
        const T *row = p->z + p->dims[k] * p->z_row, w = n->ard ? p->weight[k] : 1;
        for (int64_t j = 0; j < p->z_row; j++) norm[j] += w * row[j] * row[j];
    }
}

/* Copies `count` elements of t, along dimension `dim` and beginning at offset `at`, of the members from
 * `first` on, to lanes (count, lanes). With a nonzero sign copies them back, times the sign. Lanes beyond the
 * last member repeat it. */
CT__INLINE void move(const ct__cov_problem *q, const ct_view *t, int64_t first, int64_t at, int64_t count,
                     int dim, T *lanes, T sign)
{
    const int64_t step = t->stride[t->ndim + dim];
    for (int64_t l = 0; l < q->lanes; l++) {
        T *x = (T *)t->data + at + ct__member_offset(t, q->x, ct__min(first + l, q->members - 1));
        for (int64_t i = 0; i < count && sign == 0; i++) lanes[i * q->lanes + l] = x[i * step];
        for (int64_t i = 0; i < count && sign != 0; i++) x[i * step] = sign * lanes[i * q->lanes + l];
    }
}

static plan prepare(ct__cov_problem *q, char *block, int64_t first)
{
    plan p = { .q = q,
               .nodes = ct_cov_nodes(q->program),
               .dims = ct_cov_dims(q->program),
               .n_nodes = q->program->n_nodes,
               .lanes = q->lanes,
               .symmetric = q->symmetric,
               .x = q->x->data,
               .x_row = q->x->stride[q->x->ndim - 2],
               .x_col = q->x->stride[q->x->ndim - 1],
               .z_row = q->z_row };
    cut(q, block, &p);
    move(q, q->theta, first, 0, q->program->n_params, -1, p.theta, 0);
    for (int64_t d = 0, end = q->m * q->lanes; d < q->d; d++) {
        T *row = p.z + d * q->z_row;
        move(q, q->z, first, d * q->z->stride[q->z->ndim - 1], q->m, -2, row, 0);
        for (int64_t j = end; j < q->z_row; j++) row[j] = row[end - 1];
    }
    if (q->lanes > 1) p.x = p.z, p.x_row = q->lanes, p.x_col = q->z_row;
    for (int64_t i = 0; p.u && i < q->n; i++)
        p.u[i] = ((const T *)q->K_bar->u.data)[i * q->K_bar->u.stride[0]];
    for (int64_t j = 0; p.u && j < q->m; j++)
        p.v[j] = ((const T *)q->K_bar->v.data)[j * q->K_bar->v.stride[0]];
    T *norm = p.norms;
    for (int32_t k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &p.nodes[k];
        for (int64_t i = 0; i < n->n_dims * q->lanes && n->code < CT_COV_PROFILES; i++) {
            const double l = lengthscale_of(&p, n, (int32_t)(i / q->lanes), i % q->lanes),
                         w = 1 / (CT_COV_POWER(n->geometry) == 2 ? l * l : l);
            p.weight[n->dims * q->lanes + i] = (T)(w <= CT__STEEP(F64) && w >= 1 / CT__STEEP(F64) ? w : NAN);
        }
        if (n->code == CT_COV_INDEX) tabulate(&p, n, &p.codes[k]);
        p.norm[k] = ct__cov_by_products(n, sizeof(T)) ? norm : NULL;
        if (!p.norm[k]) continue;
        sum_squares(&p, n, norm);
        norm += q->z_row;
    }
    return p;
}

/* -- values ---------------------------------------------------------------------------------------------- */

/* Computes a strip and stores its wanted part in K. */
static void put_strip(const plan *p, node_space *w, const strip *t, int64_t j1)
{
    const ct__cov_problem *q = p->q;
    T *K = (T *)q->K + t->i * q->ld + t->j;
    const bool whole_row = t->rows == 1 && end_column(q, t->i, j1) - t->j == t->width;
    T *y = whole_row ? K : w[p->n_nodes - 1].value;
    node_values(p, w, t, y, false);
    for (int64_t r = 0; r < t->rows && !whole_row; r++) {
        const int64_t from = first_column(q, t->i + r, t->j) - t->j, to = end_column(q, t->i + r, j1) - t->j;
        for (int64_t j = from; j < to; j++) K[r * q->ld + j] = y[r * t->width + j];
    }
}

/* One thread's loop: takes the next tile until none is left. */
static void forward_part(const void *context, int part)
{
    const plan *p = context;
    ct__cov_problem *q = p->q;
    node_space *w = p->space + (int64_t)part * p->n_nodes;
    const int64_t across = (q->m + CT__COV_WIDTH - 1) / CT__COV_WIDTH, tasks = q->blocks * across;
    for (int64_t task; (task = atomic_fetch_add(&q->next, 1)) < tasks;) {
        const int64_t reversed = tasks - 1 - task, i0 = reversed / across * CT__COV_ROWS,
                      j0 = reversed % across * CT__COV_WIDTH, i1 = ct__min(i0 + CT__COV_ROWS, q->n),
                      j1 = ct__min(j0 + CT__COV_WIDTH, q->m);
        strip t;
        for (int64_t i = i0; i < i1; i += t.rows) {
            t = strip_from(q, i, i1, j0, j1, GROUP);
            if (t.width > 0) put_strip(p, w, &t, j1);
        }
        T *K = q->K;
        for (int64_t j = j0; q->symmetric && !q->lower && j < ct__min(j1, i1); j++)
            for (int64_t i = ct__max(i0, j); i < i1; i++) K[j * q->ld + i] = K[i * q->ld + j];
    }
}

static void forward(ct__cov_problem *q, char *block)
{
    const plan p = prepare(q, block, 0);
    ct__each_part(q->threads, forward_part, &p);
}

/* -- gradients ------------------------------------------------------------------------------------------- */

/* K̄ on a strip; in the symmetric case K̄ + K̄ᵀ. Zero outside the wanted part. */
static void load_strip(const plan *p, const strip *t, int64_t j1, T *K_bar)
{
    const ct__cov_problem *q = p->q;
    const ct_view *M = &q->K_bar->M;
    const int64_t rs = M->stride[0], cs = M->stride[1];
    const T alpha = (T)q->K_bar->alpha, both = q->lower ? 2 : 1, *u = p->u, *v = p->v;
    for (int64_t r = 0; r < t->rows; r++, K_bar += t->width) {
        const int64_t i = t->i + r, m = end_column(q, i, j1) - t->j;
        const int64_t below = q->lower ? ct__max(0, ct__min(i + 1 - t->j, m)) : m;
        const T *row = (const T *)M->data + i * rs + t->j * cs,
                *column = (const T *)M->data + t->j * rs + i * cs;
        if (cs != 1 || below < m || (q->symmetric && !q->lower)) {
            for (int64_t j = 0; j < below; j++) K_bar[j] = row[j * cs];
            for (int64_t j = below; j < m; j++) K_bar[j] = column[j * rs];
            for (int64_t j = 0; j < m && q->symmetric && !q->lower; j++) K_bar[j] += column[j * rs];
            row = K_bar;
        }
        if (!u)
            for (int64_t j = 0; j < m; j++) K_bar[j] = alpha * (both * row[j]);
        else if (!q->symmetric)
            for (int64_t j = 0; j < m; j++) K_bar[j] = alpha * (row[j] - u[i] * v[t->j + j]);
        else
            for (int64_t j = 0; j < m; j++)
                K_bar[j] = alpha * (both * row[j] - (u[i] * v[t->j + j] + u[t->j + j] * v[i]));
        if (q->clip == CT__COV_LOWER && i < j1) K_bar[i - t->j] /= 2;
        for (int64_t j = m; j < t->width; j++) K_bar[j] = 0;
    }
}

/* One thread's loop: takes the next block of rows until none is left. In the symmetric case k_ij and k_ji
 * have the same derivatives, so it suffices to contract K̄ + K̄ᵀ over the lower triangle. X_bar needs whole
 * rows, so theta_bar is then summed twice and halved at the end. */
static void backward_part(const void *context, int part)
{
    const plan *p = context;
    ct__cov_problem *q = p->q;
    node_space *w = p->space + (int64_t)part * p->n_nodes;
    T *K_bar = w[p->n_nodes - 1].bar;
    double *xb = p->x_bar ? p->x_bar + (int64_t)part * CT__COV_ROWS * q->d : NULL;
    for (int64_t task; (task = atomic_fetch_add(&q->next, 1)) < q->blocks;) {
        const int64_t number = q->blocks - 1 - task, i0 = number * CT__COV_ROWS,
                      i1 = ct__min(i0 + CT__COV_ROWS, q->n), end = q->clip == CT__COV_LOWER ? i1 : q->m;
        double *tb = p->theta_bar ? p->theta_bar + number * q->program->n_params * L : NULL;
        if (xb) memset(xb, 0, (size_t)(CT__COV_ROWS * q->d) * sizeof *xb);
        for (int64_t j0 = 0; j0 < end; j0 += CT__COV_WIDTH) {
            const int64_t j1 = ct__min(j0 + CT__COV_WIDTH, end);
            strip t;
            for (int64_t i = i0; i < i1; i += t.rows) {
                t = strip_from(q, i, i1, j0, j1, GROUP);
                load_strip(p, &t, j1, K_bar);
                strip_bar(p, w, &t, K_bar, tb, xb ? xb + (i - i0) * q->d : NULL);
            }
        }
        for (int64_t i = i0; xb && i < i1; i++)
            for (int64_t d = 0; d < q->d; d++) {
                T *out = (T *)q->x_bar->data + i * q->x_bar->stride[0] + d * q->x_bar->stride[1];
                *out = (T)(xb[(i - i0) * q->d + d] + (q->add ? *out : 0));
            }
    }
}

static void backward(ct__cov_problem *q, char *block)
{
    const plan p = prepare(q, block, 0);
    const int64_t n_params = q->program->n_params;
    if (q->theta_bar) memset(p.theta_bar, 0, (size_t)(q->blocks * n_params) * sizeof(lane_sums));
    ct__each_part(q->threads, backward_part, &p);
    for (int64_t k = 0; q->theta_bar && k < n_params; k++) {
        double sum = 0;
        for (int64_t b = 0; b < q->blocks * L; b++) sum += p.theta_bar[(b / L * n_params + k) * L + b % L];
        T *out = (T *)q->theta_bar->data + k * q->theta_bar->stride[0];
        *out = (T)((q->symmetric && q->x_bar ? 0.5 : 1) * sum + (q->add ? *out : 0));
    }
}

#include "covariance_lanes.h"

const ct__cov_code NAME(ct__cov_code) = { workspace_of, forward, backward, gaussians };
