/* inverse_diag:      d = diag(A⁻¹) by LU with partial pivoting                  A: (..., n, n) -> d: (..., n)
 * inverse_diag_spd:  by Cholesky        A: symmetric positive definite, its lower triangle is read
 * adjoint:           Ā = -A⁻ᵀ diag(d̄) A⁻ᵀ                [inverse.c, with diag(d̄) for the cotangent of A⁻¹]
 * tangent:           ḋ = -diag(A⁻¹ Ȧ A⁻¹), row sums of -A⁻¹ Ȧ ∘ A⁻ᵀ
 * From dd = diag(-A⁻¹ dA A⁻¹). If a gradient may be wanted, output 1 keeps A⁻ᵀ, n² numbers for each member.
 * For a symmetric A⁻¹ it keeps only the lower triangle, n (n + 1) / 2 numbers, if the device supports that.
 * Otherwise nothing is kept. */
#include "support.h"

#include "autograd/rule.h"

/* Which of the two an op is. */
extern const ct_op ct_op_inverse_diag_spd;
static bool is_spd(const ct_op *op) { return op == &ct_op_inverse_diag_spd; }
static bool of_spd(const ct_rule *g) { return is_spd(g->tape->node[g->index].op); }

/* A triangle is kept as one row. */
static bool is_root(ct_view v) { return ct_view_dim(v, -2) == 1 && ct_view_dim(v, -1) > 1; }

static ct_shape shape(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_shape0();
    ct_shape A = ct_arg_shape(c, 0), d = A;
    const int64_t n = ct_arg_dim(c, 0, -1), members = n ? ct_shape_count(A) / (n * n) : 0;
    const bool root = is_spd(c->op) && n > 1 && ct__keeps_root(c, members, n);
    if (ct_call_recorded(c))
        ct_save_for_vjp(c, 1, ct_arg(c, 0).dtype, root ? ct__matrix_shape(A, 1, n * (n + 1) / 2) : A);
    d.ndim--;
    return d;
}

static void forward(ct_call *c)
{
    const bool spd = is_spd(c->op), keeps = ct_outs(c) == 2;
    ct_view A = ct_arg(c, 0), d = ct_result(c), column = ct_view_unsqueeze(d, -1);
    ct_view out = keeps ? ct_result_at(c, 1) : column;
    const bool root = is_root(out);
    if (root)
        ct__potri_root(c, A, out, column);
    else if (spd)
        ct_prim_potri(c, A, out);
    else
        ct_prim_getri(c, ct_view_transpose(A), out);
    if (keeps && !root) ct_prim_copy(c, ct_view_diagonal(out), d);
    if (keeps && spd) ct__flag_singular(c, A, d, out);
    if (spd) ct__flag_singular(c, A, d, column);
}

/* A⁻ᵀ as a differentiable value */
static ct_var transposed(ct_var A, bool spd) { return ct_t(spd ? ct_inverse_spd(A) : ct_inverse(A)); }

static ct_var bar(ct_rule *g)
{
    ct_var A = ct_in(g, 0), d_bar = ct_out_bar(g);
    if (ct_recording(g)) {
        ct_var Pt = transposed(A, of_spd(g));
        return ct_neg(ct_matmul(ct_mul(Pt, ct_unsqueeze(d_bar, -2)), Pt));
    }
    ct_var kept = ct_out_at(g, 1), column = ct_unsqueeze(d_bar, -1);
    if (is_root(ct_view_of(ct_value(kept)))) return ct__inverse_bar(CT__KEPT_ROOT, kept, column);
    return ct__inverse_bar(of_spd(g) ? CT__KEPT_SYMMETRIC : CT__KEPT_INVERSE, ct_t(kept), column);
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, bar(g)); }

static void jvp(ct_rule *g)
{
    const bool spd = of_spd(g);
    ct_var Pt = ct_out_at(g, 1); /* kept by forward */
    if (ct_recording(g) || is_root(ct_view_of(ct_value(Pt)))) Pt = transposed(ct_in(g, 0), spd);
    ct_var A_dot = spd ? ct__symmetric_part(ct_in_dot(g, 0)) : ct_in_dot(g, 0);
    ct_var product = ct_mul(ct_matmul(ct_t(Pt), A_dot), Pt);
    ct_give_out_dot(g, 0, ct_neg(ct_sum(product, -1, false)));
}

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }
static void spd_sample(ct_sample *s) { ct_sample_spd(s, 0, ct_sample_size(s)); }

const ct_op ct_op_inverse_diag = { .name = "inverse_diag",
                                   .n_in = 1,
                                   .shape = shape,
                                   .forward = forward,
                                   .vjp = vjp,
                                   .jvp = jvp,
                                   .jvp_stacked = true,
                                   .sample = sample,
                                   .finite = true };
const ct_op ct_op_inverse_diag_spd = { .name = "inverse_diag_spd",
                                       .n_in = 1,
                                       .shape = shape,
                                       .forward = forward,
                                       .vjp = vjp,
                                       .jvp = jvp,
                                       .jvp_stacked = true,
                                       .sample = spd_sample,
                                       .finite = true };

ct_var ct_inverse_diag(ct_var A) { return ct_apply(&ct_op_inverse_diag, &A, 1, NULL, 0); }
ct_var ct_inverse_diag_spd(ct_var A) { return ct_apply(&ct_op_inverse_diag_spd, &A, 1, NULL, 0); }
