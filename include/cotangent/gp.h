/* Exact Gaussian-process regression: y = m(x) + f(x) + ε, f ~ GP(0, k), ε ~ N(0, noise).
 *
 *     ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), NULL);
 *     ct_status s = gp ? ct_gp_fit(gp, NULL) : ct_last_status(device);
 *     if (!s) s = ct_gp_predict(gp, Xs, mean, variance);
 *     if (s) fprintf(stderr, "%s\n", ct_message(device));
 *
 * Units. Inputs and outputs are standardised inside the model (unless switched off) and every answer undoes
 * it: predictions, the likelihood and the parameters are those of the data as given. Kernel variances and the
 * noise are in units of y², lengthscales and periods in units of their input column; also where a kernel
 * brings them along as start values, bounds or priors. A lengthscale or period that several columns share has
 * no such unit: it is in standard deviations of the columns. A kernel without any variance parameter is
 * scaled by the variance of y.
 *
 * A model belongs to the device of its data and is used from one thread at a time. Every failure leaves its
 * text in ct_message(device), but for a model that is NULL, which is CT_EINVAL (or NULL, 0, NaN) and nothing
 * else. Throughout: CT_EINVAL for a NULL argument or one without sense, CT_ESHAPE, CT_EDTYPE (tensors are f64
 * or f32), CT_EDEVICE (theirs is the model's), CT_ENOMEM, and CT_ENUMERIC where the covariance matrix cannot
 * be factorised with any jitter, with the remedy. Tensors that are given stay the caller's. [Rasmussen &
 * Williams 2006, ch. 2, 5] */
#ifndef COTANGENT_GP_H
#define COTANGENT_GP_H

#include <cotangent/kernel.h>

CT_BEGIN_DECLS

typedef struct ct_gp ct_gp;

/* -- the model ------------------------------------------------------------------------------------------- */

typedef enum ct_gp_mean {
    CT_MEAN_CONSTANT = 0, /* m(x) = c, learned: parameter "mean.constant"                       */
    CT_MEAN_ZERO,         /* nothing to learn: 0, or the average of y where y is standardised    */
    CT_MEAN_LINEAR, /* m(x) = c + Σ_j b_j (x_j - a_j): also "mean.slope[j]"; a: the columns' averages where
                             inputs are standardised, else 0 */
} ct_gp_mean;

typedef enum ct_gp_noise {
    CT_NOISE_LEARNED = 0, /* one variance for all points: parameter "noise.variance"        */
    CT_NOISE_GIVEN,       /* options.noise_variances, one a point                            */
    CT_NOISE_GIVEN_PLUS,  /* the given ones plus a learned "noise.variance"                  */
    CT_NOISE_NONE,        /* y is f(x)                                                        */
} ct_gp_noise;

typedef enum ct_gp_standardize {
    CT_STANDARDIZE_BOTH = 0, /* every column of X and y: minus its mean, over its standard deviation (1 where
                                that is 0)                                                         */
    CT_STANDARDIZE_NONE,
    CT_STANDARDIZE_INPUTS,
    CT_STANDARDIZE_OUTPUTS,
} ct_gp_standardize;

/* Priors of the parameters that come without a start value, bounds and a prior of their own. Weak:
 * CT_PRIOR_SOFT_LOWER with b = 2, for lengthscales over columns of X at √(how many columns) standard
 * deviations, for a learned noise at a hundredth of the variance of y. [Fuglstad et al. 2019; Hvarfner et al.
 * 2024] */
typedef enum ct_gp_priors {
    CT_PRIORS_NONE = 0, /* the fit maximises the likelihood alone */
    CT_PRIORS_WEAK,
} ct_gp_priors;

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_options {
    ct_gp_mean mean;
    ct_gp_noise noise;
    ct_gp_priors priors;
    const ct_tensor
        *noise_variances; /* (n), not negative, in units of y²; copied; with CT_NOISE_GIVEN[_PLUS] */
    ct_gp_standardize standardize;
} ct_gp_options;

/* A model of X (n, d) and y (n) or (n, 1), which are copied. f64 or f32: X's dtype is the model's. The kernel
 * is taken over, also on failure. options = NULL: the defaults. Parameters without a start value of their own
 * get one from the data.
 * NULL with ct_message(X's device): a NaN or an infinity (named by row and column), a column whose standard
 * deviation lies outside 1e-150 to 1e150 (that of a constant one counts as 1), shapes that do not fit, no
 * rows, a bad kernel, or more memory than the device may hold (CT_ENOMEM, refused before allocating, with the
 * bytes). */
CT_API ct_gp *ct_gp_new(const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
                        const ct_gp_options *options);
CT_API void ct_gp_free(ct_gp *gp);

/* The most bytes held at once by a model of n points in d dimensions, its data included: while fitting by the
 * likelihood (the leave-one-out objective takes a panel more, see ct_gp_loo_nlpd), or, with fitting = false,
 * while predicting alone. UINT64_MAX where that cannot be counted. */
CT_API uint64_t ct_gp_bytes_needed(int64_t n, int64_t d, ct_dtype dtype, bool fitting);

CT_API int64_t ct_gp_points(const ct_gp *gp); /* n */
CT_API int64_t ct_gp_dims(const ct_gp *gp);   /* d */
CT_API ct_dtype ct_gp_dtype(const ct_gp *gp);
CT_API ct_device *ct_gp_device(const ct_gp *gp);
CT_API ct_gp_options ct_gp_get_options(const ct_gp *gp); /* noise_variances is NULL here */

/* Names of the columns, kept in the model's file: x0, x1, ... and y until set. inputs: d names. Copied. */
CT_API ct_status ct_gp_set_names(ct_gp *gp, const char *const *inputs, const char *output);
CT_API const char *ct_gp_input_name(const ct_gp *gp, int64_t column); /* NULL out of range */
CT_API const char *ct_gp_output_name(const ct_gp *gp);

/* -- parameters ------------------------------------------------------------------------------------------ */
/* The kernel's, in its order, then "noise.variance" (where learned), then the mean's. Values, bounds and
 * priors in the units of the data. All are positive but the mean's. */

/* Borrowed, with the present values; ct_kernel_print gives it as text. */
CT_API const ct_kernel *ct_gp_kernel(const ct_gp *gp);

CT_API int64_t ct_gp_params(const ct_gp *gp);
CT_API const ct_param *ct_gp_param(const ct_gp *gp, int64_t i); /* borrowed; NULL out of range */
CT_API int64_t ct_gp_find(const ct_gp *gp, const char *name);   /* -1 where there is none        */
/* Sets value, bounds, fixed and prior (not the name). A lower bound <= 0 of a positive parameter and an
 * infinite upper one stand for the model's own choice. */
CT_API ct_status ct_gp_set_param(ct_gp *gp, int64_t i, const ct_param *param);

/* The learned "noise.variance", in units of y² (0 where there is none). */
CT_API double ct_gp_noise_variance(const ct_gp *gp);
/* Negative log marginal likelihood of y as given, at the present parameters; NaN with a status on the device
 * where the covariance matrix cannot be factorised. */
CT_API double ct_gp_nlml_value(ct_gp *gp);
/* What the factorisation needed beyond the noise, added to the diagonal, in units of y²; 0 where nothing. */
CT_API double ct_gp_jitter(ct_gp *gp);

/* The objective of the fit, nlml - Σ log prior, and its gradient (NULL: not wanted) at any point: u[i] is the
 * log of parameter i, or the parameter itself for the mean's. For an optimiser of one's own, and for tests.
 * The model is not changed. The jitter ladder applies. */
CT_API ct_status ct_gp_objective(ct_gp *gp, const double *u, double *value, double *gradient);

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π with C = k(X, X) + diag(noise), as an op on the tape:
 * theta (P), X (n, d), r (n) the residual y - m(X), noise (n) or (1) -> scalar. Gradients in theta, X, r and
 * noise; the kernel is bound and unchanged while the tape uses it. A C that is not positive definite, or only
 * by pivots of rounding's size (16 units of it), is NaN and flagged (tape.h); there is no jitter here.
 * One packed triangle of n(n+1)/2 numbers is all that it takes, until it returns: where a gradient is wanted
 * it is computed at once, from C̄ = ½ (C⁻¹ - ααᵀ), α = C⁻¹r, and a sweep only scales it. A recorded sweep
 * composes it from ops, with some n×n arrays. */
CT_API ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* How good a value in mixed precision is. C = L (I + E) Lᵀ, with the factor L in f32. */
typedef struct ct_gp_mixed {
    double error;     /* of the value, absolute: three deviations of what is estimated by chance */
    double deviation; /* |E|_F, estimated: rounding in f32 times the condition of C; at most 0.5 */
    double residual;  /* |r - Cα| / |r| in f64 */
    int steps;        /* products with C that refined α */
} ct_gp_mixed;

/* The same likelihood from a factor in f32: half the memory, and for thousands of points less time. The
 * quadratic form, α and r_bar are right to f64, by conjugate gradients with C recomputed in f64; the
 * log-determinant is corrected to second order in E by 16 products with seeded random vectors, and what is
 * left is told in *report (may be NULL). The other gradients are right to about deviation/√n of a row's
 * share. Inputs in f64. Reads scalars: waits for the device. CT_ENUMERIC where f32 cannot factorise C, or
 * where the deviation says that the answer would be worth nothing: use ct_gp_nlml, or raise the noise.
 * docs/gp.md derives it.
 * [Higham 2002, Accuracy and stability of numerical algorithms, ch. 12; Hutchinson 1990] */
CT_API ct_var ct_gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                               ct_gp_mixed *report);

/* -Σ_i log p(y_i | X, y without i), the negative leave-one-out log predictive density, of the same inputs and with the same
 * gradients: an objective that asks for good predictions rather than for a good model, and minds a wrong
 * kernel less. With its gradient twice the work of the likelihood; one packed triangle, held until the tape
 * is reset, a panel of at most 32 MB (or 16 n numbers) and 256 numbers for each of its rows. [Rasmussen &
 * Williams 2006, eqs 5.10-5.13] */
CT_API ct_var ct_gp_loo_nlpd(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* The ops of the Gaussian processes, beside ct_op_list: cov, cov_diag, gp_nlml and gp_loo_nlpd. *n is set to
 * their number. */
CT_API const struct ct_op *const *ct_gp_op_list(int *n);

/* -- fitting --------------------------------------------------------------------------------------------- */

typedef enum ct_optimizer {
    CT_OPTIMIZER_DEFAULT = 0, /* L-BFGS where the build has NLopt, else Adam                       */
    CT_OPTIMIZER_LBFGS,       /* with bounds; CT_EUNSUPPORTED in a build without NLopt              */
    CT_OPTIMIZER_ADAM,        /* [Kingma & Ba 2015], projected on the bounds                       */
} ct_optimizer;

typedef enum ct_fit_objective {
    CT_OBJECTIVE_LIKELIHOOD = 0, /* the marginal likelihood, ct_gp_nlml           */
    CT_OBJECTIVE_LOO, /* the leave-one-out density, ct_gp_loo_nlpd; a constant mean stays within a standard
                         deviation of the average of y, unless it has bounds or a start of its own */
} ct_fit_objective;

typedef enum ct_precision {
    CT_PRECISION_FULL = 0, /* every evaluation in the model's dtype                                        */
    CT_PRECISION_MIXED,    /* ct_gp_nlml_mixed: half the memory, for thousands of rows less time */
} ct_precision;

/* One evaluation of the objective. */
typedef struct ct_fit_progress {
    int model;                /* of ct_gp_fit_many's list, from 0; ct_gp_choose: of its candidates */
    int start, starts;        /* which start, from 0, of how many                               */
    int iteration;            /* of this start so far: of L-BFGS the steps that lowered the objective,
                                 of Adam all steps                                                */
    int evaluation;           /* of this start                                                   */
    double objective;         /* here; +inf where the covariance could not be factorised          */
    double best;              /* the lowest of this start                                         */
    double gradient_norm;     /* largest entry of the gradient in the logs of the free parameters,
                                 where a bound does not hold it                                    */
    double jitter;            /* in units of y²                                                    */
    double seconds;           /* since ct_gp_fit was called                                        */
    const double *parameters; /* ct_gp_params values, in the units of the data                     */
    int64_t n_parameters;
} ct_fit_progress;

/* Returns 0 to go on, anything else to stop. One call at a time; where starts run side by side, from threads
 * of the library's own, the starts in turn. */
typedef int (*ct_fit_fn)(void *context, const ct_fit_progress *progress);

/* Zero-initialise, then set what you need. */
typedef struct ct_fit_options {
    ct_optimizer optimizer;
    ct_fit_objective objective; /* minus the log priors */
    ct_precision precision;     /* of the evaluations; mixed: the likelihood of f64 models, without jitter */
    int restarts;               /* further starts, from seeded draws, beside the first */
    int max_iterations;         /* a start; 0: 200 (L-BFGS), 1000 (Adam) */
    double tolerance;           /* stop where gradient_norm / n is below; 0: 1e-6, 1e-5 (mixed), 1e-4 (f32) */
    double learning_rate;       /* of Adam, in the logs of the parameters; 0: 0.1 */
    uint64_t seed;              /* of the restarts' draws: the same seed gives the same fit */
    ct_fit_fn progress;         /* may be NULL */
    void *context;
} ct_fit_options;

/* Minimises the objective over the free parameters, keeps the best point of all starts and factorises there.
 * CT_ESTOPPED: the callback asked to stop; the best point that it was told of is kept and the model is ready
 * to predict. Any other failure leaves the parameters as they were. A failed factorisation does not end the
 * search: it is tried again with a jitter of 1e-10, 1e-8, 1e-6, 1e-4 of the mean diagonal, which the report
 * tells. options = NULL: the defaults. In mixed precision there is no jitter: the search keeps to where f32
 * holds, the report's `failed` counts the points that it was kept from, and CT_ENUMERIC with the remedy is
 * the answer where the start itself is beyond. The factor for predictions is made in f64, by the first call
 * that needs it. */
CT_API ct_status ct_gp_fit(ct_gp *gp, const ct_fit_options *options);

/* Fits models that have nothing to do with each other: the outputs of a table, say, one model each. status[i]
 * (may be NULL) is what ct_gp_fit would return for models[i]; all of them are tried, and the first failure is
 * returned. On the CPU all starts of all models of up to 1000 rows advance side by side, one a thread; so do
 * the starts of one model in ct_gp_fit. Each start computes on one thread then, on memory of its own, so that
 * the result is the same to the bit however many threads there are. The models' devices must not be used
 * meanwhile. With an allocator of the application's the starts follow one another in the caller's thread. */
CT_API ct_status ct_gp_fit_many(ct_gp *const *models, int64_t count, const ct_fit_options *options,
                                ct_status *status);

/* Why a search ended. GRADIENT, FLAT and FIXED are convergence. FLAT: steps change the objective by less than
 * 1e-6; in mixed precision 1e-4, or a third of its error; in f32 1e-3. */
typedef enum ct_fit_end {
    CT_FIT_UNTOLD = 0,  /* no fit, or a file that does not tell            */
    CT_FIT_GRADIENT,    /* the gradient is below the tolerance             */
    CT_FIT_FLAT,        /* steps no longer change the objective            */
    CT_FIT_FIXED,       /* no parameter is free                            */
    CT_FIT_ITERATIONS,  /* max_iterations                                  */
    CT_FIT_EVALUATIONS, /* 2 max_iterations + 20 of them, of L-BFGS        */
    CT_FIT_STALLED,     /* no lower point is found, the gradient is large  */
    CT_FIT_STOPPED,     /* by the callback                                 */
    CT_FIT_UNBEGUN,     /* the fit ended before this start began           */
    CT_FIT_FAILED,      /* an error, or a first point without a factor     */
} ct_fit_end;

CT_API bool ct_fit_converged(ct_fit_end end);
/* "gradient below the tolerance", ...; static text, "unknown" for what is none of them. */
CT_API const char *ct_fit_end_text(ct_fit_end end);

typedef struct ct_fit_start {
    ct_status status; /* CT_OK; CT_ESTOPPED, also before it began; CT_ENUMERIC: no point has a factor */
    ct_fit_end end;
    double objective; /* the lowest; +inf where there is none */
    int iterations, evaluations;
    double seconds;
} ct_fit_start;

typedef struct ct_fit_report {
    ct_optimizer optimizer; /* the one used; CT_OPTIMIZER_DEFAULT before any fit */
    ct_fit_end end;         /* of the start that won; CT_FIT_STOPPED where any was stopped or not begun */
    double objective;       /* at the point that was kept */
    ct_fit_objective objective_of; /* leave-one-out: new rows do worse than ct_gp_loo says */
    double gradient_norm;
    double jitter; /* at that point, in units of y² */
    int jittered;  /* evaluations that needed a jitter */
    int failed;    /* evaluations that could not be factorised with any, or not in mixed precision */
    ct_precision precision;
    double
        objective_error; /* estimate of the error of `objective`; 0 in full precision. In mixed precision the two are
                                    computed once more at the end: of a search's values the lowest is too low */
    int iterations, evaluations; /* of all starts */
    double seconds;
    int best; /* which start won */
    int starts;
    const ct_fit_start *start; /* [starts], owned by the model until the next fit; NULL after ct_gp_load */
} ct_fit_report;

CT_API ct_fit_report ct_gp_report(const ct_gp *gp);

/* -- numerics: how far the answers can be trusted -------------------------------------------------------- */

enum { CT_GP_NEAR_SHOWN = 16 };

/* A row of the data that to the kernel is (nearly) an earlier one. */
typedef struct ct_gp_near {
    int64_t row, like;  /* from 0; like < row */
    double correlation; /* k(x, x') / √(k(x, x) k(x', x')) without noise and white: 1 - 1e-6 or more */
} ct_gp_near;

/* Of C = k(X, X) + diag(noise) + jitter at the present parameters. */
typedef struct ct_gp_numerics {
    double
        condition; /* estimate of |C|₁ |C⁻¹|₁, hardly ever more than 3 times too low [Higham 1988, alg. 4.1] */
    double digits; /* decimal digits that a solution with C keeps: -log10(ε condition), not below 0 */
    double
        gradient_error; /* about the most that rounding does to an entry of the objective's gradient in the logs of the
                              parameters: (n + rᵀα) ε condition. A gradient_norm below this says nothing. */
    double jitter; /* on the diagonal, in units of y²                                                 */
    /* min_i L_ii² / C_ii, the share of a row's variance that the rows before it leave open, and that row */
    double smallest_pivot;
    int64_t pivot_row;
    int64_t near_rows;                 /* rows with an earlier one of that correlation or more */
    ct_gp_near near[CT_GP_NEAR_SHOWN]; /* the first of them: min(near_rows, CT_GP_NEAR_SHOWN)   */
    int64_t at_bounds;                 /* free parameters that a bound holds: ct_gp_at_bound     */
} ct_gp_numerics;

/* Fills *numerics. Factorises where that is not done yet; beyond that O(n² d) work, in chunks of bounded
 * memory. */
CT_API ct_status ct_gp_inspect(ct_gp *gp, ct_gp_numerics *numerics);
/* -1, 1: parameter i lies at its lower, upper bound, the user's or the fit's own, to 0.1 %; 0: free, or fixed. */
CT_API int ct_gp_at_bound(const ct_gp *gp, int64_t i);

/* -- prediction ------------------------------------------------------------------------------------------ */
/* At Xs (m, d), in the dtype of the model or not. Outputs are the caller's tensors, f64 or f32, (m) or (m, 1)
 * for mean and variance; either may be NULL. Variances are never negative. The first call after a change
 * factorises. Points go through in panels: beside the model, inputs and outputs a mean takes 1 MB (or 32 n
 * numbers), a variance 32 MB (or 16 n numbers) whatever m is. [Rasmussen & Williams 2006, alg. 2.1] */

/* Mean and variance of m(x) + f(x). */
CT_API ct_status ct_gp_predict(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* Mean and variance of a new observation y: the noise is added; where noise was given point by point, its
 * average over the data. */
CT_API ct_status ct_gp_predict_noisy(ct_gp *gp, const ct_tensor *Xs, ct_tensor *mean, ct_tensor *variance);
/* Mean (may be NULL) and the full covariance (m, m), symmetric, with the noise as above on its diagonal where
 * `noisy`. It takes some 5 m² numbers while it works. */
CT_API ct_status ct_gp_predict_full(ct_gp *gp, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                                    ct_tensor *covariance);
/* Mean and variance (m) on the tape of Xs, as functions of it: Xs (m, d) in the data's units, in the model's
 * dtype; the model is taken as it is now. Either may be NULL. Gradients of any order flow into Xs; the first
 * costs one more triangular solve and is computed with the value. Where rounding leaves nothing of the
 * variance of f its gradient is 0. */
CT_API void ct_gp_posterior(ct_gp *gp, ct_var Xs, bool noisy, ct_var *mean, ct_var *variance);
/* Joint draws into samples (s, m), f64 or f32, in units of y; draw i is a function of (seed, i) and the model
 * alone. Memory as of the full covariance. Where that is singular to rounding, as it is at rows of the data,
 * 1e-14 (f32: 1e-7) of the mean prior variance goes onto its diagonal, or the first of 10, 100, ... times
 * that which will do, at most 1e-3; else CT_ENUMERIC. */
CT_API ct_status ct_gp_sample(ct_gp *gp, const ct_tensor *Xs, bool noisy, uint64_t seed, ct_tensor *samples);

/* -- leave-one-out --------------------------------------------------------------------------------------- */

/* Prediction of every y_i by the model that has seen all rows but i, at the present parameters: its mean, its
 * variance (noise and jitter included), and log p(y_i), the log predictive density; (n) or (n, 1), f64 or
 * f32, any may be NULL. In closed form from the factor: n³/3 operations and 32 MB (or 16 n numbers). The
 * transforms and parameters are those of all rows. [Rasmussen & Williams 2006, eqs 5.10-5.12] */
CT_API ct_status ct_gp_loo(ct_gp *gp, ct_tensor *mean, ct_tensor *variance, ct_tensor *log_density);
/* Σ_i log p(y_i | the other rows) at the present parameters, with `count` input columns held at their means
 * in every row: what leave-one-out loses without them is the difference to that with none held (columns NULL,
 * count 0). The kernel and the mean both lose sight of them. Costs a factorisation and holds a second factor
 * meanwhile. The model is not changed. CT_EINDEX for a column that is not there. */
CT_API ct_status ct_gp_loo_without(ct_gp *gp, const int64_t *columns, int64_t count, double *log_density);

/* Widens a model that is too sure of itself. c is the mean square of the leave-one-out residuals,
 *     c = 1/n Σ_i (y_i - mean_i)² / variance_i,
 * and where it is above 1.01 the whole covariance, noise included, is multiplied by it: the best factor for
 * these residuals, which moves no predicted mean. *factor (may be NULL): c, or 1 where nothing was done.
 * Work and memory as of ct_gp_loo. CT_EUNSUPPORTED where the parameters cannot multiply the covariance: noise
 * given point by point, a term such as `rbf` or `poly` without a `scale`, a variance that is fixed. CT_EINVAL
 * where a bound is in the way, CT_ENUMERIC where a residual is not finite. On failure the model is as before
 * and *factor is NaN. [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */
CT_API ct_status ct_gp_widen(ct_gp *gp, double *factor);

/* -- choosing a covariance ------------------------------------------------------------------------------- */
/* Fits several covariances to the data, keeps the one with the lowest
 *     AICc = 2 (objective + m n / (n - m - 1))        n rows, m free parameters
 * [Akaike 1974; Hurvich & Tsai 1989], and widens its variances (ct_gp_widen). A fit by the leave-one-out
 * density gains about twice as much from a parameter that means nothing as one by the likelihood: m is twice
 * the number of parameters there.
 *
 *     ct_gp *gp;
 *     ct_gp_choice choice;
 *     ct_status s = ct_gp_choose(X, y, NULL, NULL, &gp, &choice);
 *     if (!s) puts(choice.tried[choice.best].kernel); */

enum { CT_GP_CANDIDATES = 16 }; /* at most */

/* A covariance to try. */
typedef struct ct_gp_candidate {
    const char *kernel; /* as ct_kernel_parse reads it */
    /* NULL: its search has the usual start. The kernel of an earlier candidate: it starts where that one
     * ended. Parameters of a name that both have take its values, other variances of the kernel are a tenth
     * of its first one. */
    const char *from;
} ct_gp_candidate;

/* Zero-initialise, then set what you need. */
typedef struct ct_gp_choose_options {
    /* [n_candidates], at most CT_GP_CANDIDATES. NULL, 0: "linear + scale * matern32", but for one column or
     * two (by the leave-one-out density "scale * matern32", but for one); "scale * matern32(ard)"; "scale *
     * matern32(ard) + scale * rbf(ard)", and this again from where the one before it ended. */
    const ct_gp_candidate *candidates;
    int n_candidates;
    ct_fit_options fit; /* of every search; those from another's end have no restarts */
    int64_t rows;       /* that make the choice, from 2 on; 0: all up to 2000, 1000 of more */
    bool as_fitted;     /* leaves the variances as they are fitted */
} ct_gp_choose_options;

/* What became of a candidate. */
typedef struct ct_gp_tried {
    const char *kernel, *from; /* the candidate's own texts */
    /* Not fitted, status CT_EINVAL: n <= m + 1, and another candidate has fewer parameters; or its `from` was
     * not fitted for that reason. */
    bool too_few_rows;
    ct_status status; /* of its fit; CT_ESTOPPED also before it began; CT_ENUMERIC: no model */
    ct_fit_end end;
    int64_t parameters;          /* that are free */
    double objective, criterion; /* +inf where there is no model; the criterion also where n <= m + 1 */
    int iterations, evaluations; /* of all its starts */
} ct_gp_tried;

typedef struct ct_gp_choice {
    int count, best; /* best: the one that was chosen; -1: none */
    ct_gp_tried tried[CT_GP_CANDIDATES];
    int64_t rows;                        /* that made the choice */
    double widened;                      /* the factor of all variances, 1 where they are as fitted */
    ct_status widening;                  /* of ct_gp_widen; its message is ct_message(device) */
    int starts, iterations, evaluations; /* of all searches */
    double seconds;
} ct_gp_choice;

/* *gp: the model of X (n, d) and y (n) or (n, 1) with the covariance that is chosen; the caller's to free.
 * model = NULL: weak priors, else the defaults. options = NULL: the defaults. Where some of the rows make the
 * choice, fit.seed draws one from each of as many stretches of the table, and a last search, of all rows,
 * starts where theirs ended; where no candidate has a model of them, all rows choose. The candidates are
 * fitted by ct_gp_fit_many, and each holds its factor until the choice is made.
 * *choice (may be NULL) is kept up to date, so that the progress callback may read it: `model` there is an
 * index of choice->tried, or choice->count in the last search of all rows, and `seconds` begin with
 * this call.
 * CT_ESTOPPED: the callback asked to stop; *gp is the best model so far, as fitted, or NULL where there is
 * none. After any other failure *gp is NULL: CT_EINVAL for a `from` that is no earlier candidate's kernel,
 * CT_ENUMERIC where no candidate has a model, and the failures of ct_gp_new and ct_gp_fit. Where the widening
 * fails for want of anything but memory, *choice alone tells it. */
CT_API ct_status ct_gp_choose(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                              const ct_gp_choose_options *options, ct_gp **gp, ct_gp_choice *choice);

/* -- rows more, rows less -------------------------------------------------------------------------------- */
/* Parameters and transforms stay those of the fit: new rows are standardised as the old ones were, and what
 * the model says is what a model of all rows with these parameters would say, to rounding. A factor that is
 * there is carried over. On failure the model is as before. */

/* A second model with the same data, parameters and factor, which the two share until one of them changes:
 * for "what if". NULL with ct_message. */
CT_API ct_gp *ct_gp_copy(const ct_gp *gp);
/* k new rows at the end: X (k, d), y (k) or (k, 1), and with noise that is given point by point
 * noise_variances (k), else NULL; k n² operations, a second factor and k (n + k) numbers while it works.
 * Where the new rows leave the matrix indefinite to rounding all is factorised anew, with the jitter
 * ladder. */
CT_API ct_status ct_gp_append(ct_gp *gp, const ct_tensor *X, const ct_tensor *y,
                              const ct_tensor *noise_variances);
/* Takes out `count` rows, counted from 0; those behind move up. 35 to 70 (n - i)² operations for up to 16
 * rows from row i on, and a second factor while it works; of many rows, where Σ (n - i)² > n³/40, all is
 * factorised anew. CT_EINDEX for a row that is not there or named twice. One must stay. */
CT_API ct_status ct_gp_remove(ct_gp *gp, const int64_t *rows, int64_t count);

/* -- files ----------------------------------------------------------------------------------------------- */

/* One self-contained file: data, transforms, kernel, parameters, factor. Written atomically. Programs that
 * load a model, change it and save it there again take turns with ct_file_lock_take (io.h). */
CT_API ct_status ct_gp_save(ct_gp *gp, const char *path);
/* Predicts the same bits. NULL with ct_message: CT_EIO, or CT_EFORMAT for any other, truncated or damaged
 * file. */
CT_API ct_gp *ct_gp_load(ct_device *device, const char *path);

CT_END_DECLS
#endif
