/* cov:      K_ij = k(x_i, z_j)      theta (..., P), X (..., n, d), Z (..., m, d) -> (..., n, m)
 * adjoint:  theta_bar_p = Σ_ij K̄_ij ∂K_ij/∂theta_p,   x̄_i = Σ_j K̄_ij ∂k(x_i, z_j)/∂x_i,   z̄_j likewise
 * tangent:  K̇_ij = Σ_p theta_dot_p ∂K_ij/∂theta_p + ⟨ẋ_i, ∂K_ij/∂x_i⟩ + ⟨ż_j, ∂K_ij/∂z_j⟩
 *
 * One primitive in each direction computes entries and derivatives tile by tile and stores neither distances
 * nor ∂K. k is symmetric, so z̄ is x̄ with X and Z exchanged. With two inputs, theta and X, the matrix
 * is K(X, X). */
#include "cov_call.h"
#include "cov_compose.h"

/* Input i; no view in the symmetric case, which has no Z. */
static ct_view other(const ct_call *c, int i) { return i < ct_args(c) ? ct_arg(c, i) : ct_no_view(); }

/* -- backward: inputs K̄, theta, X [, Z] ----------------------------------------------------------------- */

typedef struct wanted {
    const ct_cov_program *program; /* of the recorded call */
    bool theta, x;                 /* output 0 is the first of them that is requested */
} wanted;

static const int own_of_bar[] = { 2, 1, 2, 2 };

static ct_shape bar_shape(ct_call *c)
{
    const wanted *w = ct_attr(c);
    const ct_shape batch = ct_batch_shape(c, own_of_bar);
    const ct_shape theta = ct__in_batch(batch, ct_shape1(ct_arg_dim(c, 1, -1)));
    const ct_shape x = ct__in_batch(batch, ct_shape2(ct_arg_dim(c, 2, -2), ct_arg_dim(c, 2, -1)));
    if (w->theta && w->x) ct_more_out(c, 1, ct_arg(c, 2).dtype, x);
    return w->theta ? theta : x;
}

static void bar_member(ct_call *c)
{
    const wanted *w = ct_attr(c);
    ct_view theta_bar = w->theta ? ct_result(c) : ct_no_view();
    ct_view x_bar = w->x ? ct_result_at(c, w->theta) : ct_no_view();
    const ct_cov_bar K_bar = { .M = ct_arg(c, 0), .alpha = 1 };
    ct_prim_covariance_bar(c, w->program, ct_arg(c, 1), ct_arg(c, 2), other(c, 3), &K_bar, false, theta_bar,
                           x_bar);
}

static void bar_forward(ct_call *c)
{
    ct_each_member(c, own_of_bar, ct_arg_dim(c, 2, -2) <= CT__SMALL, bar_member);
}

static const ct_op bar_op = { .name = "cov_bar", .n_in = -1, .shape = bar_shape, .forward = bar_forward };

/* Gives the requested cotangents of theta (input 0) and of points (input x). */
static void give(ct_rule *g, ct_var K_bar, int x, int z, wanted w)
{
    ct_var in[4] = { K_bar, ct_in(g, 0), ct_in(g, x), z < 0 ? K_bar : ct_in(g, z) };
    ct_var bar = ct_apply(&bar_op, in, z < 0 ? 3 : 4, &w, sizeof w);
    if (w.theta) ct_give_in_bar(g, 0, bar);
    if (w.x) ct_give_in_bar(g, x, ct_output(bar, w.theta));
}

/* -- the op ---------------------------------------------------------------------------------------------- */

static const int own[] = { 1, 2, 2 };

static ct_shape shape(ct_call *c)
{
    const int n = ct_args(c);
    if (!ct_require(c, n == 2 || n == 3, CT_EINVAL, "takes theta, X and perhaps Z") ||
        !ct__cov_accepts(c, n - 1))
        return ct_shape0();
    return ct__in_batch(ct_batch_shape(c, own), ct_shape2(ct_arg_dim(c, 1, -2), ct_arg_dim(c, n - 1, -2)));
}

static void member(ct_call *c)
{
    ct_prim_covariance(c, ct_attr(c), ct_arg(c, 0), ct_arg(c, 1), other(c, 2), false, ct_result(c));
}

static void forward(ct_call *c) { ct_each_member(c, own, ct_arg_dim(c, 1, -2) <= CT__SMALL, member); }

static ct_var compose(const ct_cov_program *program, const ct_var *in)
{
    return ct__cov_compose(program, in[0], in[1], in[2], true);
}

static void vjp(ct_rule *g)
{
    const ct_cov_program *p = ct_rule_attr(g);
    if (ct_recording(g)) {
        ct_var bar[3];
        if (!ct__recorded_bars(g, compose, bar)) return;
        for (int i = 0; i < ct_rule_args(g); i++) ct_in_bar(g, i, bar[i]);
        return;
    }
    const int z = ct_rule_args(g) == 3 ? 2 : -1;
    const bool theta = ct_wants(g, 0), x = ct_wants(g, 1), at_z = z > 0 && ct_wants(g, z);
    ct_var K_bar = ct_out_bar(g);
    if (x || (theta && !at_z)) give(g, K_bar, 1, z, (wanted){ p, theta, x });
    if (at_z) give(g, ct_t(K_bar), z, 1, (wanted){ p, theta && !x, true });
}

static void jvp(ct_rule *g) { ct_give_out_dot(g, 0, ct__composed_dot(g, compose)); }

static void sample(ct_sample *s) { ct__cov_sample(s, true); }

const ct_op ct_op_cov = { .name = "cov",
                          .n_in = -1,
                          .shape = shape,
                          .forward = forward,
                          .vjp = vjp,
                          .jvp = jvp,
                          .jvp_stacked = true,
                          .sample = sample };

ct_var ct_cov(const ct_kernel *k, ct_var theta, ct_var X, ct_var Z)
{
    bool same = X.tape == Z.tape && X.index == Z.index && X.epoch == Z.epoch;
    return ct__cov_apply(&ct_op_cov, k, (ct_var[]){ theta, X, Z }, same ? 2 : 3);
}
