/* A model's internals, shared by the files that fit it, predict with it and save it.
 *
 * The parameters have three sets of coordinates:
 *     v   in the units of the data, for the public API and ct_param
 *     s   of the standardised problem, for the tape: s = (v - origin) / unit
 *     z   of the optimiser: log s for positive parameters, s for the others */
#ifndef CT_GP_MODEL_H
#define CT_GP_MODEL_H

#include <math.h>

#include <cotangent/gp.h>
#include <cotangent/op.h>

#include "gp/factor/packed.h"
#include "gp/kernel/prior.h"

typedef struct ct__gp_factor {
    bool ready;
    ct_tensor *L, *alpha; /* L Lᵀ = k(X, X) + noise + jitter, packed or tiles (packed.h); (n, 1)  */
    double jitter, nlml;  /* in s coordinates; of y as given                             */
    /* With a trend (trend.h): (p, n + p + 1), [G M w] with M Mᵀ = HᵀC⁻¹H, G = M⁻¹HᵀC⁻¹ and w = G r. */
    ct_tensor *trend;
    double restricted; /* the terms of nlml besides ½ rᵀα + Σ log L_ii + n/2 log 2π and ct__target_volume */
} ct__gp_factor;

struct ct_gp {
    ct_device *device; /* kept alive by the tape */
    ct_tape *tape;
    ct_kernel *kernel; /* values v */
    ct_gp_options options;
    int64_t n, d;
    ct_dtype dtype;
    ct_tensor *X, *y; /* standardised: (n, d); (n, 1) */
    /* (n), or NULL: the noise variance of each row, standardised, or the index of its level, i64 */
    ct_tensor *given;
    double given_mean; /* the average of these variances */
    double *level;     /* [n_levels], ascending; NULL without CT_NOISE_BY_LEVEL */
    int64_t n_levels;
    char *basis; /* of the trend, in x0, x1, ...; NULL: none. The next three belong to the rows. */
    struct ct__trend *trend;
    ct_tensor *H, *detrended; /* (n, p), the basis; (n, 1), y minus its least squares in H */
    /* [d] for the columns of X: x = shift + scale s; spread: the standard deviation, or 1. */
    double *shift, *scale, *spread;
    double y_shift, y_scale, y_spread;             /* of g(y), as everything in the model */
    ct_transform transform;                        /* z = g(y) */
    double log_slopes;                             /* Σ log g'(y_i) */
    ct_param *param;                               /* [n_params] */
    double *s;                                     /* [n_params], their values in s coordinates */
    int64_t n_params, n_kernel, noise_at, mean_at; /* the last two: -1 without such a parameter */
    ct_column *column;       /* [d + 1]: the inputs, then the output; options has them */
    ct_column *noise_column; /* a block of its own, or NULL; options has it */
    ct__gp_factor factor;
    /* For several outputs (outputs/): the standardised outputs (n, p) whose likelihoods the objective adds
     * up, instead of that of y; NULL: none. log_units is what their units add to every likelihood. */
    ct_tensor *shared;
    double log_units;
    int64_t in_grid, pivot; /* likelihood/pairs.c: outputs in a likelihood by Kronecker products, or 0 */
    struct ct__lens *lens;  /* NULL: none */
    ct_gp_mixed mixed;      /* report of the last evaluation in mixed precision */
    ct_fit_report report;
    ct_fit_start *starts;
};

/* Begins and ends a collective call on a model (group/group.h). */
static inline void ct__gp_enter(const ct_gp *gp) { ct__group_enter(gp->options.group); }
static inline ct_status ct__gp_leave(const ct_gp *gp, ct_status status)
{
    return ct__group_leave(gp->options.group, gp->device, status);
}

/* -- memory.c -------------------------------------------------------------------------------------------- */

/* CT_ENOMEM if `bytes` more than now would exceed the device's limit. The message names the remedy, and also
 * f32 if the caller can use it (`narrower`) and half of the bytes would fit. */
ct_status ct__gp_reserve(ct_device *device, uint64_t bytes, bool narrower, const char *what,
                         const char *remedy);
/* Copies the tape's failure to the device and resets the tape. Returns the status. */
ct_status ct__gp_tape_failed(ct_gp *gp, const char *what);
void ct__gp_drop_factor(ct_gp *gp);
/* The grid of the model's group, the factor on it, and the bytes a process needs for a factor or a
 * likelihood. */
ct__grid ct__gp_grid(const ct_gp *gp);
ct__packed ct__gp_factor_of(const ct_gp *gp);
uint64_t ct__gp_bytes(struct ct_group *group, int64_t n, int64_t d, ct_dtype dtype, bool fitting);
/* Releases the model's data and its factor. */
void ct__gp_drop_rows(ct_gp *gp);
/* count * size bytes, zeroed; NULL with CT_ENOMEM on the device. Free with free. */
void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size);
/* Allocates `count` arrays of n zeros in one block, which is freed with the first array. */
ct_status ct__gp_arrays(ct_device *device, uint64_t n, double **const array[], int count);

/* -- model.c --------------------------------------------------------------------------------------------- */

/* An empty model with device, tape, kernel, extents, options, columns and room for transforms. Takes
 * ownership of the kernel. */
ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options);
/* Lists the parameters; call it after the kernel and the transforms are set. */
ct_status ct__gp_list_params(ct_gp *gp);

/* -- columns.c ------------------------------------------------------------------------------------------- */

/* CT_EINVAL if the options' columns cannot be copied. */
ct_status ct__gp_check_columns(ct_device *device, const ct_gp_options *o, int64_t d);
/* The options' inputs [d] and output in one block; NULL with CT_ENOMEM. Free with free. */
ct_column *ct__gp_copy_columns(ct_device *device, const ct_gp_options *o, int64_t d);
/* Gives them to the model. */
void ct__gp_take_columns(ct_gp *gp, ct_column *columns);
/* Copies the column of the noise, with its texts in its block; `column` NULL: there is none. */
ct_status ct__gp_set_noise_column(ct_gp *gp, const ct_column *column);
/* The length of the longest name or level. */
size_t ct__gp_longest_text(const ct_gp *gp);

/* -- lens.c ---------------------------------------------------------------------------------------------- */

/* Shows a model of pairs (x, output) as a model of one output. Callers see only the rows of this output, and
 * the columns of X before the last, which is the output's code. */
typedef struct ct__lens {
    int64_t code, n, row[]; /* [n], ascending */
} ct__lens;

/* Sets the lens of gp, whose noise is by output. */
ct_status ct__lens_set(ct_gp *gp, int64_t code);
/* The rows, and columns of X, that callers see. */
static inline int64_t ct__gp_rows(const ct_gp *gp) { return gp->lens ? gp->lens->n : gp->n; }
static inline int64_t ct__gp_cols(const ct_gp *gp) { return gp->d - (gp->lens != NULL); }
/* The index of row i for callers; -1: hidden. */
int64_t ct__lens_row(const ct_gp *gp, int64_t i);
/* Moves the rows of x (n, cols) that callers see to the front. */
void ct__lens_pick(const ct_gp *gp, double *x, int64_t cols);
/* The points Xs (m, ct__gp_cols), in the units of the data, as the model's (m, d): standardised and with the
 * output's code. */
ct_tensor *ct__gp_points(const ct_gp *gp, const ct_tensor *Xs);
/* CT_EUNSUPPORTED for a model with a lens. */
ct_status ct__lens_refuse(const ct_gp *gp, const char *who, const char *remedy);

/* -- copy.c ---------------------------------------------------------------------------------------------- */

/* A model of the same data, kernel and parameters, without fit and factor. On another device, for another
 * thread (CPU only), it reads gp's data and must not outlive gp. NULL with the reason on the device. */
ct_gp *ct__gp_twin(const ct_gp *gp, ct_device *device);

/* -- save.c ---------------------------------------------------------------------------------------------- */

/* CRC-64 of the model's data, kernel and parameters, with their starts, bounds and priors. */
ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print);
/* Fails unless all processes of the group have the same model. Collective. */
ct_status ct__gp_compare(ct_gp *gp);

/* -- numbers.c ------------------------------------------------------------------------------------------- */

/* The elements of a tensor as doubles, row-major: into `out`; or from malloc, NULL with the reason on the
 * device. */
ct_status ct__gp_read(const ct_tensor *t, double *out);
double *ct__gp_doubles(const ct_tensor *t);
/* A tensor of these numbers; NULL with the reason on the device, or if x is NULL. */
ct_tensor *ct__gp_tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x);
/* ct__gp_read, and releases t. CT_ENOMEM if t is NULL. */
ct_status ct__gp_unload(ct_tensor *t, double *out);
/* Mean and standard deviation (1 where it is 0) of a column x[0], x[stride], ... */
void ct__gp_column_moments(const double *x, int64_t n, int64_t stride, double *mean, double *deviation);
/* CT_EINVAL if a standard deviation is too large or too small to be squared. The message names the column
 * unless it is negative. */
ct_status ct__gp_check_spread(ct_device *device, double deviation, const char *what, int64_t column);
/* A table t in the units of the data, standardised: (t - shift) / scale by column, of shape (rows, cols) or
 * (rows). With `spread`, t is the model's data and sets the standardisation first: spread becomes the
 * standard deviations of its columns, and shift and scale their means and standard deviations, or 0 and 1
 * without `standardize` and for columns of codes. The numbers must be finite. Those of a vector, which is
 * always given noise, must not be negative. NULL with the reason on the device; the message begins with
 * `what`. */
ct_tensor *ct__gp_table(const ct_gp *gp, const ct_tensor *t, ct_shape shape, const char *what, double *shift,
                        double *scale, double *spread, bool standardize);

/* -- noise.c --------------------------------------------------------------------------------------------- */

/* The noise that the options give for each row: variances, levels, or NULL. Fails if it does not fit n
 * rows. */
const ct_tensor *ct__noise_given(const ct_gp_options *options);
ct_status ct__noise_check(ct_device *device, const ct_gp_options *options, int64_t n);
/* Fails unless `noise` (may be NULL) has that many rows; the message begins with `what`. */
ct_status ct__noise_check_rows(ct_gp *gp, const ct_tensor *noise, int64_t rows, const char *what);
/* Sets the model's levels from those of its rows. */
ct_status ct__noise_find_levels(ct_gp *gp, const ct_tensor *levels);
/* Variances or levels of rows in the form of `given`. NULL with the reason on the device. */
ct_tensor *ct__noise_rows(const ct_gp *gp, const ct_tensor *t, int64_t rows);
/* Sets given_mean if variances are given. */
ct_status ct__noise_average_given(ct_gp *gp);
/* The number of parameters; parameter k of them, before the data set its start. */
int64_t ct__noise_params(const ct_gp *gp);
ct_param ct__noise_param(const ct_gp *gp, int64_t k);
static inline bool ct__gp_is_noise(const ct_gp *gp, int64_t i)
{
    return gp->noise_at >= 0 && i >= gp->noise_at && i < gp->noise_at + ct__noise_params(gp);
}
/* The learned part of the noise variance, in s coordinates, from the noise's parameters s: (n) at the rows X
 * (n, d) of the data, or (1). With CT_NOISE_INPUTS X may be any points. */
ct_var ct__noise_learned(const ct_gp *gp, ct_var s, ct_var X);
/* The noise variance of a new observation, in units of y²: the average over the data; or at each row of Xs,
 * from `noise`, whose shape the caller has checked, or if that is NULL from the inputs or the average. */
ct_status ct__noise_average(const ct_gp *gp, double *variance);
ct_status ct__noise_at(const ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, double *variance);

/* -- target.c -------------------------------------------------------------------------------------------- */

/* z = g(y) in a new tensor; with `first`, y also sets the transform's constant. NULL with the reason on the
 * device. */
ct_tensor *ct__target_of(ct_gp *gp, const ct_tensor *y, bool first);
/* y, and log g'(y), of a standardised s. */
double ct__target_at(const ct_gp *gp, double s);
double ct__target_slope(const ct_gp *gp, double s);
/* Sets log_slopes from the model's rows. CT_EINVAL if rounding takes a y out of the domain. */
ct_status ct__target_sum_slopes(ct_gp *gp);
/* -log p(y) of all rows minus that of the standardised rows. */
static inline double ct__target_volume(const ct_gp *gp)
{
    return (double)gp->n * log(gp->y_scale) + gp->log_units - gp->log_slopes;
}

/* -- transform.c ----------------------------------------------------------------------------------------- */

/* unit and origin of parameter i. */
double ct__gp_unit(const ct_gp *gp, int64_t i);
double ct__gp_origin(const ct_gp *gp, int64_t i);
bool ct__gp_positive(const ct_gp *gp, int64_t i);
double ct__gp_z_of(const ct_gp *gp, int64_t i, double v);
double ct__gp_v_of(const ct_gp *gp, int64_t i, double z);
/* Sets starts and priors from the data where the kernel has none. */
void ct__gp_first_values(ct_gp *gp);
/* periods.c: then starts the periods of one column that have no start or bounds at its seasons. */
ct_status ct__gp_begin_periods(ct_gp *gp);
/* Parameter i: its bounds in z; the standard deviation in z of a restart's draw. */
void ct__gp_bounds(const ct_gp *gp, int64_t i, double *lower, double *upper);
double ct__gp_draw_width(const ct_gp *gp, int64_t i);

/* -- nlml.c, loo_objective.c ----------------------------------------------------------------------------- */

/* theta (P), X (n, d), r of n elements, noise (n) or (1) -> ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π; and, from
 * the same inputs, -Σ log p(y_i | the others). The attribute is the kernel's program. */
extern const struct ct_op ct__op_gp_nlml, ct__op_gp_loo_nlpd;
/* shared.c, kronecker.c: as in outputs.h. */
extern const struct ct_op ct__op_nlml_shared, ct__op_nlml_kronecker;
/* ct_gp_nlml over a group's processes; no gradient in X. Collective. */
ct_var ct__gp_nlml_on(const ct__grid *grid, const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r,
                      ct_var noise);
/* ct_gp_bytes_needed for a fit by the leave-one-out density. */
uint64_t ct__gp_loo_bytes(int64_t n, int64_t d, ct_dtype dtype);

/* -- objective.c ----------------------------------------------------------------------------------------- */

/* What to evaluate, and how. */
typedef struct ct__goal {
    ct_fit_objective objective;
    ct_precision precision;
    uint64_t draw; /* the stream of the random signs in mixed precision */
    bool factor;   /* the likelihood in full precision, keeping its factor in the model */
} ct__goal;

/* nlml (or the leave-one-out density) - Σ log prior of y as given, at z; its gradient (NULL: not wanted) in
 * z; *jitter in s coordinates. CT_ENUMERIC if no jitter of the ladder helps, or, in mixed precision, if f32
 * cannot factorise. Mixed precision writes its report to gp->mixed. */
ct_status ct__gp_evaluate(ct_gp *gp, ct__goal goal, const double *z, double *value, double *gradient,
                          double *jitter);
/* Computes L and alpha at the present values. */
ct_status ct__gp_factorise(ct_gp *gp);
/* Computes alpha and the likelihood for an existing L and its jitter. CT_ENUMERIC if they are nothing but
 * rounding. */
ct_status ct__gp_complete(ct_gp *gp);
/* The model on its tape, in s coordinates. */
typedef struct ct__graph {
    ct_var theta, noise, mean;    /* leaves or constants; mean: c, then the slopes, as one vector */
    ct_var X, variance, residual; /* (n, d); of noise and jitter, (n) or (1); y - m(X), (n, 1) */
} ct__graph;

/* The graph at the present values, with constants only. */
ct__graph ct__gp_present(const ct_gp *gp, double jitter);
/* The diagonal of the covariance matrix, with noise and jitter: (n). */
ct_var ct__graph_diagonal(const ct_gp *gp, const ct__graph *g);
/* Makes t a leaf or a constant of the tape, and releases t. If t is NULL, the tape takes its device's
 * failure. */
ct_var ct__gp_input(ct_tape *tape, ct_tensor *t, bool leaf);
/* The kernel's parameters as a constant on a tape. */
ct_var ct__gp_theta(const ct_gp *gp, ct_tape *tape);
/* The mean function at standardised inputs (m, d): (m, 1), or a scalar constant. */
ct_var ct__gp_mean_at(const ct_gp *gp, ct_tape *tape, ct_var X);

/* -- joint.c --------------------------------------------------------------------------------------------- */

/* Sets in_grid and pivot for a joint model, whose rows are pairs of a point and an output. */
ct_status ct__joint_find_grid(ct_gp *gp);
/* The likelihood of a model with in_grid > 0, from the parameters, the residual and the noises (in_grid). */
ct_var ct__joint_nlml(const ct_gp *gp, ct_var theta, ct_var residual, ct_var noise, double jitter);

/* -- mixed.c --------------------------------------------------------------------------------------------- */

/* The most bytes that ct_gp_nlml_mixed and its gradient hold at once; UINT64_MAX if that overflows. */
uint64_t ct__gp_mixed_bytes(int64_t n, int64_t d);
/* ct_gp_nlml_mixed with the random signs of `draw`: each draw gives an independent estimate. */
ct_var ct__gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                         uint64_t draw, ct_gp_mixed *report);

/* -- posterior.c ----------------------------------------------------------------------------------------- */

/* theta, points (m, d), X (n, d), alpha (n, 1), L packed, or on a grid this process's tiles -> kᵀα (m), and
 * with `variance`, as output 1, kᵀC⁻¹k (m), where k = k(X, point) and C = L Lᵀ. Gradients flow into the
 * points. */
ct_var ct__gp_posterior_at(const ct_cov_program *program, const ct__grid *grid, const ct_var in[5],
                           bool variance);
/* B L⁻ᵀ for B (m, n) and the model's factor; differentiable in B. */
ct_var ct__gp_half_solve(const ct__grid *grid, ct_var L, ct_var B);

/* -- exchange.c ------------------------------------------------------------------------------------------ */

/* Fails unless t has f64 or f32 numbers on the model's device; the message begins with `what`. */
ct_status ct__gp_check_numbers(ct_gp *gp, const ct_tensor *t, const char *what);
/* Fails unless `out` (may be NULL) can take m numbers; the message begins with `what`. */
ct_status ct__gp_check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what);
/* Fails unless X is (rows, d), numbers, on the model's device; the message begins with `what`. */
ct_status ct__gp_check_inputs(ct_gp *gp, const ct_tensor *X, const char *what);
/* CT_ENUMERIC if out cannot hold one of these numbers. */
ct_status ct__gp_check_results(ct_gp *gp, const double *host, const ct_tensor *out);
/* Writes host numbers, in a group those of process 0, to out, whatever its dtype, shape and strides. */
ct_status ct__gp_deliver(ct_gp *gp, double *host, ct_tensor *out);
/* Reads a value of gp's tape as doubles; `what` names it in the message if the tape has failed. */
ct_status ct__gp_fetch(ct_gp *gp, ct_var v, const char *what, double *out);
/* Closes the scope c on gp's tape and reads x of it as doubles. */
ct_status ct__gp_close_with(ct_gp *gp, struct ct_call *c, ct_view x, const char *what, double *out);
/* Reads the n numbers that `line_of` computes from the factor. The model must have one. */
ct_status ct__gp_fetch_line(ct_gp *gp, void (*line_of)(ct_call *c, const ct__packed *L, ct_view line),
                            const char *what, double *out);

/* -- params.c -------------------------------------------------------------------------------------------- */

/* Copies the new value of parameter i to the kernel and to s. */
ct_status ct__gp_pass_on(ct_gp *gp, int64_t i);
/* Sets the parameters to the values v and drops the factor. */
ct_status ct__gp_set_values(ct_gp *gp, const double *v);
ct_status ct__gp_check_param(ct_gp *gp, int64_t i, const ct_param *param);
/* Free parameters that `from` has by the same name take its values; other variances of the kernel become a
 * tenth of the first one of `from`. */
ct_status ct__gp_begin_from(ct_gp *gp, const ct_gp *from);

/* -- draw.c ---------------------------------------------------------------------------------------------- */

/* `rows` <= n different rows out of n, ascending, one drawn from each of equal stretches. NULL with the
 * reason on the device. Free with free. */
int64_t *ct__gp_draw_rows(ct_device *device, int64_t n, int64_t rows, uint64_t seed);
/* Rows row[0] < row[1] < ... of a table of n rows: (rows), or (rows, columns). NULL with the reason on the
 * device. */
ct_tensor *ct__gp_take_rows(const ct_tensor *t, int64_t n, const int64_t *row, int64_t rows);

/* -- loo.c ----------------------------------------------------------------------------------------------- */

/* Σ_i log p(y_i | the others) or, without `densities`, Σ_i (y_i - mean_i)² / variance_i, predicted as in
 * ct_gp_loo. */
ct_status ct__gp_loo_sum(ct_gp *gp, bool densities, double *sum);

/* -- optimisers ------------------------------------------------------------------------------------------ */

typedef struct ct__search {
    int n, max_evaluations;
    double *x; /* in: the start, inside the bounds; out: the last point tried */
    const double *lower, *upper;
    double flat, learning_rate; /* stop when a step changes the objective by less; for Adam */
    /* Sets *f (finite) and g[n], and keeps the best point. A nonzero value stops the search. */
    int (*evaluate)(void *context, const double *x, double *f, double *g);
    /* Copies the best point so far into x. */
    void (*best)(void *context, double *x);
    void *context;
} ct__search;

/* They return CT_FIT_FLAT, CT_FIT_STALLED or CT_FIT_EVALUATIONS; CT_FIT_STOPPED if evaluate asked to stop,
 * CT_FIT_FAILED if memory ran out. */
extern const bool ct__has_lbfgs;
ct_fit_end ct__search_lbfgs(ct__search *s);
ct_fit_end ct__search_adam(ct__search *s);

#endif
