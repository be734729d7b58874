/* The rows of a table that a model has learned. */
#include "ctgp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* What the model knows, (n, d) and (n). */
static int model_rows(ct_gp *gp, double **x, double **y)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    ct_device *device = ct_gp_device(gp);
    ct_tensor *X = ct_empty(device, CT_F64, ct_shape2(n, d)), *Y = ct_empty(device, CT_F64, ct_shape1(n));
    *x = malloc((size_t)(n * d) * sizeof **x);
    *y = malloc((size_t)n * sizeof **y);
    int result = *x && *y ? GO_ON : fail(CODE_MEMORY, "no memory for the model's %lld rows", (long long)n);
    if (result == GO_ON &&
        (!X || !Y || ct_gp_data(gp, X, Y) || ct_read(X, *x, (size_t)(n * d) * sizeof **x) ||
         ct_read(Y, *y, (size_t)n * sizeof **y)))
        result = fail_device(device, NULL);
    ct_release(X);
    ct_release(Y);
    return result;
}

int model_targets(ct_gp *gp, double **y)
{
    double *x = NULL;
    int result = model_rows(gp, &x, y);
    free(x);
    return result;
}

/* Equal but for the rounding of the model's scales. */
static bool is_near(const ct_gp *gp, double a, double b, double largest)
{
    return fabs(a - b) <= 64 * (ct_gp_dtype(gp) == CT_F32 ? FLT_EPSILON : DBL_EPSILON) * largest;
}

/* The largest magnitude of each input and of the target, [d + 1]. With a log that of the target counts as
 * larger: exp makes the rounding of z a relative one of y. */
static void find_largest(const ct_gp *gp, const double *x, const double *y, double *largest)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    for (int64_t j = 0; j <= d; j++) {
        largest[j] = 0;
        for (int64_t i = 0; i < n; i++) largest[j] = fmax(largest[j], fabs(j < d ? x[i * d + j] : y[i]));
    }
    if (ct_gp_transform(gp).kind == CT_TRANSFORM_LOG) largest[d] *= fmax(1, fabs(log(largest[d])) / 16);
}

/* Keeps of the chosen rows those of the model, which are in the same order. */
static int match(frame *f, const ct_gp *gp, const int64_t *cols, const double *x, const double *y,
                 double *largest)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    int64_t found = 0;
    find_largest(gp, x, y, largest);
    for (int64_t k = 0; k < f->n_rows && found < n; k++) {
        bool same = true;
        for (int64_t j = 0; j <= d && same; j++)
            same = is_near(gp, ct_table_at(f->table, f->rows[k], cols[j]),
                           j < d ? x[found * d + j] : y[found], largest[j]);
        if (same) f->rows[found++] = f->rows[k];
    }
    f->n_rows = found;
    if (found == n) return GO_ON;
    return fail(
        CODE_DATA,
        "%s is not the table that the model learned: row %lld of the model's %lld is not in it, or not "
        "in its place",
        f->path, (long long)found + 1, (long long)n);
}

int frame_learned(frame *f, ct_gp *gp, source *t, const ct_csv_options *how)
{
    const int64_t d = ct_gp_dims(gp);
    double *x = NULL, *y = NULL, *largest = malloc((size_t)(d + 1) * sizeof *largest);
    int64_t *cols = malloc((size_t)(d + 2) * sizeof *cols);
    int result = largest && cols ? frame_model(f, gp, t, how, cols)
                                 : fail(CODE_MEMORY, "no memory for %lld columns", (long long)d);
    if (result == GO_ON && cols[d] < 0) {
        frame_column(f, ct_gp_output(gp)->name);
        result = CODE_DATA;
    }
    if (result == GO_ON) result = frame_complete(f, cols, d + 1);
    if (result == GO_ON) result = model_rows(gp, &x, &y);
    if (result == GO_ON) result = match(f, gp, cols, x, y, largest);
    free(x);
    free(y);
    free(largest);
    free(cols);
    return result;
}

/* -- in any order ---------------------------------------------------------------------------------------- */

/* A row of the model and a sum of its values, each with a weight of its own, by which the rows are sorted. */
typedef struct keyed {
    double key;
    int64_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *p = a, *q = b;
    return (p->key > q->key) - (p->key < q->key);
}

/* Irregular weights make the sums of different rows differ. */
static double add_key(int64_t j, double value, double largest)
{
    return largest > 0 ? (0.5 + fmod((double)(j + 1) * (sqrt(5) - 1) / 2, 1)) * (value / largest) : 0;
}

static void mark(const frame *f, const ct_gp *gp, const int64_t *cols, const double *x, const double *y,
                 const double *largest, keyed *sorted, fate *fates)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    for (int64_t i = 0; i < n; i++) {
        sorted[i] = (keyed){ .row = i };
        for (int64_t j = 0; j <= d; j++) sorted[i].key += add_key(j, j < d ? x[i * d + j] : y[i], largest[j]);
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_key);
    const double slack = 256 * (double)(d + 1) * (ct_gp_dtype(gp) == CT_F32 ? FLT_EPSILON : DBL_EPSILON);
    for (int64_t k = 0; k < f->n_rows; k++) {
        double key = 0;
        for (int64_t j = 0; j <= d; j++)
            key += add_key(j, ct_table_at(f->table, f->rows[k], cols[j]), largest[j]);
        int64_t low = 0, high = n; /* the first row of at least key - slack */
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (sorted[middle].key < key - slack)
                low = middle + 1;
            else
                high = middle;
        }
        bool same = false;
        for (; low < n && sorted[low].key <= key + slack && !same; low++) {
            const int64_t i = sorted[low].row;
            same = true;
            for (int64_t j = 0; j <= d && same; j++)
                same = is_near(gp, ct_table_at(f->table, f->rows[k], cols[j]), j < d ? x[i * d + j] : y[i],
                               largest[j]);
        }
        if (same) fates[k] = ROW_LEARNED;
    }
}

/* Of the rows that are complete, the first `all` were there in the fit. */
static void mark_held(const frame *f, const ct_gp *gp, const int64_t *cols, int64_t n_cols, int64_t all,
                      fate *fates)
{
    int64_t complete = 0, learned = 0, end = 0;
    for (; end < f->n_rows && complete < all; end++) {
        bool whole = true;
        for (int64_t j = 0; j < n_cols; j++) whole &= !isnan(ct_table_at(f->table, f->rows[end], cols[j]));
        complete += whole;
        learned += fates[end] == ROW_LEARNED;
    }
    for (int64_t k = 0; k < end && 2 * learned >= ct_gp_points(gp); k++)
        if (fates[k] == ROW_UNSEEN) fates[k] = ROW_HELD;
}

int frame_fates(const frame *f, ct_gp *gp, fate **fates)
{
    const ct_gp_options o = ct_gp_get_options(gp);
    const char *noise = noise_column(o.noise, noise_name(gp));
    const int64_t d = ct_gp_dims(gp), n = ct_gp_points(gp);
    double *x = NULL, *y = NULL, *largest = malloc((size_t)(d + 1) * sizeof *largest);
    int64_t *cols = malloc((size_t)(d + 2) * sizeof *cols);
    keyed *sorted = malloc((size_t)n * sizeof *sorted);
    *fates = calloc((size_t)f->n_rows, sizeof **fates); /* ROW_UNSEEN */
    int result = largest && cols && sorted && *fates
                     ? GO_ON
                     : fail(CODE_MEMORY, "no memory for %lld rows", (long long)f->n_rows);
    for (int64_t j = 0; j <= d && result == GO_ON; j++)
        cols[j] = ct_table_find(f->table, (j < d ? ct_gp_input(gp, j) : ct_gp_output(gp))->name);
    const bool known = result == GO_ON && cols[d] >= 0;
    if (known) result = model_rows(gp, &x, &y);
    if (known && result == GO_ON) {
        find_largest(gp, x, y, largest);
        mark(f, gp, cols, x, y, largest, sorted, *fates);
        cols[d + 1] = noise ? ct_table_find(f->table, noise) : -1;
        mark_held(f, gp, cols, cols[d + 1] < 0 ? d + 1 : d + 2, o.rows_of_table, *fates);
    }
    free(x);
    free(y);
    free(largest);
    free(cols);
    free(sorted);
    return result;
}
