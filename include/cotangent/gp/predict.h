/* Prediction. At Xs (m, d), f64 or f32, whatever the model's dtype. Outputs are the caller's tensors, f64 or
 * f32; mean and variance are (m) or (m, 1), and either may be NULL. Variances are never negative. The first
 * call after a change of the model factorises. Points are processed in panels. In addition to the model,
 * inputs and outputs, a mean takes 1 MB (or 32 n numbers) and a variance 32 MB (or 16 n numbers), for any m.
 * [Rasmussen & Williams 2006, alg. 2.1] */
#ifndef COTANGENT_GP_PREDICT_H
#define COTANGENT_GP_PREDICT_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

/* Mean and variance of m(x) + f(x). */
CT_API ct_status ct_gp_predict(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* Mean and variance of a new observation y, with the noise. If the noise is given point by point, or learned
 * by level, its average over the data is added. */
CT_API ct_status ct_gp_predict_noisy(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* The variance (m) of the noise of new observations at Xs, in units of y², which ct_gp_predict leaves out.
 * noise = NULL: as in ct_gp_predict_noisy. Else noise is (m) or (m, 1): the variances at Xs if the noise is
 * given point by point, to which a learned one is added; or the levels with CT_NOISE_BY_LEVEL, which may be
 * i64. A NaN level is unknown and gets the average noise. CT_EINVAL for a level that is not in the data, and
 * for `noise` with a model of another kind. */
CT_API ct_status ct_gp_noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance);
/* Mean (may be NULL) and the full covariance (m, m), symmetric, with the noise as above on its diagonal if
 * `noisy`. Takes about 5 m² numbers of working memory. */
CT_API ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                                    ct_tensor *covariance);
/* Mean and variance (m) on the tape of Xs, as functions of Xs (m, d), which is in the data's units and the
 * model's dtype. The model's present state is used. Either output may be NULL. Gradients of any order flow
 * into Xs; the first costs one more triangular solve and is computed with the value. Where rounding exceeds
 * the variance of f, its gradient is 0. A failure is the tape's. */
CT_API void ct_gp_posterior(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance);
/* The same with the covariance (m, m) of all points instead of the variances. It is symmetric. Keeps 2 m n
 * numbers on the tape. */
CT_API void ct_gp_posterior_full(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *covariance);
/* Joint draws into samples (s, m), f64 or f32, in units of y, or with a transform of z. Draw i depends only
 * on (seed, i) and the model. Memory as for the full covariance. If that is singular to rounding, as at rows
 * of the data, a share of the mean prior variance is added to its diagonal: the first of 1e-14 (f32: 1e-7)
 * times 1, 10, 100, ..., up to 1e-3, that suffices; else CT_ENUMERIC. */
CT_API ct_status ct_gp_sample(ct_gp *gp, const ct_tensor *Xs, bool noisy, uint64_t seed, ct_tensor *samples);

/* Predictions of a model with a transform, converted to the units of y; without a transform nothing changes.
 * Both functions work in place, on f64 or f32, and are collective in a communicator. CT_ENUMERIC if a result
 * is not finite, such as the mean of y where z is uncertain. */
/* y = g⁻¹(z) for draws or quantiles of z, of any shape. */
CT_API ct_status ct_gp_untransform(ct_gp *gp, ct_tensor *z);
/* Replaces means and variances (m) or (m, 1) of z by those of y, exactly: ct_transform_moments. If the
 * variance includes the noise, y is a new observation, else g⁻¹(m(x) + f(x)). For an interval of y, do not
 * use mean ± 1.96 standard deviations of y, but g⁻¹ of the interval of z. */
CT_API ct_status ct_gp_untransform_moments(ct_gp *gp, ct_tensor *mean, ct_tensor *variance);

CT_END_DECLS
#endif
