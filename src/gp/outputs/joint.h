/* Coregionalised outputs: one model of pairs (x, output). */
#ifndef CT_GP_OUTPUTS_JOINT_H
#define CT_GP_OUTPUTS_JOINT_H

#include "answers.h"

/* rows = the pairs with a value, as X (n, d + 1) with the output's code last, y (n), and the codes (n). */
ct_status ct__joint_rows(const ct_outputs *o, const ct__answers *a, const ct_tensor *X, ct_dtype dtype,
                         ct_tensor *rows[3]);
/* Makes the whole from standardised answers. */
ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, const ct_kernel *kernel,
                         const ct_outputs_options *options);
/* Mean (m p) and covariance (m p, m p) in the units of the outputs. */
ct_status ct__joint_predict(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                            double *C);

#endif
