/* Solutions with a packed factor L, panel by panel. Right-hand sides are the rows of B = [B1 B2]:
 *     B L⁻ᵀ:  V1 = B1 L11⁻ᵀ,  V2 = (B2 - V1 L21ᵀ) L22⁻ᵀ          B L⁻¹:  V2 = B2 L22⁻¹,  V1 = (B1 - V2 L21) L11⁻¹ */
#include "packed.h"

enum { PANEL_BYTES = 32 << 20, LEAST = 16, WIDE = 512 };

int64_t ct__packed_panel(int64_t n, ct_dtype dtype)
{
    int64_t rows = n > 0 ? PANEL_BYTES / (int64_t)ct_dtype_size(dtype) / n : LEAST;
    int64_t most = n > 2 * WIDE ? n / 2 : WIDE;
    return rows < LEAST ? LEAST : rows > most ? most : rows;
}

void ct__packed_solve(ct_call *c, const ct__packed *L, int64_t first, ct_tensor *B)
{
    int64_t m = ct_tensor_dim(B, 0), left = L->n1 > first ? L->n1 - first : 0;
    int64_t skip = first > L->n1 ? first - L->n1 : 0, right = L->n2 - skip;
    ct_tensor *T11 = ct__submatrix(L->A11, L->n1 - left, left, L->n1 - left, left);
    ct_tensor *T21t = ct__submatrix(L->A21t, L->n1 - left, left, 0, L->n2);
    ct_tensor *T22 = ct__submatrix(L->A22, skip, right, skip, right);
    ct_tensor *B1 = ct__submatrix(B, 0, m, 0, left), *B2 = ct__submatrix(B, 0, m, left, right);
    if (ct_require(c, T11 && T21t && T22 && B1 && B2, CT_ENOMEM, "no memory for views")) {
        if (left) ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, T11, B1);
        if (left) ct_prim_gemm(c, -1, B1, T21t, 1, B2);
        ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, T22, B2);
    }
    ct_release(T11);
    ct_release(T21t);
    ct_release(T22);
    ct_release(B1);
    ct_release(B2);
}

void ct__packed_solve_trans(ct_call *c, const ct__packed *L, ct_tensor *B)
{
    int64_t m = ct_tensor_dim(B, 0);
    ct_tensor *B1 = ct__submatrix(B, 0, m, 0, L->n1), *B2 = ct__submatrix(B, 0, m, L->n1, L->n2);
    if (ct_require(c, B1 && B2, CT_ENOMEM, "no memory for views")) {
        ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L->A22, B2);
        ct_prim_gemm(c, -1, B2, L->A21, 1, B1);
        ct_prim_trsm(c, CT_LOWER | CT_RIGHT, 1, L->A11, B1);
    }
    ct_release(B1);
    ct_release(B2);
}

/* -- as ops ---------------------------------------------------------------------------------------------- */

static ct_shape solve_shape(ct_call *c)
{
    ct_require(c,
               ct_arg_ndim(c, 1) == 2 &&
                   ct_shape_equal(ct_arg_shape(c, 0), ct__packed_shape(ct_arg_dim(c, 1, 1))),
               CT_ESHAPE, "the packed factor does not fit the right-hand sides");
    return ct_arg_shape(c, 1);
}

static void solve(ct_call *c, bool both)
{
    ct__packed L;
    ct_tensor *X = ct_result(c);
    if (!X) return;
    ct_prim_copy(c, ct_arg(c, 1), X);
    if (!ct_require(c, ct__packed_open(ct_arg(c, 0), ct_arg_dim(c, 1, 1), &L), CT_ENOMEM,
                    "no memory for views"))
        return;
    ct__packed_solve(c, &L, 0, X);
    if (both) ct__packed_solve_trans(c, &L, X);
    ct__packed_close(&L);
}

static void solve_forward(ct_call *c) { solve(c, false); }
static void both_forward(ct_call *c) { solve(c, true); }

/* C⁻¹ is symmetric: B_bar = X_bar C⁻¹ */
static void both_vjp(ct_vjp *g)
{
    ct_in_bar(g, 1,
              ct_apply(&ct__op_packed_solve_both, (ct_var[]){ ct_in(g, 0), ct_out_bar(g) }, 2, NULL, 0));
}

const ct_op ct__op_packed_solve = {
    .name = "packed_solve", .n_in = 2, .shape = solve_shape, .forward = solve_forward
};
const ct_op ct__op_packed_solve_both = {
    .name = "packed_solve_both", .n_in = 2, .shape = solve_shape, .forward = both_forward, .vjp = both_vjp
};

/* -- diagonals ------------------------------------------------------------------------------------- */

static ct_shape diag_shape(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 1, 0);
    ct_require(c, ct_shape_equal(ct_arg_shape(c, 0), ct__packed_shape(n)), CT_ESHAPE,
               "the packed factor does not fit %lld points", (long long)n);
    return ct_shape1(n);
}

/* out_i = |row i of V|² */
void ct__row_squares(ct_call *c, const ct_tensor *V, ct_tensor *out)
{
    ct_tensor *row = ct_tensor_unsqueeze(V, 1), *column = ct_tensor_unsqueeze(V, 2);
    ct_tensor *line = ct_tensor_unsqueeze(out, 1), *each = line ? ct_tensor_unsqueeze(line, 2) : NULL;
    if (ct_require(c, row && column && each, CT_ENOMEM, "no memory for views"))
        ct_prim_gemm(c, 1, row, column, 0, each);
    ct_release(row);
    ct_release(column);
    ct_release(line);
    ct_release(each);
}

/* Rows first .. first + rows of the identity, from column `first` on, through L⁻ᵀ. */
static void squares_from(ct_call *c, const ct__packed *L, int64_t first, ct_tensor *panel, ct_tensor *out)
{
    int64_t rows = ct_tensor_dim(out, 0);
    ct_tensor *E = ct__submatrix(panel, 0, rows, 0, L->n1 + L->n2 - first);
    ct_tensor *square = E ? ct__submatrix(E, 0, rows, 0, rows) : NULL;
    ct_tensor *diagonal = square ? ct_tensor_diagonal(square) : NULL;
    if (ct_require(c, diagonal != NULL, CT_ENOMEM, "no memory for views")) {
        ct_prim_fill(c, E, 0);
        ct_prim_fill(c, diagonal, 1);
        ct__packed_solve(c, L, first, E);
        ct__row_squares(c, E, out);
    }
    ct_release(E);
    ct_release(square);
    ct_release(diagonal);
}

/* (C⁻¹)_jj = |L⁻¹ e_j|², and L⁻¹ e_j is zero before j: n³/3 operations, a panel of memory. */
static void diag_forward(ct_call *c)
{
    ct__packed L;
    int64_t n = ct_arg_dim(c, 1, 0), most = ct__packed_panel(n, ct_tensor_dtype(ct_arg(c, 0)));
    ct_tensor *out = ct_result(c);
    if (most > n) most = n;
    ct_tensor *panel = ct_scratch(c, ct_tensor_dtype(ct_arg(c, 0)), ct_shape2(most, n));
    if (!out || !panel) return;
    if (!ct_require(c, ct__packed_open(ct_arg(c, 0), n, &L), CT_ENOMEM, "no memory for views")) return;
    for (int64_t i = 0; i < n; i += most) {
        ct_tensor *part = ct_tensor_slice(out, 0, i, i + most < n ? i + most : n, 1);
        if (ct_require(c, part != NULL, CT_ENOMEM, "no memory for views"))
            squares_from(c, &L, i, panel, part);
        ct_release(part);
    }
    ct__packed_close(&L);
}

const ct_op ct__op_packed_inverse_diag = {
    .name = "packed_inverse_diag", .n_in = 2, .shape = diag_shape, .forward = diag_forward
};

static void factor_diag_forward(ct_call *c)
{
    ct__packed L;
    ct_tensor *out = ct_result(c);
    int64_t n = ct_arg_dim(c, 1, 0);
    if (!out || !ct_require(c, ct__packed_open(ct_arg(c, 0), n, &L), CT_ENOMEM, "no memory for views"))
        return;
    for (int k = 0; k < 2; k++) {
        ct_tensor *line = ct_tensor_diagonal(k ? L.A22 : L.A11);
        ct_tensor *part = ct_tensor_slice(out, 0, k ? L.n1 : 0, k ? n : L.n1, 1);
        if (ct_require(c, line && part, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, line, part);
        ct_release(line);
        ct_release(part);
    }
    ct__packed_close(&L);
}

const ct_op ct__op_packed_diag = {
    .name = "packed_diag", .n_in = 2, .shape = diag_shape, .forward = factor_diag_forward
};
