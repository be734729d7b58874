/* ridge_solve:  P = G⁻¹ Bᵀ, G = BᵀB + λ DᵀD
 *               B: (..., r, n)  D: (m, n) or (..., m, n)  λ: (...) -> P: (..., n, r)
 * adjoint:      with Z = G⁻¹ P̄:  B̄ = Zᵀ - (BZ) Pᵀ - (BP) Zᵀ,  D̄ = -λ [(DZ) Pᵀ + (DP) Zᵀ],  λ̄ = -⟨DZ, DP⟩
 *
 * From dP = G⁻¹ (dBᵀ - dG P): ⟨P̄, dP⟩ = ⟨Z, dBᵀ⟩ - ⟨Z Pᵀ, dG⟩, dG = dBᵀB + BᵀdB + dλ DᵀD + λ (dDᵀD + DᵀdD).
 * There are two forms, chosen by shape and conditions: n×n factors for each sample, or r×r ones
 * (ridge_forms.c). */
#include "ridge.h"

#include <float.h>
#include <math.h>

/* -- factor(B, D, λ): L, R, V of ridge.h. Constants: the rule differentiates through the formula above --- */

static ct_shape factor_shape(ct_call *c)
{
    ct_more_out(c, 1, ct_arg(c, 0).dtype, ct_shape2(0, 0));
    ct_more_out(c, 2, ct_arg(c, 0).dtype, ct_shape2(0, 0));
    return ct_shape0();
}

static ct_view output(ct_call *c, int k, ct_dtype dtype, ct_shape batch_of, int64_t rows, int64_t cols)
{
    ct_view v = ct_scratch(c, dtype, ct__matrix_shape(batch_of, rows, cols));
    ct_set_result(c, k, v);
    return v;
}

/* 1/κ of L Lᵀ for the worst member of L, lower with n rows. κ₁(L) is about √n times κ₂(L). */
static double rcond_of_square(ct_call *c, ct_view L, int64_t n)
{
    const double rcond = ct__ridge_rcond(c, ct_view_transpose(L));
    return (double)n * rcond * rcond;
}

/* The push-through form loses κ(S) or κ(D) units of rounding, whichever is larger. The primal form loses
 * κ(G), or after its refinement κ(G)² ε or √κ(G), whichever is larger. κ(G) is known only after n×n factors
 * of every sample, so if κ(S) and κ(D) are good enough, they decide alone. A device that computes
 * asynchronously is not asked for conditions, since that would wait; it flags samples that have lost too many
 * digits. */
static void push_or_primal(ct_call *c, const ct__ridge *s, ct__ridge_call *a, ct_shape batch)
{
    const double eps = s->dtype == CT_F32 ? FLT_EPSILON : DBL_EPSILON,
                 enough = s->dtype == CT_F32 ? 1e-2 : 1e-4;
    const bool late = ct_device_computes_late(ct_call_device(c));
    const double rcond_D = late ? 1 : ct__ridge_rcond(c, a->R);
    ct_failure *failure = ct__call_failure(c), before = *failure;
    double rcond = 0;
    if (rcond_D > eps) {
        ct_view V = output(c, 2, s->dtype, ct_view_shape(a->B), s->r, s->n),
                L = output(c, 0, s->dtype, batch, s->r, s->r);
        ct__ridge_push_factor(c, s, a, V, L);
        if (late) {
            ct__ridge_flag(c, L, sqrt(CT__RIDGE_LEAST / (double)s->r));
            return;
        }
        const double rcond_S = rcond_of_square(c, L, s->r);
        if (!ct_call_fine(c) || (rcond_D >= sqrt(eps) && rcond_S >= enough)) return;
        rcond = fmin(rcond_D, rcond_S);
    }
    const ct_failure pushed = *failure;
    ct_view L = ct_scratch(c, s->dtype, ct__matrix_shape(batch, s->n, s->n));
    *failure = before;
    ct__ridge_primal_factor(c, s, a, L);
    const double rcond_G = rcond_of_square(c, L, s->n),
                 refined = fmin(rcond_G * rcond_G / eps, sqrt(rcond_G));
    if (rcond_D > eps && !(fmax(rcond_G, refined) > rcond)) {
        *failure = pushed;
        return;
    }
    ct_set_result(c, 0, L);
    for (int k = 1; k <= 2; k++) output(c, k, s->dtype, ct_shape2(0, 0), 0, 0);
}

/* One D for all, r < n, and enough rows for full column rank. */
static bool fits_push_through(const ct__ridge *s) { return s->shared && s->r < s->n && s->n <= s->m; }

/* lambda; where it is not positive NaN, which makes the results NaN, and flagged. */
static ct_view positive(ct_call *c, ct_view lambda)
{
    ct_view copy = ct_scratch(c, lambda.dtype, ct_view_shape(lambda));
    ct_prim_copy(c, lambda, copy);
    ct_prim_flag(c, CT_POSITIVE, ct_view_unsqueeze(ct_view_unsqueeze(lambda, -1), -1), "lambda",
                 "is not positive: choose a larger one", ct_view_unsqueeze(ct_view_unsqueeze(copy, -1), -1));
    return copy;
}

static void factor_in_form(ct_call *c, ct_view lambda)
{
    ct_ridge_form form = *(const ct_ridge_form *)ct_attr(c);
    ct__ridge_call a = { .B = ct_arg(c, 0), .D = ct_arg(c, 1), .lambda = lambda };
    ct__ridge s = ct__ridge_of(a.B, a.D, ct_arg(c, 2));
    ct_shape batch = s.batch, one = ct_shape2(0, 0);
    batch.ndim += 2;
    if (form == CT_RIDGE_PRIMAL || (form == CT_RIDGE_AUTO && !fits_push_through(&s))) {
        ct__ridge_primal_factor(c, &s, &a, output(c, 0, s.dtype, batch, s.n, s.n));
        return;
    }
    a.R = output(c, 1, s.dtype, one, s.n, s.n);
    ct__ridge_triangle(c, &s, a.D, form == CT_RIDGE_AUTO, a.R);
    if (form == CT_RIDGE_AUTO) {
        push_or_primal(c, &s, &a, batch);
        return;
    }
    ct_view V = output(c, 2, s.dtype, ct_view_shape(a.B), s.r, s.n);
    ct__ridge_push_factor(c, &s, &a, V, output(c, 0, s.dtype, batch, s.r, s.r));
}

static void factor(ct_call *c)
{
    static const char why[] =
        "is not positive: lambda is not, there is NaN, or B and D share a null space to working "
        "precision; choose a larger lambda, or another D";
    static const char why_late[] = "is not positive: lambda is not, there is NaN, B and D share a null space "
                                   "to working precision, or D's columns depend on one another, or are weak "
                                   "where B is not, for which a GPU looks for no other form; choose a larger "
                                   "lambda, another D, one for each sample, or compute on the CPU";
    ct_view lambda = positive(c, ct_arg(c, 2));
    ct_failure *failure = ct__call_failure(c);
    const bool failed_before = failure->set;
    factor_in_form(c, lambda);
    if (failure->suspected || (failure->set && !failed_before))
        failure->why = failure->suspected ? why_late : why;
}

static const ct_op ridge_factor = {
    .name = "ridge_solve", .n_in = 3, .shape = factor_shape, .forward = factor
};

/* -- apply(B, D, λ, L, R, V): P, its rule, and the rule's fused form ------------------------------------- */

static ct__ridge_call apply_call(ct_call *c)
{
    return (ct__ridge_call){ ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2),
                             ct_arg(c, 3), ct_arg(c, 4), ct_arg(c, 5) };
}

static ct_shape apply_shape(ct_call *c)
{
    ct__ridge s = ct__ridge_of(ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2));
    s.batch.ndim += 2;
    return ct__matrix_shape(s.batch, s.n, s.r);
}

static void apply(ct_call *c)
{
    ct__ridge_call a = apply_call(c);
    ct__ridge s = ct__ridge_of(a.B, a.D, a.lambda);
    s.batch.ndim += 2;
    ct_view Pt = ct_scratch(c, s.dtype, ct__matrix_shape(s.batch, s.r, s.n));
    s.batch.ndim -= 2;
    if (*(const ct_ridge_form *)ct_attr(c) == CT_RIDGE_PRIMAL)
        ct__ridge_primal_solve(c, &s, &a, Pt);
    else
        ct__ridge_push_solve(c, &s, &a, Pt);
    ct_set_result(c, 0, ct_view_transpose(Pt));
}

typedef struct bar_attr {
    ct_ridge_form form;
    bool wants[3];
} bar_attr;

/* bar(B, D, λ, L, R, V, P, P̄): B̄, D̄, λ̄, each empty if nobody wants it */
static ct_shape bar_shape(ct_call *c)
{
    const bar_attr *attr = ct_attr(c);
    ct__ridge s = ct__ridge_of(ct_arg(c, 0), ct_arg(c, 1), ct_arg(c, 2));
    ct_shape none = ct_shape1(0), lambda = s.batch, batch = s.batch;
    batch.ndim += 2;
    ct_shape D = s.shared ? ct_arg_shape(c, 1) : ct__matrix_shape(batch, s.m, s.n);
    ct_more_out(c, 1, s.dtype, attr->wants[1] ? D : none);
    ct_more_out(c, 2, s.dtype, attr->wants[2] ? lambda : none);
    return attr->wants[0] ? ct__matrix_shape(batch, s.r, s.n) : none;
}

static void bar(ct_call *c)
{
    const bar_attr *attr = ct_attr(c);
    ct__ridge_call a = apply_call(c);
    ct__ridge s = ct__ridge_of(a.B, a.D, a.lambda);
    ct_view out[3], Pt = ct_contiguous(c, ct_view_transpose(ct_arg(c, 6))),
                    Pt_bar = ct_view_transpose(ct_arg(c, 7));
    for (int k = 0; k < 3; k++) out[k] = attr->wants[k] ? ct_result_at(c, k) : ct_no_view();
    if (attr->form == CT_RIDGE_PRIMAL)
        ct__ridge_primal_bar(c, &s, &a, Pt, Pt_bar, out[0], out[1], out[2]);
    else
        ct__ridge_push_bar(c, &s, &a, Pt, Pt_bar, out[0], out[1], out[2]);
}

static const ct_op ridge_bar = { .name = "ridge_solve_bar", .n_in = 8, .shape = bar_shape, .forward = bar };

/* λ (...) as (..., 1, 1) */
static ct_var beside_matrices(ct_var lambda) { return ct_unsqueeze(ct_unsqueeze(lambda, -1), -1); }

static void bar_in_ops(ct_vjp *g)
{
    ct_var B = ct_in(g, 0), D = ct_in(g, 1), lambda = beside_matrices(ct_in(g, 2)), P = ct_out(g);
    ct_var Bt = ct_t(B), Dt = ct_t(D), Pt = ct_t(P);
    ct_var L = ct_cholesky(ct_add(ct_matmul(Bt, B), ct_mul(lambda, ct_matmul(Dt, D))));
    ct_var Z = ct_cholesky_solve(L, ct_out_bar(g)), Zt = ct_t(Z);
    ct_var DZ = ct_matmul(D, Z), DP = ct_matmul(D, P);
    ct_in_bar(g, 0, ct_sub(ct_sub(Zt, ct_matmul(ct_matmul(B, Z), Pt)), ct_matmul(ct_matmul(B, P), Zt)));
    ct_in_bar(g, 1, ct_neg(ct_mul(lambda, ct_add(ct_matmul(DZ, Pt), ct_matmul(DP, Zt)))));
    ct_in_bar(g, 2, ct_neg(ct_sum(ct_sum(ct_mul(DZ, DP), -1, false), -1, false)));
}

static void vjp(ct_vjp *g)
{
    if (ct_recording(g)) {
        bar_in_ops(g);
        return;
    }
    bar_attr attr = { .form = *(const ct_ridge_form *)ct_vjp_attr(g) };
    ct_var in[8];
    for (int i = 0; i < 6; i++) in[i] = ct_in(g, i);
    for (int i = 0; i < 3; i++) attr.wants[i] = ct_wants(g, i);
    in[6] = ct_out(g);
    in[7] = ct_out_bar(g);
    ct_var first = ct_apply(&ridge_bar, in, 8, &attr, sizeof attr);
    for (int i = 0; i < 3; i++) ct_in_bar(g, i, ct_output(first, i));
}

static const ct_op ridge_apply = {
    .name = "ridge_solve", .n_in = 6, .shape = apply_shape, .forward = apply, .vjp = vjp
};

/* -- the op ---------------------------------------------------------------------------------------------- */

static bool refuse(ct_tape *tape, ct_status status, const char *reason)
{
    ct_tape_fail(tape, status, "%s", reason);
    return false;
}

static bool inputs_fit(ct_tape *tape, const ct_var *in, ct_ridge_form form)
{
    ct_view B = ct_view_of(ct_value(in[0])), D = ct_view_of(ct_value(in[1])),
            lambda = ct_view_of(ct_value(in[2]));
    if (!ct_is_view(B) || !ct_is_view(D) || !ct_is_view(lambda)) return false;
    if (B.dtype == CT_I64 || D.dtype == CT_I64 || lambda.dtype == CT_I64)
        return refuse(tape, CT_EDTYPE, "an input is i64, wanted f64 or f32: ct_cast it");
    if (B.ndim < 2 || D.ndim < 2)
        return refuse(tape, CT_ESHAPE, "B and D must be matrices or batches of them: ct_unsqueeze a vector");
    if (ct_view_dim(B, -1) != ct_view_dim(D, -1))
        return refuse(tape, CT_ESHAPE, "B and D must have the same number of columns");
    ct__ridge s = ct__ridge_of(B, D, lambda);
    if (s.batch.ndim < 0 || s.batch.ndim + 2 > CT_MAX_DIMS)
        return refuse(
            tape, CT_ESHAPE,
            "the batch dimensions of B and D (all but the last two) and those of lambda (all) do not "
            "broadcast: from the right, extents must be equal or 1");
    if (form == CT_RIDGE_PUSH_THROUGH && !(s.shared && s.n <= s.m))
        return refuse(tape, CT_EINVAL,
                      "the push-through form needs one D for the whole batch with at least as many rows as "
                      "columns: use CT_RIDGE_AUTO");
    return true;
}

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    ct_ridge_form form = attr ? *(const ct_ridge_form *)attr : CT_RIDGE_AUTO;
    if (!inputs_fit(tape, in, form)) return ct_none();
    const ct__ridge s =
        ct__ridge_of(ct_view_of(ct_value(in[0])), ct_view_of(ct_value(in[1])), ct_view_of(ct_value(in[2])));
    /* Without a check of conditions, a D or an S of condition 1e5, as of second differences, would leave no
     * correct digits in f32. */
    if (form == CT_RIDGE_AUTO && fits_push_through(&s) && s.dtype == CT_F32 &&
        ct_device_computes_late(ct_tape_device(tape))) {
        ct_var wide[3];
        for (int i = 0; i < n_in; i++) wide[i] = ct_cast(in[i], CT_F64);
        return ct_cast(compose(tape, wide, n_in, attr), CT_F32);
    }
    ct_var L = ct_apply(&ridge_factor, in, 3, &form, sizeof form), R = ct_output(L, 1), V = ct_output(L, 2);
    const ct_tensor *triangle = ct_value(R);
    if (!triangle) return ct_none();
    bool push = form == CT_RIDGE_PUSH_THROUGH || (form == CT_RIDGE_AUTO && ct_tensor_dim(triangle, 0) > 0);
    form = push ? CT_RIDGE_PUSH_THROUGH : CT_RIDGE_PRIMAL;
    return ct_apply(&ridge_apply, (ct_var[]){ in[0], in[1], in[2], L, R, V }, 6, &form, sizeof form);
}

/* One D of full column rank (push-through); one D for each sample; one wide D for all, with more rows in B;
 * one λ for all. */
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

const ct_op ct_op_ridge_solve = { .name = "ridge_solve", .n_in = 3, .compose = compose, .sample = sample };

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
    if (node->op == &ct_op_cast) node = &tape->node[node->in[0]]; /* computed in f64 */
    return node->op == &ridge_apply && node->attr ? *(const ct_ridge_form *)node->attr : CT_RIDGE_AUTO;
}
