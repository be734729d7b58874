/* A model and its prediction of a table. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "context.h"
#include "failure.h"
#include "noise.h"
#include "target.h"
#include "text.h"

frame frame_model(ctgp *c, ct_gp *const *gp, int64_t p, source *t)
{
    const int64_t d = ct_gp_dims(gp[0]);
    int64_t *cols = take(c, p + d + 1, sizeof *cols, "columns");
    const char **names = take(c, p + d + 1, sizeof *names, "columns"), *noise = noise_column(noise_of(gp[0]));
    ct_column *columns = take(c, p + d + 1, sizeof *columns, "columns");
    int64_t n = p + d;
    for (int64_t j = 0; j < p; j++) columns[j] = *ct_gp_output(gp[j]);
    for (int64_t j = 0; j < d; j++) columns[p + j] = *ct_gp_input(gp[0], j);
    if (noise) columns[n++] = *ct_gp_get_options(gp[0]).noise_column;
    if (noise) columns[n - 1].name = noise;
    for (int64_t j = 0; j < n; j++) names[j] = columns[j].name;
    ct_csv_options as_model = c->table;
    as_model.columns = columns;
    as_model.n_columns = n;
    frame f = frame_parse(c, t, &as_model, names, n);
    if (!t->noted) frame_print_notes(&f);
    t->noted = true;
    for (int64_t j = 0; j <= p + d; j++) cols[j] = j < n ? ct_table_find(f.table, names[j]) : -1;
    for (int64_t j = 0; j < d; j++) frame_column(c, &f, names[p + j]);
    f.cols = cols;
    return f;
}

ct_tensor *frame_take_noise(ctgp *c, const frame *f, const ct_gp *gp, int64_t col, bool required)
{
    const noise_source n = noise_of(gp);
    const char *column = noise_column(n);
    if (!noise_needs_column(n.kind)) return NULL;
    if (required && !column) fail(c, CODE_DATA, "the model does not say which column holds the noise");
    if (required) frame_column(c, f, column);
    if (column && col >= 0) return frame_noise(c, f, col, n, gp);
    note("%s: without a column of the noise%s%s, the noise is the average over the model's rows", f->path,
         column ? ", " : "", column ? column : "");
    return NULL;
}

ct_tensor *frame_inputs(ctgp *c, frame *f, ct_gp *gp, source *t, ct_tensor **noise)
{
    const int64_t d = ct_gp_dims(gp);
    *f = frame_model(c, &gp, 1, t);
    const int64_t *inputs = f->cols + 1, of_noise = inputs[d];
    frame_complete(c, f, inputs, noise && of_noise >= 0 ? d + 1 : d);
    if (f->n_rows == 0) fail(c, CODE_DATA, "%s: no row has a value in every input column", f->path);
    if (noise) *noise = frame_take_noise(c, f, gp, of_noise, false);
    return frame_tensor(c, f, inputs, d, ct_gp_dtype(gp));
}

/* Rows that are predicted at a time. */
enum { CHUNK = 2048 };

/* Shows on a terminal how far the prediction is. */
static void show_share(int64_t done, int64_t all)
{
    if (all <= CHUNK || !isatty(STDERR_FILENO)) return;
    if (done < all)
        fprintf(stderr, "\r\033[Kctgp: predicted %lld of %lld rows (%.0f %%)", (long long)done,
                (long long)all, 100 * (double)done / (double)all);
    else
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

/* Predicts all rows of X, chunk by chunk. */
static ct_status predict_rows(ct_gp *gp, const ct_tensor *X, ct_tensor *mean, ct_tensor *variance)
{
    const int64_t m = ct_tensor_dim(X, 0);
    ct_status s = CT_OK;
    for (int64_t i = 0, end; i < m && !s; i = end) {
        end = m - i > CHUNK ? i + CHUNK : m;
        show_share(i, m);
        ct_tensor *part[] = { ct_tensor_slice(X, 0, i, end, 1), ct_tensor_slice(mean, 0, i, end, 1),
                              ct_tensor_slice(variance, 0, i, end, 1) };
        s = part[0] && part[1] && part[2] ? ct_gp_predict(gp, part[0], part[1], part[2]) : CT_ENOMEM;
        for (int k = 0; k < 3; k++) ct_release(part[k]);
    }
    show_share(m, m);
    return s;
}

void prediction_moments(const prediction *p, int64_t i, double *mean, double *std)
{
    ct_transform_moments(p->transform, p->mean[i], p->std[i] * p->std[i], mean, std);
    if (std) *std = p->transform.kind ? sqrt(*std) : p->std[i];
}

double prediction_quantile(const prediction *p, int64_t i, double q)
{
    return ct_transform_inverse(p->transform, p->mean[i] + q * p->std[i]);
}

static void check_moments(ctgp *c, const prediction *p, const char *target)
{
    for (int64_t i = 0; i < p->data.n_rows && p->transform.kind; i++) {
        double mean, std;
        prediction_moments(p, i, &mean, &std);
        if (!isfinite(mean) || !isfinite(std))
            fail(c, CODE_NUMERIC,
                 "%s, line %lld: the mean of '%s' is beyond the range of numbers, as its %s is so "
                 "uncertain: leave the row out, or fit without --transform",
                 p->data.path, (long long)ct_table_line(p->data.table, p->data.rows[i]), target,
                 ct_transform_name(p->transform.kind));
    }
}

void prediction_at(ctgp *c, prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *given, bool noise)
{
    const int64_t m = p->data.n_rows;
    ct_tensor *mean = new_tensor(c, ct_shape1(m)), *variance = new_tensor(c, ct_shape1(m)),
              *added = new_tensor(c, ct_shape1(m));
    check(c, predict_rows(gp, X, mean, variance));
    if (noise) check(c, ct_gp_noise_at(gp, X, given, added));
    p->transform = ct_gp_transform(gp);
    p->mean = tensor_values(c, mean);
    p->std = tensor_values(c, variance);
    const double *more = tensor_values(c, added);
    for (int64_t i = 0; i < m; i++) p->std[i] = sqrt(p->std[i] + (noise ? more[i] : 0));
}

void prediction_fill(ctgp *c, prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *given)
{
    prediction_at(c, p, gp, X, given, true);
    check_moments(c, p, ct_gp_output(gp)->name);
}

static prediction predict_table(ctgp *c, ct_gp *gp, source *t)
{
    prediction p = { 0 };
    ct_tensor *noise, *X = frame_inputs(c, &p.data, gp, t, &noise);
    p.target = p.data.cols[0];
    if (p.target >= 0) check_target(c, &p.data, p.target, ct_gp_transform(gp).kind);
    prediction_fill(c, &p, gp, X, noise);
    return p;
}

prediction *prediction_make(ctgp *c, ct_gp *const *gp, int64_t n, const char *path)
{
    prediction *p = take(c, n, sizeof *p, "outputs");
    source *t = source_open(c, path);
    for (int64_t j = 0; j < n; j++) p[j] = predict_table(c, gp[j], t);
    source_close(c, t);
    return p;
}

prediction prediction_of(ctgp *c, ct_gp *gp, const double *x, const double *known, int64_t n)
{
    prediction p = { .data = { .path = "the rows to come", .n_rows = n }, .target = -1, .known = known };
    p.data.rows = take(c, n, sizeof *p.data.rows, "rows");
    for (int64_t i = 0; i < n; i++) p.data.rows[i] = i;
    ct_tensor *wide = own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(n, 1), x));
    prediction_fill(c, &p, gp, own_tensor(c, ct_tensor_cast(wide, ct_gp_dtype(gp))), NULL);
    return p;
}
