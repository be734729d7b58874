/* lu_solve:  X with A X = B, or Aᵀ X = B with CT_TRANS, from the factors A[order] = L U of lu.c
 * adjoint:   A X = B:   B̄ = A⁻ᵀ X̄,  Ā = -B̄ Xᵀ                             [Giles 2008, §2.3.1]
 *            Aᵀ X = B:  B̄ = A⁻¹ X̄,  Ā = -X B̄ᵀ
 * tangent:   A Ẋ = Ḃ - Ȧ X,  Aᵀ Ẋ = Ḃ - Ȧᵀ X
 * From A dX = dB - dA X. The factors are constants that represent A. The adjoint solves with the same
 * factors, so one factorisation serves forward and backward of every order. */
#include "support.h"

static const ct_op lu_solve;

static ct_shape shape(ct_call *c)
{
    const unsigned *flags = ct__need_attr(c);
    ct_view LU = ct_arg(c, 1), order = ct_arg(c, 2);
    if (!flags ||
        !ct_require(c, order.dtype == CT_I64, CT_EDTYPE, "the order must be i64, as ct_lu gives it"))
        return ct_shape0();
    if (!ct__need_square(c, 0) || !ct__need_square(c, 1) ||
        !ct_require(c, ct_arg_ndim(c, 3) >= 2, CT_ESHAPE, "B must be a matrix: ct_unsqueeze a vector first"))
        return ct_shape0();
    int64_t n = ct_arg_dim(c, 0, -1), rows = ct_arg_dim(c, 3, -2);
    ct_shape A = ct_arg_shape(c, 0), of_order = ct_view_shape(order);
    ct_require(c, *flags == 0 || *flags == CT_TRANS, CT_EINVAL, "unknown flags %#x: 0 or CT_TRANS", *flags);
    ct_require(
        c, ct_shape_equal(A, ct_view_shape(LU)) && of_order.ndim == A.ndim - 1 && ct_arg_dim(c, 2, -1) == n,
        CT_ESHAPE, "the factors are not those of A: pass what ct_lu gave");
    ct_require(c, rows == n, CT_ESHAPE, "the right-hand side has %lld rows, the matrix is %lldx%lld",
               (long long)rows, (long long)n, (long long)n);
    return ct__need_batch(c, 0, 3, n, ct_arg_dim(c, 3, -1));
}

static void forward(ct_call *c)
{
    const bool trans = *(const unsigned *)ct_attr(c) & CT_TRANS;
    ct_view LU = ct_arg(c, 1), order = ct_arg(c, 2), B = ct_arg(c, 3);
    ct_view X = ct_result(c);
    if (!trans) { /* L U X = B[order] */
        ct_prim_permute_rows(c, B, order, false, X);
        ct_prim_trsm(c, CT_LOWER | CT_UNIT, 1, LU, X);
        ct_prim_trsm(c, CT_UPPER, 1, LU, X);
    } else { /* Uᵀ Lᵀ X[order] = B */
        ct_view Y = ct_scratch(c, X.dtype, ct_view_shape(X));
        ct_prim_copy(c, B, Y);
        ct_prim_trsm(c, CT_UPPER | CT_TRANS, 1, LU, Y);
        ct_prim_trsm(c, CT_LOWER | CT_UNIT | CT_TRANS, 1, LU, Y);
        ct_prim_permute_rows(c, Y, order, true, X);
    }
}

static void vjp(ct_rule *g)
{
    const unsigned flags = *(const unsigned *)ct_rule_attr(g);
    ct_var A = ct_in(g, 0), X = ct_out(g);
    ct_var B_bar = ct_lu_solve(A, ct_in(g, 1), ct_in(g, 2), ct_out_bar(g), flags ^ CT_TRANS);
    ct_in_bar(g, 3, B_bar);
    ct_in_bar(g, 0, flags & CT_TRANS ? ct_matmul(ct_neg(X), ct_t(B_bar)) : ct_matmul(ct_neg(B_bar), ct_t(X)));
}

static void jvp(ct_rule *g)
{
    const unsigned flags = *(const unsigned *)ct_rule_attr(g);
    ct_var B_dot = ct_in_dot(g, 3);
    if (ct_has_in_dot(g, 0)) {
        ct_var A_dot = ct_in_dot(g, 0);
        B_dot = ct_sub(B_dot, ct_matmul(flags & CT_TRANS ? ct_t(A_dot) : A_dot, ct_out(g)));
    }
    ct_give_out_dot(g, 0, ct_lu_solve(ct_in(g, 0), ct_in(g, 1), ct_in(g, 2), B_dot, flags));
}

static const ct_op lu_solve = { .name = "lu_solve",
                                .n_in = 4,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .jvp_stacked = true,
                                .integers = 1 << 2,
                                .finite = true };

ct_var ct_lu_solve(ct_var A, ct_var LU, ct_var order, ct_var B, unsigned flags)
{
    return ct_apply(&lu_solve, (ct_var[]){ A, LU, order, B }, 4, &flags, sizeof flags);
}
