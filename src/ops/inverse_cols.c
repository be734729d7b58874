/* inverse_cols:  P = A⁻¹ E, columns idx of A⁻¹            A: (..., n, n)  idx: (r) i64 -> P: (..., n, r)
 * adjoint:       Z = A⁻ᵀ P̄,  Ā = -Z Pᵀ                        [the adjoint of a solve, lu_solve.c]
 * inverse_rows:  P = Eᵀ A⁻¹, rows idx of A⁻¹, which are columns of A⁻ᵀ: Pᵀ = A⁻ᵀ E -> P: (..., r, n)
 * adjoint:       Z = A⁻¹ P̄ᵀ,  Ā = -Pᵀ Zᵀ
 * inverse_block: P, rows idx1 and columns idx2 of A⁻¹      idx1: (r) i64, idx2: (q) i64 -> P: (..., r, q)
 * E holds columns idx of the identity. Forward and backward solve for r right-hand sides with one LU and
 * never form the n×n inverse. A block is gathered from min(r, q) columns or rows. */
#include "support.h"

/* E (n, r) for the index that is input i, as a constant: the rows of the r×r identity, scattered. */
static ct_var unit_columns(ct_call *c, int i)
{
    const ct_dtype dtype = ct_arg(c, 0).dtype;
    const int64_t n = ct_arg_dim(c, 0, -1), r = ct_arg_dim(c, i, 0);
    ct_view E = ct_scratch(c, dtype, ct_shape2(n, r)), eye = ct_scratch(c, dtype, ct_shape2(r, r));
    ct_prim_fill(c, E, 0);
    ct_prim_fill(c, eye, 0);
    ct_prim_fill(c, ct_view_diagonal(eye), 1);
    if (r) ct_prim_scatter_add(c, eye, ct_arg(c, i), E);
    return ct__constant(c, E);
}

/* A⁻¹ E, or A⁻ᵀ E with CT_TRANS, for the index that is input i */
static ct_var columns(ct_call *c, int i, unsigned flags)
{
    if (!ct__need_square(c, 0) || !ct__need_index(c, i)) return ct_none();
    ct_var A = ct_arg_var(c, 0), E = unit_columns(c, i);
    ct_var order, LU = ct_lu(A, &order);
    return ct_lu_solve(A, LU, order, E, flags);
}

static ct_var cols(ct_call *c) { return columns(c, 1, 0); }
static ct_var rows(ct_call *c) { return ct_t(columns(c, 1, CT_TRANS)); }

/* The rows of X (..., n, m) that index names. The dimension of rows moves to the front for the gather, and
 * back. */
static ct_var rows_of(ct_var X, int dims, ct_var index)
{
    int front[CT_MAX_DIMS] = { dims - 2 }, back[CT_MAX_DIMS];
    for (int i = 0; i < dims - 2; i++) front[i + 1] = i, back[i] = i + 1;
    back[dims - 2] = 0;
    front[dims - 1] = back[dims - 1] = dims - 1;
    return ct_permute(ct_gather(ct_permute(X, front), index), back);
}

/* Whether the index that is input i lies in the range; if not, the message names it. A gather of rows without
 * elements reads only the index. */
static bool in_range(ct_call *c, int i, const char *name)
{
    const ct_dtype dtype = ct_arg(c, 0).dtype;
    ct_call *check = ct_scope_open(c->tape, name);
    ct_view none = ct_scratch(check, dtype, ct_shape2(ct_arg_dim(c, 0, -1), 0));
    ct_prim_gather(check, none, ct_arg(c, i), ct_scratch(check, dtype, ct_shape2(ct_arg_dim(c, i, 0), 0)));
    return ct_scope_close(check) == CT_OK;
}

/* Solves for the columns, or for the rows as columns of A⁻ᵀ, whichever are fewer. */
static ct_var block(ct_call *c)
{
    if (!ct__need_square(c, 0) || !ct__need_index(c, 1) || !ct__need_index(c, 2)) return ct_none();
    if (!in_range(c, 1, "rows") || !in_range(c, 2, "cols")) return ct_none();
    const bool by_rows = ct_arg_dim(c, 1, 0) < ct_arg_dim(c, 2, 0);
    ct_var X = columns(c, by_rows ? 1 : 2, by_rows ? CT_TRANS : 0);
    ct_var P = rows_of(X, ct_arg_ndim(c, 0), ct_arg_var(c, by_rows ? 2 : 1));
    return by_rows ? ct_t(P) : P;
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_invertible(s, 0, n);
    ct_sample_unbatched(s);
    ct_sample_index(s, 1, ct_shape1(n > 0 ? 2 : 0), n);
}

static void block_sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s), wide = ct_sample_variant(s, 2);
    ct_sample_invertible(s, 0, n);
    ct_sample_unbatched(s);
    ct_sample_index(s, 1, ct_shape1(n > 0 ? 3 - wide : 0), n);
    ct_sample_index(s, 2, ct_shape1(n > 0 ? 2 + wide : 0), n);
}

const ct_op ct_op_inverse_cols = {
    .name = "inverse_cols", .n_in = 2, .compose = cols, .sample = sample, .integers = 1 << 1, .finite = true
};
const ct_op ct_op_inverse_rows = {
    .name = "inverse_rows", .n_in = 2, .compose = rows, .sample = sample, .integers = 1 << 1, .finite = true
};
const ct_op ct_op_inverse_block = { .name = "inverse_block",
                                    .n_in = 3,
                                    .compose = block,
                                    .sample = block_sample,
                                    .integers = 1 << 1 | 1 << 2,
                                    .finite = true };

ct_var ct_inverse_cols(ct_var A, ct_var index)
{
    return ct_apply(&ct_op_inverse_cols, (ct_var[]){ A, index }, 2, NULL, 0);
}

ct_var ct_inverse_rows(ct_var A, ct_var index)
{
    return ct_apply(&ct_op_inverse_rows, (ct_var[]){ A, index }, 2, NULL, 0);
}

ct_var ct_inverse_block(ct_var A, ct_var rows, ct_var cols)
{
    return ct_apply(&ct_op_inverse_block, (ct_var[]){ A, rows, cols }, 3, NULL, 0);
}
