/* ridge_solve:  P = G⁻¹ Bᵀ, G = BᵀB + λ DᵀD
 *               B: (..., r, n)  D: (m, n) or (..., m, n)  λ: (...) -> P: (..., n, r)
 * adjoint:      with Z = G⁻¹ P̄:  B̄ = Zᵀ - (BZ) Pᵀ - (BP) Zᵀ,  D̄ = -λ [(DZ) Pᵀ + (DP) Zᵀ],  λ̄ = -⟨DZ, DP⟩
 *
 * From dP = G⁻¹ (dBᵀ - dG P): ⟨P̄, dP⟩ = ⟨Z, dBᵀ⟩ - ⟨Z Pᵀ, dG⟩, dG = dBᵀB + BᵀdB + dλ DᵀD + λ (dDᵀD + DᵀdD).
 * Shape and condition numbers choose between two forms (ridge_factor.c): n×n factors for each sample, or r×r
 * ones (ridge_forms.c). */
#include "ridge.h"

extern const ct_op ct_op_cast;

/* -- the op in one dtype --------------------------------------------------------------------------------- */

static ct_shape shape(ct_call *c)
{
    const ct__ridge s = ct__ridge_of(c);
    ct_require(c, s.B.ndim >= 2 && s.D.ndim >= 2, CT_ESHAPE,
               "B and D must be matrices or batches of them: ct_unsqueeze a vector");
    ct_require(c, s.n == ct_view_dim(s.D, -1), CT_ESHAPE, "B and D must have the same number of columns");
    ct_require(c, s.batch.ndim >= 0 && s.batch.ndim + 2 <= CT_MAX_DIMS, CT_ESHAPE,
               "the batch dimensions of B and D (all but the last two) and those of lambda (all) do not "
               "broadcast: from the right, extents must be equal or 1");
    ct_require(c, *(const ct_ridge_form *)ct_attr(c) != CT_RIDGE_PUSH_THROUGH || (s.shared && s.n <= s.m),
               CT_EINVAL,
               "the push-through form needs one D for the whole batch with at least as many rows as columns: "
               "use CT_RIDGE_AUTO");
    if (!ct_call_ok(c)) return ct_shape0();
    for (int k = CT__RIDGE_L; k <= CT__RIDGE_V; k++) ct_save_for_vjp(c, k, s.dtype, ct_shape2(0, 0));
    return ct__ridge_shape(&s, s.n, s.r);
}

static void forward(ct_call *c)
{
    static const ct_ridge_form forms[] = { CT_RIDGE_PRIMAL, CT_RIDGE_PUSH_THROUGH };
    const ct_ridge_form asked = *(const ct_ridge_form *)ct_attr(c);
    ct__ridge s = ct__ridge_of(c);
    ct__ridge_factor(c, s, asked);
    ct__release_scratch(c);
    s.L = ct_result_at(c, CT__RIDGE_L);
    s.R = ct_result_at(c, CT__RIDGE_R);
    s.V = ct_result_at(c, CT__RIDGE_V);
    ct_view Pt = ct_scratch(c, s.dtype, ct__ridge_shape(&s, s.r, s.n));
    const bool push = asked == CT_RIDGE_PUSH_THROUGH || (asked == CT_RIDGE_AUTO && ct_view_dim(s.R, -1) > 0);
    if (push)
        ct__ridge_push_solve(c, &s, Pt);
    else
        ct__ridge_primal_solve(c, &s, Pt);
    ct_set_result(c, 0, ct_view_transpose(Pt));
    c->attr = &forms[push]; /* records the form that was taken */
}

typedef struct bar_attr {
    ct_ridge_form form;
    bool wants[3];
} bar_attr;

/* bar(B, D, λ, L, R, V, P, P̄) -> B̄, D̄, λ̄, each empty if it is not wanted */
static ct_shape bar_shape(ct_call *c)
{
    const bar_attr *attr = ct_attr(c);
    const ct__ridge s = ct__ridge_of(c);
    const ct_shape none = ct_shape1(0), D = s.shared ? ct_view_shape(s.D) : ct__ridge_shape(&s, s.m, s.n);
    ct_more_out(c, 1, s.dtype, attr->wants[1] ? D : none);
    ct_more_out(c, 2, s.dtype, attr->wants[2] ? s.batch : none);
    return attr->wants[0] ? ct__ridge_shape(&s, s.r, s.n) : none;
}

static void bar(ct_call *c)
{
    const bar_attr *attr = ct_attr(c);
    ct__ridge s = ct__ridge_of(c);
    ct_view out[3], Pt = ct_contiguous(c, ct_view_transpose(ct_arg(c, 6))),
                    Pt_bar = ct_view_transpose(ct_arg(c, 7));
    s.L = ct_arg(c, 3);
    s.R = ct_arg(c, 4);
    s.V = ct_arg(c, 5);
    for (int k = 0; k < 3; k++) out[k] = attr->wants[k] ? ct_result_at(c, k) : ct_no_view();
    if (attr->form == CT_RIDGE_PRIMAL)
        ct__ridge_primal_bar(c, &s, Pt, Pt_bar, out[0], out[1], out[2]);
    else
        ct__ridge_push_bar(c, &s, Pt, Pt_bar, out[0], out[1], out[2]);
}

static const ct_op ridge_bar = { .name = "ridge_solve_bar", .n_in = 8, .shape = bar_shape, .forward = bar };

/* (BᵀB + λ DᵀD)⁻¹ V */
static ct_var normal_solve(const ct_rule *g, ct_var V)
{
    ct_var B = ct_in(g, 0), D = ct_in(g, 1), lambda = ct__one_by_one(ct_in(g, 2));
    ct_var G = ct_add(ct_matmul(ct_t(B), B), ct_mul(lambda, ct_matmul(ct_t(D), D)));
    return ct_cholesky_solve(ct_cholesky(G), V);
}

static void bar_in_ops(ct_rule *g)
{
    ct_var B = ct_in(g, 0), D = ct_in(g, 1), lambda = ct__one_by_one(ct_in(g, 2)), P = ct_out(g);
    ct_var Pt = ct_t(P), Z = normal_solve(g, ct_out_bar(g)), Zt = ct_t(Z);
    ct_var DZ = ct_matmul(D, Z), DP = ct_matmul(D, P);
    ct_in_bar(g, 0, ct_sub(ct_sub(Zt, ct_matmul(ct_matmul(B, Z), Pt)), ct_matmul(ct_matmul(B, P), Zt)));
    ct_in_bar(g, 1, ct_neg(ct_mul(lambda, ct_add(ct_matmul(DZ, Pt), ct_matmul(DP, Zt)))));
    ct_in_bar(g, 2, ct_neg(ct_sum(ct_sum(ct_mul(DZ, DP), -1, false), -1, false)));
}

static void vjp(ct_rule *g)
{
    if (ct_recording(g)) {
        bar_in_ops(g);
        return;
    }
    bar_attr attr = { .form = *(const ct_ridge_form *)ct_rule_attr(g) };
    for (int i = 0; i < 3; i++) attr.wants[i] = ct_wants(g, i);
    const ct_var in[] = { ct_in(g, 0),
                          ct_in(g, 1),
                          ct_in(g, 2),
                          ct_out_at(g, CT__RIDGE_L),
                          ct_out_at(g, CT__RIDGE_R),
                          ct_out_at(g, CT__RIDGE_V),
                          ct_out(g),
                          ct_out_bar(g) };
    ct_var first = ct_apply(&ridge_bar, in, 8, &attr, sizeof attr);
    for (int i = 0; i < 3; i++) ct_in_bar(g, i, ct_output(first, i));
}

/* Ṗ = G⁻¹ (Ḃᵀ - Ġ P) with G = BᵀB + λ DᵀD */
static void jvp(ct_rule *g)
{
    ct_var B = ct_in(g, 0), D = ct_in(g, 1), lambda = ct__one_by_one(ct_in(g, 2)), P = ct_out(g);
    ct_var B_dot = ct_in_dot(g, 0), D_dot = ct_in_dot(g, 1), lambda_dot = ct__one_by_one(ct_in_dot(g, 2));
    ct_var BP = ct_matmul(B, P), DP = ct_matmul(D, P);
    ct_var by_B = ct_add(ct_matmul(ct_t(B_dot), BP), ct_matmul(ct_t(B), ct_matmul(B_dot, P)));
    ct_var by_D = ct_add(ct_matmul(ct_t(D_dot), DP), ct_matmul(ct_t(D), ct_matmul(D_dot, P)));
    ct_var by_lambda = ct_mul(lambda_dot, ct_matmul(ct_t(D), DP));
    ct_var moved = ct_add(by_B, ct_add(ct_mul(lambda, by_D), by_lambda)); /* Ġ P */
    ct_give_out_dot(g, 0, normal_solve(g, ct_sub(ct_t(B_dot), moved)));
}

static const ct_op ridge_op = { .name = "ridge_solve",
                                .n_in = 3,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .finite = true };

/* -- the op ---------------------------------------------------------------------------------------------- */

/* An asynchronous device does not check conditions. There a D or an S with a condition of 1e5, as second
 * differences have, would leave no correct digits in f32, so the op computes in f64. */
static ct_var compose(ct_call *c)
{
    const ct_ridge_form form = ct_attr(c) ? *(const ct_ridge_form *)ct_attr(c) : CT_RIDGE_AUTO;
    const ct__ridge s = ct__ridge_of(c);
    const bool wide = form == CT_RIDGE_AUTO && ct__ridge_fits_push(&s) && s.dtype == CT_F32 &&
                      ct_device_is_asynchronous(ct_call_device(c));
    ct_var in[3];
    for (int i = 0; i < 3; i++) in[i] = wide ? ct_cast(ct_arg_var(c, i), CT_F64) : ct_arg_var(c, i);
    ct_var P = ct_apply(&ridge_op, in, 3, &form, sizeof form);
    return wide ? ct_cast(P, CT_F32) : P;
}

/* Four variants: a shared D of full column rank (push-through); one D for each sample; a shared wide D with
 * more rows in B; a shared λ. */
static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 4);
    ct_sample_normal(s, 0, ct_shape2(v < 2 ? 2 : 2 * n + 1, n));
    if (v == 1) ct_sample_normal(s, 1, ct_shape2(2 * n + 1, n));
    if (v == 3) ct_sample_normal(s, 1, ct_shape2(2, n)), ct_sample_unbatched(s);
    ct_sample_uniform(s, 2, ct_shape0(), 0.5, 2);
    ct_sample_unbatched(s);
    if (v == 0 || v == 2) ct_sample_normal(s, 1, ct_shape2(v == 0 ? 2 * n + 1 : 2, n));
}

const ct_op ct_op_ridge_solve = {
    .name = "ridge_solve", .n_in = 3, .compose = compose, .sample = sample, .finite = true
};

ct_var ct__ridge_solve_as(ct_var B, ct_var D, ct_var lambda, ct_ridge_form form)
{
    return ct_apply(&ct_op_ridge_solve, (ct_var[]){ B, D, lambda }, 3, &form, sizeof form);
}

ct_var ct_ridge_solve(ct_var B, ct_var D, ct_var lambda)
{
    return ct__ridge_solve_as(B, D, lambda, CT_RIDGE_AUTO);
}

ct_ridge_form ct_ridge_form_of(ct_var P)
{
    ct_tape *tape = P.tape;
    if (!tape || tape->status || P.epoch != tape->epoch || P.index >= tape->n) return CT_RIDGE_AUTO;
    const ct_node *node = &tape->node[P.index];
    if (node->op == &ct_op_cast && node->n_in) node = &tape->node[node->in[0]]; /* computed in f64 */
    return node->op == &ridge_op && node->attr ? *(const ct_ridge_form *)node->attr : CT_RIDGE_AUTO;
}
