/* Exact Gaussian-process regression: y = m(x) + f(x) + ε, f ~ GP(0, k), ε ~ N(0, noise).
 *
 *     ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), NULL);
 *     ct_status s = gp ? ct_gp_fit(gp, NULL) : ct_last_status(device);
 *     if (!s) s = ct_gp_predict(gp, Xs, mean, variance);
 *     if (s) fprintf(stderr, "%s\n", ct_message(device));
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
#ifndef COTANGENT_GP_H
#define COTANGENT_GP_H

#include <cotangent/column.h>
#include <cotangent/kernel.h>
#include <cotangent/season.h>
#include <cotangent/transform.h>

CT_BEGIN_DECLS

typedef struct ct_gp ct_gp;

/* -- the model ------------------------------------------------------------------------------------------- */

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
 * deviations; for a learned noise, a is a hundredth of the variance of y. The parameters of
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
     * ..., and y. ct_csv_options.columns (io.h) reads a table as these columns. If some of them are
     * categories, a profile without active columns sees those of its kind: `category` the categories, any
     * other profile the rest. */
    const ct_column *inputs, *output;
    /* The number of rows of the application's table, including those that it held back; 0: unknown. Kept and
     * saved for the application. */
    int64_t rows_of_table;
    /* The processes that share the model (comm.h); NULL: only this one. Borrowed: it must outlive the model
     * and its copies. ct_gp_new and all functions that may need the factor, fit, evaluate, predict, score,
     * widen, inspect, save or choose are then collective, with the same data and options in all processes.
     * The model is on the CPU, and each process holds its share of the n²/2 numbers of the covariance matrix.
     * The leave-one-out objective, mixed precision, ct_gp_append and ct_gp_remove are CT_EUNSUPPORTED. */
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

/* The objective of the fit, nlml - Σ log prior, and its gradient (NULL: not wanted) at a point u of
 * ct_gp_params numbers: u[i] is the log of parameter i if that is positive, else the parameter itself. For
 * the application's own optimiser, and for tests. The model is not changed. The jitter ladder of ct_gp_fit
 * applies. */
CT_API ct_status ct_gp_objective(ct_gp *gp, const double *u, double *value, double *gradient);

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π with C = k(X, X) + diag(noise), as an op on the tape: theta (..., P), X
 * (..., n, d), r (..., n) the residual y - m(X), noise (..., n) or (..., 1) -> (...). The batch dimensions
 * broadcast; r may also be a column (n, 1). theta, X, r and noise get gradients. The kernel must be bound,
 * and must not change while the tape uses it. If C is not positive definite, or has a pivot of rounding size
 * (16 units), the result is NaN and flagged (tape.h), in a batch only for that member. This op adds no
 * jitter. Memory: one packed triangle of n(n+1)/2 numbers, or a square of n² up to 600 rows, until the op
 * returns. If a gradient is wanted, it is computed at once from C̄ = ½ (C⁻¹ - ααᵀ), α = C⁻¹r, and a sweep
 * only scales it. A recorded sweep composes it from ops and takes some n×n arrays for each member. On the CPU
 * the threads share a batch's members of up to 1000 points, each with a triangle of its own. A member's value
 * and gradient have the same bits as in a call of its own. [Rasmussen & Williams 2006, eqs 2.30, 5.9] */
CT_API ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* The accuracy of a value in mixed precision, with C = L (I + E) Lᵀ and the factor L in f32. */
typedef struct ct_gp_mixed {
    double error;     /* absolute error of the value: three standard deviations of its random estimates */
    double deviation; /* |E|_F, estimated: rounding in f32 times the condition of C; at most 0.5 */
    double residual;  /* |r - Cα| / |r| in f64 */
    int steps;        /* products with C that refined α */
} ct_gp_mixed;

/* The same likelihood from a factor in f32: half the memory of ct_gp_nlml, and less time for thousands of
 * points. All inputs are f64, without batch dimensions. Conjugate gradients, with C recomputed in f64, make
 * the quadratic form, α and r_bar accurate to f64. 16 products with seeded random vectors correct the
 * log-determinant to second order in E; *report (may be NULL) gives the remaining error. The other gradients
 * are accurate to about deviation/√n of a row's share. Reads scalars, so it waits for the device. CT_ENUMERIC
 * if f32 cannot factorise C, or if the deviation is too large for a useful answer: use ct_gp_nlml, or raise
 * the noise. docs/gp.md has the derivation. [Higham 2002, Accuracy and stability of numerical algorithms, ch.
 * 12; Hutchinson 1990] */
CT_API ct_var ct_gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                               ct_gp_mixed *report);

/* -Σ_i log p(y_i | X, y without i), the negative leave-one-out log predictive density, with the inputs,
 * batches and gradients of ct_gp_nlml. This objective rewards good predictions, so a wrong kernel harms it
 * less than the likelihood. With its gradient it takes twice the work of the likelihood. Memory: one packed
 * triangle, held until the tape is reset; a panel of at most 32 MB (or 16 n numbers); and 256 numbers for
 * each row of the panel. [Rasmussen & Williams 2006, eqs 5.10-5.13] */
CT_API ct_var ct_gp_loo_nlpd(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* The ops of Gaussian processes, which ct_op_list does not contain: cov, cov_diag, gp_nlml, gp_loo_nlpd,
 * nlml_shared and nlml_kronecker. Sets *n to their number. */
CT_API const struct ct_op *const *ct_gp_op_list(int *n);

/* -- a trend --------------------------------------------------------------------------------------------- */
/* y = h(x)ᵀβ + f(x) + ε with a flat prior on β: universal kriging. The text of a basis is
 *     basis  = term { "+" term }        term  = factor { "*" factor }
 *     factor = "1" | column [ "^" power ]
 * A column is an input's name, in double quotes unless it consists of letters, digits, "_" and "."; or x0,
 * x1, ..., unless a column has that name. A function has a degree of up to 8 in the columns, which are in the
 * units of the data; none is a category. CT_EFORMAT for a wrong text; the message has three lines: the
 * reason, the text, and a caret under the place. A prediction takes a few more numbers for each point and
 * function.
 *
 * With C = k(X, X) + diag(noise), H (n, p) with rows h(x_i)ᵀ, A = HᵀC⁻¹H and β̂ = A⁻¹HᵀC⁻¹y, the model has
 *     -log p(y) = ½ (y - Hβ̂)ᵀC⁻¹(y - Hβ̂) + ½ log det C + ½ log det A + (n-p)/2 log 2π
 *     mean*     = h(x*)ᵀβ̂ + k*ᵀC⁻¹(y - Hβ̂)
 *     variance* = k(x*, x*) - k*ᵀC⁻¹k* + RᵀA⁻¹R,   R = h(x*) - HᵀC⁻¹k*
 * With a transform y is z here. Adding a combination of the functions to y adds it to the predictions and
 * changes nothing else. Leave-one-out estimates β without the row. Making a model, and appending or removing
 * rows, is CT_EINVAL if there are not more rows than functions, or if a function is a combination of those
 * before it on these rows; the message names it. CT_EUNSUPPORTED: the leave-one-out objective, mixed
 * precision, and models over many processes. The likelihoods of models with different functions cannot be
 * compared. [O'Hagan 1978; Rasmussen & Williams 2006, §2.7, eqs 2.41-2.45] */

enum { CT_GP_FUNCTIONS = 64 }; /* the most functions */

/* The number p of functions; 0 without a basis. */
CT_API int64_t ct_gp_functions(const ct_gp *gp);
/* Writes function i with the names of the columns, such as "x^2". Size and result as for snprintf; 0 out of
 * range. */
CT_API size_t ct_gp_function(const ct_gp *gp, int64_t i, char *text, size_t size);
/* β̂ (p) and its standard errors (p), the roots of diag A⁻¹, in the units of the data. Either may be NULL. */
CT_API ct_status ct_gp_coefficients(ct_gp *gp, double *value, double *error);

/* -- fitting --------------------------------------------------------------------------------------------- */

typedef enum ct_optimizer {
    CT_OPTIMIZER_DEFAULT = 0, /* L-BFGS if the build has NLopt, else Adam              */
    CT_OPTIMIZER_LBFGS,       /* with bounds; CT_EUNSUPPORTED in a build without NLopt */
    CT_OPTIMIZER_ADAM,        /* [Kingma & Ba 2015], projected on the bounds           */
} ct_optimizer;

typedef enum ct_fit_objective {
    CT_OBJECTIVE_LIKELIHOOD = 0, /* the marginal likelihood, ct_gp_nlml */
    /* The leave-one-out density, ct_gp_loo_nlpd. A constant mean stays within a standard deviation of the
     * average of y, unless it has bounds or a start of its own. */
    CT_OBJECTIVE_LOO,
} ct_fit_objective;

typedef enum ct_precision {
    CT_PRECISION_FULL = 0, /* every evaluation in the model's dtype                                  */
    CT_PRECISION_MIXED,    /* ct_gp_nlml_mixed: half the memory, and less time for thousands of rows */
} ct_precision;

/* One evaluation of the objective. */
typedef struct ct_fit_progress {
    int model;         /* index in ct_gp_fit_many's list; in ct_gp_choose, of the candidate */
    int start, starts; /* which start, from 0, of how many */
    /* Of this start so far. L-BFGS counts the steps that lowered the objective, Adam counts all steps. */
    int iteration;
    int evaluation;   /* of this start */
    int logged;       /* evaluations that the checkpoint had when the fit began; 0 without one */
    double objective; /* at this point; +inf if the covariance could not be factorised */
    double best;      /* the lowest of this start */
    /* The largest entry of the gradient in the logs of the free parameters, leaving out entries that a bound
     * holds. */
    double gradient_norm;
    double jitter;            /* in units of y²                                */
    double seconds;           /* since ct_gp_fit was called                    */
    const double *parameters; /* ct_gp_params values, in the units of the data */
    int64_t n_parameters;
} ct_fit_progress;

/* Returns 0 to continue and anything else to stop. The library makes one call at a time. If starts run in
 * parallel, the calls come from the library's own threads and alternate between the starts. */
typedef int (*ct_fit_fn)(void *context, const ct_fit_progress *progress);

/* Zero-initialise, then set what you need. */
typedef struct ct_fit_options {
    ct_optimizer optimizer;
    ct_fit_objective objective; /* the log priors are subtracted from it */
    ct_precision precision;     /* of the evaluations; mixed: only the likelihood of f64 models; no jitter */
    int restarts;               /* starts after the first, at seeded random points */
    int max_iterations;         /* for each start; 0: 200 (L-BFGS), 1000 (Adam) */
    double tolerance;     /* stop when gradient_norm / n is below this; 0: 1e-6, 1e-5 (mixed), 1e-4 (f32) */
    double learning_rate; /* of Adam, in the logs of the parameters; 0: 0.1 */
    uint64_t seed;        /* of the restarts' points; the same seed gives the same fit */
    ct_fit_fn progress;   /* may be NULL */
    void *context;
    /* NULL, or the path of a file for every evaluation, from which the same fit continues after a crash or a
     * stop; see below. */
    const char *checkpoint;
} ct_fit_options;

/* Minimises the objective over the free parameters, keeps the best point of all starts and factorises there.
 * options = NULL: the defaults. CT_ESTOPPED: the callback asked to stop; the model keeps the best point that
 * the callback was told of and is ready to predict. Any other failure leaves the parameters unchanged. A
 * failed factorisation does not end the search: it is repeated with a jitter of 1e-10, 1e-8, 1e-6, 1e-4 of
 * the mean diagonal, which the report counts. In mixed precision there is no jitter: the search avoids points
 * that f32 cannot factorise, and the report's `failed` counts them. If the start itself is such a point, the
 * result is CT_ENUMERIC, and the message names the remedy. After a mixed fit, the first call that needs the
 * factor computes it in f64.
 *
 * With options.checkpoint every evaluation is added to that file before the callback is told of it. A fit of
 * the same data, kernel, start values, bounds, priors and options takes its evaluations from the file and
 * ends with the same bits as an uninterrupted fit. The file remains after the end: the same fit then computes
 * only the last factor. The callback is told of every evaluation, computed or not. A logged evaluation is
 * used only if its point agrees to the bit; on another machine a search may leave the logged path, and then
 * computes. A damaged or unfinished record is computed again. A file that is no checkpoint, or has a damaged
 * head, is CT_EFORMAT; a checkpoint of another fit is CT_EINVAL. Both are left unchanged. A failure to write
 * is CT_EIO, and ends the fit. One fit at a time uses a file. In ct_gp_choose one file serves all
 * searches. */
CT_API ct_status ct_gp_fit(ct_gp *gp, const ct_fit_options *options);

/* Fits independent models, for example one for each output of a table. status[i] (may be NULL) is what
 * ct_gp_fit would return for models[i]. All models are tried; the first failure is returned, with its
 * message. On the CPU all starts of all models of up to 1000 rows run in parallel, one on each thread, and so
 * do the starts of one model in ct_gp_fit. Each start has its own memory, so the result is the same to the
 * bit for any number of threads. Do not use the models' devices meanwhile. With an allocator of the
 * application the starts run one after the other in the caller's thread. */
CT_API ct_status ct_gp_fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options,
                                ct_status *status);

/* Why a search ended. GRADIENT, FLAT and FIXED are convergence. FLAT: steps change the objective by less than
 * 1e-6; in mixed precision by less than 1e-4 or a third of the error; in f32 by less than 1e-3. */
typedef enum ct_fit_end {
    CT_FIT_UNKNOWN = 0, /* no fit yet, or an old file                         */
    CT_FIT_GRADIENT,    /* the gradient is below the tolerance                */
    CT_FIT_FLAT,        /* steps no longer change the objective               */
    CT_FIT_FIXED,       /* no parameter is free                               */
    CT_FIT_ITERATIONS,  /* max_iterations                                     */
    CT_FIT_EVALUATIONS, /* L-BFGS made 2 max_iterations + 20 evaluations      */
    CT_FIT_STALLED,     /* no lower point is found, and the gradient is large */
    CT_FIT_STOPPED,     /* the callback asked to stop                         */
    CT_FIT_NOT_STARTED, /* the fit ended before this start began              */
    CT_FIT_FAILED,      /* an error, or no factor at the first point          */
} ct_fit_end;

CT_API bool ct_fit_converged(ct_fit_end end);
/* The end as text: "gradient below the tolerance", ...; static, "unknown" for any other value. */
CT_API const char *ct_fit_end_text(ct_fit_end end);

typedef struct ct_fit_start {
    /* CT_OK; CT_ESTOPPED, also before the start began; CT_ENUMERIC: no point has a factor; or the error that
     * ended the fit */
    ct_status status;
    ct_fit_end end;
    double objective; /* the lowest; +inf if there is none */
    int iterations, evaluations;
    double seconds;
} ct_fit_start;

typedef struct ct_fit_report {
    /* The one used, so CT_OPTIMIZER_ADAM by default means that the build has no L-BFGS; CT_OPTIMIZER_DEFAULT
     * before any fit. */
    ct_optimizer optimizer;
    ct_fit_end end;   /* of the best start; CT_FIT_STOPPED if any start was stopped or did not begin */
    double objective; /* at the point that was kept */
    ct_fit_objective objective_of; /* if leave-one-out, ct_gp_loo is optimistic for new rows */
    double gradient_norm;
    double jitter; /* at that point, in units of y² */
    /* Evaluations that needed a jitter; those that no jitter, or mixed precision, could factorise. */
    int jittered, failed;
    ct_precision precision;
    /* Estimated error of `objective`; 0 in full precision. The smallest of many noisy values is biased
     * low, so in mixed precision `objective` and its error are evaluated once more at the end. */
    double objective_error;
    int iterations, evaluations; /* of all starts */
    int replayed;                /* evaluations taken from the checkpoint */
    double seconds;
    int best, starts;          /* the index of the best start; the number of starts */
    const ct_fit_start *start; /* [starts], owned by the model until the next fit; NULL after ct_gp_load */
} ct_fit_report;

CT_API ct_fit_report ct_gp_report(const ct_gp *gp);

/* -- numerics: how accurate the results are -------------------------------------------------------------- */

enum { CT_GP_NEAR_SHOWN = 16 };

/* A row of the data that the kernel hardly distinguishes from an earlier row. */
typedef struct ct_gp_near {
    int64_t row, like;  /* from 0; like < row is the earlier row */
    double correlation; /* k(x, x') / √(k(x, x) k(x', x')) without noise and white: 1 - 1e-6 or more */
} ct_gp_near;

/* Describes C = k(X, X) + diag(noise) + jitter at the present parameters. */
typedef struct ct_gp_numerics {
    /* Estimate of |C|₁ |C⁻¹|₁, hardly ever more than 3 times too low [Higham 1988, alg. 4.1]. */
    double condition;
    double digits; /* decimal digits that a solution with C keeps: -log10(ε condition), at least 0 */
    /* Approximate bound on the rounding error of an entry of the objective's gradient in the logs of the
     * parameters: (n + rᵀα) ε condition. A gradient_norm below this is not meaningful. */
    double gradient_error;
    double jitter; /* on the diagonal, in units of y² */
    /* min_i L_ii² / C_ii, the share of a row's variance that the rows before it do not explain; and that
     * row. */
    double smallest_pivot;
    int64_t pivot_row;
    int64_t near_rows;                 /* rows with such an earlier row */
    ct_gp_near near[CT_GP_NEAR_SHOWN]; /* the first min(near_rows, CT_GP_NEAR_SHOWN) of them */
    int64_t at_bounds;                 /* free parameters that a bound holds: ct_gp_at_bound */
} ct_gp_numerics;

/* Fills *numerics. Factorises first if necessary; the rest takes O(n² d) operations, in chunks of bounded
 * memory. */
CT_API ct_status ct_gp_inspect(ct_gp *gp, ct_gp_numerics *numerics);
/* -1 or 1 if parameter i lies at its lower or upper bound, the user's or the fit's own, to 0.1 %; else 0,
 * also for a fixed parameter. */
CT_API int ct_gp_at_bound(const ct_gp *gp, int64_t i);

/* -- prediction ------------------------------------------------------------------------------------------ */
/* At Xs (m, d), f64 or f32, whatever the model's dtype. Outputs are the caller's tensors, f64 or f32; mean
 * and variance are (m) or (m, 1), and either may be NULL. Variances are never negative. The first call after
 * a change of the model factorises. Points are processed in panels. In addition to the model, inputs and
 * outputs, a mean takes 1 MB (or 32 n numbers) and a variance 32 MB (or 16 n numbers), for any m. [Rasmussen
 * & Williams 2006, alg. 2.1] */

/* Mean and variance of m(x) + f(x). */
CT_API ct_status ct_gp_predict(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* Mean and variance of a new observation y, with the noise. If the noise is given point by point, or learned
 * by level, its average over the data is added. */
CT_API ct_status ct_gp_predict_noisy(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* The variance (m) of the noise of new observations at Xs, in units of y², which ct_gp_predict leaves out.
 * noise = NULL: as in ct_gp_predict_noisy. Else noise is (m) or (m, 1): the variances at Xs if the noise is
 * given point by point, to which a learned one is added; or the levels with CT_NOISE_BY_LEVEL, which may be
 * i64. A NaN level is unknown and gets the average noise. CT_EINVAL for a level that is not in the data, and
 * for `noise` with a model of another kind. */
CT_API ct_status ct_gp_noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance);
/* Mean (may be NULL) and the full covariance (m, m), symmetric, with the noise as above on its diagonal if
 * `noisy`. Takes about 5 m² numbers of working memory. */
CT_API ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                                    ct_tensor *covariance);
/* Mean and variance (m) on the tape of Xs, as functions of Xs (m, d), which is in the data's units and the
 * model's dtype. The model's present state is used. Either output may be NULL. Gradients of any order flow
 * into Xs; the first costs one more triangular solve and is computed with the value. Where rounding exceeds
 * the variance of f, its gradient is 0. A failure is the tape's. */
CT_API void ct_gp_posterior(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance);
/* The same with the covariance (m, m) of all points instead of the variances. It is symmetric. Keeps 2 m n
 * numbers on the tape. */
CT_API void ct_gp_posterior_full(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *covariance);
/* Joint draws into samples (s, m), f64 or f32, in units of y, or with a transform of z. Draw i depends only
 * on (seed, i) and the model. Memory as for the full covariance. If that is singular to rounding, as at rows
 * of the data, a share of the mean prior variance is added to its diagonal: the first of 1e-14 (f32: 1e-7)
 * times 1, 10, 100, ..., up to 1e-3, that suffices; else CT_ENUMERIC. */
CT_API ct_status ct_gp_sample(ct_gp *gp, const ct_tensor *Xs, bool noisy, uint64_t seed, ct_tensor *samples);

/* Predictions of a model with a transform, converted to the units of y; without a transform nothing changes.
 * Both functions work in place, on f64 or f32, and are collective in a communicator. CT_ENUMERIC if a result
 * is not finite, such as the mean of y where z is uncertain. */
/* y = g⁻¹(z) for draws or quantiles of z, of any shape. */
CT_API ct_status ct_gp_untransform(ct_gp *gp, ct_tensor *z);
/* Replaces means and variances (m) or (m, 1) of z by those of y, exactly: ct_transform_moments. If the
 * variance includes the noise, y is a new observation, else g⁻¹(m(x) + f(x)). For an interval of y, do not
 * use mean ± 1.96 standard deviations of y, but g⁻¹ of the interval of z. */
CT_API ct_status ct_gp_untransform_moments(ct_gp *gp, ct_tensor *mean, ct_tensor *variance);

/* -- leave-one-out --------------------------------------------------------------------------------------- */

/* Predicts every y_i from all other rows, at the present parameters: its mean, its variance (with noise and
 * jitter), and the log predictive density log p(y_i). Each is (n) or (n, 1), f64 or f32, and may be NULL.
 * With a transform mean and variance are of z, the density of y. Computed in closed form from the factor:
 * n³/3 operations and 32 MB (or 16 n numbers). The transforms and parameters are those of all rows.
 * [Rasmussen & Williams 2006, eqs 5.10-5.12] */
CT_API ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density);
/* The same by folds: predicts every y_i from the rows j with fold[j] != fold[i]. fold: n numbers of any
 * value. The log density is that of each row, not the joint one of its fold. With one row in each fold this
 * is ct_gp_loo; with all rows in one fold it is the prior. Computed in closed form from the factor: 2n³/3
 * operations, over a communicator 2n³, and about 2b³ for a fold of b rows. Takes 64 MB (or 32 n numbers), one
 * number for each pair of rows in a fold, and 4b² for the largest. CT_ENUMERIC if the other rows do not
 * determine a fold's rows, or a coefficient of a trend. CT_EUNSUPPORTED: a model of joint outputs
 * (outputs.h). [Rasmussen & Williams 2006, §5.4.2; Ginsbourger & Schärer 2021] */
CT_API ct_status ct_gp_cross_validate(ct_gp *gp, const int64_t *fold, ct_tensor *mean, ct_tensor *variance,
                                      ct_tensor *log_density);
/* *log_density = Σ_i log p(y_i | the other rows) at the present parameters, with `count` input columns set to
 * their means in every row, for kernel, mean and noise. The difference to the value without such columns
 * (columns NULL, count 0) is what leave-one-out loses without them. Takes a factorisation and a second factor
 * meanwhile. The model is not changed. CT_EINDEX for a column that does not exist. */
CT_API ct_status ct_gp_loo_ablation(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density);

/* Widens the variances of an overconfident model. c is the mean square of the standardised leave-one-out
 * residuals,
 *     c = 1/n Σ_i (y_i - mean_i)² / variance_i.
 * If it is above 1.01, the whole covariance, noise included, is multiplied by c. That is the best factor for
 * these residuals, and it changes no predicted mean. *factor (may be NULL): c, or 1 if nothing was done. Work
 * and memory as for ct_gp_loo. CT_EUNSUPPORTED if the parameters cannot multiply the covariance: noise given
 * point by point, a term such as `rbf` or `poly` without a `scale`, or a fixed variance. CT_EINVAL if a bound
 * forbids it, CT_ENUMERIC if a residual is not finite. On failure the model is unchanged and *factor is NaN.
 * [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */
CT_API ct_status ct_gp_calibrate_variance(ct_gp *gp, double *factor);

/* -- sensitivity ----------------------------------------------------------------------------------------- */

/* Sobol indices of the posterior mean f for each of the d input columns, with V = Var f:
 *     first[j] = Var(E[f | x_j]) / V, the share that column j explains alone,
 *     total[j] = E(Var[f | all but x_j]) / V, the share in which it takes part at all.
 * The columns are treated as independent, each distributed as in the data. Estimated from `samples` random
 * pairs of points, (d + 2) samples predicted means, to about 1/√samples; a small index may come out a little
 * below 0. The same seed gives the same numbers. Takes 3 samples (d + 1) numbers. With a transform f is the
 * mean of z. CT_ENUMERIC if f is constant. [Saltelli et al. 2010, "Variance based sensitivity analysis of
 * model output"; Jansen 1999] */
CT_API ct_status ct_gp_sobol(ct_gp *gp, int64_t samples, uint64_t seed, double *first, double *total);

/* -- choosing a covariance ------------------------------------------------------------------------------- */
/* Fits several covariances to the data, keeps the one with the lowest
 *     AICc = 2 (objective + m n / (n - m - 1))        n rows, m free parameters
 * [Akaike 1974; Hurvich & Tsai 1989], and widens its variances (ct_gp_calibrate_variance). A meaningless
 * parameter improves a fit by the leave-one-out density about twice as much as one by the likelihood, so
 * there m is twice the number of parameters.
 *
 *     ct_gp *gp;
 *     ct_gp_choice choice;
 *     ct_status s = ct_gp_choose(X, y, NULL, NULL, &gp, &choice);
 *     if (!s) puts(choice.tried[choice.best].kernel); */

enum {
    CT_GP_CANDIDATES = 16, /* the most candidates */
    CT_GP_SEASONAL = 5,    /* the most that seasons add; the bytes of the longest text of one */
    CT_GP_SEASONAL_TEXT = 384,
};

/* The input in which ct_gp_choose looks for seasons. */
typedef enum ct_gp_season {
    CT_GP_SEASON_OF_TIME = 0, /* the only input, if it is a time (ct_gp_options.inputs); else none */
    CT_GP_SEASON_OF_COLUMN,   /* column season_column of X */
    CT_GP_SEASON_NONE,
} ct_gp_season;

/* A covariance to try. */
typedef struct ct_gp_candidate {
    const char *kernel; /* as ct_kernel_parse reads it */
    /* NULL: the search has the usual start. The kernel text of an earlier candidate: the search starts where
     * that one ended. Parameters that both have by the same name take its values; other variances of the
     * kernel start at a tenth of its first one. */
    const char *from;
} ct_gp_candidate;

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_choose_options {
    /* [n_candidates], at most CT_GP_CANDIDATES. NULL, 0: the default candidates, which are
     *     1. "linear + scale * matern32", for more than two columns; by the leave-one-out density
     *        "scale * matern32", for more than one column
     *     2. "scale * matern32(ard)"
     *     3. "scale * matern32(ard) + scale * rbf(ard)"
     *     4. the kernel of 3, from where 2 ended
     * With categories among the inputs:
     *     1. "linear + scale * category(ard) + scale * matern32 * category"; not by the leave-one-out density
     *     2. "scale * category(ard) + scale * matern32(ard) * category(ard)"
     *     3. "scale * category(ard) + (scale * matern32(ard) + scale * rbf(ard)) * category(ard)"
     *     4. the kernel of 3, from where 2 ended
     * after the first, with one category that has 20 rows or more for each level,
     *     "index(rank=1) * matern32(ard)" and "index(rank=1) * (matern32(ard) + scale * rbf(ard))"
     * and with nothing but categories "scale * category" and "scale * category(ard)".
     *
     * If the input that `season` names has seasons (ct_find_seasons), the default has further candidates:
     *     5. the kernel of 2 with " + scale * periodic(period=P) * rbf" for the first season
     *     6. the same with "rbf(lengthscale=L)", L = 3 P: from the start of a season that fades
     *     7. 5 with a periodic part for the second season, if there is one, from where 5 ended
     *     8. the periodic parts of 7, or of 5, with " + scale * rbf + scale * matern52(lengthscale=L)",
     *        L = 2 P: a trend and variations around it
     *     9. that with the kernel of 2, from where 8 ended
     * With several inputs all of these parts except the kernel of 2 see only the season's input. 8 then also
     * has the kernel of 2, and there is no 9. */
    const ct_gp_candidate *candidates;
    int n_candidates;
    ct_gp_season season;
    int64_t season_column;
    ct_fit_options fit; /* for every search; a search from another's end has no restarts */
    int64_t rows;   /* rows that make the choice, 2 or more; 0: all if there are at most 2000, else 1000 */
    bool as_fitted; /* do not widen the variances */
} ct_gp_choose_options;

/* The result of a candidate. */
typedef struct ct_gp_tried {
    const char *kernel, *from; /* the candidate's own texts; for seasonal ones the choice's */
    /* Not fitted, with status CT_EINVAL: n <= m + 1 and another candidate has fewer parameters, or the
     * candidate in `from` was not fitted for that reason. */
    bool too_few_rows;
    ct_status status; /* of its fit; CT_ESTOPPED also if it did not begin; CT_ENUMERIC: no model */
    ct_fit_end end;
    int64_t parameters;          /* the number of free ones */
    double objective, criterion; /* +inf if there is no model; the criterion also if n <= m + 1 */
    int iterations, evaluations; /* of all its starts */
} ct_gp_tried;

typedef struct ct_gp_choice {
    int count, best; /* best: the index of the chosen one; -1: none */
    ct_gp_tried tried[CT_GP_CANDIDATES];
    ct_season season[CT_SEASONS]; /* [seasons], those that were found */
    int seasons;
    char seasonal[CT_GP_SEASONAL][CT_GP_SEASONAL_TEXT]; /* kernels that `tried` refers to */
    int64_t rows;                                       /* rows that made the choice */
    double widened;                      /* the factor of all variances; 1 if they were not widened */
    ct_status widening;                  /* of ct_gp_calibrate_variance; its message is ct_message(device) */
    int starts, iterations, evaluations; /* of all searches */
    int replayed;                        /* evaluations taken from the checkpoint */
    double seconds;
} ct_gp_choice;

/* Sets *gp to the model of X (n, d) and y (n) or (n, 1) with the chosen covariance; the caller frees it.
 * model = NULL: weak priors, else the defaults. options = NULL: the defaults. The candidates are fitted by
 * ct_gp_fit_many, and each holds its factor until the choice is made. If only some rows make the choice,
 * fit.seed draws one row from each of equally many stretches of the table; a last search on all rows then
 * starts where the chosen one ended. If no candidate has a model of the drawn rows, all rows choose. *choice
 * (may be NULL) is kept up to date for the progress callback. `model` in its argument is an index of
 * choice->tried, or choice->count in the last search on all rows, and `seconds` counts from this call.
 * CT_ESTOPPED: the callback asked to stop; *gp is the best model so far, not widened, or NULL if there is
 * none. After any other failure *gp is NULL: CT_EINVAL for a `from` that is not an earlier candidate's
 * kernel, and for a season column that does not exist, is a category, or is given together with the caller's
 * own candidates; CT_ENUMERIC if no candidate has a model, and the failures of ct_gp_new and ct_gp_fit. A
 * failure to widen, except CT_ENOMEM, is reported in *choice only. */
CT_API ct_status ct_gp_choose(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                              const ct_gp_choose_options *options, ct_gp **gp, ct_gp_choice *choice);

/* -- adding and removing rows ---------------------------------------------------------------------------- */
/* Parameters and transforms stay those of the fit, and new rows are standardised as the old ones were. The
 * model then predicts, to rounding, what a model of all its rows with these parameters would predict. An
 * existing factor is updated. On failure the model is unchanged. */

/* A copy with the same data, parameters and factor, which both share until one of them changes: for "what if"
 * questions. NULL with ct_message on failure. */
CT_API ct_gp *ct_gp_copy(const ct_gp *gp);
/* Adds k rows at the end: X (k, d), y (k) or (k, 1), and noise: their variances (k) if the noise is given
 * point by point; their levels (k), known to the model, with CT_NOISE_BY_LEVEL; else NULL. Takes k n²
 * operations, a second factor and k (n + k) numbers. If the new rows make the matrix indefinite to rounding,
 * it is factorised anew, with the jitter ladder. */
CT_API ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_tensor *noise);
/* Removes `count` rows, counted from 0; later rows move up. For up to 16 rows, the first of them row i, this
 * takes 35 to 70 (n - i)² operations and a second factor. For many rows, with Σ (n - i)² > n³/40, the matrix
 * is factorised anew. CT_EINDEX for a row that does not exist or is named twice. At least one row must
 * stay. */
CT_API ct_status ct_gp_remove(ct_gp *gp, const int64_t *rows, int64_t count);

/* -- files ----------------------------------------------------------------------------------------------- */

/* Saves data, transforms, kernel, parameters and factor in one self-contained file, written atomically.
 * Programs that load a model, change it and save it under the same name take turns with ct_file_lock_take
 * (io.h). */
CT_API ct_status ct_gp_save(ct_gp *gp, const char *path);

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_save_options {
    /* Leave out the factor, n²/2 numbers, and do not compute one. The loaded model computes it, by n³/3
     * operations, when it is first needed, with the jitter ladder. It predicts the same to rounding. */
    bool no_factor;
} ct_gp_save_options;

/* ct_gp_save with options. options = NULL: the defaults. */
CT_API ct_status ct_gp_save_with(ct_gp *gp, const char *path, const ct_gp_save_options *options);
/* Whether the model holds its factor, computed or loaded since the last change. */
CT_API bool ct_gp_has_factor(const ct_gp *gp);
/* Loads a saved model. With its factor the model predicts the same bits. NULL with ct_message: CT_EIO, or
 * CT_EFORMAT for a file that is truncated, damaged or not a model. */
CT_API ct_gp *ct_gp_load(ct_device *device, const char *path);
/* The same over the processes of a communicator. Each of them reads the file except the factor, and computes
 * its share of that when it is first needed. Collective. */
CT_API ct_gp *ct_gp_load_for(ct_device *device, const char *path, struct ct_comm *comm);

CT_END_DECLS
#endif
