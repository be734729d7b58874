/* What the files of the ridge solve P = (BᵀB + λ DᵀD)⁻¹ Bᵀ share: its factors and its two forms. */
#ifndef CT_OPS_RIDGE_H
#define CT_OPS_RIDGE_H

#include "ops/support.h"

/* ct_ridge_solve in the given form; CT_RIDGE_AUTO chooses. CT_RIDGE_PUSH_THROUGH needs one D for the whole
 * batch, with at least n rows. */
ct_var ct__ridge_solve_as(ct_var B, ct_var D, ct_var lambda, ct_ridge_form form);

/* The values of 1/κ(S) and 1/κ(D) at which the push-through form in f64 keeps half of its digits. */
#define CT__RIDGE_LEAST 0x1p-30

/* The extents and inputs of a call, and the factors that it keeps for its rule.
 *     primal         L Lᵀ = BᵀB + λ DᵀD, n×n for each member; R and V are unused
 *     push-through   R of D = Q R, n×n once; V = B R⁻¹ (..., r, n) for B's own batch;
 *                    L Lᵀ = λ I + V Vᵀ, r×r for each member */
typedef struct ct__ridge {
    int64_t r, n, m;
    ct_shape batch; /* the broadcast batch dimensions of all inputs */
    bool shared;    /* one D for all */
    ct_dtype dtype;
    ct_view B, D, lambda;
    ct_view L, R, V;
    ct_view mu, delta; /* of ridge_scale.c, (..., 1, 1); empty or no views: 1 */
} ct__ridge;

/* Takes the inputs B (..., r, n), D (..., m, n) and λ (...) of a call. batch is no shape if they do not
 * fit. */
ct__ridge ct__ridge_of(const ct_call *c);
/* The shape of a batch of matrices. */
ct_shape ct__ridge_shape(const ct__ridge *s, int64_t rows, int64_t cols);

/* -- ridge_factor.c -------------------------------------------------------------------------------------- */

/* The outputs that hold L, R, V, μ and δ. R and V are empty in the primal form, μ and δ where all is in
 * range. */
enum { CT__RIDGE_L = 1, CT__RIDGE_R, CT__RIDGE_V, CT__RIDGE_MU, CT__RIDGE_DELTA };

/* Computes these outputs, in the form asked for or the better one. A sample whose λ or G is not positive is
 * flagged and becomes NaN. */
void ct__ridge_factor(ct_call *c, ct__ridge s, ct_ridge_form form);
/* Whether one D is shared, r < n, and D has enough rows for full column rank. */
bool ct__ridge_fits_push(const ct__ridge *s);

/* -- ridge_scale.c --------------------------------------------------------------------------------------- */

/* Computes the outputs μ and δ, if a square may leave the range or an asynchronous device does not tell.
 * Releases the call's scratch. */
void ct__ridge_measure(ct_call *c, const ct__ridge *s);
/* Puts B/μ, D/δ and λ' in place of B, D and λ. */
void ct__ridge_scale(ct_call *c, ct__ridge *s);
/* X/μ, or X μ, for X (batch, ., .) */
ct_view ct__ridge_over_mu(ct_call *c, const ct__ridge *s, bool times, ct_view X);
/* From the cotangents of B/μ, D/δ and λ', each of which may be no view, those of B, D and λ, in place. */
void ct__ridge_scale_bars(ct_call *c, const ct__ridge *s, ct_view B_bar, ct_view D_bar, ct_view lambda_bar);

/* -- ridge_condition.c ----------------------------------------------------------------------------------- */

/* The smallest estimated reciprocal condition in a batch of upper triangles. Waits for the device. */
double ct__ridge_rcond(ct_call *c, ct_view T);
/* Flags the members of a batch of lower triangles whose estimated reciprocal condition is not above `least`,
 * and makes them NaN. Does not wait for the device. */
void ct__ridge_flag(ct_call *c, ct_view L, double least);
/* G = L Lᵀ in place, as ct_prim_potrf, and flags a G that is singular to working precision. L̃ of the scaled
 * E G E with a diagonal of 1 is computed and judged, and L = E⁻¹ L̃. So the scale of a column of B and D does
 * not matter; and no pivot alone is judged, because an ill-conditioned leading block makes it too large. */
void ct__ridge_potrf(ct_call *c, ct_view G);

/* -- ridge_forms.c --------------------------------------------------------------------------------------- */

void ct__ridge_primal_factor(ct_call *c, const ct__ridge *s, ct_view L);
/* Computes R of D = Q R. An asynchronous device flags a D whose columns are dependent to working precision
 * or, with `strict`, to CT__RIDGE_LEAST. */
void ct__ridge_triangle(ct_call *c, const ct__ridge *s, bool strict, ct_view R);
void ct__ridge_push_factor(ct_call *c, const ct__ridge *s, ct_view V, ct_view L);

/* Pᵀ (batch, r, n), contiguous. */
void ct__ridge_primal_solve(ct_call *c, const ct__ridge *s, ct_view Pt);
void ct__ridge_push_solve(ct_call *c, const ct__ridge *s, ct_view Pt);

/* The cotangents from Pᵀ and P̄ᵀ, each of which may be no view: B̄ (batch, r, n), D̄ (m, n) if D is shared,
 * else (batch, m, n), λ̄ (batch). */
void ct__ridge_primal_bar(ct_call *c, const ct__ridge *s, ct_view Pt, ct_view Pt_bar, ct_view B_bar,
                          ct_view D_bar, ct_view lambda_bar);
void ct__ridge_push_bar(ct_call *c, const ct__ridge *s, ct_view Pt, ct_view Pt_bar, ct_view B_bar,
                        ct_view D_bar, ct_view lambda_bar);

#endif
