/* ctgp plot of one input: data, and the curve over their range and a twentieth beyond. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct curve {
    int64_t n;
    double *x, *mean, *std; /* one allocation, that of x */
} curve;

/* MOST points are predicted, and COLUMNS of the picture drawn. */
enum { LEAST = 500, MOST = 20000, COLUMNS = 1600 };

/* The largest step that shows the kernel's fastest wave: ten to a lengthscale, twenty to a period p, and in a
 * periodic kernel also ten to l p / 2π, over which it falls as an rbf does over a lengthscale. */
static double finest_step(const ct_gp *gp)
{
    double step = INFINITY, round_lengthscale = INFINITY;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        bool lengthscale = strstr(p->name, ".lengthscale"), period = strstr(p->name, ".period");
        if (!strncmp(p->name, "linear", 6) || !strncmp(p->name, "poly", 4)) continue;
        if (period) step = fmin(step, p->value / 20);
        if (period && !strncmp(p->name, "periodic", 8))
            step = fmin(step, round_lengthscale * p->value / (2 * acos(-1)) / 10);
        if (lengthscale && p->unit == CT_UNIT_INPUT) step = fmin(step, p->value / 10);
        if (lengthscale && p->unit != CT_UNIT_INPUT)
            round_lengthscale = p->value; /* comes before its period */
    }
    return step;
}

static int ascending(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* Chooses the points. Where the kernel asks for more than MOST, they lie at irregular distances, as equal
 * ones could show a slow wave that is not there, and where the data are, which such a curve visits by
 * spikes. */
static int curve_place(curve *c, const ct_gp *gp, const axis *x, const prediction *p, int64_t x_col)
{
    double length = x->hi - x->lo, wanted = ceil(length / finest_step(gp)) + 1, turn = (sqrt(5) - 1) / 2;
    bool regular = wanted <= MOST;
    int64_t n = regular ? (int64_t)fmax(wanted, LEAST) : MOST;
    c->n = regular ? n : n + p->data.n_rows;
    c->x = malloc((size_t)(3 * c->n) * sizeof *c->x);
    if (!c->x) return fail(CODE_MEMORY, "no memory for %lld points of a curve", (long long)c->n);
    c->mean = c->x + c->n, c->std = c->mean + c->n;
    for (int64_t i = 0; i < c->n; i++) {
        double at = (double)i;
        c->x[i] = i >= n    ? ct_table_at(p->data.table, p->data.rows[i - n], x_col)
                  : regular ? x->lo + length * at / (double)(n - 1)
                            : x->lo + length * (at + fmod(at * turn, 1)) / (double)n;
    }
    if (!regular) qsort(c->x, (size_t)c->n, sizeof *c->x, ascending);
    return GO_ON;
}

static int curve_predict(curve *c, ct_gp *gp)
{
    ct_device *device = ct_gp_device(gp);
    size_t bytes = (size_t)c->n * sizeof(double);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(c->n, 1), c->x);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(c->n));
    ct_tensor *variance = ct_empty(device, CT_F64, ct_shape1(c->n));
    bool good = X && mean && variance && !ct_gp_predict_noisy(gp, X, mean, variance) &&
                !ct_read(mean, c->mean, bytes) && !ct_read(variance, c->std, bytes);
    ct_release(X);
    ct_release(mean);
    ct_release(variance);
    if (!good) return fail_device(device, NULL);
    for (int64_t i = 0; i < c->n; i++) c->std[i] = sqrt(c->std[i]);
    return GO_ON;
}

/* Each column of the picture: its highest and lowest mean, in their order, and the band's outermost ends. */
static void curve_write(FILE *script, const curve *c, const axis *x, const axis *y)
{
    int64_t columns = c->n < COLUMNS ? c->n : COLUMNS;
    fputs("$curve << EOD\n", script);
    for (int64_t k = 0; k < columns; k++) {
        int64_t from = k * c->n / columns, to = (k + 1) * c->n / columns, low = from, high = from;
        axis band = empty_axis;
        for (int64_t i = from; i < to; i++) {
            cover(&band, c->mean[i] - Z95 * c->std[i]), cover(&band, c->mean[i] + Z95 * c->std[i]);
            if (c->mean[i] < c->mean[low]) low = i;
            if (c->mean[i] > c->mean[high]) high = i;
        }
        const int64_t shown[] = { low < high ? low : high, low < high ? high : low };
        for (int j = 0; j < (low == high ? 1 : 2); j++)
            fprintf(script, "%.17g %.17g %.17g %.17g\n", share(x, c->x[shown[j]]),
                    share(y, c->mean[shown[j]]), share(y, band.lo), share(y, band.hi));
    }
    fputs("EOD\n", script);
}

int write_curve(FILE *script, ct_gp *gp, const prediction *p)
{
    int64_t x_col = ct_table_find(p->data.table, ct_gp_input(gp, 0)->name);
    axis x = empty_axis, y = empty_axis;
    for (int64_t i = 0; i < p->data.n_rows; i++)
        cover(&x, ct_table_at(p->data.table, p->data.rows[i], x_col));
    widen(&x, 0.05, 0.05);
    curve c = { 0 };
    int result = write_axis(script, 'x', &x, ct_gp_input(gp, 0)->name, "");
    if (result == GO_ON) result = curve_place(&c, gp, &x, p, x_col);
    if (result == GO_ON) result = curve_predict(&c, gp);
    for (int64_t i = 0; i < c.n && result == GO_ON; i++)
        cover(&y, c.mean[i] - Z95 * c.std[i]), cover(&y, c.mean[i] + Z95 * c.std[i]);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++)
        cover(&y, ct_table_at(p->data.table, p->data.rows[i], p->target));
    widen(&y, 0.03, 0.12); /* above is the key */
    if (result == GO_ON) result = write_axis(script, 'y', &y, ct_gp_output(gp)->name, "");
    if (result == GO_ON) curve_write(script, &c, &x, &y);
    free(c.x);
    if (result != GO_ON) return result;

    long points = 0;
    fputs("$data << EOD\n", script);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double value = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (!isfinite(value)) continue;
        fprintf(script, "%.17g %.17g\n", share(&x, ct_table_at(p->data.table, p->data.rows[i], x_col)),
                share(&y, value));
        points++;
    }
    const ct_gp_noise noise = ct_gp_get_options(gp).noise;
    const bool average =
        noise == CT_NOISE_GIVEN || noise == CT_NOISE_GIVEN_PLUS || noise == CT_NOISE_BY_LEVEL;
    fprintf(script,
            "EOD\nplot $curve using 1:3:4 with filledcurves lc rgb '#bcd7ee' title '95 %% interval%s', "
            "$curve using 1:2 with lines lw 2 lc rgb '#1f5f99' title 'mean'",
            average ? " with the average noise" : "");
    if (points)
        fprintf(script, ", $data with points pt 7 ps %s lc rgb '#202020' title 'data'",
                points > 300 ? "0.25" : "0.5");
    fputs("\n", script);
    return GO_ON;
}
