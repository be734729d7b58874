/* eigh:     A V = V diag(w), VᵀV = I, w ascending     A: (..., n, n) symmetric, its lower triangle is read
 *                                                     -> w: (..., n), V: (..., n, n), columns are vectors
 * adjoint:  Ā = V (diag(w̄) + F∘S) Vᵀ,  S = ½ (T - Tᵀ),  T = Vᵀ V̄,  F_ij = 1 / (w_j - w_i)
 * tangent:  ẇ = diag(K),  V̇ = V (F∘K),  K = Vᵀ Ȧ V                                     [Giles 2008, §3.1]
 * From A V = V W with dV = V P, P skew: Vᵀ dA V = dW + P W - W P, so dw_i = K_ii and P_ij = F_ij K_ij.
 *
 * F is 0 for pairs of eigenvalues that differ by rounding. Their vectors may be turned among each other, so
 * a loss that depends on the turn has no gradient: S_ij is not 0, and the member is flagged. One that reads
 * both w and V may have a gradient there, which w̄ and V̄ do not determine (C in tr(C V h(w) Vᵀ) may have an
 * ij-part whose factor h'(w) neither shows): it is flagged, too, if it reads one of the pair. */
#include "gaps.h"

#define VALUE "eigenvalue %lld"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_shape0();
    ct_shape A = ct_arg_shape(c, 0), w = A;
    w.ndim--;
    ct_more_out(c, 1, ct_arg(c, 0).dtype, A);
    return w;
}

static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), V = ct_scratch(c, A.dtype, ct_view_shape(A)); /* rows are vectors */
    ct_prim_copy(c, A, V);
    ct_prim_eigen(c, V, ct_view_unsqueeze(ct_result(c), -2));
    ct_prim_map2(c, CT_MAP_mul, V, ct__signs(c, V), V);
    ct_set_result(c, 1, ct_view_transpose(V));
}

/* F, and in *near 1 for pairs of eigenvalues that differ by rounding (each with itself, too), else 0. */
static ct_var inverse_gaps(ct_var w, ct_var *near)
{
    return ct__inverse_beyond(ct_sub(ct_unsqueeze(w, -2), ct_unsqueeze(w, -1)), ct__gap_rounding(w), near);
}

/* The number of near pairs of each eigenvalue in which X is not rounding, (..., n, 1). */
static ct_var turned(ct_var X, ct_var T, ct_var near)
{
    return ct_sum(ct_mul(near, ct__not_rounding(X, T)), -1, true);
}

static void vjp(ct_rule *g)
{
    ct_var w = ct_out(g), V = ct_out_at(g, 1), w_bar = ct_out_bar(g), near, M;
    if (!ct_tensor_dim(ct_value(V), -1)) {
        ct_in_bar(g, 0, ct_in(g, 0)); /* no elements */
        return;
    }
    if (!ct_has_out_bar(g, 1)) {
        M = ct_matmul(ct_mul(V, ct_unsqueeze(w_bar, -2)), ct_t(V));
    } else {
        ct_var F = inverse_gaps(w, &near), T = ct_matmul(ct_t(V), ct_out_bar_at(g, 1));
        ct_var S = ct_scale(ct_sub(T, ct_t(T)), 0.5), bad = turned(S, T, near);
        if (ct_has_out_bar(g, 0)) { /* where w_i or v_i is read, the number of others near w_i */
            ct_var others = ct_shift(ct_sum(near, -1, true), -1);
            bad = ct_add(bad, ct_mul(others, ct__is_read(w_bar, ct_out_bar_at(g, 1))));
        }
        M = ct_add_diag(ct_mul(F, ct__unless(bad, S, VALUE)), w_bar);
        M = ct_matmul(V, ct_matmul(M, ct_t(V)));
    }
    ct_in_bar(g, 0, ct__symmetric_part(M));
}

static void jvp(ct_rule *g)
{
    ct_var w = ct_out(g), V = ct_out_at(g, 1), near;
    if (!ct_tensor_dim(ct_value(V), -1)) return;
    ct_var K = ct_matmul(ct_t(V), ct_matmul(ct__symmetric_part(ct_in_dot(g, 0)), V)), w_dot = ct_diag(K);
    ct_give_out_dot(g, 0, w_dot);
    if (!ct_wants_out_dot(g, 1)) return;
    ct_var F = inverse_gaps(w, &near), others = ct_sub(K, ct_diag_embed(w_dot));
    ct_give_out_dot(g, 1, ct_matmul(V, ct_mul(F, ct__unless(turned(others, K, near), others, VALUE))));
}

/* Of more rows some eigenvalues are too close for differences. */
static void sample(ct_sample *s)
{
    const int64_t n = ct_sample_size(s);
    ct_sample_spd(s, 0, n < 32 ? n : 32);
}

const ct_op ct_op_eigh = { .name = "eigh",
                           .n_in = 1,
                           .shape = shape,
                           .forward = forward,
                           .vjp = vjp,
                           .jvp = jvp,
                           .sample = sample,
                           .jvp_stacked = true,
                           .finite = true };

ct_var ct_eigh(ct_var A, ct_var *V)
{
    ct_var w = ct_apply(&ct_op_eigh, &A, 1, NULL, 0);
    if (V) *V = ct_output(w, 1);
    return w;
}
