/* One fit to convergence: `fit RESTARTS TABLE.csv [TEST.csv] [--device NAME]`. The tables are standardised,
 * and their last column is the target. The first line is "at 0 NLML", the likelihood at the start. Each
 * evaluation prints "at SECONDS NLML": the time since the fit began, and the likelihood. With TEST.csv the
 * last line is "test RMSE MAE NLPD" of its rows. fit.py runs the peers. */
#include "bench.h"

#include <cotangent/gp.h>
#include <cotangent/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int tell(void *context, const ct_fit_progress *p)
{
    (void)context;
    printf("at %.6f %.12g\n", p->seconds, p->objective);
    fflush(stdout);
    return 0;
}

/* The start and the bounds that all contenders share. */
static ct_status set(ct_gp *gp, const char *name, double value, double lower, double upper)
{
    ct_param p = *ct_gp_param(gp, ct_gp_find(gp, name));
    p.value = value, p.lower = lower, p.upper = upper;
    return ct_gp_set_param(gp, ct_gp_find(gp, name), &p);
}

/* The inputs and the target of a table, as views. */
static void halves(const ct_tensor *table, ct_tensor **X, ct_tensor **y)
{
    const int64_t d = ct_tensor_dim(table, 1) - 1;
    *X = ct_tensor_slice(table, 1, 0, d, 1);
    *y = ct_tensor_slice(table, 1, d, d + 1, 1);
}

static ct_gp *model(const ct_tensor *table)
{
    ct_tensor *X, *y;
    halves(table, &X, &y);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    ct_release(X);
    ct_release(y);
    ct_status s = gp ? set(gp, "noise.variance", 0.1, 1e-6, 1e2) : CT_ENOMEM;
    for (int64_t i = 0; !s && i < ct_gp_params(gp) - 1; i++) {
        const char *name = ct_gp_param(gp, i)->name;
        s = i == 0 ? set(gp, name, 1, 1e-6, 1e6) : set(gp, name, 1, 1e-2, 1e4);
    }
    if (!s) return gp;
    ct_gp_free(gp);
    return NULL;
}

/* Starts the threads and touches the memory before the clock runs; the peers do the same. */
static ct_status warm_up(const ct_tensor *table)
{
    ct_gp *gp = model(table);
    ct_status s = gp ? ct_gp_fit(gp, &(ct_fit_options){ .max_iterations = 1 }) : CT_ENOMEM;
    ct_gp_free(gp);
    return s;
}

/* "test RMSE MAE NLPD": the errors of the mean, and the mean of -log p(y | x) with the noise. */
static ct_status test(ct_gp *gp, const ct_tensor *table)
{
    const int64_t m = ct_tensor_dim(table, 0);
    ct_device *dev = ct_gp_device(gp);
    ct_tensor *X, *y, *mean = ct_empty(dev, CT_F64, ct_shape1(m)), *var = ct_empty(dev, CT_F64, ct_shape1(m));
    halves(table, &X, &y);
    const size_t size = (size_t)m * sizeof(double);
    double *values = malloc(3 * size), square = 0, absolute = 0, nlpd = 0;
    ct_status s = values ? ct_gp_predict_noisy(gp, X, mean, var) : CT_ENOMEM;
    if (!s) s = ct_read(y, values, size);
    if (!s) s = ct_read(mean, values + m, size);
    if (!s) s = ct_read(var, values + 2 * m, size);
    for (int64_t i = 0; i < m && !s; i++) {
        const double e = values[i] - values[m + i], v = values[2 * m + i];
        square += e * e, absolute += fabs(e), nlpd += 0.5 * (log(2 * acos(-1) * v) + e * e / v);
    }
    const double rows = (double)m;
    if (!s) printf("test %.12g %.12g %.12g\n", sqrt(square / rows), absolute / rows, nlpd / rows);
    free(values);
    ct_release(X), ct_release(y), ct_release(mean), ct_release(var);
    return s;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 2;
    const bool usage = argc != 3 && argc != 4;
    ct_tensor *table = usage ? NULL : ct_csv_load(b.dev, argv[2]),
              *held_back = argc == 4 ? ct_csv_load(b.dev, argv[3]) : NULL;
    ct_gp *gp = table && (held_back || argc < 4) ? model(table) : NULL;
    ct_status s = gp ? warm_up(table) : CT_EINVAL;
    if (!s) printf("at 0 %.12g\n", ct_gp_nlml_value(gp)), fflush(stdout);
    if (!s) s = ct_gp_fit(gp, &(ct_fit_options){ .progress = tell, .restarts = atoi(argv[1]) });
    if (!s) printf("ended %s\n", ct_fit_end_text(ct_gp_report(gp).end));
    if (!s && held_back) s = test(gp, held_back);
    if (s)
        fprintf(stderr, "fit: %s\n", usage ? "usage: fit RESTARTS TABLE.csv [TEST.csv]" : ct_message(b.dev));
    ct_gp_free(gp);
    ct_release(table), ct_release(held_back);
    bench_close(&b);
    return s != CT_OK;
}
