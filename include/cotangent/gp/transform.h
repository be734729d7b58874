/* Monotone maps g of a positive target, a share or a count y, so that z = g(y) is closer to normal:
 *
 *     CT_TRANSFORM_NONE    z = y
 *     CT_TRANSFORM_LOG     z = log y              y > 0
 *     CT_TRANSFORM_LOGIT   z = log(y / (1 - y))   0 < y < 1
 *     CT_TRANSFORM_SQRT    z = √y                 y >= 0; a z below 0 stands for y = 0
 *
 * A model of z (ct_gp_options.transform) is a model of y: log p(y) = log p(z) + log g'(y), and g⁻¹ maps
 * quantiles of z to quantiles of y. [Snelson, Rasmussen & Ghahramani 2004, "Warped Gaussian processes"] */
#ifndef COTANGENT_GP_TRANSFORM_H
#define COTANGENT_GP_TRANSFORM_H

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
    /* For CT_TRANSFORM_SQRT: for y below `least`, g'(y) is replaced by g'(least), because the slope of √y at
     * 0 is infinite. A 0 in a table stands for numbers up to the smallest positive one, δ. Their mean slope
     * 1/√δ is the slope at δ/4. */
    double least;
} ct_transform;

/* The name: "none", "log", "logit" or "sqrt". The domain of y in words: "numbers above 0", ... Both are
 * static. */
CT_API const char *ct_transform_name(ct_transform_kind kind);
CT_API const char *ct_transform_domain(ct_transform_kind kind);

/* z = g(y); NaN for a y outside the domain. */
CT_API double ct_transform_value(ct_transform t, double y);
/* y = g⁻¹(z). */
CT_API double ct_transform_inverse(ct_transform t, double z);
/* log g'(y), for a y in the domain. */
CT_API double ct_transform_log_slope(ct_transform t, double y);
/* Mean and variance of y (either may be NULL) if z is normal with this mean and variance. They are closed
 * forms, except for the logit: quadrature gives the mean to 12 digits and the variance to 10, or to 1e-15.
 * May be infinite. */
CT_API void ct_transform_moments(ct_transform t, double mean, double variance, double *mean_of_y,
                                 double *variance_of_y);

CT_END_DECLS
#endif
