/* The likelihood and the leave-one-out density of any kernel in quadruple precision, in the plainest way:
 * derivatives by dual numbers, one parameter after the other. Its exponents reach from 1e-4932 to 1e4932. */
#ifndef TESTS_QUAD_DENSITY_H
#define TESTS_QUAD_DENSITY_H

#include "quad.h"

#ifdef QUAD

#    include <cotangent/cov_program.h>

/* A value, its derivative, and the size of the terms that the derivative is the sum of. */
typedef struct dual {
    quad v, d, size;
} dual;

static inline dual dual_of(quad v) { return (dual){ v, 0, 0 }; }
static inline dual dual_apply(dual a, quad v, quad slope)
{
    return (dual){ v, a.d == 0 ? 0 : slope * a.d, a.size == 0 ? 0 : quad_abs(slope) * a.size };
}
static inline dual dual_add(dual a, dual b) { return (dual){ a.v + b.v, a.d + b.d, a.size + b.size }; }
static inline dual dual_mul(dual a, dual b)
{
    return (dual){ a.v * b.v, a.d * b.v + a.v * b.d, a.size * quad_abs(b.v) + quad_abs(a.v) * b.size };
}
static inline dual dual_inverse(dual a) { return dual_apply(a, 1 / a.v, -1 / (a.v * a.v)); }
static inline dual dual_scale(dual a, quad c) { return dual_apply(a, a.v * c, c); }
static inline dual dual_exp(dual a)
{
    quad y = quad_exp(a.v);
    return dual_apply(a, y, y);
}
static inline dual dual_sqrt(dual a) /* slope 0 at 0, as the profiles have it */
{
    quad y = quad_sqrt(a.v);
    return dual_apply(a, y, y > 0 ? 1 / (2 * y) : 0);
}
static inline dual dual_log1p(dual a)
{
    quad x = a.v,
         y = x < QUAD(1e-12) ? x * (1 - x * (QUAD(0.5) - x * (1 / QUAD(3.0) - x / 4))) : quad_log(1 + x);
    return dual_apply(a, y, 1 / (1 + x));
}
/* After more turns than this rounding determines the phase, so the value counts as unknown. */
static double quad_turns = 1e5;

static inline dual dual_turn(dual t, bool sine)
{
    if (!(quad_abs(t.v) <= quad_turns)) return dual_of(NAN);
    const quad two_pi = QUAD(6.28318530717958647692528676655900577);
    quad c, s;
    quad_turn(t.v, &c, &s);
    return sine ? dual_apply(t, s, two_pi * c) : dual_apply(t, c, -two_pi * s);
}

/* A profile between two points. [Rasmussen & Williams 2006, ch. 4] */
static inline dual quad_profile_of(const ct_cov_program *p, const ct_cov_node *n, const dual *theta,
                                   const dual *x, const dual *z)
{
    const int32_t *dims = ct_cov_dims(p) + n->dims;
    const dual one = dual_of(1), a = n->extra < 0 ? one : theta[n->extra];
    dual s = dual_of(0);
    for (int k = 0; k < n->n_dims; k++) {
        dual inverse = n->lengthscale < 0 ? one : dual_inverse(theta[n->lengthscale + (n->ard ? k : 0)]);
        dual b = x[dims[k]], c = z[dims[k]], t = dual_add(b, dual_scale(c, -1));
        if (n->code == CT_COV_PERIODIC)
            t = dual_turn(dual_scale(dual_mul(t, dual_inverse(a)), QUAD(0.5)), true);
        if (n->code == CT_COV_LINEAR || n->code == CT_COV_POLYNOMIAL)
            s = dual_add(s, dual_mul(dual_mul(b, inverse), dual_mul(c, inverse)));
        else
            s = dual_add(s, dual_mul(dual_mul(t, inverse), dual_mul(t, inverse)));
    }
    dual r = n->code == CT_COV_LINEAR || n->code == CT_COV_POLYNOMIAL ? s : dual_sqrt(s), y = one;
    dual r3 = dual_scale(r, quad_sqrt(3)), r5 = dual_scale(r, quad_sqrt(5));
    switch (n->code) {
    case CT_COV_RBF: return dual_exp(dual_scale(s, -QUAD(0.5)));
    case CT_COV_MATERN12: return dual_exp(dual_scale(r, -1));
    case CT_COV_MATERN32: return dual_mul(dual_add(one, r3), dual_exp(dual_scale(r3, -1)));
    case CT_COV_MATERN52:
        return dual_mul(dual_add(dual_add(one, r5), dual_scale(s, 5 / QUAD(3.0))),
                        dual_exp(dual_scale(r5, -1)));
    case CT_COV_RATIONAL_QUADRATIC:
        return dual_exp(
            dual_scale(dual_mul(a, dual_log1p(dual_scale(dual_mul(s, dual_inverse(a)), QUAD(0.5)))), -1));
    case CT_COV_PERIODIC: return dual_exp(dual_scale(s, -2));
    case CT_COV_COSINE: return dual_turn(r, false);
    case CT_COV_LINEAR: return s;
    default:
        for (int i = 0; i < n->degree; i++) y = dual_mul(y, dual_add(a, s));
        return y;
    }
}

static inline dual quad_entry(const ct_cov_program *p, int at, const dual *theta, const dual *x,
                              const dual *z, bool same)
{
    const ct_cov_node *n = &ct_cov_nodes(p)[at];
    switch (n->code) {
    case CT_COV_CONSTANT: return theta[n->extra];
    case CT_COV_WHITE: return same ? theta[n->extra] : dual_of(0);
    case CT_COV_SCALE: return dual_mul(theta[n->extra], quad_entry(p, n->right, theta, x, z, same));
    case CT_COV_SUM:
        return dual_add(quad_entry(p, n->left, theta, x, z, same),
                        quad_entry(p, n->right, theta, x, z, same));
    case CT_COV_PRODUCT:
        return dual_mul(quad_entry(p, n->left, theta, x, z, same),
                        quad_entry(p, n->right, theta, x, z, same));
    default: return quad_profile_of(p, n, theta, x, z);
    }
}

enum { QUAD_ROWS = 4, QUAD_MOST = 40 };

/* The gradient of one density, in the order theta, X, r, noise (one for all rows). */
typedef struct quad_density {
    int n, d;
    const double *theta, *X, *r;
    double noise;
    quad value, size; /* and of its terms */
    quad bar[QUAD_MOST], bar_size[QUAD_MOST];
    quad largest; /* of all that it is computed from: C, C⁻¹, α αᵀ */
    quad least;   /* of the diagonal of C */
} quad_density;

/* Entry i, j of k, differentiated in input `by`; -1: in none. */
static inline dual quad_k(const ct_cov_program *p, const quad_density *q, int i, int j, int by)
{
    dual theta[QUAD_MOST], x[QUAD_MOST], z[QUAD_MOST];
    for (int k = 0; k < p->n_params; k++) theta[k] = (dual){ q->theta[k], k == by, k == by };
    for (int k = 0; k < q->d; k++) {
        bool mine = p->n_params + i * q->d + k == by, its = p->n_params + j * q->d + k == by;
        x[k] = (dual){ q->X[i * q->d + k], mine, mine };
        z[k] = (dual){ q->X[j * q->d + k], its, its };
    }
    return quad_entry(p, p->n_nodes - 1, theta, x, z, i == j);
}

/* P = C⁻¹, the logarithm of the determinant, and the size of its terms, by Gauss-Jordan elimination. */
static inline void quad_invert(int n, quad (*C)[QUAD_ROWS], quad (*P)[QUAD_ROWS], quad *log_det, quad *size)
{
    *log_det = *size = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) P[i][j] = i == j;
    for (int k = 0; k < n; k++) {
        quad pivot = C[k][k], log_pivot = pivot > 0 ? quad_log(pivot) : NAN;
        *log_det += log_pivot;
        *size += quad_abs(log_pivot) + 1;
        for (int j = 0; j < n; j++) C[k][j] /= pivot, P[k][j] /= pivot;
        for (int i = 0; i < n; i++) {
            quad f = C[i][k];
            for (int j = 0; j < n && i != k; j++) C[i][j] -= f * C[k][j], P[i][j] -= f * P[k][j];
        }
    }
}

/* nlml: ½ rᵀα + ½ log det C;  loo: ½ Σ (α_i²/P_ii - log P_ii), both + n/2 log 2π.
 * With D = ∂C: ∂P = -P D P, ∂α = -P D α. */
static inline void quad_density_of(const ct_cov_program *p, bool loo, quad_density *q)
{
    const quad log_2pi = QUAD(1.83787706640934548356065947281123527);
    int n = q->n, count = p->n_params + n * q->d;
    quad C[QUAD_ROWS][QUAD_ROWS], P[QUAD_ROWS][QUAD_ROWS], alpha[QUAD_ROWS], log_det, size;
    q->largest = 0;
    q->least = INFINITY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            C[i][j] = quad_k(p, q, i, j, -1).v + (i == j ? (quad)q->noise : 0);
            if (quad_abs(C[i][j]) > q->largest) q->largest = quad_abs(C[i][j]);
            if (i == j && !(C[i][i] >= q->least)) q->least = C[i][i];
        }
    quad_invert(n, C, P, &log_det, &size);
    q->value = n * log_2pi / 2 + (loo ? 0 : log_det / 2);
    q->size = n * log_2pi / 2 + size / 2;
    for (int i = 0; i < n; i++) {
        alpha[i] = 0;
        for (int j = 0; j < n; j++) alpha[i] += P[i][j] * q->r[j];
    }
    for (int i = 0; i < n; i++) {
        quad fit = loo ? alpha[i] * alpha[i] / P[i][i] : alpha[i] * q->r[i];
        q->value += (loo ? fit - quad_log(P[i][i]) : fit) / 2;
        for (int j = 0; j < n; j++) {
            q->size += quad_abs(P[i][j] * q->r[i] * q->r[j]);
            quad product = quad_abs(alpha[i] * alpha[j]);
            if (product > q->largest) q->largest = product;
            if (quad_abs(P[i][j]) > q->largest) q->largest = quad_abs(P[i][j]);
        }
    }
    for (int by = 0; by <= count; by++) { /* the last: the noise */
        quad D[QUAD_ROWS][QUAD_ROWS], S[QUAD_ROWS][QUAD_ROWS], bar = 0, bar_size = 0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                dual k = by == count ? (dual){ 0, i == j, i == j } : quad_k(p, q, i, j, by);
                D[i][j] = k.d, S[i][j] = k.size;
            }
        for (int l = 0; l < n; l++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    if (!loo) { /* once for each l */
                        quad C_bar = (P[i][j] - alpha[i] * alpha[j]) / 2;
                        if (l == 0) bar += C_bar * D[i][j];
                        if (l == 0)
                            bar_size += (quad_abs(P[i][j]) + quad_abs(alpha[i] * alpha[j])) / 2 * S[i][j];
                        continue;
                    }
                    quad e = alpha[l] / P[l][l], by_P = -P[l][i] * P[l][j], by_alpha = -P[l][i] * alpha[j];
                    bar += (e * by_alpha - (e * e + 1 / P[l][l]) / 2 * by_P) * D[i][j];
                    bar_size +=
                        (quad_abs(e * by_alpha) + quad_abs((e * e + 1 / P[l][l]) / 2 * by_P)) * S[i][j];
                }
        int at = by == count ? count + n : by;
        q->bar[at] = bar, q->bar_size[at] = bar_size;
    }
    for (int j = 0; j < n; j++) {
        quad sum = 0, all = 0;
        for (int i = 0; i < n; i++) {
            quad e = loo ? alpha[i] / P[i][i] : q->r[i];
            sum += P[j][i] * e, all += quad_abs(P[j][i] * e);
        }
        q->bar[count + j] = sum, q->bar_size[count + j] = all;
    }
}

#endif
#endif
