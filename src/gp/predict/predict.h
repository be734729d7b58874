/* Predictions as numbers on the host. */
#ifndef CT_GP_PREDICT_H
#define CT_GP_PREDICT_H

#include "gp/model/model.h"

typedef enum ct__prediction_kind { CT__AT_EACH, CT__TOGETHER, CT__DRAWN } ct__prediction_kind;

/* A prediction at m points. */
typedef struct ct__prediction {
    ct_gp *gp;
    ct__prediction_kind kind;
    bool noisy;
    uint64_t seed;
    int64_t rows; /* of `more`: 1, m, or the number of draws */
    /* [m] and [rows][m], in the units of g(y): the mean, and the variances, the covariance or draws. NULL:
     * not requested; draws need both. */
    double *mean, *more;
    /* Set by ct__predict: */
    int64_t m;
    ct_tensor *points; /* (m, d), standardised */
    double *noise;     /* [m], of new observations, in units of y², or zeros */
} ct__prediction;

/* Predicts at Xs (m, d), which fit the model. The caller has reserved memory for a covariance. */
ct_status ct__predict(ct__prediction r, const ct_tensor *Xs);

#endif
