/* ctgp plot: the middle of a prediction and the ends of its interval. */
#include "plot.h"

void band_allocate(ctgp *c, band *b, int64_t n)
{
    if (!going(c)) return;
    *b = (band){ .middle = take(c, n, 3 * sizeof *b->middle, "points of a picture") };
    if (!b->middle) return;
    b->low = b->middle + n, b->high = b->low + n;
}

void band_predict(ctgp *c, const band *b, int64_t from, ct_gp *gp, int64_t n, const double *x, bool noise)
{
    if (!going(c)) return;
    ct_device *device = ct_gp_device(gp);
    const ct_transform t = ct_gp_transform(gp);
    double *middle = b->middle + from, *low = b->low + from, *high = b->high + from;
    const size_t bytes = (size_t)n * sizeof(double);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(n, ct_gp_dims(gp)), x);
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(n)), *v = ct_empty(device, CT_F64, ct_shape1(n));
    const bool good = X && m && v && !(noise ? ct_gp_predict_noisy : ct_gp_predict)(gp, X, m, v) &&
                      !ct_read(m, middle, bytes) && !ct_read(v, low, bytes);
    ct_release(X);
    ct_release(m);
    ct_release(v);
    for (int64_t i = 0; i < n && good; i++) {
        const double mean = middle[i], width = Z95 * sqrt(low[i]);
        middle[i] = ct_transform_inverse(t, mean);
        low[i] = ct_transform_inverse(t, mean - width);
        high[i] = ct_transform_inverse(t, mean + width);
    }
    if (!good) fail_device(c, device, NULL);
}

const char *middle_name(const ct_gp *gp) { return ct_gp_transform(gp).kind ? "median" : "mean"; }
