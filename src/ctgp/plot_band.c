/* ctgp plot: the middle of a prediction and the ends of its interval. */
#include "plot.h"

band band_make(ctgp *c, int64_t n)
{
    double *x = take(c, n, 3 * sizeof *x, "points of a picture");
    return (band){ x, x + n, x + 2 * n };
}

void band_predict(ctgp *c, const band *b, int64_t from, ct_gp *gp, int64_t n, const double *x, bool noise)
{
    const ct_transform t = ct_gp_transform(gp);
    const owned *before = c->owned;
    double *middle = b->middle + from, *low = b->low + from, *high = b->high + from;
    ct_tensor *X = own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(n, ct_gp_dims(gp)), x));
    ct_tensor *m = new_tensor(c, ct_shape1(n)), *v = new_tensor(c, ct_shape1(n));
    check(c, (noise ? ct_gp_predict_noisy : ct_gp_predict)(gp, X, m, v));
    read_tensor(c, m, middle);
    read_tensor(c, v, low);
    give_back(c, before);
    for (int64_t i = 0; i < n; i++) {
        const double mean = middle[i], width = Z95 * sqrt(low[i]);
        middle[i] = ct_transform_inverse(t, mean);
        low[i] = ct_transform_inverse(t, mean - width);
        high[i] = ct_transform_inverse(t, mean + width);
    }
}

const char *middle_name(const ct_gp *gp) { return ct_gp_transform(gp).kind ? "median" : "mean"; }
