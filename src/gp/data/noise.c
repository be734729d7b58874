/* The noise variance of an observation, by options.noise, with the learned parameters in brackets.
 *     LEARNED      σ²                               [noise.variance]
 *     GIVEN        v_i                              v_i of options.noise_variances
 *     GIVEN_PLUS   v_i + σ²                         [noise.variance]
 *     BY_LEVEL     σ²_l, l the level of row i       [noise.variance[l]], l of options.noise_levels
 *     LOG_LINEAR   exp(a + Σ_j b_j (x_j - m_j))     [noise.log_variance: a; noise.slope[j]: b_j]
 * m_j is what standardisation subtracts from column j. [Goldberg, Williams & Bishop 1998 use a Gaussian
 * process instead of the linear function.] */
#include "noise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cotangent/gp/number.h>
#include <cotangent/ops.h>

#include "gp/kernel/prior.h"
#include "linear.h"
#include "numbers.h"
#include "table.h"

/* -- noise given for each row ---------------------------------------------------------------------------- */

const ct_tensor *ct__noise_given(const ct_gp_options *o)
{
    return o->noise == CT_NOISE_BY_LEVEL ? o->noise_levels : o->noise_variances;
}

ct_status ct__noise_check(ct_device *device, const ct_gp_options *o, int64_t n)
{
    const bool variances = ct__noise_has_variances(&(ct__noise){ .kind = o->noise }),
               levels = o->noise == CT_NOISE_BY_LEVEL;
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

/* Whether levels are codes. */
static bool by_codes(const ct__noise *noise)
{
    return noise->column && noise->column->kind == CT_COLUMN_CATEGORY;
}

/* The name of a level, if the noise column has one that fits into a parameter's name; else its number,
 * written to `number`. */
static const char *level_text(const ct__noise *noise, double level, char number[CT_NUMBER_TEXT])
{
    enum { MOST = sizeof((ct_param *)0)->name - sizeof "noise.variance[]" };
    const bool named = by_codes(noise) && level >= 0 && level < (double)noise->column->n_levels;
    const char *name = named ? noise->column->levels[(int64_t)level] : NULL;
    if (name && strlen(name) <= MOST) return name;
    ct_number_write(level, 0, number);
    return number;
}

/* Sets the levels from those of n rows. */
static ct_status find_levels(ct__noise *noise, const ct_tensor *levels, int64_t n)
{
    double *x = ct__gp_doubles(levels);
    if (!x) return ct_last_status(ct_tensor_device(levels));
    const bool whole = ct_tensor_dtype(levels) == CT_I64;
    for (int64_t i = 0; i < n; i++) {
        const char *why =
            isnan(x[i])                                 ? "is NaN: leave it out"
            : isinf(x[i])                               ? "is infinite: leave it out"
            : whole && fabs(x[i]) >= 9007199254740992.0 ? "exceeds ±2^53: number the levels from 0"
            : by_codes(noise) && !(x[i] >= 0 && x[i] < (double)noise->column->n_levels && x[i] == floor(x[i]))
                ? "is not the code of a level of noise_column"
                : NULL;
        if (!why) continue;
        free(x);
        return ct_device_fail(ct_tensor_device(levels), CT_EINVAL, "noise_levels: row %lld %s", (long long)i,
                              why);
    }
    qsort(x, (size_t)n, sizeof *x, ct__rising);
    noise->n_levels = 0;
    for (int64_t i = 0; i < n; i++)
        if (!i || x[i] != x[noise->n_levels - 1]) x[noise->n_levels++] = x[i] + 0.0; /* no -0 */
    noise->level = x;
    return CT_OK;
}

ct_status ct__noise_find_level(const ct__noise *noise, ct_device *device, double *x, int64_t i,
                               const char *what)
{
    char text[CT_NUMBER_TEXT];
    const double *at = bsearch(&x[i], noise->level, (size_t)noise->n_levels, sizeof *x, ct__rising);
    if (at && !isnan(x[i])) {
        x[i] = (double)(at - noise->level);
        return CT_OK;
    }
    return ct_device_fail(device, CT_EINVAL,
                          "%s: row %lld has level %s, for which the model has no noise: fit it to rows of "
                          "this level, too",
                          what, (long long)i, level_text(noise, x[i], text));
}

ct_tensor *ct__noise_rows(const ct__noise *noise, const ct_tensor *t, int64_t rows, ct_dtype dtype,
                          double y_scale)
{
    double zero = 0, unit = y_scale * y_scale;
    ct_device *device = ct_tensor_device(t);
    if (noise->kind != CT_NOISE_BY_LEVEL)
        return ct__table(device, dtype, t, ct_shape1(rows), "noise_variances",
                         (ct__units){ .shift = &zero, .scale = &unit });
    double *x = ct__gp_doubles(t);
    ct_status s = x ? CT_OK : CT_ENOMEM;
    for (int64_t i = 0; i < rows && !s; i++) s = ct__noise_find_level(noise, device, x, i, "noise_levels");
    ct_tensor *index = s ? NULL : ct__gp_tensor(device, CT_I64, ct_shape1(rows), x);
    free(x);
    return index;
}

ct_status ct__noise_take(ct__noise *noise, const ct_tensor *given, int64_t n, ct_dtype dtype, double y_scale)
{
    ct_status s = noise->kind == CT_NOISE_BY_LEVEL ? find_levels(noise, given, n) : CT_OK;
    if (s || !given) return s;
    noise->given = ct__noise_rows(noise, given, n, dtype, y_scale);
    return noise->given ? CT_OK : ct_last_status(ct_tensor_device(given));
}

ct_status ct__noise_copy(ct__noise *noise, ct_device *device, const ct__noise *from)
{
    noise->given = ct__tensor_on(device, from->given);
    noise->n_levels = from->n_levels;
    const size_t levels = (size_t)from->n_levels * sizeof *from->level;
    if (from->level && (noise->level = ct__gp_alloc(device, levels, 1)))
        memcpy(noise->level, from->level, levels);
    return !noise->given == !from->given && !noise->level == !from->level ? CT_OK : ct_last_status(device);
}

/* -- parameters ------------------------------------------------------------------------------------------ */

int64_t ct__noise_params(const ct__noise *noise, int64_t d)
{
    switch (noise->kind) {
    case CT_NOISE_LEARNED:
    case CT_NOISE_GIVEN_PLUS: return 1;
    case CT_NOISE_BY_LEVEL: return noise->n_levels;
    case CT_NOISE_LOG_LINEAR: return 1 + d;
    case CT_NOISE_GIVEN:
    case CT_NOISE_NONE: break;
    }
    return 0;
}

ct_param ct__noise_param(const ct__noise *noise, int64_t k)
{
    if (noise->kind == CT_NOISE_LOG_LINEAR) return ct__linear_param("noise.log_variance", "noise.slope", k);
    ct_param p = ct__param_default(1, false);
    char number[CT_NUMBER_TEXT];
    const bool level = noise->kind == CT_NOISE_BY_LEVEL;
    p.unit = CT_UNIT_VARIANCE;
    snprintf(p.name, sizeof p.name, level ? "noise.variance[%s]" : "noise.variance",
             level ? level_text(noise, noise->level[k], number) : "");
    return p;
}

/* -- on the tape ----------------------------------------------------------------------------------------- */

ct_var ct__noise_learned(const ct__noise *noise, ct_var s, ct_var X)
{
    if (noise->kind == CT_NOISE_BY_LEVEL) return ct_gather(s, ct_constant(s.tape, noise->given));
    if (noise->kind != CT_NOISE_LOG_LINEAR) return s;
    return ct_exp(ct_squeeze(ct__linear_on(s, X), 1));
}
