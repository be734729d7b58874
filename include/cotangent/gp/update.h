/* Adds and removes rows. Parameters and transforms stay those of the fit, and new rows are standardised as
 * the old ones were. The model then predicts, to rounding, what a model of all its rows with these parameters
 * would predict. An existing factor is updated. On failure the model is unchanged. */
#ifndef COTANGENT_GP_UPDATE_H
#define COTANGENT_GP_UPDATE_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

/* A copy with the same data, parameters and factor, which both share until one of them changes: for "what if"
 * questions. NULL with ct_message on failure. */
CT_API ct_gp *ct_gp_copy(const ct_gp *gp);
/* Adds k rows at the end: X (k, d), y (k) or (k, 1), and noise: their variances (k) if the noise is given
 * point by point; their levels (k), known to the model, with CT_NOISE_BY_LEVEL; else NULL. Takes k n²
 * operations, a second factor and k (n + k) numbers. If the new rows make the matrix indefinite to rounding,
 * it is factorised anew, with the jitter ladder. */
CT_API ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise);
/* Removes `count` rows, counted from 0; later rows move up. For up to 16 rows, the first of them row i, this
 * takes 35 to 70 (n - i)² operations and a second factor. For many rows, with Σ (n - i)² > n³/40, the matrix
 * is factorised anew. CT_EINDEX for a row that does not exist or is named twice. At least one row must
 * stay. */
CT_API ct_status ct_gp_remove(ct_gp *gp, const int64_t *rows, int64_t count);

CT_END_DECLS
#endif
