#include "param_units.h"

#include <math.h>

#include "gp/kernel/kernel_tree.h"

static bool is_noise(const ct_gp *gp, int64_t i)
{
    return i >= gp->params.n_kernel && i < gp->params.n_kernel + gp->params.n_noise;
}

/* Whether parameter i belongs to the log of the noise. */
static bool of_log_noise(const ct_gp *gp, int64_t i)
{
    return gp->noise.kind == CT_NOISE_LOG_LINEAR && is_noise(gp, i);
}

bool ct__gp_positive(const ct_gp *gp, int64_t i) { return !gp->params.param[i].any_sign; }

/* The column of parameter i, a slope of the mean or of the log of the noise; -1: it is none. */
static int64_t slope_column(const ct_gp *gp, int64_t i)
{
    const ct__params *p = &gp->params;
    return i - 1 - (of_log_noise(gp, i) ? p->noise_at : p->mean_at >= 0 && i > p->mean_at ? p->mean_at : i);
}

/* The size of parameter i for a target of size y and columns of sizes x. */
static double size_of(const ct_gp *gp, int64_t i, double y, const double *x)
{
    const ct_param *p = &gp->params.param[i];
    const int64_t slope = slope_column(gp, i);
    if (p->unit == CT_UNIT_INPUT) return p->column >= 0 ? x[p->column] : 1;
    const bool mean = gp->params.mean_at >= 0 && i >= gp->params.mean_at;
    const double size = mean ? y : p->unit == CT_UNIT_VARIANCE ? y * y : 1;
    return slope >= 0 ? size / x[slope] : size;
}

double ct__gp_unit(const ct_gp *gp, int64_t i) { return size_of(gp, i, gp->target.scale, gp->rows.scale); }

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
    if (p->unit != CT_UNIT_INPUT || p->column >= 0) return size_of(gp, i, gp->target.spread, gp->rows.spread);
    double logs = 0;
    for (int64_t j = 0; j < gp->rows.d; j++) logs += log(gp->rows.spread[j] / gp->rows.scale[j]);
    return exp(logs / (double)gp->rows.d);
}

/* r of two typical points is about this many lengthscales of n, which parameter i belongs to: √ of the number
 * of columns in the distance. */
static double reach(const ct_gp *gp, const kernel_node *n, int64_t i)
{
    const int64_t shared = gp->params.param[i].column >= 0 ? 1 : gp->rows.d;
    return sqrt((double)(n->ard ? n->n_length : shared));
}

/* Profiles of one name start apart, or they would never separate. */
static double start_value(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    int64_t k = i; /* in its node */
    const kernel_node *n = ct__kernel_node_of(gp->kernel, &k);
    if (i == gp->params.mean_at) return gp->target.shift;
    if (i == gp->params.noise_at && of_log_noise(gp, i)) return log(0.1) + 2 * log(gp->target.spread);
    if (p->any_sign) return p->value; /* 0, or the kernel's */
    if (!n || n->code == CT_COV_WHITE) return 0.1 * typical(gp, i);
    const bool length = k < n->n_length;
    const double start = length ? reach(gp, n, i) : p->value; /* the kernel's: 1 except for `index` */
    const bool apart = length || p->unit == CT_UNIT_INPUT;    /* a lengthscale or a period */
    return start * (apart ? pow(0.4, n->number - 1) : 1) * typical(gp, i);
}

/* With short lengthscales and a vanishing noise a model passes through any data, so both have a price. Long
 * lengthscales have none, since a column may not matter. Their prior is half of a log-normal, in the spirit
 * of penalised complexity [Fuglstad et al. 2019], and grows with √d [Hvarfner et al. 2024]. Few rows say
 * little about the noise, so its prior is higher there, with a heavy tail, since a function may have none. */
enum { FEW_ROWS = 60 };

static ct_prior first_prior(const ct_gp *gp, int64_t i)
{
    const ct_param *p = &gp->params.param[i];
    int64_t k = i; /* in its node */
    const kernel_node *n = ct__kernel_node_of(gp->kernel, &k);
    bool set = p->prior.kind || p->start_given || p->fixed || p->lower > 0 || isfinite(p->upper);
    if (set || gp->options.priors == CT_PRIORS_NONE) return p->prior;
    if (n && k < n->n_length && p->unit == CT_UNIT_INPUT)
        return (ct_prior){ CT_PRIOR_SOFT_LOWER, reach(gp, n, i) * typical(gp, i), 2 };
    if (of_log_noise(gp, i))
        return (ct_prior){ CT_PRIOR_NORMAL, start_value(gp, i),
                           i == gp->params.noise_at ? 3 : typical(gp, i) };
    if (!is_noise(gp, i) || gp->noise.kind == CT_NOISE_GIVEN_PLUS) return p->prior;
    return gp->rows.n < FEW_ROWS ? (ct_prior){ CT_PRIOR_CAUCHY_LOWER, 0.1 * typical(gp, i), 1.5 }
                                 : (ct_prior){ CT_PRIOR_SOFT_LOWER, 0.01 * typical(gp, i), 2 };
}

/* A target written in steps, such as a count, has at least the noise of rounding, step² / 12, which few rows
 * do not show. A function may have few values and no noise, so the bound is at most a thousandth of the
 * variance. */
static double least_noise(const ct_gp *gp, int64_t i)
{
    return fmin(gp->target.step * gp->target.step / 12, 1e-3 * typical(gp, i));
}

void ct__gp_first_values(ct_gp *gp)
{
    for (int64_t i = 0; i < gp->params.count; i++) {
        ct_param *p = &gp->params.param[i];
        p->value = fmin(fmax(p->start_given ? p->value : start_value(gp, i), p->lower), p->upper);
        p->prior = first_prior(gp, i);
        if (is_noise(gp, i) && p->prior.kind == CT_PRIOR_CAUCHY_LOWER) p->lower = least_noise(gp, i);
    }
}

/* Limits in z for a parameter of any sign. Those of the log of the noise are, at the means of the columns,
 * those of a noise variance. One standard deviation of a column changes the variance by a factor of at most
 * e¹⁰. */
static void any_limits(const ct_gp *gp, int64_t i, double *least, double *most)
{
    const bool log_noise = of_log_noise(gp, i);
    *most = log_noise ? 10 * typical(gp, i) / ct__gp_unit(gp, i) : i < gp->params.n_kernel ? 1e2 : INFINITY;
    *least = -*most;
    if (!log_noise || i > gp->params.noise_at) return;
    const double spread = 2 * log(gp->target.spread / gp->target.scale);
    *least = spread + log(gp->rows.dtype == CT_F32 ? 1e-5 : 1e-6);
    *most = spread + log(1e2);
}

/* Limits in z for a positive parameter. */
static void positive_limits(const ct_gp *gp, int64_t i, double *least, double *most)
{
    const ct_param *p = &gp->params.param[i];
    const bool noise = is_noise(gp, i), variance = p->unit == CT_UNIT_VARIANCE;
    const double lower = !noise                     ? (variance ? 1e-6 : 1e-4)
                         : gp->rows.dtype == CT_F32 ? 1e-5
                         : p->prior.kind            ? 1e-8 /* the prior keeps it away from there */
                                                    : 1e-6;
    *least = ct__gp_z_of(gp, i, lower * typical(gp, i));
    *most = ct__gp_z_of(gp, i, (noise ? 1e2 : variance ? 1e6 : 1e4) * typical(gp, i));
}

/* The parameter's own bounds; where it has none, the limits, which a start outside widens. */
void ct__gp_bounds(const ct_gp *gp, int64_t i, double *lower, double *upper)
{
    const ct_param *p = &gp->params.param[i];
    const double z = ct__gp_z_of(gp, i, p->value);
    (p->any_sign ? any_limits : positive_limits)(gp, i, lower, upper);
    const bool below = p->lower > (p->any_sign ? -INFINITY : 0);
    *lower = below ? ct__gp_z_of(gp, i, p->lower) : fmin(*lower, z);
    *upper = isfinite(p->upper) ? ct__gp_z_of(gp, i, p->upper) : fmax(*upper, z);
}

double ct__gp_draw_width(const ct_gp *gp, int64_t i)
{
    if (!ct__gp_positive(gp, i) && i >= gp->params.n_kernel) return 0.3;
    return is_noise(gp, i) ? 1.5 : 1;
}
