/* The model where no covariance is asked for: the choice of one, its variance, and what becomes of many rows. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

/* -- the choice --
 *
 * A rough part, or a smooth one beside it: the larger model is fitted from its usual start and from the smaller one's
 * end, and the lower
 *     AIC = 2 (objective + free parameters)                                                          [Akaike 1974]
 * wins, so that a part that only follows the noise is left out. The leave-one-out density needs no such penalty: it is
 * one of rows that were not seen, which is what AIC estimates [Stone 1977]. */

#define ROUGH "scale * matern32(ard)"
#define BOTH  ROUGH " + scale * rbf(ard)"

enum { NEW_PART = 10 }; /* the second part begins at so small a fraction of the first one's variance */

static double criterion(const ct_gp *gp, ct_fit_objective objective)
{
    double k = 0;
    for (int64_t i = 0; i < ct_gp_params(gp) && objective == CT_OBJECTIVE_LIKELIHOOD; i++)
        k += !ct_gp_param(gp, i)->fixed;
    return 2 * (ct_gp_report(gp).objective + k);
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

enum { FRESH, SMALLER, FROM_SMALLER, N_MODELS };
static const char *const text[] = { BOTH, ROUGH, BOTH };

/* *chosen: one of `text`, of the model *winner; NULL where no model has a factor. */
static int search(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options,
                  const ct_fit_options *how, ct_gp **winner, const char **chosen, effort *e)
{
    static const char *const name[] = { BOTH, ROUGH, BOTH ", from there" };
    ct_gp *gp[N_MODELS] = { 0 };
    ct_status status[N_MODELS] = { CT_ENOMEM, CT_ENOMEM, CT_ENOMEM };
    const char *what = how->objective == CT_OBJECTIVE_LIKELIHOOD ? "AIC" : "twice the objective";
    int result = GO_ON, best = -1;
    for (int k = FRESH; k <= SMALLER && result == GO_ON; k++) {
        gp[k] = ct_gp_new(X, y, ct_kernel_parse(text[k]), options);
        if (!gp[k]) result = fail_device(ct_tensor_device(X), NULL);
    }
    if (result == GO_ON) result = fit_shown(gp, 2, name, how, status, e);
    if (result == GO_ON && !status[SMALLER] && !fit_interrupted()) {
        ct_fit_options once = *how;
        once.restarts = 0;
        gp[FROM_SMALLER] = ct_gp_new(X, y, ct_kernel_parse(BOTH), options);
        if (gp[FROM_SMALLER] && !begin_from(gp[FROM_SMALLER], gp[SMALLER]))
            result = fit_shown(&gp[FROM_SMALLER], 1, &name[FROM_SMALLER], &once, &status[FROM_SMALLER], e);
        else
            result = fail_device(ct_tensor_device(X), NULL);
    }
    for (int k = 0; k < N_MODELS && result == GO_ON; k++) {
        if (!gp[k] || (status[k] && status[k] != CT_ESTOPPED)) continue;
        double value = criterion(gp[k], how->objective);
        if (isfinite(value)) fprintf(stderr, "ctgp: %s: %s %.2f\n", name[k], what, value);
        if (best < 0 || value < criterion(gp[best], how->objective)) best = k;
    }
    for (int k = 0; k < N_MODELS; k++)
        if (k != best) ct_gp_free(gp[k]);
    *winner = best < 0 ? NULL : gp[best];
    *chosen = best < 0 ? NULL : text[best];
    return result;
}

/* -- its variance --
 *
 * A likelihood that a wrong covariance has won can be too sure of itself, as the leave-one-out residuals tell. With means
 * m_i, variances v_i and densities p_i of every y_i given all other rows,
 *     c = 1/n Σ_i (y_i - m_i)²/v_i = -1/n Σ_i (2 log p_i + log 2πv_i)
 * where that is above 1 every variance is multiplied by it, the best factor for these residuals. No predicted mean changes.
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
    static const char *const name[] = { "scale.variance", "scale#2.variance", "noise.variance" };
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
    for (int k = 0; k < 3; k++) {
        int64_t i = ct_gp_find(gp, name[k]);
        if (i >= 0) set_value(gp, i, c * ct_gp_param(gp, i)->value);
    }
    fprintf(stderr,
            "ctgp: all variances times %.4g, the mean square of the standardised leave-one-out residuals\n",
            c);
    return GO_ON;
}

/* -- of many rows --
 *
 * Beyond MANY rows the choice is made on SOME of them, one drawn from each of as many stretches of the table; the chosen
 * model of all rows begins where that of SOME ended. */

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
