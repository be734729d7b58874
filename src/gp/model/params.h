/* The parameters of a model: the kernel's, then the noise's, then the mean's. They have three sets of
 * coordinates:
 *     v   in the units of the data, for the public API and ct_param
 *     s   standardised, for the tape: s = (v - origin) / unit
 *     z   of the optimiser: log s for positive parameters, s for the others */
#ifndef CT_GP_PARAMS_H
#define CT_GP_PARAMS_H

#include <cotangent/gp/kernel.h>

typedef struct ct__params {
    int64_t count, n_kernel, n_noise;
    int64_t noise_at, mean_at; /* -1 without such a parameter */
    ct_param *param;           /* [count] */
    double *s;                 /* [count] */
} ct__params;

#endif
