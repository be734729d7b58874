/* The posterior of the standardised problem, on a tape. */
#ifndef CT_GP_POSTERIOR_H
#define CT_GP_POSTERIOR_H

#include "gp/model/model.h"

/* Without the noise. */
typedef struct ct__posterior {
    ct_var theta, Xs;  /* (m, d)                                                             */
    ct_var mean;       /* (m, 1)                                                             */
    ct_var taken;      /* (m), |L⁻¹k*|²                                                      */
    ct_var covariance; /* (m, m), its lower triangle: k(x*, x*) - V Vᵀ, V = k(x*, X) L⁻ᵀ     */
} ct__posterior;

/* The posterior at standardised points Xs, of a model with a factor. `taken` is set with `variance`; only
 * predict.c sets the covariance. */
ct__posterior ct__posterior_of(ct_gp *gp, ct_var Xs, bool variance);
#endif
