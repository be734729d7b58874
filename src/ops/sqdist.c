/* sqdist:   D_ij = |x_i - y_j|²           x: (..., n, d)  y: (..., m, d) -> D: (..., n, m), batches broadcast
 * adjoint:  x̄_i = 2 Σ_j D̄_ij (x_i - y_j) = 2 (D̄ 1 ∘ x - D̄ y)_i
 *           ȳ_j = 2 Σ_i D̄_ij (y_j - x_i) = 2 (D̄ᵀ 1 ∘ y - D̄ᵀ x)_j   [dD_ij = 2 (x_i - y_j)ᵀ (dx_i - dy_j)]
 * tangent:  Ḋ_ij = 2 (x_i - y_j)ᵀ (ẋ_i - ẏ_j)
 *
 * The rule is two matrix products. D depends on differences only. So the rule first subtracts the centre of y
 * from both sets, and a common offset costs no digits. The centre is an arbitrary constant and is not
 * differentiated. */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0)) return ct_shape0();
    long long d = ct_arg_dim(c, 0, -1), e = ct_arg_dim(c, 1, -1);
    ct_require(c, d == e, CT_ESHAPE,
               "the points have %lld and %lld coordinates: give both the same columns, one row per point", d,
               e);
    return ct__need_batch(c, 0, 1, ct_arg_dim(c, 0, -2), ct_arg_dim(c, 1, -2));
}

static void forward(ct_call *c) { ct_prim_sqdist(c, ct_arg(c, 0), ct_arg(c, 1), ct_result(c)); }

static void centred(const ct_rule *g, ct_var *x, ct_var *y)
{
    const int64_t m = ct_tensor_dim(ct_value(ct_in(g, 1)), -2);
    ct_var centre = ct_stop_gradient(ct_scale(ct_sum(ct_in(g, 1), -2, true), 1 / (double)(m > 0 ? m : 1)));
    *x = ct_sub(ct_in(g, 0), centre);
    *y = ct_sub(ct_in(g, 1), centre);
}

static void vjp(ct_rule *g)
{
    ct_var x, y, D_bar = ct_scale(ct_out_bar(g), 2);
    centred(g, &x, &y);
    ct_in_bar(g, 0, ct_sub(ct_mul(ct_sum(D_bar, -1, true), x), ct_matmul(D_bar, y)));
    if (!ct_wants(g, 1)) return;
    D_bar = ct_t(D_bar);
    ct_in_bar(g, 1, ct_sub(ct_mul(ct_sum(D_bar, -1, true), y), ct_matmul(D_bar, x)));
}

/* 2 (Σ x ∘ ẋ - ẋ yᵀ) + 2 (Σ y ∘ ẏ - x ẏᵀ) */
static void jvp(ct_rule *g)
{
    ct_var x, y;
    centred(g, &x, &y);
    if (ct_has_in_dot(g, 0)) {
        ct_var dot = ct_scale(ct_in_dot(g, 0), 2);
        ct_give_out_dot(g, 0, ct_sub(ct_sum(ct_mul(x, dot), -1, true), ct_matmul(dot, ct_t(y))));
    }
    if (ct_has_in_dot(g, 1)) {
        ct_var dot = ct_scale(ct_in_dot(g, 1), 2);
        ct_give_out_dot(g, 0, ct_sub(ct_t(ct_sum(ct_mul(y, dot), -1, true)), ct_matmul(x, ct_t(dot))));
    }
}

static void draw(ct_sample *s, int i) { ct_sample_normal(s, i, ct_shape2(ct_sample_size(s) + i, 3)); }

static void draw_coinciding(ct_sample *s, int i)
{
    ct_sample_among(s, i, ct_shape2(ct_sample_size(s) + i, 3), (const double[]){ 0, 1 }, 2);
}

static void sample(ct_sample *s)
{
    const int v = ct_sample_variant(s, 3); /* with 1, one set of points against a batch */
    ct__sample_pair(s, v == 1 ? 2 : 0, v == 2 ? draw_coinciding : draw);
}

const ct_op ct_op_sqdist = { .name = "sqdist",
                             .n_in = 2,
                             .shape = shape,
                             .forward = forward,
                             .vjp = vjp,
                             .jvp = jvp,
                             .jvp_stacked = true,
                             .sample = sample };

ct_var ct_sqdist(ct_var x, ct_var y) { return ct_apply(&ct_op_sqdist, (ct_var[]){ x, y }, 2, NULL, 0); }
