/* A likelihood that a wrong covariance has won can be too sure of itself, as the leave-one-out residuals
 * show. With means m_i and variances v_i of every y_i given all other rows, their density is highest where
 * all variances are multiplied by
 *     c = 1/n Σ_i (y_i - m_i)² / v_i
 * which moves no m_i. Estimates from left-out rows suffer less from a wrong covariance than the likelihood's.
 * [Rasmussen & Williams 2006, §5.4.2; Bachoc 2013] */
#include <math.h>
#include <stdlib.h>

#include "gp/model/model.h"

/* The free parameters that multiply a node: its variance, or the lengthscales of `linear`. */
static bool has_factor(const ct_gp *gp, const ct_cov_node *node, int32_t *first, int32_t *count)
{
    bool linear = node->code == CT_COV_LINEAR;
    *first = linear ? node->lengthscale : node->extra;
    *count = linear && node->ard ? node->n_dims : 1;
    if (!linear && node->code != CT_COV_SCALE && node->code != CT_COV_CONSTANT && node->code != CT_COV_WHITE)
        return false;
    for (int32_t p = *first; p < *first + *count; p++)
        if (gp->param[p].fixed) return false;
    return true;
}

/* v_p c^power[p] in place of every parameter v_p multiplies k by c. False where no powers do that. able and
 * wanted [n_nodes], given as false: the nodes that can be multiplied, and those that are to be. */
static bool find_powers(const ct_gp *gp, bool *able, bool *wanted, double *power)
{
    const ct_cov_program *program = ct_kernel_program(gp->kernel);
    const ct_cov_node *nodes = ct_cov_nodes(program);
    int32_t first, count, last = program->n_nodes - 1;
    for (int32_t i = 0; i <= last; i++) {
        const ct_cov_node *n = &nodes[i];
        if (n->code == CT_COV_SUM)
            able[i] = able[n->left] && able[n->right];
        else if (n->code == CT_COV_PRODUCT)
            able[i] = able[n->left] || able[n->right];
        else
            able[i] = has_factor(gp, n, &first, &count) || (n->code == CT_COV_SCALE && able[n->right]);
    }
    wanted[last] = able[last];
    for (int32_t i = last; i >= 0; i--) {
        const ct_cov_node *n = &nodes[i];
        if (!wanted[i]) continue;
        if (n->code == CT_COV_SUM)
            wanted[n->left] = wanted[n->right] = true;
        else if (n->code == CT_COV_PRODUCT)
            wanted[able[n->left] ? n->left : n->right] = true;
        else if (has_factor(gp, n, &first, &count))
            for (int32_t p = first; p < first + count; p++) power[p] = n->code == CT_COV_LINEAR ? -0.5 : 1;
        else
            wanted[n->right] = true;
    }
    if (gp->noise_at >= 0) power[gp->noise_at] = 1;
    bool noise_free = !gp->given && (gp->noise_at < 0 || !gp->param[gp->noise_at].fixed);
    return able[last] && noise_free;
}

/* v: room for n_params numbers. */
static ct_status multiply(ct_gp *gp, double c, const double *power, double *v)
{
    for (int64_t i = 0; i < gp->n_params; i++) {
        ct_param p = gp->param[i];
        v[i] = p.value *= pow(c, power[i]);
        ct_status s = power[i] != 0 ? ct__gp_check_param(gp, i, &p) : CT_OK;
        if (s) return s;
    }
    return ct__gp_set_values(gp, v);
}

ct_status ct_gp_widen(ct_gp *gp, double *factor)
{
    double c = 1;
    if (factor) *factor = NAN;
    if (!gp) return CT_EINVAL;
    size_t nodes = (size_t)ct_kernel_program(gp->kernel)->n_nodes;
    double *power = ct__gp_alloc(gp->device, 2 * (uint64_t)gp->n_params, sizeof *power);
    bool *able = ct__gp_alloc(gp->device, 2 * nodes, sizeof *able);
    ct_status s = power && able ? CT_OK : CT_ENOMEM;
    if (!s && !find_powers(gp, able, able + nodes, power))
        s = ct_device_fail(
            gp->device, CT_EUNSUPPORTED,
            "ct_gp_widen: the parameters cannot multiply the whole covariance: give each term a "
            "`scale`, and learn the noise");
    if (!s) s = ct__gp_loo_square(gp, &c);
    if (!s && c > 1.01) /* less would not be seen */
        s = multiply(gp, c, power, power + gp->n_params);
    else
        c = 1;
    if (!s && factor) *factor = c;
    free(power);
    free(able);
    return s;
}
