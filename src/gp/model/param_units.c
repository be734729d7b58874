#include "param_units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether parameter i belongs to the log of the noise. */
static bool of_log_noise(const ct_gp *gp, int64_t i)
{
    return gp->noise.kind == CT_NOISE_LOG_LINEAR && ct__gp_is_noise(gp, i);
}

bool ct__gp_positive(const ct_gp *gp, int64_t i) { return !gp->params.param[i].any_sign; }

double ct__gp_unit(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    if (of_log_noise(gp, i))
        return i == gp->params.noise_at ? 1 : 1 / gp->rows.scale[i - gp->params.noise_at - 1];
    if (gp->params.mean_at >= 0 && i >= gp->params.mean_at)
        return i == gp->params.mean_at ? gp->target.scale
                                       : gp->target.scale / gp->rows.scale[i - gp->params.mean_at - 1];
    if (p->unit == CT_UNIT_VARIANCE) return gp->target.scale * gp->target.scale;
    if (p->unit == CT_UNIT_INPUT && p->column >= 0) return gp->rows.scale[p->column];
    return 1;
}

double ct__gp_origin(const ct_gp *gp, int64_t i)
{
    if (i == gp->params.mean_at) return gp->target.shift;
    return i == gp->params.noise_at && of_log_noise(gp, i) ? 2 * log(gp->target.scale) : 0;
}

double ct__gp_z_of(const ct_gp *gp, int64_t i, double v)
{
    double s = (v - ct__gp_origin(gp, i)) / ct__gp_unit(gp, i);
    return ct__gp_positive(gp, i) ? log(s) : s;
}

double ct__gp_v_of(const ct_gp *gp, int64_t i, double z)
{
    double s = ct__gp_positive(gp, i) ? exp(z) : z;
    return ct__gp_origin(gp, i) + s * ct__gp_unit(gp, i);
}

/* -- starts, priors and bounds --------------------------------------------------------------------------- */

/* The size that the data suggest for parameter i: v = typical * (a number around 1). */
static double typical(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    if (p->unit == CT_UNIT_VARIANCE) return gp->target.spread * gp->target.spread;
    if (p->unit != CT_UNIT_INPUT) return 1;
    if (p->column >= 0) return gp->rows.spread[p->column];
    double logs = 0;
    for (int64_t j = 0; j < gp->rows.d; j++) logs += log(gp->rows.spread[j] / gp->rows.scale[j]);
    return exp(logs / (double)gp->rows.d);
}

/* Whether the name's last part is `word`, such as "lengthscale" in "rbf#2.lengthscale[3]". */
static bool called(const ct_param *p, const char *word)
{
    const char *dot = strrchr(p->name, '.');
    const char *own = dot ? dot + 1 : p->name;
    size_t length = strlen(word);
    return !strncmp(own, word, length) && (own[length] == 0 || own[length] == '[');
}

/* k of "rbf#k.lengthscale", or 1 without #k. */
static long ordinal(const ct_param *p)
{
    const char *hash = strchr(p->name, '#');
    long k = hash ? strtol(hash + 1, NULL, 10) : 1;
    return k > 1 ? k : 1;
}

/* The number of columns in the distance of parameter i's profile. */
static int64_t columns_beside(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    const char *bracket = strchr(p->name, '[');
    if (!bracket) return p->column >= 0 ? 1 : gp->rows.d;
    size_t length = (size_t)(bracket - p->name) + 1;
    int64_t count = 0;
    for (int64_t j = 0; j < gp->params.n_kernel; j++)
        count += !strncmp(gp->params.param[j].name, p->name, length);
    return count;
}

static double start_value(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    if (i == gp->params.mean_at) return gp->target.shift;
    if (i == gp->params.noise_at && of_log_noise(gp, i)) return log(0.1) + 2 * log(gp->target.spread);
    if (!ct__gp_positive(gp, i)) return p->value; /* 0, or the kernel's */
    if (ct__gp_is_noise(gp, i) || !strncmp(p->name, "white", 5)) return 0.1 * typical(gp, i);
    double start = p->value; /* the kernel's: 1 except for `index` */
    /* r² is about 2 between two typical points. Profiles of one name start apart, or they would never
     * separate. */
    if (called(p, "lengthscale")) start = sqrt((double)columns_beside(gp, i));
    if (called(p, "lengthscale") || called(p, "period")) start *= pow(0.4, (double)(ordinal(p) - 1));
    return start * typical(gp, i);
}

/* With short lengthscales and a vanishing noise a model passes through any data, so both have a price. Long
 * lengthscales have none, since a column may not matter. The prior is half of a log-normal, in the spirit of
 * penalised complexity [Fuglstad et al. 2019], with lengthscales that grow with √d [Hvarfner et al. 2024]. */
static ct_prior first_prior(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    bool set = p->prior.kind || p->start_given || p->fixed || p->lower > 0 || isfinite(p->upper);
    if (set || gp->options.priors == CT_PRIORS_NONE) return p->prior;
    if (called(p, "lengthscale") && p->unit == CT_UNIT_INPUT)
        return (ct_prior){ CT_PRIOR_SOFT_LOWER, sqrt((double)columns_beside(gp, i)) * typical(gp, i), 2 };
    if (of_log_noise(gp, i))
        return (ct_prior){ CT_PRIOR_NORMAL, start_value(gp, i),
                           i == gp->params.noise_at ? 3 : 1 / gp->rows.spread[i - gp->params.noise_at - 1] };
    if (ct__gp_is_noise(gp, i) && gp->noise.kind != CT_NOISE_GIVEN_PLUS)
        return (ct_prior){ CT_PRIOR_SOFT_LOWER, 0.01 * typical(gp, i), 2 };
    return p->prior;
}

void ct__gp_first_values(ct_gp *gp)
{
    for (int64_t i = 0; i < gp->params.count; i++) {
        ct_param *p = &gp->params.param[i];
        p->value = fmin(fmax(p->start_given ? p->value : start_value(gp, i), p->lower), p->upper);
        p->prior = first_prior(gp, i);
    }
}

/* Bounds for the log of the noise: at the means of the columns those of a noise variance. One standard
 * deviation of a column changes the variance by a factor of at most e¹⁰. */
static void hold_log_noise(const ct_gp *gp, int64_t i, double *lower, double *upper)
{
    const bool level = i == gp->params.noise_at;
    const double z = ct__gp_z_of(gp, i, gp->params.param[i].value),
                 spread = 2 * log(gp->target.spread / gp->target.scale);
    const double reach =
        level ? 1
              : gp->rows.scale[i - gp->params.noise_at - 1] / gp->rows.spread[i - gp->params.noise_at - 1];
    const double least = level ? spread + log(gp->rows.dtype == CT_F32 ? 1e-5 : 1e-6) : -10 * reach;
    const double most = level ? spread + log(1e2) : 10 * reach;
    if (isinf(*lower)) *lower = fmin(least, z);
    if (isinf(*upper)) *upper = fmax(most, z);
}

void ct__gp_bounds(const ct_gp *gp, int64_t i, double *lower, double *upper)
{
    const ct_param *p = &gp->params.param[i];
    if (!ct__gp_positive(gp, i)) {
        *lower = ct__gp_z_of(gp, i, p->lower);
        *upper = ct__gp_z_of(gp, i, p->upper);
        if (of_log_noise(gp, i)) hold_log_noise(gp, i, lower, upper);
        if (i < gp->params.n_kernel && isinf(*lower)) *lower = fmin(-1e2, p->value);
        if (i < gp->params.n_kernel && isinf(*upper)) *upper = fmax(1e2, p->value);
        return;
    }
    bool noise = ct__gp_is_noise(gp, i), variance = p->unit == CT_UNIT_VARIANCE;
    double least = !noise                     ? (variance ? 1e-6 : 1e-4)
                   : gp->rows.dtype == CT_F32 ? 1e-5
                   : p->prior.kind            ? 1e-8 /* the prior keeps it away from there */
                                              : 1e-6;
    double most = noise ? 1e2 : variance ? 1e6 : 1e4;
    *lower = ct__gp_z_of(gp, i, p->lower > 0 ? p->lower : least * typical(gp, i));
    *upper = ct__gp_z_of(gp, i, isfinite(p->upper) ? p->upper : most * typical(gp, i));
    double z = ct__gp_z_of(gp, i, p->value); /* a start outside the default bounds widens them */
    if (!(p->lower > 0)) *lower = fmin(*lower, z);
    if (!isfinite(p->upper)) *upper = fmax(*upper, z);
}

double ct__gp_draw_width(const ct_gp *gp, int64_t i)
{
    if (!ct__gp_positive(gp, i) && i >= gp->params.n_kernel) return 0.3;
    return ct__gp_is_noise(gp, i) ? 1.5 : 1;
}
