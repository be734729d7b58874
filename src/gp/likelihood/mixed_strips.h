/* The parts of the likelihood in mixed precision (mixed.c): C = k(X, X) + diag(noise) in f64, recomputed when
 * it is needed, and its factor in one f32 triangle. All other vectors and matrices are f64 unless stated
 * otherwise. */
#ifndef CT_GP_MIXED_STRIPS_H
#define CT_GP_MIXED_STRIPS_H

#include <cotangent/op.h>

#include "gp/factor/system.h"

typedef enum ct__mixed_solve { CT__SOLVE_FACTOR, CT__SOLVE_FACTOR_TRANS, CT__SOLVE_BOTH } ct__mixed_solve;

typedef struct ct__mixed {
    ct_call *c;
    ct__kernel_matrix C;
    int64_t n;
    ct_view triangle; /* f32, packed (packed.h): undefined, then L, then (L Lᵀ)⁻¹ */
    ct__factor L;     /* in it                                                    */
    ct_view strip;    /* a strip of rows of an (n, n) matrix                      */
    ct_view narrow;   /* f32 (m, n): right-hand sides                             */
} ct__mixed;

/* Allocates the scratch of a call, for products and solves with at most m columns; noise (n) or (1). */
ct__mixed ct__mixed_of(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       int64_t m);
/* The size of `strip` in bytes. */
uint64_t ct__mixed_bytes(int64_t n);

/* L Lᵀ = C rounded to f32; diagonal (n) = that of L. Fails as ct_prim_potrf; after a known failure the
 * diagonal is NaN. */
void ct__mixed_factor(const ct__mixed *m, ct_view diagonal);
/* out = C V, for V (n, m) */
void ct__mixed_product(const ct__mixed *m, ct_view V, ct_view out);
/* out = L Lᵀ V; half (n, m) = Lᵀ V */
void ct__mixed_gram(const ct__mixed *m, ct_view V, ct_view half, ct_view out);
/* Replaces V by L⁻¹ V, L⁻ᵀ V or L⁻ᵀ L⁻¹ V, computed in f32. */
void ct__mixed_solve_in_place(const ct__mixed *m, ct__mixed_solve kind, ct_view V);
/* P = (L Lᵀ)⁻¹ replaces L; diagonal (n) = that of P. theta_bar (P) and X_bar (n, d) are the derivatives for
 * C̄ = ½ (P - ααᵀ), alpha (n). No view for X_bar: not requested. */
void ct__mixed_slopes(const ct__mixed *m, ct_view alpha, ct_view diagonal, ct_view theta_bar, ct_view X_bar);

#endif
