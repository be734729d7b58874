/* A model's internals, shared by the files that fit it, predict with it and save it.
 *
 * The parameters have three sets of coordinates:
 *     v   values in the units of the data: the public API and ct_param have these
 *     s   values of the standardised problem, which go on the tape: s = (v - origin) / unit
 *     z   the optimiser's values: log s for positive parameters, s for the others */
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
    double restricted; /* what nlml has beside ½ rᵀα + Σ log L_ii + n/2 log 2π and ct__target_volume */
} ct__gp_factor;

struct ct_gp {
    ct_device *device; /* kept alive by the tape */
    ct_tape *tape;
    ct_kernel *kernel; /* values v */
    ct_gp_options options;
    int64_t n, d;
    ct_dtype dtype;
    ct_tensor *X, *y; /* standardised: (n, d); (n, 1) */
    /* (n), or NULL: of each row its noise variance, standardised, or the index of its level, i64 */
    ct_tensor *given;
    double given_mean; /* of the variances */
    double *level;     /* [n_levels], rising; NULL without CT_NOISE_BY_LEVEL */
    int64_t n_levels;
    char *basis; /* of the trend, in x0, x1, ...; NULL: none. What follows belongs to the rows. */
    struct ct__trend *trend;
    ct_tensor *H, *detrended; /* (n, p), the basis; (n, 1), y without its least squares in H */
    /* [d] for the columns of X: x = shift + scale s; spread: the standard deviation, or 1. */
    double *shift, *scale, *spread;
    double y_shift, y_scale, y_spread;             /* of g(y), as all that the model knows */
    ct_transform transform;                        /* z = g(y) */
    double log_slopes;                             /* Σ log g'(y_i) */
    ct_param *param;                               /* [n_params] */
    double *s;                                     /* [n_params], their values in s coordinates */
    int64_t n_params, n_kernel, noise_at, mean_at; /* the last two: -1 without such a parameter */
    ct_column *column;       /* [d + 1]: the inputs, then the output; options has them */
    ct_column *noise_column; /* a block of its own, or NULL; options has it */
    ct__gp_factor factor;
    /* Of the model of several outputs (outputs/): of standardised outputs (n, p) whose likelihoods the
     * objective adds up, instead of y's; NULL: none. And what the units of its outputs add to every
     * likelihood. */
    ct_tensor *shared;
    double log_units;
    int64_t in_grid, pivot; /* infer/joint.c: outputs whose likelihood is one of Kronecker products, or 0 */
    struct ct__lens *lens;  /* NULL: none */
    ct_gp_mixed mixed;      /* of the last evaluation in mixed precision */
    ct_fit_report report;
    ct_fit_start *starts;
};

/* A collective call on a model, in its group (mpi/group.h). */
static inline void ct__gp_enter(const ct_gp *gp) { ct__group_enter(gp->options.group); }
static inline ct_status ct__gp_leave(const ct_gp *gp, ct_status status)
{
    return ct__group_leave(gp->options.group, gp->device, status);
}

/* -- memory.c -------------------------------------------------------------------------------------------- */

/* Refuses with CT_ENOMEM where `bytes` more than now would pass the device's limit. The message names the
 * remedy, and f32 where that is to be had (`narrower`) and half of the bytes would do. */
ct_status ct__gp_reserve(ct_device *device, uint64_t bytes, bool narrower, const char *what,
                         const char *remedy);
/* Copies the tape's failure to the device and resets the tape. Returns the status. */
ct_status ct__gp_tape_failed(ct_gp *gp, const char *what);
void ct__gp_drop_factor(ct_gp *gp);
/* The grid of the model's group, the factor on it, and what a process needs for a factor or a likelihood. */
ct__grid ct__gp_grid(const ct_gp *gp);
ct__packed ct__gp_factor_of(const ct_gp *gp);
uint64_t ct__gp_bytes(struct ct_group *group, int64_t n, int64_t d, ct_dtype dtype, bool fitting);
/* Releases the model's data and its factor. */
void ct__gp_drop_rows(ct_gp *gp);
/* count * size bytes, zeroed; NULL with CT_ENOMEM on the device. Freed with free. */
void *ct__gp_alloc(ct_device *device, uint64_t count, size_t size);
/* Allocates `count` arrays of n zeros in one block, which is freed with the first array. */
ct_status ct__gp_arrays(ct_device *device, uint64_t n, double **const array[], int count);

/* -- model.c --------------------------------------------------------------------------------------------- */

/* An empty model: device, tape, kernel (taken over), extents, options, columns, room for transforms. */
ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options);
/* Lists the parameters once the kernel and the transforms are there. */
ct_status ct__gp_list_params(ct_gp *gp);

/* -- columns.c ------------------------------------------------------------------------------------------- */

/* Whether the options' columns can be copied; CT_EINVAL. */
ct_status ct__gp_check_columns(ct_device *device, const ct_gp_options *o, int64_t d);
/* The options' inputs [d] and output in one block, to be freed with free; NULL with CT_ENOMEM. */
ct_column *ct__gp_copy_columns(ct_device *device, const ct_gp_options *o, int64_t d);
/* They become the model's. */
void ct__gp_take_columns(ct_gp *gp, ct_column *columns);
/* Copies the column of the noise, with its texts in its block; `column` NULL: there is none. */
ct_status ct__gp_set_noise_column(ct_gp *gp, const ct_column *column);
/* The length of the longest name or level. */
size_t ct__gp_longest_text(const ct_gp *gp);

/* -- lens.c ---------------------------------------------------------------------------------------------- */

/* A model of pairs of a point and an output, seen from one output: the last column of X, the output's code,
 * is hidden, and its rows are those of this code. Callers meet only these rows and the other columns. */
typedef struct ct__lens {
    int64_t code, n, row[]; /* [n], rising */
} ct__lens;

/* Gives gp, whose noise is by output, that lens. */
ct_status ct__lens_set(ct_gp *gp, int64_t code);
/* Rows, and columns of X, as callers meet them. */
static inline int64_t ct__gp_rows(const ct_gp *gp) { return gp->lens ? gp->lens->n : gp->n; }
static inline int64_t ct__gp_cols(const ct_gp *gp) { return gp->d - (gp->lens != NULL); }
/* The number by which callers know row i; -1: they do not. */
int64_t ct__lens_row(const ct_gp *gp, int64_t i);
/* Of x (n, cols) the rows that callers meet become the first ones. */
void ct__lens_pick(const ct_gp *gp, double *x, int64_t cols);
/* Xs (m, ct__gp_cols), in the units of the data, as the model has its points: (m, d). */
ct_tensor *ct__gp_points(const ct_gp *gp, const ct_tensor *Xs);
/* CT_EUNSUPPORTED for a model with a lens. */
ct_status ct__lens_refuse(const ct_gp *gp, const char *who, const char *remedy);

/* -- copy.c ---------------------------------------------------------------------------------------------- */

/* A model of the same data, kernel and parameters, without fit and factor. On a device other than
 * gp's, for another thread (CPU only), it reads gp's data and must not outlive gp. NULL with the reason on
 * the device. */
ct_gp *ct__gp_twin(const ct_gp *gp, ct_device *device);

/* -- save.c ---------------------------------------------------------------------------------------------- */

/* CRC-64 of the model's data, kernel and parameters, with their starts, bounds and priors. */
ct_status ct__gp_fingerprint(ct_gp *gp, uint64_t *print);
/* Whether all processes of the group have the same model: a meeting. */
ct_status ct__gp_compare(ct_gp *gp);

/* -- numbers.c ------------------------------------------------------------------------------------------- */

/* A tensor as doubles, row-major: into `out`, of as many numbers; malloc'ed, NULL with the reason on the
 * device. */
ct_status ct__gp_read(const ct_tensor *t, double *out);
double *ct__gp_doubles(const ct_tensor *t);
/* A tensor of these numbers; NULL with the reason on the device, and for NULL. */
ct_tensor *ct__gp_tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x);
/* ct__gp_read, and releases t. CT_ENOMEM if t is NULL. */
ct_status ct__gp_unload(ct_tensor *t, double *out);
/* Mean and standard deviation (1 where it is 0) of a column x[0], x[stride], ... */
void ct__gp_column_moments(const double *x, int64_t n, int64_t stride, double *mean, double *deviation);
/* CT_EINVAL where a standard deviation is too large or too small for the variances that go with it. A column
 * below 0 stays out of the message. */
ct_status ct__gp_check_spread(ct_device *device, double deviation, const char *what, int64_t column);
/* A table t in the units of the data as a model has it: (t - shift) / scale by column, of shape (rows, cols)
 * or (rows). With `spread`, t is the data themselves: first, spread is set to the standard deviations of its
 * columns, and shift and scale to their means and standard deviations, or without `standardize`, and for
 * columns of codes, to 0 and 1.
 * The numbers must be finite. Those of a vector, which is always given noise, must not be negative. NULL with
 * the reason on the device; the message begins with `what`. */
ct_tensor *ct__gp_table(const ct_gp *gp, const ct_tensor *t, ct_shape shape, const char *what, double *shift,
                        double *scale, double *spread, bool standardize);

/* -- noise.c --------------------------------------------------------------------------------------------- */

/* What the options give of each row's noise: variances, levels, or NULL. Whether it fits the n rows. */
const ct_tensor *ct__noise_given(const ct_gp_options *options);
ct_status ct__noise_check(ct_device *device, const ct_gp_options *options, int64_t n);
/* Whether `noise` (may be NULL) is of that many rows more; if not, the message says `what`. */
ct_status ct__noise_check_rows(ct_gp *gp, const ct_tensor *noise, int64_t rows, const char *what);
/* The model's levels are those of its rows. */
ct_status ct__noise_find_levels(ct_gp *gp, const ct_tensor *levels);
/* Variances or levels of rows as `given` has them. NULL with the reason on the device. */
ct_tensor *ct__noise_rows(const ct_gp *gp, const ct_tensor *t, int64_t rows);
/* Sets given_mean, where variances are given. */
ct_status ct__noise_average_given(ct_gp *gp);
/* The number of parameters; parameter k of them, as it is before the data are seen. */
int64_t ct__noise_params(const ct_gp *gp);
ct_param ct__noise_param(const ct_gp *gp, int64_t k);
static inline bool ct__gp_is_noise(const ct_gp *gp, int64_t i)
{
    return gp->noise_at >= 0 && i >= gp->noise_at && i < gp->noise_at + ct__noise_params(gp);
}
/* The learned part of the variance, in s coordinates, from the noise's parameters s: (n) at rows X (n, d) of
 * the data, or (1). With CT_NOISE_INPUTS X may be any points. */
ct_var ct__noise_learned(const ct_gp *gp, ct_var s, ct_var X);
/* The variance of a new observation, in units of y²: the average over the data; or at each row of Xs, by
 * `noise`, checked, or without it NULL by the inputs or that average. */
ct_status ct__noise_average(const ct_gp *gp, double *variance);
ct_status ct__noise_at(const ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, double *variance);

/* -- target.c -------------------------------------------------------------------------------------------- */

/* z = g(y) in a tensor of its own; with `first` the transform is measured by these y. NULL with the reason on
 * the device. */
ct_tensor *ct__target_of(ct_gp *gp, const ct_tensor *y, bool first);
/* y, and log g'(y), of a standardised s. */
double ct__target_at(const ct_gp *gp, double s);
double ct__target_slope(const ct_gp *gp, double s);
/* Sets log_slopes from the model's rows. CT_EINVAL for a y whose rounding is outside of the domain. */
ct_status ct__target_sum_slopes(ct_gp *gp);
/* What -log p(y) of all rows has beside that of the standardised ones. */
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
/* Starts and priors from the data wherever the kernel brings none. */
void ct__gp_first_values(ct_gp *gp);
/* periods.c: then the periods of one column that have no start or bounds begin at its seasons. */
ct_status ct__gp_begin_periods(ct_gp *gp);
/* For parameter i: bounds in z; the standard deviation in z of a restart's draw. */
void ct__gp_bounds(const ct_gp *gp, int64_t i, double *lower, double *upper);
double ct__gp_draw_width(const ct_gp *gp, int64_t i);

/* -- nlml.c, loo_objective.c ----------------------------------------------------------------------------- */

/* theta (P), X (n, d), r of n elements, noise (n) or (1) -> ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π; and, from
 * the same inputs, -Σ log p(y_i | the others). The attribute is a kernel's program. */
extern const struct ct_op ct__op_gp_nlml, ct__op_gp_loo_nlpd;
/* shared.c, kronecker.c: as in outputs.h. */
extern const struct ct_op ct__op_nlml_shared, ct__op_nlml_kronecker;
/* ct_gp_nlml over a group's processes; no gradient in X. Collective. */
ct_var ct__gp_nlml_on(const ct__grid *grid, const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r,
                      ct_var noise);
/* As ct_gp_bytes_needed, for a fit by the leave-one-out density. */
uint64_t ct__gp_loo_bytes(int64_t n, int64_t d, ct_dtype dtype);

/* -- objective.c ----------------------------------------------------------------------------------------- */

/* What is evaluated, and how. */
typedef struct ct__goal {
    ct_fit_objective objective;
    ct_precision precision;
    uint64_t draw; /* the number of the random signs in mixed precision */
    bool factor;   /* the likelihood in full precision; its factor is kept in the model */
} ct__goal;

/* nlml (or the leave-one-out density) - Σ log prior of y as given, at z; its gradient (NULL: not wanted) in
 * z; *jitter in s coordinates. CT_ENUMERIC if no jitter of the ladder helps, or, in mixed precision, if f32
 * cannot factorise. Mixed precision writes its report to gp->mixed. */
ct_status ct__gp_evaluate(ct_gp *gp, ct__goal goal, const double *z, double *value, double *gradient,
                          double *jitter);
/* Computes L and alpha at the present values. */
ct_status ct__gp_factorise(ct_gp *gp);
/* alpha and the likelihood that go with an L that is there, and its jitter. CT_ENUMERIC where they are
 * nothing but rounding. */
ct_status ct__gp_complete(ct_gp *gp);
/* The model on its tape, in s coordinates. */
typedef struct ct__graph {
    ct_var theta, noise, mean;    /* leaves or constants; mean: c, then the slopes, as one vector */
    ct_var X, variance, residual; /* (n, d); of noise and jitter, (n) or (1); y - m(X), (n, 1) */
} ct__graph;

/* The graph at the present values, made of constants. */
ct__graph ct__gp_present(const ct_gp *gp, double jitter);
/* The diagonal of the covariance matrix, with noise and jitter: (n). */
ct_var ct__graph_diagonal(const ct_gp *gp, const ct__graph *g);
/* Makes t a leaf or a constant of the tape, and releases t. NULL: the tape fails as its device has. */
ct_var ct__gp_input(ct_tape *tape, ct_tensor *t, bool leaf);
/* The kernel's parameters as a constant on a tape. */
ct_var ct__gp_theta(const ct_gp *gp, ct_tape *tape);
/* The mean function at standardised inputs (m, d): (m, 1), or a scalar constant. */
ct_var ct__gp_mean_at(const ct_gp *gp, ct_tape *tape, ct_var X);

/* -- joint.c --------------------------------------------------------------------------------------------- */

/* Sets in_grid and pivot for a joint model, whose rows are pairs of a point and an output. */
ct_status ct__joint_find_grid(ct_gp *gp);
/* The likelihood of a model in a grid, from the parameters, the residual and the noises (in_grid). */
ct_var ct__joint_nlml(const ct_gp *gp, ct_var theta, ct_var residual, ct_var noise, double jitter);

/* -- mixed.c --------------------------------------------------------------------------------------------- */

/* The most bytes that ct_gp_nlml_mixed and its gradient hold at once; UINT64_MAX if that overflows. */
uint64_t ct__gp_mixed_bytes(int64_t n, int64_t d);
/* ct_gp_nlml_mixed with the random signs of `draw`: each draw gives an independent estimate. */
ct_var ct__gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                         uint64_t draw, ct_gp_mixed *report);

/* -- posterior.c ----------------------------------------------------------------------------------------- */

/* theta, points (m, d), X (n, d), alpha (n, 1), L packed, or on a grid this process's tiles -> kᵀα (m), and
 * with `variance` as output 1 kᵀC⁻¹k (m), where k = k(X, point) and C = L Lᵀ. Gradients flow into the
 * points. */
ct_var ct__gp_posterior_at(const ct_cov_program *program, const ct__grid *grid, const ct_var in[5],
                           bool variance);
/* B L⁻ᵀ for B (m, n) and the model's factor; differentiable in B. */
ct_var ct__gp_half_solve(const ct__grid *grid, ct_var L, ct_var B);

/* -- exchange.c ------------------------------------------------------------------------------------------ */

/* Whether t is of numbers on the model's device; if not, the message says `what`. */
ct_status ct__gp_check_numbers(ct_gp *gp, const ct_tensor *t, const char *what);
/* Whether `out` (may be NULL) can take m numbers; if not, the message says `what`. */
ct_status ct__gp_check_out(ct_gp *gp, const ct_tensor *out, int64_t m, const char *what);
/* Whether X is (rows, d), numbers, on the model's device; else with `what` in the message. */
ct_status ct__gp_check_inputs(ct_gp *gp, const ct_tensor *X, const char *what);
/* CT_ENUMERIC where out cannot hold one of these numbers. */
ct_status ct__gp_check_results(ct_gp *gp, const double *host, const ct_tensor *out);
/* Host numbers, those of process 0 in a group, into out, whatever its dtype, shape and strides. */
ct_status ct__gp_deliver(ct_gp *gp, double *host, ct_tensor *out);
/* A value of gp's tape as doubles; `what` it is for the message where the tape has failed. */
ct_status ct__gp_fetch(ct_gp *gp, ct_var v, const char *what, double *out);
/* Closes the scope c on gp's tape and reads x of it as doubles. */
ct_status ct__gp_close_with(ct_gp *gp, struct ct_call *c, ct_view x, const char *what, double *out);
/* Reads the n numbers that `line_of` computes from the factor. The model must have one. */
ct_status ct__gp_fetch_line(ct_gp *gp, void (*line_of)(ct_call *c, const ct__packed *L, ct_view line),
                            const char *what, double *out);

/* -- params.c -------------------------------------------------------------------------------------------- */

/* Copies the value of parameter i, which is new, to the kernel and to s. */
ct_status ct__gp_pass_on(ct_gp *gp, int64_t i);
/* Puts values v into the model; the factor is no longer valid. */
ct_status ct__gp_set_values(ct_gp *gp, const double *v);
ct_status ct__gp_check_param(ct_gp *gp, int64_t i, const ct_param *param);
/* Free parameters of a name that `from` has, too, take its values; other variances of the kernel become a
 * tenth of its first one. */
ct_status ct__gp_begin_from(ct_gp *gp, const ct_gp *from);

/* -- draw.c ---------------------------------------------------------------------------------------------- */

/* `rows` <= n different rows out of n, rising: `seed` draws one from each of equal stretches. Freed with
 * free; NULL with the reason on the device. */
int64_t *ct__gp_draw_rows(ct_device *device, int64_t n, int64_t rows, uint64_t seed);
/* row[0] < row[1] < ... of a table of n rows: (rows), or (rows, columns). NULL with the reason on the
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
    double flat, learning_rate; /* stop when a step changes the objective by less; of Adam */
    /* Sets *f (finite) and g[n], and keeps the best point. A nonzero value stops the search. */
    int (*evaluate)(void *context, const double *x, double *f, double *g);
    /* Copies the best point so far into x. */
    void (*best)(void *context, double *x);
    void *context;
} ct__search;

/* CT_FIT_FLAT, CT_FIT_STALLED, CT_FIT_EVALUATIONS; CT_FIT_STOPPED: evaluate asked to stop; CT_FIT_FAILED: out
 * of memory. */
extern const bool ct__has_lbfgs;
ct_fit_end ct__search_lbfgs(ct__search *s);
ct_fit_end ct__search_adam(ct__search *s);

#endif
