/* The noise of a model: what is given for each row, and what is learned. */
#ifndef CT_GP_NOISE_H
#define CT_GP_NOISE_H

#include <cotangent/gp/model.h>

typedef struct ct__noise {
    ct_gp_noise kind;
    /* (n), or NULL: the variance of each row, standardised, or the index of its level, i64 */
    ct_tensor *given;
    double *level; /* [n_levels], ascending; NULL without CT_NOISE_BY_LEVEL */
    int64_t n_levels;
    ct_column *column; /* of `given`, owned; NULL: unknown */
} ct__noise;

static inline bool ct__noise_has_variances(const ct__noise *noise)
{
    return noise->kind == CT_NOISE_GIVEN || noise->kind == CT_NOISE_GIVEN_PLUS;
}

/* The noise that the options give for each row: variances, levels, or NULL. Fails if it does not fit n
 * rows. */
const ct_tensor *ct__noise_given(const ct_gp_options *options);
ct_status ct__noise_check(ct_device *device, const ct_gp_options *options, int64_t n);
/* Takes the noise that the options give for n rows: in units of y², whose scale is y_scale². */
ct_status ct__noise_take(ct__noise *noise, const ct_tensor *given, int64_t n, ct_dtype dtype, double y_scale);
/* Variances or levels of rows in the form of `given`. NULL with the reason on the device. */
ct_tensor *ct__noise_rows(const ct__noise *noise, const ct_tensor *t, int64_t rows, ct_dtype dtype,
                          double y_scale);
/* Replaces x[i] by its index among the levels; the message begins with `what`. */
ct_status ct__noise_find_level(const ct__noise *noise, ct_device *device, double *x, int64_t i,
                               const char *what);
/* A copy whose tensor is that of `from` on the device. */
ct_status ct__noise_copy(ct__noise *noise, ct_device *device, const ct__noise *from);

/* The number of parameters for d inputs; parameter k of them, before the data set its start. */
int64_t ct__noise_params(const ct__noise *noise, int64_t d);
ct_param ct__noise_param(const ct__noise *noise, int64_t k);
/* The learned part of the variance, standardised, from the noise's parameters s: (n) at the rows X (n, d) of
 * the data, or (1). With CT_NOISE_LOG_LINEAR X may be any points. */
ct_var ct__noise_learned(const ct__noise *noise, ct_var s, ct_var X);

#endif
