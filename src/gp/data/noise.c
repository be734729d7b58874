/* The noise variance of an observation, by options.noise, with the learned parameters in brackets.
 *     LEARNED      σ²                               [noise.variance]
 *     GIVEN        v_i                              v_i of options.noise_variances
 *     GIVEN_PLUS   v_i + σ²                         [noise.variance]
 *     BY_LEVEL     σ²_l, l the level of row i       [noise.variance[l]], l of options.noise_levels
 *     INPUTS       exp(a + Σ_j b_j (x_j - m_j))     [noise.log_variance: a; noise.slope[j]: b_j]
 * m_j is what standardisation subtracts from column j. [Goldberg, Williams & Bishop 1998 use a Gaussian
 * process instead of the linear function.] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/io.h>

#include "gp/model/model.h"

/* -- noise given for each row ---------------------------------------------------------------------------- */

const ct_tensor *ct__noise_given(const ct_gp_options *o)
{
    return o->noise == CT_NOISE_BY_LEVEL ? o->noise_levels : o->noise_variances;
}

static bool by_variances(ct_gp_noise noise)
{
    return noise == CT_NOISE_GIVEN || noise == CT_NOISE_GIVEN_PLUS;
}

ct_status ct__noise_check(ct_device *device, const ct_gp_options *o, int64_t n)
{
    const bool variances = by_variances(o->noise), levels = o->noise == CT_NOISE_BY_LEVEL;
    const ct_tensor *given = ct__noise_given(o);
    if (variances != (o->noise_variances != NULL))
        return ct_device_fail(
            device, CT_EINVAL,
            "ct_gp_new: noise_variances belong with CT_NOISE_GIVEN and CT_NOISE_GIVEN_PLUS");
    if (levels != (o->noise_levels != NULL))
        return ct_device_fail(device, CT_EINVAL, "ct_gp_new: noise_levels belong with CT_NOISE_BY_LEVEL");
    if (!given) return CT_OK;
    const bool numbers = levels || ct_tensor_dtype(given) != CT_I64;
    if (ct_tensor_count(given) == n && numbers && ct_tensor_device(given) == device) return CT_OK;
    return ct_device_fail(device, CT_ESHAPE, "ct_gp_new: %s must be n numbers on the device of X",
                          levels ? "noise_levels" : "noise_variances");
}

/* Levels may also be i64. */
ct_status ct__noise_check_rows(ct_gp *gp, const ct_tensor *noise, int64_t rows, const char *what)
{
    const bool whole = gp->options.noise == CT_NOISE_BY_LEVEL && noise && ct_tensor_dtype(noise) == CT_I64;
    if (whole && ct_tensor_device(noise) == gp->device && ct_tensor_count(noise) == rows) return CT_OK;
    return ct__gp_check_out(gp, noise, rows, what);
}

static int rising(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Whether levels are codes. */
static bool by_codes(const ct_gp *gp)
{
    return gp->noise_column && gp->noise_column->kind == CT_COLUMN_CATEGORY;
}

/* The name of a level, if the noise column has one that fits into a parameter's name; else its number,
 * written to `number`. */
static const char *level_text(const ct_gp *gp, double level, char number[CT_NUMBER_TEXT])
{
    enum { MOST = sizeof((ct_param *)0)->name - sizeof "noise.variance[]" };
    const bool named = by_codes(gp) && level >= 0 && level < (double)gp->noise_column->n_levels;
    const char *name = named ? gp->noise_column->levels[(int64_t)level] : NULL;
    if (name && strlen(name) <= MOST) return name;
    ct_number_write(level, 0, number);
    return number;
}

ct_status ct__noise_find_levels(ct_gp *gp, const ct_tensor *levels)
{
    double *x = ct__gp_doubles(levels);
    if (!x) return ct_last_status(gp->device);
    const bool whole = ct_tensor_dtype(levels) == CT_I64;
    for (int64_t i = 0; i < gp->n; i++) {
        const char *why =
            isnan(x[i])                                 ? "is NaN: leave it out"
            : isinf(x[i])                               ? "is infinite: leave it out"
            : whole && fabs(x[i]) >= 9007199254740992.0 ? "leaves ±2^53: number the levels from 0"
            : by_codes(gp) && !(x[i] >= 0 && x[i] < (double)gp->noise_column->n_levels && x[i] == floor(x[i]))
                ? "is not the code of a level of noise_column"
                : NULL;
        if (!why) continue;
        ct_status s = ct_device_fail(gp->device, CT_EINVAL, "noise_levels: row %lld %s", (long long)i, why);
        free(x);
        return s;
    }
    qsort(x, (size_t)gp->n, sizeof *x, rising);
    gp->n_levels = 0;
    for (int64_t i = 0; i < gp->n; i++)
        if (!i || x[i] != x[gp->n_levels - 1]) x[gp->n_levels++] = x[i] + 0.0; /* no -0 */
    gp->level = x;
    return CT_OK;
}

/* Replaces x[i] by its index among the model's levels. */
static ct_status find_index(const ct_gp *gp, double *x, int64_t i, const char *what)
{
    char text[CT_NUMBER_TEXT];
    const double *at = bsearch(&x[i], gp->level, (size_t)gp->n_levels, sizeof *x, rising);
    if (at && !isnan(x[i])) {
        x[i] = (double)(at - gp->level);
        return CT_OK;
    }
    return ct_device_fail(gp->device, CT_EINVAL,
                          "%s: row %lld has level %s, for which the model has no noise: fit it to rows of "
                          "this level, too",
                          what, (long long)i, level_text(gp, x[i], text));
}

static ct_status find_indices(const ct_gp *gp, double *x, int64_t rows, const char *what)
{
    ct_status s = CT_OK;
    for (int64_t i = 0; i < rows && !s; i++) s = find_index(gp, x, i, what);
    return s;
}

ct_tensor *ct__noise_rows(const ct_gp *gp, const ct_tensor *t, int64_t rows)
{
    double zero = 0, unit = gp->y_scale * gp->y_scale;
    if (gp->options.noise != CT_NOISE_BY_LEVEL)
        return ct__gp_table(gp, t, ct_shape1(rows), "noise_variances", &zero, &unit, NULL, false);
    double *x = ct__gp_doubles(t);
    ct_tensor *index = NULL;
    if (x && !find_indices(gp, x, rows, "noise_levels"))
        index = ct__gp_tensor(gp->device, CT_I64, ct_shape1(rows), x);
    free(x);
    return index;
}

ct_status ct__noise_average_given(ct_gp *gp)
{
    if (!gp->given || !by_variances(gp->options.noise)) return CT_OK;
    double *v = ct__gp_doubles(gp->given), sum = 0;
    if (!v) return CT_ENOMEM;
    for (int64_t i = 0; i < gp->n; i++) sum += v[i];
    gp->given_mean = sum / (double)gp->n;
    free(v);
    return CT_OK;
}

/* -- parameters ------------------------------------------------------------------------------------------ */

int64_t ct__noise_params(const ct_gp *gp)
{
    switch (gp->options.noise) {
    case CT_NOISE_LEARNED:
    case CT_NOISE_GIVEN_PLUS: return 1;
    case CT_NOISE_BY_LEVEL: return gp->n_levels;
    case CT_NOISE_INPUTS: return 1 + gp->d;
    case CT_NOISE_GIVEN:
    case CT_NOISE_NONE: break;
    }
    return 0;
}

ct_param ct__noise_param(const ct_gp *gp, int64_t k)
{
    ct_param p = { .name = "noise.variance", .unit = CT_UNIT_VARIANCE, .upper = INFINITY, .column = -1 };
    char level[CT_NUMBER_TEXT];
    if (gp->options.noise == CT_NOISE_BY_LEVEL)
        snprintf(p.name, sizeof p.name, "noise.variance[%s]", level_text(gp, gp->level[k], level));
    if (gp->options.noise != CT_NOISE_INPUTS) return p;
    p.unit = CT_UNIT_NONE;
    p.lower = -INFINITY;
    p.any_sign = true;
    snprintf(p.name, sizeof p.name, "noise.log_variance");
    if (k) snprintf(p.name, sizeof p.name, "noise.slope[%lld]", (long long)k - 1);
    return p;
}

double ct_gp_noise_variance(const ct_gp *gp)
{
    if (gp && gp->lens) return gp->param[gp->noise_at + gp->lens->code].value;
    if (!gp || (gp->options.noise != CT_NOISE_LEARNED && gp->options.noise != CT_NOISE_GIVEN_PLUS)) return 0;
    return gp->param[gp->noise_at].value;
}

/* -- on the tape ----------------------------------------------------------------------------------------- */

ct_var ct__noise_learned(const ct_gp *gp, ct_var s, ct_var X)
{
    if (gp->options.noise == CT_NOISE_BY_LEVEL) return ct_gather(s, ct_constant(s.tape, gp->given));
    if (gp->options.noise != CT_NOISE_INPUTS) return s;
    ct_var slopes = ct_reshape(ct_slice(s, 0, 1, 1 + gp->d, 1), ct_shape2(gp->d, 1));
    return ct_exp(ct_add(ct_squeeze(ct_matmul(X, slopes), 1), ct_slice(s, 0, 0, 1, 1)));
}

/* -- new observations ------------------------------------------------------------------------------------ */

ct_status ct__noise_average(const ct_gp *gp, double *variance)
{
    *variance = ct_gp_noise_variance(gp) + gp->given_mean * gp->y_scale * gp->y_scale;
    if (gp->options.noise != CT_NOISE_BY_LEVEL || gp->lens) return CT_OK;
    double *index = ct__gp_doubles(gp->given);
    if (!index) return ct_last_status(gp->device);
    for (int64_t i = 0; i < gp->n; i++) *variance += gp->param[gp->noise_at + (int64_t)index[i]].value;
    *variance /= (double)gp->n;
    free(index);
    return CT_OK;
}

/* CT_NOISE_INPUTS at the m rows of Xs. */
static ct_status at_inputs(const ct_gp *gp, const ct_tensor *Xs, int64_t m, double *variance)
{
    const ct_param *a = &gp->param[gp->noise_at], *b = a + 1;
    double *x = ct__gp_doubles(Xs);
    if (!x) return ct_last_status(gp->device);
    for (int64_t i = 0; i < m; i++) {
        double log_variance = a->value;
        for (int64_t j = 0; j < gp->d; j++) log_variance += b[j].value * (x[i * gp->d + j] - gp->shift[j]);
        variance[i] = exp(log_variance);
    }
    free(x);
    return CT_OK;
}

/* Replaces the levels of m rows by their noise variances, and NaN by the average. */
static ct_status at_levels(const ct_gp *gp, int64_t m, double *v)
{
    double average;
    ct_status s = ct__noise_average(gp, &average);
    for (int64_t i = 0; i < m && !s; i++) {
        const bool known = !isnan(v[i]);
        if (known) s = find_index(gp, v, i, "noise");
        if (!s) v[i] = known ? gp->param[gp->noise_at + (int64_t)v[i]].value : average;
    }
    return s;
}

/* Adds the learned variance to the given variances of m rows. */
static ct_status at_variances(const ct_gp *gp, int64_t m, double *v)
{
    for (int64_t i = 0; i < m; i++) {
        if (!(v[i] >= 0 && isfinite(v[i])))
            return ct_device_fail(gp->device, CT_EINVAL, "noise: row %lld is %g, which is not a variance",
                                  (long long)i, v[i]);
        v[i] += ct_gp_noise_variance(gp);
    }
    return CT_OK;
}

ct_status ct__noise_at(const ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, double *variance)
{
    const int64_t m = ct_tensor_dim(Xs, 0);
    double average;
    if (!noise && gp->options.noise == CT_NOISE_INPUTS) return at_inputs(gp, Xs, m, variance);
    ct_status s = noise ? ct__gp_read(noise, variance) : ct__noise_average(gp, &average);
    if (s) return s;
    if (noise) return (gp->options.noise == CT_NOISE_BY_LEVEL ? at_levels : at_variances)(gp, m, variance);
    for (int64_t i = 0; i < m; i++) variance[i] = average;
    return CT_OK;
}

static ct_status noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    ct_status s = ct__gp_check_inputs(gp, Xs, "Xs");
    if (s) return s;
    const int64_t m = ct_tensor_dim(Xs, 0);
    if (!variance) s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: variance is NULL");
    if (!s) s = ct__gp_check_out(gp, variance, m, "variance");
    if (!s && noise && (!gp->given || gp->lens))
        s = ct_device_fail(gp->device, CT_EINVAL, "ct_gp_noise_at: this model's noise is not given by row");
    if (!s) s = ct__noise_check_rows(gp, noise, m, "noise");
    double *v = s ? NULL : ct__gp_alloc(gp->device, (uint64_t)m, sizeof *v);
    if (!s && !v) s = CT_ENOMEM;
    if (!s) s = ct__noise_at(gp, Xs, noise, v);
    if (!s) s = ct__gp_deliver(gp, v, variance);
    free(v);
    return s;
}

ct_status ct_gp_noise_at(ct_gp *gp, const ct_tensor *Xs, const ct_tensor *noise, ct_tensor *variance)
{
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    return ct__gp_leave(gp, noise_at(gp, Xs, noise, variance));
}
