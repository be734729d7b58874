/* How accurate the results of a model are. */
#ifndef COTANGENT_GP_NUMERICS_H
#define COTANGENT_GP_NUMERICS_H

#include <cotangent/gp/model.h>

CT_BEGIN_DECLS

enum { CT_GP_NEAR_SHOWN = 16 };

/* A row of the data that the kernel hardly distinguishes from an earlier row. */
typedef struct ct_gp_near {
    int64_t row, like;  /* from 0; like < row is the earlier row */
    double correlation; /* k(x, x') / √(k(x, x) k(x', x')) without noise and white: 1 - 1e-6 or more */
} ct_gp_near;

/* Describes C = k(X, X) + diag(noise) + jitter at the present parameters. */
typedef struct ct_gp_numerics {
    /* Estimate of |C|₁ |C⁻¹|₁, hardly ever more than 3 times too low [Higham 1988, alg. 4.1]. */
    double condition;
    double digits; /* decimal digits that a solution with C keeps: -log10(ε condition), at least 0 */
    /* Approximate bound on the rounding error of an entry of the objective's gradient in the logs of the
     * parameters: (n + rᵀα) ε condition. A gradient_norm below this is not meaningful. */
    double gradient_error;
    double jitter; /* on the diagonal, in units of y² */
    /* min_i L_ii² / C_ii, the share of a row's variance that the rows before it do not explain; and that
     * row. */
    double smallest_pivot;
    int64_t pivot_row;
    int64_t near_rows;                 /* rows with such an earlier row */
    ct_gp_near near[CT_GP_NEAR_SHOWN]; /* the first min(near_rows, CT_GP_NEAR_SHOWN) of them */
    int64_t at_bounds;                 /* free parameters that a bound holds: ct_gp_at_bound */
} ct_gp_numerics;

/* Fills *numerics. Factorises first if necessary; the rest takes O(n² d) operations, in chunks of bounded
 * memory. */
CT_API ct_status ct_gp_inspect(ct_gp *gp, ct_gp_numerics *numerics);
/* -1 or 1 if parameter i lies at its lower or upper bound, the user's or the fit's own, to 0.1 %; else 0,
 * also for a fixed parameter. */
CT_API int ct_gp_at_bound(const ct_gp *gp, int64_t i);

CT_END_DECLS
#endif
