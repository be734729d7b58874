/* The target of a model: y becomes z = g(y), and then s, by which the model computes: z = shift + scale s. */
#ifndef CT_GP_TARGET_H
#define CT_GP_TARGET_H

#include <math.h>

#include <cotangent/gp/transform.h>
#include <cotangent/tensor.h>

typedef struct ct__target {
    ct_tensor *y;                /* (n, 1), standardised */
    double shift, scale, spread; /* of z */
    double step;                 /* the power of ten of which each y is a multiple; 0: none, or a transform */
    ct_transform transform;
    double log_slopes; /* Σ log g'(y_i) */
    double log_units;  /* what the units of several outputs add to -log p(y) */
} ct__target;

/* z = g(y) in a new tensor; with `first`, y also sets the transform's constant and the step. NULL with the
 * reason on the device. */
ct_tensor *ct__target_of(ct__target *t, const ct_tensor *y, bool first);
/* y, and log g'(y), of a standardised s. */
double ct__target_at(const ct__target *t, double s);
double ct__target_slope(const ct__target *t, double s);
/* Sets log_slopes. CT_EINVAL if rounding takes a y out of the domain. */
ct_status ct__target_sum_slopes(ct__target *t);
/* -log p(y) of all n rows minus that of the standardised rows. */
static inline double ct__target_volume(const ct__target *t, int64_t n)
{
    return (double)n * log(t->scale) + t->log_units - t->log_slopes;
}

#endif
