/* The posterior on a tape, of the standardised problem. */
#ifndef CT_GP_POSTERIOR_H
#define CT_GP_POSTERIOR_H

#include "gp/model/model.h"

/* The noise is left out. */
typedef struct ct__posterior {
    ct_var theta, Xs;  /* (m, d)                                                             */
    ct_var mean;       /* (m, 1)                                                             */
    ct_var taken;      /* (m), |L⁻¹k*|²                                                      */
    ct_var covariance; /* (m, m), its lower triangle: k(x*, x*) - V Vᵀ, V = k(x*, X) L⁻ᵀ     */
} ct__posterior;

/* At standardised points Xs; the model's factor is there. `taken` is set with `variance`, the covariance by
 * predict.c alone. */
ct__posterior ct__posterior_of(ct_gp *gp, ct_var Xs, bool variance);
#endif
