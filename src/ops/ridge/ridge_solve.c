/* ridge_solve:  P = G⁻¹ Bᵀ, G = BᵀB + λ DᵀD
 *               B: (..., r, n)  D: (m, n) or (..., m, n)  λ: (...) -> P: (..., n, r)
 * adjoint:      with Z = G⁻¹ P̄:  B̄ = Zᵀ - (BZ) Pᵀ - (BP) Zᵀ,  D̄ = -λ [(DZ) Pᵀ + (DP) Zᵀ],  λ̄ = -⟨DZ, DP⟩
 *
 * From dP = G⁻¹ (dBᵀ - dG P): ⟨P̄, dP⟩ = ⟨Z, dBᵀ⟩ - ⟨Z Pᵀ, dG⟩, dG = dBᵀB + BᵀdB + dλ DᵀD + λ (dDᵀD + DᵀdD).
 * Shape and condition numbers choose between two forms (ridge_factor.c): n×n factors for each sample, or r×r
 * ones (ridge_forms.c). */
#include "ridge.h"

#include "ops/jvp/jvp.h"

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
    for (int k = CT__RIDGE_L; k <= CT__RIDGE_DELTA; k++) ct_save_for_vjp(c, k, s.dtype, ct_shape2(0, 0));
    return ct__ridge_shape(&s, s.n, s.r);
}

static void forward(ct_call *c)
{
    static const ct_ridge_form forms[] = { CT_RIDGE_PRIMAL, CT_RIDGE_PUSH_THROUGH };
    const ct_ridge_form asked = *(const ct_ridge_form *)ct_attr(c);
    ct__ridge s = ct__ridge_of(c);
    ct__ridge_measure(c, &s);
    s.mu = ct_result_at(c, CT__RIDGE_MU);
    s.delta = ct_result_at(c, CT__RIDGE_DELTA);
    ct__ridge_factor(c, s, asked);
    ct__release_scratch(c);
    ct__ridge_scale(c, &s);
    s.L = ct_result_at(c, CT__RIDGE_L);
    s.R = ct_result_at(c, CT__RIDGE_R);
    s.V = ct_result_at(c, CT__RIDGE_V);
    ct_view Pt = ct_scratch(c, s.dtype, ct__ridge_shape(&s, s.r, s.n));
    const bool push = asked == CT_RIDGE_PUSH_THROUGH || (asked == CT_RIDGE_AUTO && ct_view_dim(s.R, -1) > 0);
    if (push)
        ct__ridge_push_solve(c, &s, Pt);
    else
        ct__ridge_primal_solve(c, &s, Pt);
    ct_set_result(c, 0, ct_view_transpose(ct__ridge_over_mu(c, &s, false, Pt)));
    c->attr = &forms[push]; /* records the form that was taken */
}

typedef struct bar_attr {
    ct_ridge_form form;
    bool wants[3];
} bar_attr;

/* bar(B, D, λ, L, R, V, μ, δ, P, P̄) -> B̄, D̄, λ̄, each empty if it is not wanted */
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
    s.L = ct_arg(c, 3);
    s.R = ct_arg(c, 4);
    s.V = ct_arg(c, 5);
    s.mu = ct_arg(c, 6);
    s.delta = ct_arg(c, 7);
    ct__ridge_scale(c, &s);
    ct_view out[3], Pt = ct_contiguous(c, ct__ridge_over_mu(c, &s, true, ct_view_transpose(ct_arg(c, 8)))),
                    Pt_bar = ct__ridge_over_mu(c, &s, false, ct_view_transpose(ct_arg(c, 9)));
    for (int k = 0; k < 3; k++) out[k] = attr->wants[k] ? ct_result_at(c, k) : ct_no_view();
    if (attr->form == CT_RIDGE_PRIMAL)
        ct__ridge_primal_bar(c, &s, Pt, Pt_bar, out[0], out[1], out[2]);
    else
        ct__ridge_push_bar(c, &s, Pt, Pt_bar, out[0], out[1], out[2]);
    ct__ridge_scale_bars(c, &s, out[0], out[1], out[2]);
}

static const ct_op ridge_bar = { .name = "ridge_solve_bar", .n_in = 10, .shape = bar_shape, .forward = bar };

/* -- the rules in ops, for recorded and forward sweeps --------------------------------------------------- */

static const ct_op ridge_op;

/* The inputs, λ as (..., 1, 1), P and L Lᵀ = G, in f64: G has the square of the condition of [B; √λ D], and
 * in f32 its elements may leave the range. */
typedef struct operands {
    ct_var B, D, lambda, P, L;
} operands;

static ct_var wide(ct_var v) { return ct_cast(v, CT_F64); }

/* P, but NaN and flagged where the P of the rule's factor differs from the op's by more than 0.1 %: then that
 * factor leaves no digits to derivatives. */
static ct_var where_small(ct_var difference, ct_var P)
{
    ct_var error = ct_div(ct__norm_of(ct_stop_gradient(difference)), ct__size_of(P));
    return ct__where_positive(P, ct_shift(ct_scale(error, -1000), 1), "G", /* its place is always 1 */
                              "is too ill-conditioned for a forward or recorded sweep, which squares the "
                              "condition: choose a larger lambda, or another D");
}

static operands operands_of(const ct_rule *g)
{
    const ct_ridge_form form = CT_RIDGE_AUTO;
    ct_var in[] = { wide(ct_in(g, 0)), wide(ct_in(g, 1)), wide(ct_in(g, 2)) }, P = ct_out(g);
    ct_var B = in[0], D = in[1], lambda = ct__one_by_one(in[2]);
    ct_var G = ct_add(ct_matmul(ct_t(B), B), ct_mul(lambda, ct_matmul(ct_t(D), D))), L = ct_cholesky(G);
    if (ct_var_dtype(P) == CT_F32) P = ct_apply(&ridge_op, in, 3, &form, sizeof form);
    return (operands){ B, D, lambda, where_small(ct_sub(ct_cholesky_solve(L, ct_t(B)), P), P), L };
}

static void bar_in_ops(ct_rule *g)
{
    const operands o = operands_of(g);
    const ct_dtype dtype = ct_var_dtype(ct_out(g));
    ct_var Pt = ct_t(o.P), Z = ct_cholesky_solve(o.L, wide(ct_out_bar(g))), Zt = ct_t(Z);
    ct_var BZ = ct_matmul(o.B, Z), BP = ct_matmul(o.B, o.P), DZ = ct_matmul(o.D, Z), DP = ct_matmul(o.D, o.P);
    ct_var B_bar = ct_sub(ct_sub(Zt, ct_matmul(BZ, Pt)), ct_matmul(BP, Zt));
    ct_var D_bar = ct_neg(ct_mul(o.lambda, ct_add(ct_matmul(DZ, Pt), ct_matmul(DP, Zt))));
    ct_in_bar(g, 0, ct_cast(B_bar, dtype));
    ct_in_bar(g, 1, ct_cast(D_bar, dtype));
    ct_in_bar(g, 2, ct_cast(ct_neg(ct__inner(DZ, DP)), dtype));
}

static void vjp(ct_rule *g)
{
    if (ct_recording(g)) {
        bar_in_ops(g);
        return;
    }
    bar_attr attr = { .form = *(const ct_ridge_form *)ct_rule_attr(g) };
    for (int i = 0; i < 3; i++) attr.wants[i] = ct_wants(g, i);
    ct_var in[10];
    for (int i = 0; i < 3; i++) in[i] = ct_in(g, i);
    for (int k = CT__RIDGE_L; k <= CT__RIDGE_DELTA; k++) in[2 + k] = ct_out_at(g, k);
    in[8] = ct_out(g), in[9] = ct_out_bar(g);
    ct_var first = ct_apply(&ridge_bar, in, 10, &attr, sizeof attr);
    for (int i = 0; i < 3; i++) ct_in_bar(g, i, ct_output(first, i));
}

/* The tangent of input i in f64, with as many dimensions as P has, the last of them `ones`, and T before
 * them. */
static ct_var dot_of(ct_rule *g, int i, int ones)
{
    const ct_shape own = ct_var_shape(ct_in(g, i));
    const int64_t T = ct__tangents(g);
    ct_shape shape = { .ndim = ct_var_shape(ct_out(g)).ndim + (T > 0) };
    for (int k = 0; k < shape.ndim; k++) shape.dim[k] = k || !T ? 1 : T;
    memcpy(shape.dim + shape.ndim - ones - own.ndim, own.dim, (size_t)own.ndim * sizeof *own.dim);
    return wide(ct_reshape(ct_in_dot(g, i), shape));
}

/* Ṗ = G⁻¹ (Ḃᵀ - Ġ P) with G = BᵀB + λ DᵀD */
static void jvp(ct_rule *g)
{
    const operands o = operands_of(g);
    ct_var B_dot = dot_of(g, 0, 0), D_dot = dot_of(g, 1, 0), lambda_dot = dot_of(g, 2, 2);
    ct_var BP = ct_matmul(o.B, o.P), DP = ct_matmul(o.D, o.P), Bt = ct_t(o.B), Dt = ct_t(o.D);
    ct_var by_B = ct_add(ct_matmul(ct_t(B_dot), BP), ct_matmul(Bt, ct_matmul(B_dot, o.P)));
    ct_var by_D = ct_add(ct_matmul(ct_t(D_dot), DP), ct_matmul(Dt, ct_matmul(D_dot, o.P)));
    ct_var by_lambda = ct_mul(lambda_dot, ct_matmul(Dt, DP));
    ct_var moved = ct_add(by_B, ct_add(ct_mul(o.lambda, by_D), by_lambda)); /* Ġ P */
    ct_var P_dot = ct_cholesky_solve(o.L, ct_sub(ct_t(B_dot), moved));
    ct_give_out_dot(g, 0, ct_cast(P_dot, ct_var_dtype(ct_out(g))));
}

static const ct_op ridge_op = { .name = "ridge_solve",
                                .n_in = 3,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .jvp_stacked = true,
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
