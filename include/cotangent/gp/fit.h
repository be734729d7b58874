/* The fit: a search for the parameters with the lowest objective. */
#ifndef COTANGENT_GP_FIT_H
#define COTANGENT_GP_FIT_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

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
    double ahead;             /* seconds that the next evaluation may take     */
    const double *parameters; /* ct_gp_params values, in the units of the data */
    int64_t n_parameters;
} ct_fit_progress;

/* Returns 0 to continue and anything else to stop. The library makes one call at a time. If starts run in
 * parallel, the calls come from the library's own threads and alternate between the starts. */
typedef int (*ct_fit_fn)(void *context, const ct_fit_progress *progress);

/* Further starts of a fit: at most so many by default; as options.restarts: none. */
enum { CT_FIT_RESTARTS = 9, CT_FIT_NO_RESTARTS = -1 };

/* Zero-initialise, then set what you need. */
typedef struct ct_fit_options {
    ct_optimizer optimizer;
    ct_fit_objective objective; /* the log priors are subtracted from it */
    ct_precision precision;     /* of the evaluations; mixed: only the likelihood of f64 models; no jitter */
    /* Starts after the first, at seeded random points. 0: as many as take about a second on one core, which
     * is CT_FIT_RESTARTS up to some 300 rows and none from some 700 on; none for a model that has been fitted
     * or all of whose lengthscales have a start. */
    int restarts;
    int max_iterations;   /* for each start; 0: 200 (L-BFGS), 1000 (Adam) */
    double tolerance;     /* stop when gradient_norm / n is below this; 0: 1e-6, 1e-5 (mixed), 1e-4 (f32) */
    double flat;          /* stop when five steps change the objective by less; 0: see CT_FIT_FLAT */
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
 * was reported to the callback, and is ready to predict. Any other failure leaves the parameters unchanged. A
 * failed factorisation does not end the search: it is repeated with a jitter of 1e-10, 1e-8, 1e-6, 1e-4 of
 * the mean diagonal, which the report counts. In mixed precision there is no jitter: the search avoids points
 * that f32 cannot factorise, and the report's `failed` counts them. If the start itself is such a point, the
 * result is CT_ENUMERIC, and the message names the remedy. After a mixed fit, the first call that needs the
 * factor computes it in f64.
 *
 * With options.checkpoint every evaluation is added to that file before the callback sees it. A fit of
 * the same data, kernel, start values, bounds, priors and options takes its evaluations from the file and
 * ends with the same bits as an uninterrupted fit. The file remains after the end: the same fit then computes
 * only the last factor. The callback sees every evaluation, computed or not. A logged evaluation is
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
 * options.flat, by default 1e-6; in mixed precision by less than 1e-4 or a third of the error; in f32 by less
 * than 1e-3. */
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
    int best, starts; /* the index of the best start; the number of starts */
    int agreed;       /* starts that ended within 0.1 of the best, itself included; 0 after ct_gp_load */
    const ct_fit_start *start; /* [starts], owned by the model until the next fit; NULL after ct_gp_load */
} ct_fit_report;

CT_API ct_fit_report ct_gp_report(const ct_gp *gp);

/* The objective of the fit, nlml - Σ log prior, and its gradient (NULL: not wanted) at a point u of
 * ct_gp_params numbers: u[i] is the log of parameter i if that is positive, else the parameter itself. For
 * the application's own optimiser, and for tests. The model is not changed. The jitter ladder of ct_gp_fit
 * applies. */
CT_API ct_status ct_gp_objective(ct_gp *gp, const double *u, double *value, double *gradient);

CT_END_DECLS
#endif
