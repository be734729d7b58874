/* tri_solve:  X with op(T) X = B, or X op(T) = B with CT_RIGHT; op(T) = T or Tᵀ
 *             T: (..., n, n) triangular, B: (..., n, m) or (..., m, n) -> X, as B
 * adjoint:    left    B̄ = op(T)⁻ᵀ X̄,   op(T)‾ = -B̄ Xᵀ                          [Giles 2008, §2.3.1]
 *             right   B̄ = X̄ op(T)⁻ᵀ,   op(T)‾ = -Xᵀ B̄
 *             T̄ = op(T)‾, transposed with CT_TRANS, restricted to the triangle that is read,
 *             with CT_UNIT without the diagonal
 * tangent:    op(T) Ẋ = Ḃ - op(Ṫ) X, or Ẋ op(T) = Ḃ - X op(Ṫ)
 *
 * From op(T) dX = dB - dop(T) X: ⟨X̄, dX⟩ = ⟨B̄, dB⟩ - ⟨B̄ Xᵀ, dop(T)⟩. A member of T with a zero on its
 * diagonal is singular: its X is NaN and flagged. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const unsigned *flags = ct__need_attr(c);
    if (!flags || !ct__need_matrices(c, 0) || !ct__need_square(c, 0)) return ct_shape0();
    bool right = *flags & CT_RIGHT;
    int64_t n = ct_arg_dim(c, 0, -1), rows = ct_arg_dim(c, 1, -2), cols = ct_arg_dim(c, 1, -1);
    ct_require(c, *flags <= (CT_UPPER | CT_TRANS | CT_UNIT | CT_RIGHT), CT_EINVAL,
               "unknown flags %#x: CT_UPPER, CT_TRANS, CT_UNIT and CT_RIGHT may be combined", *flags);
    ct_require(c, (right ? cols : rows) == n, CT_ESHAPE,
               "the right-hand side has %lld %s, the matrix is %lldx%lld", (long long)(right ? cols : rows),
               right ? "columns" : "rows", (long long)n, (long long)n);
    return ct__need_batch(c, 0, 1, rows, cols);
}

static void forward(ct_call *c)
{
    const unsigned *flags = ct_attr(c);
    ct_view X = ct_result(c);
    ct_prim_copy(c, ct_arg(c, 1), X);
    ct_prim_trsm(c, *flags, 1, ct_arg(c, 0), X);
    if (*flags & CT_UNIT) return;
    ct_view diagonal = ct_view_diagonal(ct_arg(c, 0)), column = ct_view_unsqueeze(diagonal, -1);
    ct_prim_flag(c, CT_NONZERO, column, "diagonal element %lld",
                 "is zero or NaN: the triangular matrix is singular, add to its diagonal", X);
}

/* The part of a cotangent or tangent of T that is read. */
static ct_var part_of(ct_var T, unsigned flags)
{
    const bool unit = flags & CT_UNIT;
    return flags & CT_UPPER ? ct_triu(T, unit ? 1 : 0) : ct_tril(T, unit ? -1 : 0);
}

static void vjp(ct_rule *g)
{
    const unsigned flags = *(const unsigned *)ct_rule_attr(g);
    const bool right = flags & CT_RIGHT;
    ct_var T = ct_in(g, 0), X = ct_out(g);
    ct_var B_bar = ct_tri_solve(T, ct_out_bar(g), flags ^ CT_TRANS);
    ct_in_bar(g, 1, B_bar);
    if (!ct_wants(g, 0)) return;
    ct_var u = right ? ct_t(X) : ct_neg(B_bar), v = right ? ct_neg(B_bar) : ct_t(X); /* op(T)‾ = u v */
    ct_in_bar(g, 0, part_of(flags & CT_TRANS ? ct_matmul(ct_t(v), ct_t(u)) : ct_matmul(u, v), flags));
}

static void jvp(ct_rule *g)
{
    const unsigned flags = *(const unsigned *)ct_rule_attr(g);
    ct_var X = ct_out(g), B_dot = ct_in_dot(g, 1);
    if (ct_has_in_dot(g, 0)) {
        ct_var T_dot = part_of(ct_in_dot(g, 0), flags);
        if (flags & CT_TRANS) T_dot = ct_t(T_dot);
        B_dot = ct_sub(B_dot, flags & CT_RIGHT ? ct_matmul(X, T_dot) : ct_matmul(T_dot, X));
    }
    ct_give_out_dot(g, 0, ct_tri_solve(ct_in(g, 0), B_dot, flags));
}

/* The variants: both triangles and sides, with and without transpose and unit diagonal; a batch that shares
 * T, and one that shares B. */
static unsigned flags_of(int variant) { return variant < 16 ? (unsigned)variant : CT_LOWER; }

static void draw(ct_sample *s, int i)
{
    const int64_t n = ct_sample_size(s);
    const unsigned flags = flags_of(ct_sample_variant(s, 18));
    if (i == 1)
        ct_sample_normal(s, 1, flags & CT_RIGHT ? ct_shape2(2, n) : ct_shape2(n, 2));
    else if (flags & CT_UPPER)
        ct_sample_upper(s, 0, n);
    else
        ct_sample_lower(s, 0, n);
}

static void sample(ct_sample *s)
{
    const int v = ct_sample_variant(s, 18);
    const unsigned flags = flags_of(v);
    ct_sample_attr(s, &flags, sizeof flags);
    ct__sample_pair(s, v < 16 ? 0 : v - 15, draw);
}

const ct_op ct_op_tri_solve = { .name = "tri_solve",
                                .n_in = 2,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .jvp_stacked = true,
                                .sample = sample,
                                .finite = true };

ct_var ct_tri_solve(ct_var T, ct_var B, unsigned flags)
{
    return ct_apply(&ct_op_tri_solve, (ct_var[]){ T, B }, 2, &flags, sizeof flags);
}
