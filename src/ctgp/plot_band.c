/* ctgp plot: a curve, the middle of a prediction and the ends of its interval. */
#include "plot_band.h"

#include <math.h>

#include "context.h"
#include "failure.h"
#include "score.h"

curve curve_make(ctgp *c, int64_t n)
{
    return (curve){ .n = n, .x = take(c, n, sizeof(double), "points of a curve") };
}

double irregular(int64_t i, int64_t n)
{
    return ((double)i + fmod((double)i * (sqrt(5) - 1) / 2, 1)) / (double)n;
}

void curve_predict(ctgp *c, curve *of, ct_gp *gp, const double *inputs, bool noise)
{
    const ct_transform t = ct_gp_transform(gp);
    const int64_t n = of->n;
    ct_tensor *X = own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(n, ct_gp_dims(gp)), inputs));
    ct_tensor *m = new_tensor(c, ct_shape1(n)), *v = new_tensor(c, ct_shape1(n));
    check(c, (noise ? ct_gp_predict_noisy : ct_gp_predict)(gp, X, m, v));
    of->middle = tensor_values(c, m);
    of->low = tensor_values(c, v);
    of->high = tensor_values(c, v);
    for (int64_t i = 0; i < n; i++) {
        const double mean = of->middle[i], width = Z95 * sqrt(of->high[i]);
        of->middle[i] = ct_transform_inverse(t, mean);
        of->low[i] = ct_transform_inverse(t, mean - width);
        of->high[i] = ct_transform_inverse(t, mean + width);
    }
}

void cover_band(axis *y, const curve *of)
{
    for (int64_t i = 0; i < of->n; i++) cover(y, of->low[i]), cover(y, of->high[i]);
}

/* The picture has at most COLUMNS points. Each column has its highest and lowest middle, in their order, and
 * the band's outermost ends. */
void curve_write(FILE *script, const char *block, const curve *of, const axis *x, const axis *y)
{
    enum { COLUMNS = 1600 };
    const int64_t columns = of->n < COLUMNS ? of->n : COLUMNS;
    fprintf(script, "$%s << EOD\n", block);
    for (int64_t k = 0; k < columns; k++) {
        const int64_t from = k * of->n / columns, to = (k + 1) * of->n / columns;
        int64_t low = from, high = from;
        axis ends = empty_axis;
        for (int64_t i = from; i < to; i++) {
            cover(&ends, of->low[i]), cover(&ends, of->high[i]);
            if (of->middle[i] < of->middle[low]) low = i;
            if (of->middle[i] > of->middle[high]) high = i;
        }
        const int64_t shown[] = { low < high ? low : high, low < high ? high : low };
        for (int j = 0; j < (low == high ? 1 : 2); j++)
            fprintf(script, "%.17g %.17g %.17g %.17g\n", share(x, of->x[shown[j]]),
                    share(y, of->middle[shown[j]]), share(y, ends.lo), share(y, ends.hi));
    }
    fputs("EOD\n", script);
}

const char *middle_name(const ct_gp *gp) { return ct_gp_transform(gp).kind ? "median" : "mean"; }
