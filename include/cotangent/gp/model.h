/* A model, exact Gaussian-process regression: y = m(x) + f(x) + ε, f ~ GP(0, k), ε ~ N(0, noise).
 *
 * Units. The model standardises inputs and outputs internally (unless switched off), and every result undoes
 * this: predictions, the likelihood and the parameters are in the units of the data as given. Kernel
 * variances and the noise are in units of y²; lengthscales and periods are in units of their input column.
 * The same holds for the start values, bounds and priors of a kernel. A lengthscale or period shared by
 * several columns is in standard deviations of the columns. A kernel without a variance parameter is scaled
 * by the variance of y.
 *
 * Transforms. With ct_gp_options.transform the model is one of z = g(y), for a y that is positive or a share
 * (transform.h): z = m(x) + f(x) + ε. The data, likelihoods, objectives and log densities are of y; the
 * densities include log g'(y), so they compare with those of a model without a transform. Parameters, given
 * noise variances and predictions (means, variances, covariances and draws) are of z. ct_gp_untransform and
 * ct_gp_untransform_moments convert predictions to y. A unit given as y² is then z².
 *
 * A model belongs to the device of its data. Use it from one thread at a time. Tensors passed in remain the
 * caller's.
 *
 * Every failure leaves its message in ct_message(device). If the model is NULL there is no message: the
 * function returns CT_EINVAL (or NULL, 0, NaN). All functions may return CT_EINVAL for an argument that is
 * NULL or outside its domain, CT_ESHAPE, CT_EDTYPE (tensors are f64 or f32), CT_EDEVICE (tensors must be on
 * the model's device) and CT_ENOMEM. CT_ENUMERIC means that no jitter makes the covariance matrix
 * factorisable; the message names the remedy. [Rasmussen & Williams 2006, ch. 2, 5] */
#ifndef COTANGENT_GP_MODEL_H
#define COTANGENT_GP_MODEL_H

#include <cotangent/gp/column.h>
#include <cotangent/gp/kernel.h>
#include <cotangent/gp/transform.h>

CT_BEGIN_DECLS

typedef struct ct_gp ct_gp;

typedef enum ct_gp_mean {
    CT_MEAN_CONSTANT = 0, /* m(x) = c, learned: parameter "mean.constant" */
    CT_MEAN_ZERO,         /* not learned: 0, or the average of y if y is standardised */
    /* m(x) = c + Σ_j b_j (x_j - a_j), with further parameters "mean.slope[j]" for b_j. a_j is what
     * standardisation subtracts from column j: its average, or 0. */
    CT_MEAN_LINEAR,
    /* m(x) = h(x)ᵀβ for the functions of options.basis. β has a flat prior and is integrated out: it is not a
     * parameter, and every variance includes its uncertainty. See "a trend" below. */
    CT_MEAN_BASIS,
} ct_gp_mean;

typedef enum ct_gp_noise {
    CT_NOISE_LEARNED = 0, /* one variance for all points: parameter "noise.variance" */
    CT_NOISE_GIVEN,       /* options.noise_variances, one for each point */
    CT_NOISE_GIVEN_PLUS,  /* the given ones plus a learned "noise.variance" */
    CT_NOISE_NONE,        /* none: y is m(x) + f(x) */
    /* One variance for each level of options.noise_levels: parameters "noise.variance[3]" for level 3, ... */
    CT_NOISE_BY_LEVEL,
    /* log σ²(x) = a + Σ_j b_j (x_j - m_j): parameters "noise.log_variance" for a and "noise.slope[j]" for
     * b_j. m_j is what standardisation subtracts from column j: its average, or 0. */
    CT_NOISE_LOG_LINEAR,
} ct_gp_noise;

typedef enum ct_gp_standardize {
    /* Subtracts from every column of X, and from y, its mean and divides by its standard deviation (by 1 if
     * that is 0). Columns of codes, which the profile `category` reads, stay as they are. */
    CT_STANDARDIZE_BOTH = 0,
    CT_STANDARDIZE_NONE,
    CT_STANDARDIZE_INPUTS,
    CT_STANDARDIZE_OUTPUTS,
} ct_gp_standardize;

/* Priors for parameters without a start value, bounds or prior of their own. Weak priors are
 * CT_PRIOR_SOFT_LOWER with b = 2. For a lengthscale over columns of X, a is √(number of columns) standard
 * deviations; for a learned noise, a is a hundredth of the variance of y. With fewer than 60 rows the noise
 * has CT_PRIOR_CAUCHY_LOWER with a tenth of the variance and b = 1.5, and if each y is a multiple of a power
 * of ten, the lower bound step² / 12, but at most a thousandth of the variance. The parameters of
 * CT_NOISE_LOG_LINEAR have normal priors: "noise.log_variance" around the log of a tenth of the variance of
 * y, with standard deviation 3; "noise.slope[j]" around 0, with standard deviation 1 over that of column j.
 * [Fuglstad et al. 2019; Hvarfner et al. 2024] */
typedef enum ct_gp_priors {
    CT_PRIORS_NONE = 0, /* the fit maximises the likelihood alone */
    CT_PRIORS_WEAK,
} ct_gp_priors;

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_options {
    ct_gp_mean mean;
    ct_gp_noise noise;
    ct_gp_priors priors;
    /* (n), not negative, in units of y²; copied. For CT_NOISE_GIVEN and CT_NOISE_GIVEN_PLUS. */
    const ct_tensor *noise_variances;
    /* (n), f64, f32 or i64 within ±2^53: a number for the level of each row; copied. For
     * CT_NOISE_BY_LEVEL. */
    const ct_tensor *noise_levels;
    /* Describes the column of noise_variances or noise_levels: copied, and saved in the model's file. NULL:
     * unknown. If it is a category, noise_levels are codes of its levels, and the parameters have their
     * names: "noise.variance[north]", or "noise.variance[2]" for a name of more than 47 bytes. */
    const ct_column *noise_column;
    ct_gp_standardize standardize; /* with a transform, of z in place of y */
    ct_transform_kind transform;
    /* For CT_MEAN_BASIS: the functions of the trend in the names of the inputs, such as "1 + x + x^2 + x*z".
     * Copied. */
    const char *basis;
    /* Describe the d columns of X and y: copied, and saved in the model's file. NULL: numbers named x0, x1,
     * ..., and y. ct_csv_options.columns (csv.h) reads a table as these columns. If some of them are
     * categories, a profile without active columns sees those of its kind: `category` the categories, any
     * other profile the rest. */
    const ct_column *inputs, *output;
    /* The number of rows of the application's table, including those that it held back; 0: unknown. Kept and
     * saved for the application. */
    int64_t rows_of_table;
    /* The processes that share the model (comm.h); NULL: only this one. Borrowed: it must outlive the model
     * and its copies. ct_gp_new and all functions that may need the factor, fit, evaluate, predict, score,
     * calibrate, inspect, save or choose are then collective, with the same data and options in all
     * processes. The model is on the CPU, and each process holds its share of the n²/2 numbers of the
     * covariance matrix. The leave-one-out objective, mixed precision, ct_gp_append and ct_gp_remove are
     * CT_EUNSUPPORTED. */
    struct ct_comm *comm;
} ct_gp_options;

/* A model of X (n, d) and y (n) or (n, 1), which are copied, both f64 or f32; the model has X's dtype. Takes
 * ownership of the kernel, also on failure. options = NULL: the defaults. Parameters without a start value
 * get one from the data. A period of one column without a lower bound gets the shortest one that the rows can
 * resolve, twice the median distance of neighbours (of fewer than 16, twice the smallest), unless its start
 * or upper bound lies below. Free the model with ct_gp_free. Returns NULL, with ct_message(X's device), for:
 * a NaN or an infinity (named by row and column); a y outside the transform's domain (named by row); a column
 * whose standard deviation lies outside 1e-150 to 1e150 (that of a constant column counts as 1); shapes that
 * do not fit; no rows; a bad kernel; more memory than the device may hold (CT_ENOMEM before anything is
 * allocated; the message gives the bytes). */
CT_API ct_gp *ct_gp_new(const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
                        const ct_gp_options *options);
CT_API void ct_gp_free(ct_gp *gp);

/* The most bytes that a model of n points in d dimensions holds at once on a device, including its data:
 * during a fit by the likelihood (the leave-one-out objective takes a panel more, see ct_gp_loo_nlpd), or,
 * with fitting = false, during prediction. It never falls as n grows. UINT64_MAX if it overflows, if the
 * device has failed to open, or if dtype is neither f64 nor f32. A fit stores the covariance of up to 600
 * points as a square, which is faster, and of more as a triangle. As long as the triangle is smaller than
 * that square, the square counts. */
CT_API uint64_t ct_gp_bytes_needed(const ct_device *device, int64_t n, int64_t d, ct_dtype dtype,
                                   bool fitting);

CT_API int64_t ct_gp_points(const ct_gp *gp); /* n */
CT_API int64_t ct_gp_dims(const ct_gp *gp);   /* d */
CT_API ct_dtype ct_gp_dtype(const ct_gp *gp);
CT_API ct_device *ct_gp_device(const ct_gp *gp);
/* The transform of y, for ct_transform_value, _inverse, _log_slope and _moments. */
CT_API ct_transform ct_gp_transform(const ct_gp *gp);
/* The model's options. inputs, output and noise_column are the model's own; noise_variances, noise_levels and
 * basis are NULL. */
CT_API ct_gp_options ct_gp_get_options(const ct_gp *gp);
/* The descriptions of an input column and of the output. Owned by the model; NULL out of range. */
CT_API const ct_column *ct_gp_input(const ct_gp *gp, int64_t column);
CT_API const ct_column *ct_gp_output(const ct_gp *gp);

/* The model's rows in the units of the data, as given up to rounding: X (n, d), and y (n) or (n, 1). Both are
 * f64 or f32, and either may be NULL. */
CT_API ct_status ct_gp_data(ct_gp *gp, ct_tensor *X, ct_tensor *y);

/* -- parameters ------------------------------------------------------------------------------------------ */
/* First the kernel's parameters in their order, then the noise's if learned, then the mean's. Values, bounds
 * and priors are in the units of the data. All parameters are positive except those with any_sign: the
 * mean's, those of CT_NOISE_LOG_LINEAR, and w of `index`. */

/* The kernel with the present parameter values, borrowed. ct_kernel_print writes it as text. */
CT_API const ct_kernel *ct_gp_kernel(const ct_gp *gp);

CT_API int64_t ct_gp_params(const ct_gp *gp);
CT_API const ct_param *ct_gp_param(const ct_gp *gp, int64_t i); /* borrowed; NULL out of range */
CT_API int64_t ct_gp_find(const ct_gp *gp, const char *name);   /* -1 if there is none */
/* Sets value, bounds, fixed and prior of parameter i, but not its name. A lower bound <= 0 of a positive
 * parameter and an infinite upper bound select the model's own bound. */
CT_API ct_status ct_gp_set_param(ct_gp *gp, int64_t i, const ct_param *param);

/* The learned "noise.variance", in units of y²; 0 if there is no parameter of this name. */
CT_API double ct_gp_noise_variance(const ct_gp *gp);
/* The negative log marginal likelihood of y as given, at the present parameters; NaN, with a status on the
 * device, if the covariance matrix cannot be factorised. */
CT_API double ct_gp_nlml_value(ct_gp *gp);
/* The jitter that the factorisation added to the diagonal, in units of y²; 0 if it needed none. */
CT_API double ct_gp_jitter(ct_gp *gp);

CT_END_DECLS
#endif
