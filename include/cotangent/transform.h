/* Monotone maps g of a target y that is positive, a share or a count, so that z = g(y) has a bell shape:
 *
 *     CT_TRANSFORM_NONE    z = y
 *     CT_TRANSFORM_LOG     z = log y              y > 0
 *     CT_TRANSFORM_LOGIT   z = log(y / (1 - y))   0 < y < 1
 *     CT_TRANSFORM_SQRT    z = √y                 y >= 0; a z below 0 stands for y = 0
 *
 * A model of z (ct_gp_options.transform) is a model of y: log p(y) = log p(z) + log g'(y), and quantiles of y
 * are g⁻¹ of those of z. [Snelson, Rasmussen & Ghahramani 2004, "Warped Gaussian processes"] */
#ifndef COTANGENT_TRANSFORM_H
#define COTANGENT_TRANSFORM_H

#include <cotangent/status.h>

CT_BEGIN_DECLS

typedef enum ct_transform_kind {
    CT_TRANSFORM_NONE = 0,
    CT_TRANSFORM_LOG,
    CT_TRANSFORM_LOGIT,
    CT_TRANSFORM_SQRT,
} ct_transform_kind;

typedef struct ct_transform {
    ct_transform_kind kind;
    /* Of CT_TRANSFORM_SQRT: a smaller y has the slope that g has here. The slope of √y at 0 is infinite, and
     * a 0 in a table stands for numbers up to the smallest positive one, δ: their average slope 1/√δ is that
     * at δ/4. */
    double least;
} ct_transform;

/* "none", "log", "logit" or "sqrt"; and the y that it takes: "numbers above 0", ... Both are static. */
CT_API const char *ct_transform_name(ct_transform_kind kind);
CT_API const char *ct_transform_domain(ct_transform_kind kind);

/* z = g(y); NaN for a y outside the domain. */
CT_API double ct_transform_value(ct_transform t, double y);
/* y = g⁻¹(z). */
CT_API double ct_transform_inverse(ct_transform t, double z);
/* log g'(y), for a y of the domain. */
CT_API double ct_transform_log_slope(ct_transform t, double y);
/* Mean and variance of y (either may be NULL) where z is normal with this mean and variance: in closed form,
 * for the logit by quadrature to 12 digits of the mean and 10 of the variance, or 1e-15. May be infinite. */
CT_API void ct_transform_moments(ct_transform t, double mean, double variance, double *mean_of_y,
                                 double *variance_of_y);

CT_END_DECLS
#endif
