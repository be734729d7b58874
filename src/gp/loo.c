/* Leave-one-out prediction from one factorisation: with r = y - m(X), α = C⁻¹r, q_i = (C⁻¹)_ii
 *     mean_i = y_i - α_i/q_i,   variance_i = 1/q_i,
 *     log p(y_i | X, y without i) = ½ log q_i - ½ α_i²/q_i - ½ log 2π
 * [Rasmussen & Williams 2006, eqs 5.10-5.12; Sundararajan & Keerthi 2001] */
#include <math.h>
#include <stdlib.h>

#include "gp/factor/packed.h"
#include "gp/model/model.h"

/* y, α and q as doubles, one after another. */
static ct_status parts(ct_gp *gp, double *y, double *alpha, double *q)
{
    ct_tape_reset(gp->tape);
    ct_call *c = ct_scope_open(gp->tape, "ct_gp_loo");
    ct__packed L = ct__packed_of(ct_view_of(gp->factor.L), gp->n);
    ct_view line = ct_scratch(c, gp->dtype, ct_shape1(gp->n));
    ct__packed_inverse_diagonal(c, &L, line);
    ct_tensor *diagonal = ct_tensor_of(c, line);
    ct_status s = ct_scope_close(c) ? ct__gp_tape_failed(gp, "the leave-one-out prediction") : CT_OK;
    ct_tensor *source[] = { gp->y, gp->factor.alpha, diagonal };
    double *target[] = { y, alpha, q };
    for (int k = 0; k < 3 && !s; k++) s = ct__gp_read(source[k], target[k]);
    ct_release(diagonal);
    for (int64_t i = 0; i < gp->n && !s; i++)
        if (!(q[i] > 0 && isfinite(q[i])))
            s = ct_device_fail(gp->device, CT_ENUMERIC,
                               "row %lld cannot be left out: its variance given the others is not a number, "
                               "raise the noise",
                               (long long)i);
    return s;
}

ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density)
{
    if (!gp) return CT_EINVAL;
    int64_t n = gp->n;
    ct_status s = ct__gp_check_out(gp, mean, n, "mean");
    if (!s) s = ct__gp_check_out(gp, variance, n, "variance");
    if (!s) s = ct__gp_check_out(gp, log_density, n, "log_density");
    if (!s) s = ct__gp_factorise(gp);
    if (s) return s;
    double *y = ct__gp_alloc(gp->device, 3 * (uint64_t)n, sizeof *y);
    if (!y) return CT_ENOMEM;
    double *alpha = y + n, *q = alpha + n;
    s = parts(gp, y, alpha, q);
    for (int64_t i = 0; i < n && !s; i++) {
        double error = alpha[i] / q[i], variance_i = gp->y_scale * gp->y_scale / q[i];
        double density = 0.5 * (log(q[i]) - alpha[i] * error - CT__LOG_2PI) - log(gp->y_scale);
        y[i] = gp->y_shift + gp->y_scale * (y[i] - error);
        alpha[i] = variance_i;
        q[i] = density;
    }
    if (!s && mean) s = ct__gp_deliver(gp, y, mean);
    if (!s && variance) s = ct__gp_deliver(gp, alpha, variance);
    if (!s && log_density) s = ct__gp_deliver(gp, q, log_density);
    free(y);
    return s;
}

ct_status ct__gp_loo_square(ct_gp *gp, double *square)
{
    int64_t n = gp->n;
    ct_status s = ct__gp_factorise(gp);
    if (s) return s;
    double *y = ct__gp_alloc(gp->device, 3 * (uint64_t)n, sizeof *y);
    if (!y) return CT_ENOMEM;
    double *alpha = y + n, *q = alpha + n, sum = 0;
    s = parts(gp, y, alpha, q);
    for (int64_t i = 0; i < n && !s; i++) sum += alpha[i] / q[i] * alpha[i];
    free(y);
    if (!s && !isfinite(sum))
        s = ct_device_fail(gp->device, CT_ENUMERIC,
                           "some leave-one-out residuals are not finite: look for a y far from all others");
    *square = sum / (double)n;
    return s;
}

/* -- without some columns -------------------------------------------------------------------------------- */

/* gp->X with those columns held at their means. */
static ct_tensor *held(ct_gp *gp, const int64_t *columns, int64_t count)
{
    double *x = ct__gp_doubles(gp->X);
    for (int64_t k = 0; k < count && x; k++) {
        double *column = x + columns[k], sum = 0;
        for (int64_t i = 0; i < gp->n; i++) sum += column[i * gp->d];
        for (int64_t i = 0; i < gp->n; i++) column[i * gp->d] = sum / (double)gp->n;
    }
    ct_tensor *X = ct__gp_tensor(gp->device, gp->dtype, ct_shape2(gp->n, gp->d), x);
    free(x);
    return X;
}

static ct_status sum_of_densities(ct_gp *gp, double *sum)
{
    ct_tensor *density = ct_empty(gp->device, CT_F64, ct_shape1(gp->n));
    ct_status s = density ? ct_gp_loo(gp, NULL, NULL, density) : ct_last_status(gp->device);
    double *each = s ? NULL : ct__gp_doubles(density);
    if (!s && !each) s = ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->n && !s; i++) *sum += each[i];
    free(each);
    ct_release(density);
    return s;
}

ct_status ct_gp_loo_without(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density)
{
    if (!gp) return CT_EINVAL;
    if (!log_density || count < 0 || (count && !columns))
        return ct_device_fail(gp->device, CT_EINVAL, "ct_gp_loo_without: an argument is NULL or negative");
    *log_density = 0;
    for (int64_t k = 0; k < count; k++)
        if (columns[k] < 0 || columns[k] >= gp->d)
            return ct_device_fail(gp->device, CT_EINDEX, "ct_gp_loo_without: column %lld of %lld",
                                  (long long)columns[k], (long long)gp->d);
    ct_gp *without = ct_gp_copy(gp);
    if (!without) return ct_last_status(gp->device);
    if (count) {
        ct__gp_drop_factor(without);
        ct_release(without->X);
        without->X = held(gp, columns, count);
    }
    ct_status s = without->X ? sum_of_densities(without, log_density) : ct_last_status(gp->device);
    ct_gp_free(without);
    if (s) *log_density = NAN;
    return s;
}
