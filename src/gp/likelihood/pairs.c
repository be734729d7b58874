/* The likelihood of a joint model without missing values, by Kronecker products. Its rows are n points with
 * output 0, then the same points with output 1, and so on. Its kernel k is a product of a kernel of the
 * inputs and one of the output. With one of the points as x_0 and c = k((x_0, 0), (x_0, 0)),
 *     C = B ⊗ K + diag(d) ⊗ I,   K_il = k((x_i, 0), (x_l, 0)) / c,   B_jq = k((x_0, j), (x_0, q)) */
#include <cotangent/outputs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gp/kernel/cov.h"
#include "gp/model/model.h"

/* -- recognising the grid -------------------------------------------------------------------------------- */

enum { INPUTS = 1, OUTPUT = 2, ROWS = 4 };

/* What node i depends on; `column` is that of the output. */
static int seen_by(const ct_cov_program *p, int32_t i, int64_t column)
{
    const ct_cov_node *n = &ct_cov_nodes(p)[i];
    int seen = n->code == CT_COV_WHITE ? ROWS : 0;
    if (n->code == CT_COV_SUM || n->code == CT_COV_PRODUCT) seen |= seen_by(p, n->left, column);
    if (n->code == CT_COV_SUM || n->code == CT_COV_PRODUCT || n->code == CT_COV_SCALE)
        return seen | seen_by(p, n->right, column);
    for (int32_t k = 0; k < n->n_dims && (n->code < CT_COV_PROFILES || n->code == CT_COV_INDEX); k++)
        seen |= ct_cov_dims(p)[n->dims + k] == column ? OUTPUT : INPUTS;
    return seen;
}

static bool separable(const ct_cov_program *p, int32_t i, int64_t column)
{
    const ct_cov_node *n = &ct_cov_nodes(p)[i];
    const int seen = seen_by(p, i, column);
    if (seen & ROWS) return false;
    if (seen != (INPUTS | OUTPUT)) return true;
    if (n->code == CT_COV_SCALE) return separable(p, n->right, column);
    return n->code == CT_COV_PRODUCT && separable(p, n->left, column) && separable(p, n->right, column);
}

/* Whether the rows are the same points for each output; x (N, d), level (N). */
static bool is_grid(const ct_gp *gp, const double *x, const double *level)
{
    const int64_t p = gp->n_levels, n = gp->n / p, d = gp->d;
    if (gp->n % p) return false;
    for (int64_t k = 0; k < gp->n; k++)
        if ((int64_t)level[k] != k / n || x[k * d + d - 1] != level[k] ||
            memcmp(x + k * d, x + k % n * d, (size_t)(d - 1) * sizeof *x) != 0)
            return false;
    return true;
}

/* The point farthest from the average, where a linear kernel is not 0. */
static int64_t farthest(const double *x, int64_t n, int64_t d)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t i = 0; i < n; i++) {
        double square = 0;
        for (int64_t j = 0; j + 1 < d; j++) square += x[i * d + j] * x[i * d + j];
        if (square > most) most = square, best = i;
    }
    return best;
}

/* Whether Kronecker products are less work. The whole matrix takes (n p)³ operations on all threads, the
 * eigenvectors as much time as 20 n³ on one. A fit of few rows has one thread for each start. */
static bool worth_it(const ct_gp *gp)
{
    const double p = (double)gp->n_levels;
    return p * p * p > 20.0 * (gp->n <= CT__SMALL ? 1 : ct_device_threads(gp->device));
}

ct_status ct__joint_find_grid(ct_gp *gp)
{
    const ct_cov_program *p = ct_kernel_program(gp->kernel);
    gp->in_grid = 0;
    if (strcmp(ct_device_name(gp->device), "cpu") != 0 || !worth_it(gp) ||
        !separable(p, p->n_nodes - 1, gp->d - 1))
        return CT_OK;
    double *x = ct__gp_doubles(gp->X), *level = x ? ct__gp_doubles(gp->given) : NULL;
    if (level && is_grid(gp, x, level)) {
        gp->in_grid = gp->n_levels;
        gp->pivot = farthest(x, gp->n / gp->n_levels, gp->d);
    }
    const ct_status s = level ? CT_OK : ct_last_status(gp->device);
    free(x);
    free(level);
    return s;
}

/* -- the likelihood -------------------------------------------------------------------------------------- */

ct_var ct__joint_nlml(const ct_gp *gp, ct_var theta, ct_var residual, ct_var noise, double jitter)
{
    const int64_t p = gp->in_grid, n = gp->n / p, at = gp->pivot;
    ct_var X = ct_constant(gp->tape, gp->X), points = ct_slice(X, 0, 0, n, 1),
           outputs = ct_slice(X, 0, at, gp->n, n);
    ct_var K = ct_cov(gp->kernel, theta, points, points), B = ct_cov(gp->kernel, theta, outputs, outputs);
    ct_var c = ct_reshape(ct_slice(ct_slice(K, 0, at, at + 1, 1), 1, at, at + 1, 1), ct_shape0());
    ct_var R = ct_t(ct_reshape(residual, ct_shape2(p, n)));
    return ct_outputs_nlml_kronecker(ct_div(K, c), B, R, ct_shift(noise, jitter));
}
