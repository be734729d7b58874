/* A model and its prediction of a table. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int model_load(const char *device_name, const char *path, ct_device **device, ct_gp **gp)
{
    *gp = NULL;
    *device = ct_device_open(device_name);
    if (!ct_device_status(*device)) *gp = ct_gp_load(*device, path);
    return *gp ? GO_ON : fail_device(*device, NULL);
}

const char *kernel_text(const ct_gp *gp, char *text, size_t size)
{
    ct_kernel_print(ct_gp_kernel(gp), false, text, size);
    return text;
}

const char *mean_name(ct_gp_mean mean)
{
    return mean == CT_MEAN_ZERO ? "zero" : mean == CT_MEAN_LINEAR ? "linear" : "constant";
}

/* Mean and standard deviation of a new observation at the chosen rows of `cols`. */
static int predict_rows(prediction *p, ct_gp *gp, const int64_t *cols, int64_t d)
{
    int64_t m = p->data.n_rows;
    size_t bytes = (size_t)m * sizeof(double);
    ct_device *device = p->data.device;
    p->mean = malloc(bytes + 1);
    p->std = malloc(bytes + 1);
    if (!p->mean || !p->std) return fail(CODE_MEMORY, "no memory for %lld predictions", (long long)m);
    ct_tensor *X = frame_tensor(&p->data, cols, d, ct_gp_dtype(gp));
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(m)),
              *variance = ct_empty(device, CT_F64, ct_shape1(m));
    bool good = X && mean && variance && !ct_gp_predict_noisy(gp, X, mean, variance) &&
                !ct_read(mean, p->mean, bytes) && !ct_read(variance, p->std, bytes);
    ct_release(X);
    ct_release(mean);
    ct_release(variance);
    if (!good) return fail_device(device, NULL);
    for (int64_t i = 0; i < m; i++) p->std[i] = sqrt(p->std[i]);
    return GO_ON;
}

int prediction_make(prediction *p, ct_gp *gp, const char *path)
{
    int64_t d = ct_gp_dims(gp);
    *p = (prediction){ .target = -1 };
    int64_t *cols = malloc((size_t)d * sizeof *cols);
    const char **names = malloc((size_t)(d + 1) * sizeof *names);
    int result = cols && names ? GO_ON : fail(CODE_MEMORY, "no memory for %lld columns", (long long)d);
    for (int64_t j = 0; j < d && result == GO_ON; j++) names[j] = ct_gp_input_name(gp, j);
    if (result == GO_ON) names[d] = ct_gp_output_name(gp);
    if (result == GO_ON) result = frame_open(&p->data, ct_gp_device(gp), path, names, d + 1);
    for (int64_t j = 0; j < d && result == GO_ON; j++) {
        cols[j] = frame_column(&p->data, names[j]);
        if (cols[j] < 0) result = CODE_DATA;
    }
    if (result == GO_ON) result = frame_complete(&p->data, cols, d);
    if (result == GO_ON && p->data.n_rows == 0)
        result = fail(CODE_DATA, "%s: no row has a value in every input column", path);
    if (result == GO_ON) p->target = ct_table_find(p->data.table, names[d]);
    if (result == GO_ON) result = predict_rows(p, gp, cols, d);
    free(cols);
    free(names);
    return result;
}

void prediction_free(prediction *p)
{
    frame_close(&p->data);
    free(p->mean);
    free(p->std);
}

/* nlpd: mean of ½ log 2πs² + ½ (y - m)² / s²; coverage: share of y within m ± 1.96 s */
score prediction_score(const prediction *p)
{
    score s = { 0 };
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double y = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (isnan(y)) continue;
        double error = y - p->mean[i], z = error / p->std[i];
        s.n++;
        s.rmse += error * error;
        s.mae += fabs(error);
        s.nlpd += 0.5 * log(2 * acos(-1)) + log(p->std[i]) + 0.5 * z * z;
        s.coverage95 += fabs(z) <= Z95;
    }
    double n = (double)s.n;
    return (score){ s.n, sqrt(s.rmse / n), s.mae / n, s.nlpd / n, s.coverage95 / n };
}
