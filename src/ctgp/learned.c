/* The rows of a table that a model has learned. */
#include "learned.h"

#include <float.h>
#include <math.h>

#include "context.h"
#include "failure.h"
#include "model.h"
#include "numbers.h"

double *model_inputs(ctgp *c, ct_gp *gp)
{
    ct_tensor *X = new_tensor(c, ct_shape2(ct_gp_points(gp), ct_gp_dims(gp)));
    check(c, ct_gp_data(gp, X, NULL));
    return tensor_values(c, X);
}

double *model_targets(ctgp *c, ct_gp *gp)
{
    ct_tensor *y = new_tensor(c, ct_shape1(ct_gp_points(gp)));
    check(c, ct_gp_data(gp, NULL, y));
    return tensor_values(c, y);
}

/* -- the rows of the model beside those of a table ------------------------------------------------------- */

typedef struct known {
    int64_t n, d;
    double *x, *y;   /* (n, d), [n] */
    double *largest; /* the largest magnitude of the target and of each input, [d + 1] */
    double eps;      /* of the model's numbers */
} known;

/* The target, and then the inputs. */
static double value_of(const known *m, int64_t i, int64_t j) { return j ? m->x[i * m->d + j - 1] : m->y[i]; }

/* After a log the target's largest magnitude counts as larger, as exp turns the rounding of z into a relative
 * error of y. */
static known known_make(ctgp *c, ct_gp *gp)
{
    const int64_t d = ct_gp_dims(gp);
    const known m = { .n = ct_gp_points(gp),
                      .d = d,
                      .x = model_inputs(c, gp),
                      .y = model_targets(c, gp),
                      .eps = ct_gp_dtype(gp) == CT_F32 ? FLT_EPSILON : DBL_EPSILON,
                      .largest = take(c, d + 1, sizeof *m.largest, "columns") };
    for (int64_t j = 0; j <= d; j++)
        for (int64_t i = 0; i < m.n; i++) m.largest[j] = fmax(m.largest[j], fabs(value_of(&m, i, j)));
    if (ct_gp_transform(gp).kind == CT_TRANSFORM_LOG) m.largest[0] *= fmax(1, fabs(log(m.largest[0])) / 16);
    return m;
}

/* Whether the table's chosen row k is row i of the model, but for the rounding of the model's scales. */
static bool is_row(const known *m, const frame *f, int64_t k, int64_t i)
{
    for (int64_t j = 0; j <= m->d; j++) {
        const double there = ct_table_at(f->table, f->rows[k], f->cols[j]);
        if (!(fabs(there - value_of(m, i, j)) <= 64 * m->eps * m->largest[j])) return false;
    }
    return true;
}

/* -- in the model's order -------------------------------------------------------------------------------- */

frame frame_learned(ctgp *c, ct_gp *gp, source *t)
{
    const known m = known_make(c, gp);
    frame f = frame_model(c, &gp, 1, t);
    frame_column(c, &f, ct_gp_output(gp)->name);
    frame_complete(c, &f, f.cols, m.d + 1);
    int64_t found = 0;
    for (int64_t k = 0; k < f.n_rows && found < m.n; k++)
        if (is_row(&m, &f, k, found)) f.rows[found++] = f.rows[k];
    f.n_rows = found;
    if (found < m.n)
        fail(
            c, CODE_DATA,
            "%s is not the table that the model learned: row %lld of the model's %lld is missing from it, or "
            "moved",
            f.path, (long long)found + 1, (long long)m.n);
    return f;
}

/* -- in any order ---------------------------------------------------------------------------------------- */

/* Sums of the values of each row, sorted: of the table's chosen rows, or of the model's with f = NULL. Each
 * value has a weight of its own, and irregular weights keep the sums of different rows apart. */
static keyed *sum_rows(ctgp *c, const known *m, const frame *f, int64_t n)
{
    keyed *rows = take(c, n, sizeof *rows, "rows");
    for (int64_t i = 0; i < n; i++) {
        rows[i].index = i;
        for (int64_t j = 0; j <= m->d; j++) {
            const double value = f ? ct_table_at(f->table, f->rows[i], f->cols[j]) : value_of(m, i, j);
            const double weight = 0.5 + fmod((double)(j + 1) * (sqrt(5) - 1) / 2, 1);
            if (m->largest[j] > 0) rows[i].key += weight * (value / m->largest[j]);
        }
        if (isnan(rows[i].key)) rows[i].key = INFINITY; /* without a target: no row of the model */
    }
    sort_keyed(rows, n);
    return rows;
}

/* Passes the rows of the table, and beside them those of the model, by their sums. */
static void mark_learned(ctgp *c, const frame *f, const known *m, fate *fates)
{
    const double slack = 256 * (double)(m->d + 1) * m->eps;
    const keyed *ours = sum_rows(c, m, NULL, m->n), *theirs = sum_rows(c, m, f, f->n_rows);
    for (int64_t k = 0, first = 0; k < f->n_rows; k++) {
        while (first < m->n && ours[first].key < theirs[k].key - slack) first++;
        for (int64_t i = first; i < m->n && ours[i].key <= theirs[k].key + slack; i++)
            if (is_row(m, f, theirs[k].index, ours[i].index)) fates[theirs[k].index] = ROW_LEARNED;
    }
}

/* The fit had the first `all` complete rows. */
static void mark_held(const frame *f, const known *m, int64_t all, fate *fates)
{
    const int64_t n_cols = f->cols[m->d + 1] < 0 ? m->d + 1 : m->d + 2;
    int64_t complete = 0, learned = 0, end = 0;
    for (; end < f->n_rows && complete < all; end++) {
        bool whole = true;
        for (int64_t j = 0; j < n_cols; j++) whole &= !isnan(ct_table_at(f->table, f->rows[end], f->cols[j]));
        complete += whole;
        learned += fates[end] == ROW_LEARNED;
    }
    for (int64_t k = 0; k < end && 2 * learned >= m->n; k++)
        if (fates[k] == ROW_UNSEEN) fates[k] = ROW_HELD;
}

fate *frame_fates(ctgp *c, const frame *f, ct_gp *gp)
{
    fate *fates = take(c, f->n_rows, sizeof *fates, "rows"); /* ROW_UNSEEN */
    if (f->cols[0] < 0) return fates;
    const known m = known_make(c, gp);
    mark_learned(c, f, &m, fates);
    mark_held(f, &m, ct_gp_get_options(gp).rows_of_table, fates);
    return fates;
}
