/* A trend h(x)ᵀβ whose coefficients are integrated out with a flat prior, on the rows of a model. */
#ifndef CT_GP_TREND_H
#define CT_GP_TREND_H

#include "expansion.h"
#include "mean.h"
#include "target.h"

/* The functions h span the same space as b(s) = map mono(s) at standardised inputs s, and Σ_i b(s_i) b(s_i)ᵀ
 * = n I over the rows. So H (n, p), with rows b(s_i), is well conditioned whatever the units and offsets of
 * the columns. */
typedef struct ct__trend {
    ct__basis basis;          /* h, in the units of the data                           */
    ct__monomials mono;       /* in the columns of s, from the expansion of h          */
    double *map;              /* [p][mono.count]                                       */
    double *R;                /* [p][p], upper triangular: h(x) = Rᵀ b(s)              */
    double *level;            /* [p]: y = H level + detrended, the least squares       */
    double log_volume;        /* log det R                                             */
    ct_tensor *H, *detrended; /* (n, p); (n, 1)                                        */
} ct__trend;

/* p; 0 for NULL. */
static inline int64_t ct__trend_size(const ct__trend *t) { return t ? t->basis.count : 0; }
/* Makes the trend of mean->basis on these rows with the standardised y. The previous one remains the
 * caller's. CT_EINVAL if there are not more rows than functions, or if a function is a combination of those
 * before it on these rows; if `lenient`, such functions are left out. */
ct_status ct__trend_make(ct__mean *mean, const ct__data_rows *rows, const ct_tensor *y, bool lenient);
/* For a new model of z: standardises the target by what the trend leaves of it, so that adding a combination
 * of the functions to z changes nothing else; then ct__trend_make. */
ct_status ct__trend_standardize(ct__mean *mean, const ct__data_rows *rows, ct__target *target,
                                const ct_tensor *z, bool outputs);
/* Reads the basis from text in the names of these d columns (NULL: x0, x1, ...), and keeps it. CT_EINVAL for
 * a category. */
ct_status ct__trend_read(ct__mean *mean, ct_device *device, const char *text, const ct_column *columns,
                         int64_t d);
/* Frees the trend, and keeps the basis. */
void ct__trend_drop(ct__mean *mean);
/* The trend's bytes in the likelihood and the factor; 0 for NULL. */
uint64_t ct__trend_bytes(const ct__trend *t);
/* The restricted likelihood of y in the units of the data minus that of H and the standardised y: log det
 * R - p log y_scale. 0 for NULL. */
double ct__trend_constant(const ct__trend *t, double y_scale);

#endif
