/* The mean function of a model: a constant or linear function with parameters, or a trend without. */
#ifndef CT_GP_MEAN_H
#define CT_GP_MEAN_H

#include <cotangent/gp/model.h>

typedef struct ct__mean {
    ct_gp_mean kind;
    char *basis;             /* of the trend, in x0, x1, ...; NULL: none */
    struct ct__trend *trend; /* on the model's rows (trend.h) */
} ct__mean;

/* The number of parameters for d inputs; parameter k of them. */
int64_t ct__mean_params(const ct__mean *mean, int64_t d);
ct_param ct__mean_param(int64_t k);
/* The function at standardised inputs X (m, d), from its parameters s: (m, 1), or (1). */
ct_var ct__mean_on(const ct__mean *mean, ct_var s, ct_var X);

#endif
