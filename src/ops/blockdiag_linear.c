/* blockdiag_linear:  y_m = x_m W_mᵀ + b_m     x: (B, M F), M blocks x_m of columns  W: (M, G, F)
 *                                             b: (M G), or none -> y: (B, M G)
 * adjoint:           x̄_m = ȳ_m W_m,  W̄_m = ȳ_mᵀ x_m,  b̄ = Σ_rows ȳ                   [Giles 2008, §2.2.2]
 *
 * A linear layer with a block-diagonal weight. Block m is a product on a view of x whose rows lie M F
 * elements apart, so all blocks are one batched product without copies. With a flag the op is y_m = x_m W_m.
 * Together with the outer products ȳ_mᵀ x_m this closes the rule under its own derivative. */
#include "jvp/jvp.h"
#include "support.h"

enum { PLAIN = 1 }; /* W_m instead of W_mᵀ */

extern const ct_op ct_op_blockdiag_linear;

static ct_var product(ct_var x, ct_var W, unsigned flags)
{
    return ct_apply(&ct_op_blockdiag_linear, (ct_var[]){ x, W }, 2, flags ? &flags : NULL, sizeof flags);
}

/* The m blocks of t (B, m n) as a batch (m, B, n) */
static ct_view blocks(ct_view t, int64_t m, int64_t n)
{
    ct_view view = t;
    view.ndim = 3;
    view.dim[0] = m, view.stride[0] = n * t.stride[1];
    view.dim[1] = t.dim[0], view.stride[1] = t.stride[0];
    view.dim[2] = n, view.stride[2] = t.stride[1];
    return view;
}

static ct_shape shape(ct_call *c)
{
    if (!ct_require(c, c->n_in == 2 || c->n_in == 3, CT_EINVAL,
                    "wanted x, W and optionally a bias, got %d inputs", c->n_in))
        return ct_shape0();
    ct_view x = ct_arg(c, 0), W = ct_arg(c, 1);
    if (!ct_require(c, x.ndim == 2 && W.ndim == 3, CT_ESHAPE,
                    "wanted x (B, M F) and W (M, G, F), a matrix and a batch of them"))
        return ct_shape0();
    bool plain = ct__flags(ct_attr(c)) & PLAIN;
    int64_t in = ct_shape_count(ct_shape2(W.dim[0], W.dim[plain ? 1 : 2])),
            out = ct_shape_count(ct_shape2(W.dim[0], W.dim[plain ? 2 : 1]));
    ct_require(c, in >= 0 && x.dim[1] == in, CT_ESHAPE,
               "x has %lld columns, the %lld blocks of W take %lld each", (long long)x.dim[1],
               (long long)W.dim[0], (long long)W.dim[plain ? 1 : 2]);
    ct_require(c, out >= 0, CT_ESHAPE, "the result has no valid shape");
    if (c->n_in == 3)
        ct_require(c, ct_arg_ndim(c, 2) == 1 && ct_arg_dim(c, 2, 0) == out, CT_ESHAPE,
                   "the bias must be a vector of M G = %lld elements", (long long)out);
    return ct_shape2(x.dim[0], out);
}

static void forward(ct_call *c)
{
    const bool plain = ct__flags(ct_attr(c)) & PLAIN;
    ct_view y = ct_result(c), W = ct_arg(c, 1), V = plain ? W : ct_view_transpose(W);
    ct_view x_m = blocks(ct_arg(c, 0), V.dim[0], V.dim[1]), y_m = blocks(y, V.dim[0], V.dim[2]);
    if (c->n_in == 3)
        ct_prim_affine(c, x_m, V, blocks(ct_view_unsqueeze(ct_arg(c, 2), 0), V.dim[0], V.dim[2]), y_m);
    else
        ct_prim_gemm(c, 1, x_m, V, 0, y_m);
}

/* outer: D_m = u_mᵀ v_m    u: (B, M G)  v: (B, M F) -> D: (M, G, F);    ū_m = v_m D̄_mᵀ,  v̄_m = u_m D̄_m */
static ct_shape outer_shape(ct_call *c) { return *(const ct_shape *)ct_attr(c); }

static void outer_forward(ct_call *c)
{
    ct_view D = ct_result(c), u = blocks(ct_arg(c, 0), D.dim[0], D.dim[1]),
            v = blocks(ct_arg(c, 1), D.dim[0], D.dim[2]);
    ct_prim_gemm(c, 1, ct_view_transpose(u), v, 0, D);
}

static void outer_vjp(ct_rule *g)
{
    ct_var D_bar = ct_out_bar(g);
    ct_in_bar(g, 0, product(ct_in(g, 1), D_bar, 0));
    ct_in_bar(g, 1, product(ct_in(g, 0), D_bar, PLAIN));
}

/* The blocks of t (B, m n), or of its tangents, as (T, m, B, n), with T = 1 for one. */
static ct_var split(const ct_rule *g, ct_var t, bool is_dot, int64_t B, int64_t m, int64_t n)
{
    const int64_t T = is_dot ? ct__max(ct__tangents(g), 1) : 1;
    const ct_shape shape = { .dim = { T, B, m, n }, .ndim = 4 };
    return ct_permute(ct_reshape(t, shape), (const int[]){ 0, 2, 1, 3 });
}

/* Ḋ_m = u̇_mᵀ v_m + u_mᵀ v̇_m */
static void outer_jvp(ct_rule *g)
{
    const ct_shape D = ct_var_shape(ct_out(g));
    const int64_t B = ct_var_shape(ct_in(g, 0)).dim[0], m = D.dim[0], G = D.dim[1], F = D.dim[2];
    for (int i = 0; i < 2; i++) {
        if (!ct_has_in_dot(g, i)) continue;
        ct_var u = split(g, i ? ct_in(g, 0) : ct_in_dot(g, 0), !i, B, m, G);
        ct_var v = split(g, i ? ct_in_dot(g, 1) : ct_in(g, 1), i, B, m, F);
        ct_give_out_dot(g, 0, ct_reshape(ct_matmul(ct_t(u), v), ct__dot_shape(g, ct_out(g))));
    }
}

static const ct_op outer_op = { .name = "blockdiag_outer",
                                .n_in = 2,
                                .shape = outer_shape,
                                .forward = outer_forward,
                                .vjp = outer_vjp,
                                .jvp = outer_jvp,
                                .jvp_stacked = true,
                                .half = true };

static ct_var outer(ct_var u, ct_var v, ct_var W)
{
    ct_shape shape_of_W = ct_var_shape(W);
    return ct_apply(&outer_op, (ct_var[]){ u, v }, 2, &shape_of_W, sizeof shape_of_W);
}

static void vjp(ct_rule *g)
{
    unsigned flags = ct__flags(ct_rule_attr(g));
    ct_var x = ct_in(g, 0), W = ct_in(g, 1), y_bar = ct_out_bar(g);
    ct_in_bar(g, 0, product(y_bar, W, flags ^ PLAIN));
    ct_in_bar(g, 1, flags & PLAIN ? outer(x, y_bar, W) : outer(y_bar, x, W));
    if (ct_rule_args(g) == 3) ct_in_bar(g, 2, ct_sum(y_bar, 0, false));
}

/* ẏ_m = ẋ_m W_mᵀ + x_m Ẇ_mᵀ + ḃ_m. The rows of several ẋ are one tall matrix. */
static void jvp(ct_rule *g)
{
    const unsigned flags = ct__flags(ct_rule_attr(g));
    const ct_var x = ct_in(g, 0), W = ct_in(g, 1);
    const ct_shape of_x = ct_var_shape(x), of_W = ct_var_shape(W), shape = ct__dot_shape(g, ct_out(g));
    const int64_t T = ct__max(ct__tangents(g), 1), B = of_x.dim[0], m = of_W.dim[0];
    if (ct_has_in_dot(g, 0)) {
        ct_var rows = ct_reshape(ct_in_dot(g, 0), ct_shape2(T * B, of_x.dim[1]));
        ct_give_out_dot(g, 0, ct_reshape(product(rows, W, flags), shape));
    }
    if (ct_has_in_dot(g, 1)) {
        ct_var W_dot = ct_in_dot(g, 1), x_m = split(g, x, false, B, m, of_W.dim[flags & PLAIN ? 1 : 2]);
        ct_var y_m = ct_matmul(x_m, flags & PLAIN ? W_dot : ct_t(W_dot)); /* (T, m, B, G) */
        ct_give_out_dot(g, 0, ct_reshape(ct_permute(y_m, (const int[]){ 0, 2, 1, 3 }), shape));
    }
    if (ct_has_in_dot(g, 2)) {
        ct_shape row = shape;
        row.dim[row.ndim - 2] = 1;
        ct_give_out_dot(g, 0, ct_reshape(ct_in_dot(g, 2), row));
    }
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 3); /* without a bias; with a bias; many blocks of few columns */
    int64_t m = v == 2 ? n : 3, rows = v == 2 ? n + 1 : 4, F = v == 2 ? 3 : n, G = v == 2 ? 1 : n + 1;
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(rows, m * F));
    ct_sample_normal(s, 1, ct_shape3(m, G, F));
    if (v) ct_sample_normal(s, 2, ct_shape1(m * G));
}

const ct_op ct_op_blockdiag_linear = { .name = "blockdiag_linear",
                                       .n_in = -1,
                                       .shape = shape,
                                       .forward = forward,
                                       .vjp = vjp,
                                       .jvp = jvp,
                                       .jvp_stacked = true,
                                       .sample = sample,
                                       .half = true };

ct_var ct_blockdiag_linear(ct_var x, ct_var W, ct_var bias)
{
    return ct_apply(&ct_op_blockdiag_linear, (ct_var[]){ x, W, bias }, bias.tape ? 3 : 2, NULL, 0);
}
