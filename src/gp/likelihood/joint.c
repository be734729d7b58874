/* The likelihood of a joint model without missing values, by Kronecker products. Its rows are n points with
 * output 0, then the same points with output 1, and so on. Its kernel k is a product of a kernel of the
 * inputs and one of the output. With one of the points as x_0 and c = k((x_0, 0), (x_0, 0)),
 *     C = B ⊗ K + diag(d) ⊗ I,   K_il = k((x_i, 0), (x_l, 0)) / c,   B_jq = k((x_0, j), (x_0, q)) */
#include "joint.h"

#include <stdlib.h>
#include <string.h>

#include <cotangent/gp/outputs.h>

#include "dense.h"
#include "gp/data/numbers.h"
#include "gp/model/graph.h"

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
    const int64_t p = gp->noise.n_levels, n = gp->rows.n / p, d = gp->rows.d;
    if (gp->rows.n % p) return false;
    for (int64_t k = 0; k < gp->rows.n; k++)
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
    const double p = (double)gp->noise.n_levels;
    return p * p * p > 20.0 * (gp->rows.n <= CT__SMALL ? 1 : ct_device_threads(gp->device));
}

ct_status ct__joint_find_grid(ct_gp *gp)
{
    const ct_cov_program *p = ct_kernel_program(gp->kernel);
    gp->likelihood.grid = 0;
    if (strcmp(ct_device_name(gp->device), "cpu") != 0 || !worth_it(gp) ||
        !separable(p, p->n_nodes - 1, gp->rows.d - 1))
        return CT_OK;
    double *x = ct__gp_doubles(gp->rows.X), *level = x ? ct__gp_doubles(gp->noise.given) : NULL;
    if (level && is_grid(gp, x, level)) {
        gp->likelihood.grid = gp->noise.n_levels;
        gp->likelihood.pivot = farthest(x, gp->rows.n / gp->noise.n_levels, gp->rows.d);
    }
    const ct_status s = level ? CT_OK : ct_last_status(gp->device);
    free(x);
    free(level);
    return s;
}

/* -- the row --------------------------------------------------------------------------------------------- */

static bool able(const ct_gp *gp) { return gp->likelihood.grid > 0; }

static uint64_t bytes(const ct_gp *gp, int64_t d, bool fitting)
{
    const uint64_t points = (uint64_t)(gp->rows.n / gp->likelihood.grid),
                   products = 12 * points * points * ct_dtype_size(gp->rows.dtype);
    return ct__nlml_bytes(gp, d, fitting) + (fitting ? products : 0);
}

static ct_var objective(ct_gp *gp, const ct__graph *g)
{
    const int64_t p = gp->likelihood.grid, n = gp->rows.n / p, at = gp->likelihood.pivot;
    ct_var points = ct_slice(g->X, 0, 0, n, 1), outputs = ct_slice(g->X, 0, at, gp->rows.n, n),
           K = ct_cov(gp->kernel, g->theta, points, points),
           B = ct_cov(gp->kernel, g->theta, outputs, outputs);
    ct_var c = ct_reshape(ct_slice(ct_slice(K, 0, at, at + 1, 1), 1, at, at + 1, 1), ct_shape0());
    ct_var R = ct_t(ct_reshape(g->residual, ct_shape2(p, n)));
    return ct_outputs_nlml_kronecker(ct_div(K, c), B, R, ct_shift(g->noise, g->jitter));
}

const ct__likelihood ct__joint = {
    .name = "joint outputs",
    .is = CT__JOINT_OUTPUTS,
    .able = able,
    .refusal = { { CT__WITH_MEAN, "joint outputs have their averages as the mean: use CT_MEAN_ZERO" },
                 { CT__WITH_TRANSFORM, "a transform of the outputs is for CT_OUTPUTS_EACH" },
                 { CT__WITH_GIVEN_NOISE, "given noise is for CT_OUTPUTS_EACH" },
                 { CT__WITH_NOISE, "joint outputs learn a noise for each: CT_NOISE_LEARNED" } },
    .bytes = bytes,
    .objective = objective
};
