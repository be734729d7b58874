/* The contribution of a trend to predictions, at standardised points Xs (m, d), for a model with a factor. */
#ifndef CT_GP_TREND_POSTERIOR_H
#define CT_GP_TREND_POSTERIOR_H

#include "gp/model/model.h"

/* The trend's estimate (m, 1). */
ct_var ct__trend_mean_at(const ct_gp *gp, ct_var Xs);
/* U (m, p): the coefficients' uncertainty adds U Uᵀ to the covariance of the points. */
ct_var ct__trend_spread_at(const ct_gp *gp, ct_var theta, ct_var Xs);
/* q (n), the diagonal of C⁻¹, becomes that of P. CT_ENUMERIC for a row without which β is not determined. */
ct_status ct__trend_leave_out(ct_gp *gp, double *q);

#endif
