/* The model where no covariance is asked for: the choice of one, its variance, and what becomes of many
 * rows. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

/* -- the choice --
 *
 * One lengthscale for all columns, a rough part with a lengthscale for each, or a smooth part beside that.
 * The largest is fitted from its usual start and from the rough one's end, and the lowest
 *     AICc = 2 (objective + m n / (n - m - 1))         [Akaike 1974; Hurvich & Tsai 1989]
 * wins, with m free parameters; it is infinite for n <= m + 1. What only follows the noise is left out, and a
 * table with few rows for its columns gets few parameters. A fit by the leave-one-out density gains about
 * twice as much from a parameter that means nothing as one by the likelihood (docs/gp.md): m is twice their
 * number. */

#define ROUGH  "scale * matern32(ard)"
#define BOTH   ROUGH " + scale * rbf(ard)"
#define SHARED "linear + scale * matern32"
/* Without a linear part: in as many centred columns as rows the others tell each row exactly. */
#define SHARED_LOO "scale * matern32"

enum { NEW_PART = 10 }; /* the second part begins at so small a fraction of the first one's variance */

/* m */
static double parameters(const ct_gp *gp, ct_fit_objective objective)
{
    double k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) k += !ct_gp_param(gp, i)->fixed;
    return objective == CT_OBJECTIVE_LOO ? 2 * k : k;
}

/* 2 m n / (n - m - 1) */
static double penalty(const ct_gp *gp, ct_fit_objective objective)
{
    double n = (double)ct_gp_points(gp), m = parameters(gp, objective);
    return n > m + 1 ? 2 * m * n / (n - m - 1) : INFINITY;
}

static double criterion(const ct_gp *gp, ct_fit_objective objective)
{
    return 2 * ct_gp_report(gp).objective + penalty(gp, objective);
}

static ct_status set_value(ct_gp *gp, int64_t i, double value)
{
    if (i < 0) return CT_EINVAL;
    ct_param p = *ct_gp_param(gp, i);
    p.value = value < p.lower ? p.lower : value > p.upper ? p.upper : value;
    return ct_gp_set_param(gp, i, &p);
}

/* The values of `from`, which has some of the parameters of `gp`. */
static ct_status take_over(ct_gp *gp, const ct_gp *from)
{
    ct_status status = CT_OK;
    for (int64_t i = 0; i < ct_gp_params(from) && !status; i++) {
        const ct_param *p = ct_gp_param(from, i);
        status = set_value(gp, ct_gp_find(gp, p->name), p->value);
    }
    return status;
}

/* BOTH where ROUGH has ended, the new part beside it small. */
static ct_status begin_from(ct_gp *both, const ct_gp *rough)
{
    ct_status status = take_over(both, rough);
    if (status) return status;
    const ct_param *first = ct_gp_param(rough, ct_gp_find(rough, "scale.variance"));
    return set_value(both, ct_gp_find(both, "scale#2.variance"), first->value / NEW_PART);
}

/* With fewer rows for each parameter intervals of 95 % held some 80 % of new rows, or less (docs/gp.md). */
enum { FEW_ROWS = 4 };

void tell_many_parameters(const ct_gp *gp, ct_fit_objective objective)
{
    long long n = ct_gp_points(gp), k = (long long)parameters(gp, CT_OBJECTIVE_LIKELIHOOD);
    if ((double)n >= FEW_ROWS * parameters(gp, objective)) return;
    fprintf(stderr,
            "ctgp: %lld parameters from %lld rows%s: expect intervals that are too narrow; `ard` and --mean "
            "linear have one for each column, without --kernel few are chosen\n",
            k, n, objective == CT_OBJECTIVE_LOO ? " by leave-one-out" : "");
}

typedef struct candidate {
    const char *text, *name;
    ct_gp *gp; /* NULL: not tried */
    ct_status status;
} candidate;

enum { ONE_LENGTH, SMALLER, FRESH, FROM_SMALLER, CANDIDATES };

/* Not tried: one lengthscale where it saves no parameter, and what AICc rules out. The smallest stays. */
static void leave_out(candidate *c, ct_fit_objective objective)
{
    if (parameters(c[ONE_LENGTH].gp, objective) >= parameters(c[SMALLER].gp, objective)) {
        ct_gp_free(c[ONE_LENGTH].gp);
        c[ONE_LENGTH].gp = NULL;
    }
    for (int k = c[ONE_LENGTH].gp ? SMALLER : FRESH; k <= FRESH; k++) {
        if (isfinite(penalty(c[k].gp, objective))) continue;
        fprintf(stderr, "ctgp: %s: left out, %lld rows are too few for its parameters\n", c[k].name,
                (long long)ct_gp_points(c[k].gp));
        ct_gp_free(c[k].gp);
        c[k].gp = NULL;
    }
}

/* Fits those that there are of c[0..count). */
static int fit_candidates(candidate *c, int count, const ct_fit_options *how, effort *e)
{
    ct_gp *gp[CANDIDATES];
    const char *name[CANDIDATES];
    ct_status status[CANDIDATES] = { CT_OK };
    int tried = 0;
    for (int k = 0; k < count; k++)
        if (c[k].gp) name[tried] = c[k].name, gp[tried++] = c[k].gp;
    int result = fit_shown(gp, tried, name, how, status, e);
    while (count--)
        if (c[count].gp) c[count].status = status[--tried];
    return result;
}

/* BOTH once more, from where ROUGH has ended. */
static int fit_from_smaller(candidate *c, const ct_tensor *X, const ct_tensor *y,
                            const ct_gp_options *options, const ct_fit_options *how, effort *e)
{
    ct_fit_options once = *how;
    once.restarts = 0;
    if (!c[FRESH].gp || c[SMALLER].status || fit_interrupted()) return GO_ON;
    candidate *from = &c[FROM_SMALLER];
    from->gp = ct_gp_new(X, y, ct_kernel_parse(from->text), options);
    if (!from->gp || begin_from(from->gp, c[SMALLER].gp)) return fail_device(ct_tensor_device(X), NULL);
    return fit_candidates(from, 1, &once, e);
}

/* Index of the best, -1 where no model has a factor. */
static int compare(const candidate *c, ct_fit_objective objective)
{
    const char *what = objective == CT_OBJECTIVE_LOO ? "AICc, leave-one-out" : "AICc";
    int best = -1;
    for (int k = 0; k < CANDIDATES; k++) {
        if (!c[k].gp || (c[k].status && c[k].status != CT_ESTOPPED)) continue;
        double value = criterion(c[k].gp, objective);
        if (isfinite(value)) fprintf(stderr, "ctgp: %s: %s %.2f\n", c[k].name, what, value);
        if (best < 0 || value < criterion(c[best].gp, objective)) best = k;
    }
    return best;
}

/* *chosen: the text of the model *winner; NULL where no model has a factor. */
static int search(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options,
                  const ct_fit_options *how, ct_gp **winner, const char **chosen, effort *e)
{
    const char *one_length = how->objective == CT_OBJECTIVE_LOO ? SHARED_LOO : SHARED;
    candidate c[CANDIDATES] = { [ONE_LENGTH] = { .text = one_length, .name = one_length },
                                [SMALLER] = { .text = ROUGH, .name = ROUGH },
                                [FRESH] = { .text = BOTH, .name = BOTH },
                                [FROM_SMALLER] = { .text = BOTH, .name = BOTH ", from there" } };
    int result = GO_ON, best = -1;
    for (int k = 0; k < FROM_SMALLER && result == GO_ON; k++) {
        c[k].gp = ct_gp_new(X, y, ct_kernel_parse(c[k].text), options);
        if (!c[k].gp) result = fail_device(ct_tensor_device(X), NULL);
    }
    if (result == GO_ON) leave_out(c, how->objective);
    if (result == GO_ON) result = fit_candidates(c, FROM_SMALLER, how, e);
    if (result == GO_ON) result = fit_from_smaller(c, X, y, options, how, e);
    if (result == GO_ON) best = compare(c, how->objective);
    for (int k = 0; k < CANDIDATES; k++)
        if (k != best) ct_gp_free(c[k].gp);
    *winner = best < 0 ? NULL : c[best].gp;
    *chosen = best < 0 ? NULL : c[best].text;
    return result;
}

/* -- its variance --
 *
 * A likelihood that a wrong covariance has won can be too sure of itself, as the leave-one-out residuals
 * tell. With means m_i, variances v_i and densities p_i of every y_i given all other rows,
 *     c = 1/n Σ_i (y_i - m_i)²/v_i = -1/n Σ_i (2 log p_i + log 2πv_i)
 * where that is above 1 every variance is multiplied by it, the best factor for these residuals. No predicted
 * mean changes.
 * [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */

static ct_status residuals(ct_gp *gp, double *c)
{
    ct_device *device = ct_gp_device(gp);
    int64_t n = ct_gp_points(gp);
    size_t bytes = (size_t)n * sizeof(double);
    ct_tensor *variance = ct_empty(device, CT_F64, ct_shape1(n)),
              *density = ct_empty(device, CT_F64, ct_shape1(n));
    double *v = malloc(2 * bytes), *log_p = v ? v + n : NULL;
    ct_status s = variance && density ? CT_OK : CT_ENOMEM;
    if (!v) s = ct_device_fail(device, CT_ENOMEM, "no memory for %lld residuals", (long long)n);
    if (!s) s = ct_gp_loo(gp, NULL, variance, density);
    if (!s) s = ct_read(variance, v, bytes);
    if (!s) s = ct_read(density, log_p, bytes);
    *c = 0;
    for (int64_t i = 0; i < n && !s; i++) *c -= (2 * log_p[i] + log(2 * acos(-1) * v[i])) / (double)n;
    ct_release(variance);
    ct_release(density);
    free(v);
    return s;
}

static int widen(ct_gp *gp)
{
    /* a variance is the parameter to that power */
    static const struct {
        const char *name;
        double power;
    } part[] = { { "scale.variance", 1 },
                 { "scale#2.variance", 1 },
                 { "linear.lengthscale", -2 },
                 { "noise.variance", 1 } };
    double c;
    ct_status status = residuals(gp, &c);
    if (status == CT_ENOMEM) return fail_device(ct_gp_device(gp), NULL);
    if (status || !isfinite(c)) {
        fprintf(stderr,
                "ctgp: variances are those of the likelihood: there are no leave-one-out residuals (%s)\n",
                status ? ct_message(ct_gp_device(gp)) : "some are not finite");
        return GO_ON;
    }
    if (c <= 1.01) return GO_ON; /* less would not be seen */
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        int64_t i = ct_gp_find(gp, part[k].name);
        if (i >= 0) set_value(gp, i, pow(c, 1 / part[k].power) * ct_gp_param(gp, i)->value);
    }
    fprintf(stderr,
            "ctgp: all variances times %.4g, the mean square of the standardised leave-one-out residuals\n",
            c);
    return GO_ON;
}

/* -- of many rows --
 *
 * Beyond MANY rows the choice is made on SOME of them, one drawn from each of as many stretches of the table;
 * the chosen model of all rows begins where that of SOME ended. */

enum { MANY = 2000, SOME = 1000 };

/* Rows `index` of t. */
static ct_tensor *rows_of(ct_tensor *t, ct_tensor *index)
{
    ct_tape *tape = ct_tape_new(ct_tensor_device(t));
    ct_tensor *rows = NULL;
    if (tape) rows = ct_value(ct_gather(ct_constant(tape, t), ct_constant(tape, index)));
    if (rows) ct_retain(rows);
    ct_tape_free(tape);
    return rows;
}

static ct_tensor *draw(ct_device *device, int64_t n, uint64_t seed)
{
    double u[SOME];
    int64_t row[SOME];
    ct_tensor *uniform = ct_rand_uniform(device, CT_F64, ct_shape1(SOME), seed, 0);
    bool good = uniform && !ct_read(uniform, u, sizeof u);
    ct_release(uniform);
    for (int i = 0; i < SOME && good; i++) row[i] = (int64_t)((i + u[i]) * (double)n / SOME);
    return good ? ct_from(device, CT_I64, ct_shape1(SOME), row) : NULL;
}

/* *all: the model of all rows with the covariance that some of them chose, from their parameters; NULL: they
 * chose none. */
static int begin_from_some(ct_tensor *X, ct_tensor *y, const ct_gp_options *options,
                           const ct_fit_options *how, ct_gp **all, effort *e)
{
    ct_tensor *index = draw(ct_tensor_device(X), ct_tensor_dim(X, 0), how->seed);
    ct_tensor *some_X = index ? rows_of(X, index) : NULL, *some_y = index ? rows_of(y, index) : NULL;
    ct_gp *some = NULL;
    const char *chosen = NULL;
    int result = GO_ON;
    *all = NULL;
    if (some_X && some_y) {
        fprintf(stderr, "ctgp: the covariance is chosen on %d of the rows\n", SOME);
        result = search(some_X, some_y, options, how, &some, &chosen, e);
    } else {
        result = fail_device(ct_tensor_device(X), NULL);
    }
    if (some) *all = ct_gp_new(X, y, ct_kernel_parse(chosen), options);
    if (some && (!*all || take_over(*all, some))) result = fail_device(ct_tensor_device(X), NULL);
    ct_release(index);
    ct_release(some_X);
    ct_release(some_y);
    ct_gp_free(some);
    return result;
}

int choose(ct_tensor *X, ct_tensor *y, const ct_gp_options *options, const ct_fit_options *how, ct_gp **gp,
           effort *e)
{
    int result = GO_ON;
    const char *chosen = NULL;
    ct_fit_options once = *how;
    once.restarts = 0;
    *gp = NULL;
    if (ct_tensor_dim(X, 0) > MANY) {
        ct_gp *room =
            ct_gp_new(X, y, ct_kernel_parse(ROUGH), options); /* memory for all rows, or a message */
        ct_gp_free(room);
        if (!room) return fail_device(ct_tensor_device(X), NULL);
        result = begin_from_some(X, y, options, how, gp, e);
    }
    if (*gp && result == GO_ON) {
        ct_status status = CT_OK;
        result = fit_shown(gp, 1, NULL, &once, &status, e);
        if (result == GO_ON && status && status != CT_ESTOPPED) ct_gp_free(*gp), *gp = NULL;
    }
    if (!*gp && result == GO_ON) result = search(X, y, options, how, gp, &chosen, e);
    if (!*gp && result == GO_ON) result = fail_device(ct_tensor_device(X), NULL);
    if (result == GO_ON && !fit_interrupted()) result = widen(*gp);
    return result;
}
