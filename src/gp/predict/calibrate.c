/* A fit with a wrong covariance can be overconfident, as the leave-one-out residuals show. With means m_i and
 * variances v_i of each y_i given all other rows, all variances are multiplied by
 *     c = 1/(n - p) Σ_i (y_i - m_i)² / v_i
 * which leaves every m_i unchanged. With n in place of n - p the density of the residuals would be highest;
 * but the p parameters are those of all rows, so the residuals are too small, as in a regression. Estimates
 * from left-out rows suffer less from a wrong covariance than those from the likelihood. [Rasmussen &
 * Williams 2006, §5.4.2; Bachoc 2013] */
#include <math.h>
#include <stdlib.h>

#include <cotangent/gp/loo.h>

#include "gp/data/numbers.h"
#include "gp/model/param_values.h"
#include "loo.h"

/* The free parameters that scale a node: its variance, the lengthscales of `linear`, W and κ. */
static bool has_factor(const ct_gp *gp, const ct_cov_node *node, int32_t *first, int32_t *count)
{
    bool linear = node->code == CT_COV_LINEAR, index = node->code == CT_COV_INDEX;
    *first = linear ? node->lengthscale : node->extra;
    *count = index ? node->levels * (node->degree + 1) : linear && node->ard ? node->n_dims : 1;
    if (!linear && !index && node->code != CT_COV_SCALE && node->code != CT_COV_CONSTANT &&
        node->code != CT_COV_WHITE)
        return false;
    for (int32_t p = *first; p < *first + *count; p++)
        if (gp->params.param[p].fixed) return false;
    return true;
}

/* Whether parameters can scale node i of the kernel: replacing every v_p by v_p c^power[p] multiplies it by
 * c. Sets these powers, unless `power` is NULL. */
static bool find_powers(const ct_gp *gp, int32_t i, double *power)
{
    const ct_cov_node *n = &ct_cov_nodes(ct_kernel_program(gp->kernel))[i];
    int32_t first, count;
    if (n->code == CT_COV_SUM) return find_powers(gp, n->left, power) && find_powers(gp, n->right, power);
    if (n->code == CT_COV_PRODUCT)
        return find_powers(gp, find_powers(gp, n->left, NULL) ? n->left : n->right, power);
    if (!has_factor(gp, n, &first, &count))
        return n->code == CT_COV_SCALE && find_powers(gp, n->right, power);
    for (int32_t p = first; p < first + count && power; p++)
        power[p] = n->code == CT_COV_LINEAR ? -0.5 : gp->params.param[p].any_sign ? 0.5 : 1;
    return true;
}

/* The powers for the noise, which multiply every variance by c; with CT_NOISE_LOG_LINEAR only that of the
 * level. False if the parameters cannot do this. */
static bool noise_able(const ct_gp *gp, double *power)
{
    const ct_gp_noise kind = gp->noise.kind;
    const int64_t count = kind == CT_NOISE_LOG_LINEAR ? 1 : gp->params.n_noise;
    if (kind == CT_NOISE_GIVEN || kind == CT_NOISE_GIVEN_PLUS) return false;
    for (int64_t i = gp->params.noise_at; i < gp->params.noise_at + count; i++) {
        if (gp->params.param[i].fixed) return false;
        power[i] = 1;
    }
    return true;
}

/* Overwrites v (n_params). A noise parameter that is a log gets the log of its factor added. */
static ct_status multiply(ct_gp *gp, double c, const double *power, double *v)
{
    for (int64_t i = 0; i < gp->params.count; i++) {
        ct_param p = gp->params.param[i];
        v[i] = p.value =
            i < gp->params.n_kernel || !p.any_sign ? p.value * pow(c, power[i]) : p.value + power[i] * log(c);
        ct_status s = power[i] != 0 ? ct__gp_check_param(gp, i, &p) : CT_OK;
        if (s) return s;
    }
    return ct__gp_set_values(gp, v);
}

/* n - p, but at least n / 2, as most parameters hardly move where there are so many. */
static double degrees_of_freedom(const ct_gp *gp)
{
    const double n = (double)gp->rows.n;
    return fmax(n - (double)ct__gp_free_params(gp), n / 2);
}

static ct_status calibrate(ct_gp *gp, double *factor)
{
    double c = 1;
    const int32_t root = ct_kernel_program(gp->kernel)->n_nodes - 1;
    double *power = ct__gp_alloc(gp->device, 2 * (uint64_t)gp->params.count, sizeof *power);
    if (!power) return CT_ENOMEM;
    ct_status s = CT_OK;
    if (!noise_able(gp, power) || !find_powers(gp, root, power))
        s = ct_device_fail(
            gp->device, CT_EUNSUPPORTED,
            "ct_gp_calibrate_variance: the parameters cannot multiply the whole covariance: give each term a "
            "`scale`, and learn the noise");
    if (!s) s = ct__gp_loo_squares(gp, &c);
    if (!s) s = ct__comm_agree_broadcast(gp->options.comm, gp->device, CT_OK, &c, sizeof c);
    c /= degrees_of_freedom(gp);
    if (!s && c > 1.01) /* a smaller change would not be visible */
        s = multiply(gp, c, power, power + gp->params.count);
    else
        c = 1;
    if (!s && factor) *factor = c;
    free(power);
    return s;
}

ct_status ct_gp_calibrate_variance(ct_gp *gp, double *factor)
{
    if (factor) *factor = NAN;
    if (!gp) return CT_EINVAL;
    ct__gp_enter(gp);
    return ct__gp_leave(gp, calibrate(gp, factor));
}
