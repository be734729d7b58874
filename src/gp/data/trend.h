/* A trend h(x)ᵀβ whose coefficients are integrated out with a flat prior, on the data of a model. */
#ifndef CT_GP_TREND_H
#define CT_GP_TREND_H

#include <stdlib.h>

#include "basis.h"
#include "gp/model/model.h"

/* The functions h span the same space as b(s) = map mono(s) at standardised inputs s, and Σ_i b(s_i) b(s_i)ᵀ
 * = n I over the data. So H (n, p), with rows b(s_i), is well conditioned whatever the units and offsets of
 * the columns. */
typedef struct ct__trend {
    ct__basis basis;   /* h, in the units of the data                           */
    int64_t monomials; /* in the columns of s, from the expansion of h          */
    ct__term *monomial;
    double *map;       /* [p][monomials]                                        */
    double *R;         /* [p][p], upper triangular: h(x) = Rᵀ b(s)              */
    double *level;     /* [p]: y = H level + detrended, the least squares       */
    double log_volume; /* log det R                                             */
} ct__trend;

/* p; 0 without a trend. */
int64_t ct__trend_size(const ct_gp *gp);
/* Sets the trend, H and detrended of gp, which has X, y, transforms and basis. The previous ones remain the
 * caller's. CT_EINVAL if there are not more rows than functions, or if a function is a combination of those
 * before it on these rows; if `lenient`, such functions are left out. */
ct_status ct__trend_make(ct_gp *gp, bool lenient);
/* For a new model: standardises y by what the trend leaves of it, so that adding a combination of the
 * functions to y changes nothing else; then ct__trend_make. */
ct_status ct__trend_standardize(ct_gp *gp, const ct_tensor *y, bool outputs);
/* Reads the model's basis from text in the names of these columns (NULL: x0, x1, ...), and keeps it.
 * CT_EINVAL for a category. */
ct_status ct__trend_read(ct_gp *gp, const char *text, const ct_column *columns);
static inline void ct__trend_drop(ct_gp *gp)
{
    if (gp->trend) {
        free(gp->trend->monomial);
        free(gp->trend->map);
    }
    free(gp->trend);
    ct_release(gp->H);
    ct_release(gp->detrended);
    gp->trend = NULL;
    gp->H = gp->detrended = NULL;
}
/* The trend's bytes in the likelihood and the factor. */
uint64_t ct__trend_bytes(const ct_gp *gp);

/* -- expansion.c ----------------------------------------------------------------------------------------- */

enum { CT__MOST_MONOMIALS = 1024 };

/* The factor Π c^power before the expansion of a term; 0 or infinite if it leaves the range of numbers. */
double ct__term_size(const ct_gp *gp, const ct__term *t);
/* Adds the expansion of term k, without that factor, to the coefficients e (monomials; NULL: skipped), and
 * its new monomials to t. False if there are more than CT__MOST_MONOMIALS. */
bool ct__term_expand(const ct_gp *gp, ct__trend *t, int64_t k, double *e);
/* mono (monomials) at s (d) */
void ct__monomials_at(const ct__trend *t, const double *s, double *mono);

/* -- likelihood/restricted.c ---------------------------------------------------------------------------------- */

/* theta (P), X (n, d), r (n, 1), noise (n) or (1), H (n, p) -> the restricted likelihood
 *     ½ rᵀP r + ½ log det C + ½ log det A + (n-p)/2 log 2π,  A = HᵀC⁻¹H,  P = C⁻¹ - C⁻¹H A⁻¹ HᵀC⁻¹
 * with gradients in theta, r and noise. */
ct_var ct__gp_restricted(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise, ct_var H);
/* Sets factor.trend and factor.restricted from the factor L. With `correct`, alpha = C⁻¹r becomes P r, and
 * nlml the restricted likelihood. CT_ENUMERIC if A is not positive definite. */
ct_status ct__gp_restrict(ct_gp *gp, bool correct);
/* The restricted likelihood of y in the units of the data minus that of H and the standardised y: log det
 * R - p log y_scale. 0 without a trend. */
double ct__trend_constant(const ct_gp *gp);

/* -- trend_posterior.c: at standardised points Xs (m, d), for a model with a factor ---------------------- */

/* The trend's estimate (m, 1). */
ct_var ct__trend_mean_at(const ct_gp *gp, ct_var Xs);
/* U (m, p): the coefficients' uncertainty adds U Uᵀ to the covariance of the points. */
ct_var ct__trend_spread_at(const ct_gp *gp, ct_var theta, ct_var Xs);
/* q (n), the diagonal of C⁻¹, becomes that of P. CT_ENUMERIC for a row without which β is not determined. */
ct_status ct__trend_leave_out(ct_gp *gp, double *q);

#endif
