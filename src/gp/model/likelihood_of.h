/* What a model has of its likelihood (likelihood/likelihood.h). */
#ifndef CT_GP_LIKELIHOOD_OF_H
#define CT_GP_LIKELIHOOD_OF_H

#include <cotangent/tensor.h>

typedef struct ct__likelihood_of {
    const struct ct__likelihood *row;
    unsigned features;
    ct_tensor *outputs;  /* (n, p), standardised, of outputs that share their covariance; else NULL */
    int64_t grid, pivot; /* the outputs in a likelihood by Kronecker products, or 0; a row of X (joint.h) */
    double error;        /* of the last value: three deviations of its random estimate; else 0 */
} ct__likelihood_of;

#endif
