/* A model and its prediction of a table. */
#include "ctgp.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int model_load(const char *device_name, const char *path, ct_device **device, ct_gp **gp)
{
    *gp = NULL;
    *device = NULL;
    int result = many_device(&device_name);
    if (result != GO_ON) return result;
    *device = ct_device_open(device_name);
    if (!ct_device_status(*device)) *gp = ct_gp_load_for(*device, path, many());
    return *gp ? GO_ON : fail_device(*device, NULL);
}

const char *kernel_text(const ct_gp *gp, char *text, size_t size)
{
    ct_kernel_print(ct_gp_kernel(gp), false, text, size);
    return text;
}

const char *precision_name(ct_precision precision)
{
    return precision == CT_PRECISION_MIXED ? "mixed" : "full";
}

int frame_model(frame *f, const ct_gp *gp, const char *path, const ct_csv_options *how, int64_t *cols)
{
    int64_t d = ct_gp_dims(gp);
    const char **names = malloc((size_t)(d + 1) * sizeof *names);
    if (!names) return fail(CODE_MEMORY, "no memory for %lld columns", (long long)d);
    for (int64_t j = 0; j < d; j++) names[j] = ct_gp_input_name(gp, j);
    names[d] = ct_gp_output_name(gp);
    int result = frame_open(f, ct_gp_device(gp), path, how, names, d + 1);
    for (int64_t j = 0; j < d && result == GO_ON; j++) {
        cols[j] = frame_column(f, names[j]);
        if (cols[j] < 0) result = CODE_DATA;
    }
    if (result == GO_ON) cols[d] = ct_table_find(f->table, names[d]);
    free(names);
    return result;
}

int frame_inputs(frame *f, const ct_gp *gp, const char *path, const ct_csv_options *how, ct_tensor **X,
                 ct_tensor **y)
{
    int64_t d = ct_gp_dims(gp);
    int64_t *cols = malloc((size_t)(d + 1) * sizeof *cols);
    int result = cols ? frame_model(f, gp, path, how, cols)
                      : fail(CODE_MEMORY, "no memory for %lld columns", (long long)d);
    if (result == GO_ON && y && cols[d] < 0) {
        frame_column(f, ct_gp_output_name(gp));
        result = CODE_DATA;
    }
    if (result == GO_ON) result = frame_complete(f, cols, y ? d + 1 : d);
    if (result == GO_ON && f->n_rows == 0)
        result = fail(CODE_DATA, "%s: no row has a value in every %s", f->path,
                      y ? "column that the model uses" : "input column");
    if (result == GO_ON) *X = frame_tensor(f, cols, d, ct_gp_dtype(gp));
    if (result == GO_ON && y) *y = frame_tensor(f, cols + d, 1, ct_gp_dtype(gp));
    if (result == GO_ON && (!*X || (y && !*y))) result = fail_device(f->device, NULL);
    free(cols);
    return result;
}

int prediction_make(prediction *p, ct_gp *gp, const char *path, const ct_csv_options *how)
{
    *p = (prediction){ .target = -1 };
    ct_tensor *X = NULL, *mean = NULL, *variance = NULL;
    int result = frame_inputs(&p->data, gp, path, how, &X, NULL);
    if (result != GO_ON) return result;
    int64_t m = p->data.n_rows;
    size_t bytes = (size_t)m * sizeof(double);
    p->target = ct_table_find(p->data.table, ct_gp_output_name(gp));
    p->mean = malloc(bytes);
    p->std = malloc(bytes);
    if (!p->mean || !p->std) result = fail(CODE_MEMORY, "no memory for %lld predictions", (long long)m);
    if (result == GO_ON) {
        mean = ct_empty(p->data.device, CT_F64, ct_shape1(m));
        variance = ct_empty(p->data.device, CT_F64, ct_shape1(m));
        if (!mean || !variance || ct_gp_predict_noisy(gp, X, mean, variance) ||
            ct_read(mean, p->mean, bytes) || ct_read(variance, p->std, bytes))
            result = fail_device(p->data.device, NULL);
    }
    for (int64_t i = 0; i < m && result == GO_ON; i++) p->std[i] = sqrt(p->std[i]);
    ct_release(X);
    ct_release(mean);
    ct_release(variance);
    return result;
}

void prediction_free(prediction *p)
{
    frame_close(&p->data);
    free(p->mean);
    free(p->std);
}

/* The targets' standard deviation. */
static double spread(const prediction *p)
{
    double n = 0, mean = 0, squares = 0;
    for (int64_t i = 0; i < p->data.n_rows; i++) {
        double y = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (isnan(y)) continue;
        double step = y - mean;
        mean += step / ++n;
        squares += step * (y - mean);
    }
    return n > 0 ? sqrt(squares / n) : 0;
}

/* nlpd: mean of ½ log 2πs² + ½ (y - m)² / s²; coverage: share of y within m ± 1.96 s. A variance is the
 * prior's less the data's part, so it is only known to a rounding error of the prior's; s counts as at least
 * that. */
score prediction_score(const prediction *p)
{
    score s = { 0 };
    const double least = p->target < 0 ? 0 : sqrt(DBL_EPSILON) * spread(p);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double y = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (isnan(y)) continue;
        double std = fmax(fmax(p->std[i], least), 4 * DBL_EPSILON * fabs(y) + DBL_MIN);
        double error = y - p->mean[i], z = error / std;
        s.n++;
        s.rmse += error * error;
        s.mae += fabs(error);
        s.nlpd += 0.5 * log(2 * acos(-1)) + log(std) + 0.5 * z * z;
        s.coverage95 += fabs(z) <= Z95;
    }
    double n = (double)s.n;
    return (score){ s.n, sqrt(s.rmse / n), s.mae / n, s.nlpd / n, s.coverage95 / n };
}
