/* Appends rows: S Sᵀ = k(X2, X2) + diag(noise) - B Bᵀ for B = k(X2, X1) L⁻ᵀ: k n² + k² n operations */
#include "packed_append.h"

void ct__packed_append(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       const ct__factor *L, const ct__packed *to)
{
    int64_t all = ct_view_dim(X, 0), n = L->n, k = all - n;
    ct_view before = ct__rows(X, 0, n), more = ct__rows(X, n, all);
    ct_view B = ct_scratch(c, X.dtype, ct_shape2(k, n)), S = ct_scratch(c, X.dtype, ct_shape2(k, k));
    ct_prim_covariance(c, program, theta, more, before, false, B);
    ct__factor_solve(c, L, 0, B);
    ct_prim_covariance(c, program, theta, more, ct_no_view(), true, S);
    ct_prim_map2(c, CT_MAP_add, ct_view_diagonal(S), noise, ct_view_diagonal(S));
    ct_prim_syrk(c, -1, B, 1, S);
    ct_prim_potrf_lower(c, n, S);
    const ct__packed rows = { .n1 = n, .n2 = k, .A21 = B, .A22 = S };
    ct__packed_copy(c, &L->blocks, 0, n, 0, n, to, 0, 0);
    ct__packed_copy(c, &rows, n, k, 0, n, to, n, 0);
    ct__packed_copy(c, &rows, n, k, n, k, to, n, n);
}
