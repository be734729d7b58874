/* Joint outputs: one model of pairs (x, output). */
#ifndef CT_GP_OUTPUTS_JOINT_H
#define CT_GP_OUTPUTS_JOINT_H

#include "answers.h"

/* Makes the whole, of pairs (x, output), from standardised answers. Takes ownership of the kernel. */
ct_status ct__joint_make(ct_outputs *o, const ct_tensor *X, const ct__answers *a, ct_kernel *kernel,
                         const ct_outputs_options *options, ct_gp_options model);
ct_status ct__joint_append(ct_outputs *o, const ct_tensor *X, const ct__answers *a);
/* Mean (m p) and covariance (m p, m p) in the units of the outputs. */
ct_status ct__joint_predict(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                            double *C);

#endif
