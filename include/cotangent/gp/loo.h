/* Leave-one-out and cross-validation, in closed form. */
#ifndef COTANGENT_GP_LOO_H
#define COTANGENT_GP_LOO_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

/* Predicts every y_i from all other rows, at the present parameters: its mean, its variance (with noise and
 * jitter), and the log predictive density log p(y_i). Each is (n) or (n, 1), f64 or f32, and may be NULL.
 * With a transform mean and variance are of z, the density of y. Computed in closed form from the factor:
 * n³/3 operations and 32 MB (or 16 n numbers). The transforms and parameters are those of all rows.
 * [Rasmussen & Williams 2006, eqs 5.10-5.12] */
CT_API ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density);
/* The same by folds: predicts every y_i from the rows j with fold[j] != fold[i]. fold: n numbers of any
 * value. The log density is that of each row, not the joint one of its fold. With one row in each fold this
 * is ct_gp_loo; with all rows in one fold it is the prior. Computed in closed form from the factor: 2n³/3
 * operations, over a communicator 2n³, and about 2b³ for a fold of b rows. Takes 64 MB (or 32 n numbers), one
 * number for each pair of rows in a fold, and 4b² for the largest. CT_ENUMERIC if the other rows do not
 * determine a fold's rows, or a coefficient of a trend. CT_EUNSUPPORTED: a model of joint outputs
 * (outputs.h). [Rasmussen & Williams 2006, §5.4.2; Ginsbourger & Schärer 2021] */
CT_API ct_status ct_gp_cross_validate(ct_gp *gp, const int64_t *fold, ct_tensor *mean, ct_tensor *variance,
                                      ct_tensor *log_density);
/* *log_density = Σ_i log p(y_i | the other rows) at the present parameters, with `count` input columns set to
 * their means in every row, for kernel, mean and noise. The difference to the value without such columns
 * (columns NULL, count 0) is what leave-one-out loses without them. Takes a factorisation and a second factor
 * meanwhile. The model is not changed. CT_EINDEX for a column that does not exist. */
CT_API ct_status ct_gp_loo_ablation(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density);

/* Raises the variances of an overconfident model. With p free parameters, but at most n / 2 of them,
 *     c = 1/(n - p) Σ_i (y_i - mean_i)² / variance_i
 * of the leave-one-out residuals. If it is above 1.01, the whole covariance, noise included, is multiplied by
 * c, which changes no predicted mean. *factor (may be NULL): c, or 1 if nothing was done. Work
 * and memory as for ct_gp_loo. CT_EUNSUPPORTED if the parameters cannot multiply the covariance: noise given
 * point by point, a term such as `rbf` or `poly` without a `scale`, or a fixed variance. CT_EINVAL if a bound
 * forbids it, CT_ENUMERIC if a residual is not finite. On failure the model is unchanged and *factor is NaN.
 * [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */
CT_API ct_status ct_gp_calibrate_variance(ct_gp *gp, double *factor);

CT_END_DECLS
#endif
