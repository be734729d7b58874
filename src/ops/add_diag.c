/* add_diag:  Y = A + diag(d)     A: (..., n, n)  d: (..., n), or one element: Y = A + d I; batches broadcast
 * adjoint:   Ā = Ȳ,  d̄_i = Ȳ_ii, or their sum for one element    [⟨Ȳ, diag(dd)⟩ = Σ_i Ȳ_ii dd_i]
 * tangent:  Ẏ = Ȧ + diag(ḋ) */
#include "support.h"

#include "jvp/jvp.h"

static ct_shape shape(ct_call *c)
{
    ct_shape A = ct_arg_shape(c, 0), d = ct_arg_shape(c, 1);
    if (!ct__need_square(c, 0) || ct_shape_count(d) == 1) return A;
    ct_shape fits = ct_shape_broadcast(ct_shape_of(A.ndim - 1, A.dim), d);
    int64_t n = A.dim[A.ndim - 1];
    if (!ct_require(c, fits.ndim > 0 && fits.ndim < CT_MAX_DIMS && fits.dim[fits.ndim - 1] == n, CT_ESHAPE,
                    "the diagonal must have %lld elements (or one), with batch dimensions that broadcast",
                    (long long)n))
        return A;
    fits.ndim++;
    return ct__matrix_shape(fits, n, n);
}

static void forward(ct_call *c)
{
    ct_view d = ct_arg(c, 1), Y = ct_result(c), diagonal = ct_view_diagonal(Y);
    if (ct_view_count(d) == 1) d = ct_view_reshape(d, ct_shape0());
    ct_prim_copy(c, ct_arg(c, 0), Y);
    ct_prim_map2(c, CT_MAP_add, diagonal, d, diagonal);
}

static void vjp(ct_rule *g)
{
    ct_var d = ct_in(g, 1), Y_bar = ct_out_bar(g);
    ct_shape shape_d = ct_var_shape(d);
    bool one = ct_shape_count(shape_d) == 1;
    ct_in_bar(g, 0, Y_bar);
    ct_in_bar(g, 1, one ? ct_reshape(ct_sum(ct_diag(Y_bar), CT_ALL, false), shape_d) : ct_diag(Y_bar));
}

/* add_diag would take several tangents of one element for a diagonal. */
static void jvp(ct_rule *g)
{
    const int64_t T = ct__tangents(g);
    const ct_var d = ct_in(g, 1);
    ct_shape own = ct_shape_count(ct_var_shape(d)) == 1 ? ct_shape2(T, 1) : ct__dot_shape(g, d);
    if (!T) {
        ct_jvp_linear(g);
        return;
    }
    if (ct_has_in_dot(g, 0)) ct_give_out_dot(g, 0, ct_in_dot(g, 0));
    if (!ct_has_in_dot(g, 1)) return;
    ct_var d_dot = ct_reshape(ct_in_dot(g, 1), own);
    own.dim[own.ndim - 1] = ct_tensor_dim(ct_value(ct_out(g)), -1);
    ct_give_out_dot(g, 0, ct_diag_embed(ct_broadcast_to(d_dot, own)));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 4);
    ct_sample_normal(s, 0, ct_shape2(n, n));
    if (v > 0) ct_sample_unbatched(s);
    ct_sample_normal(s, 1, v == 2 ? ct_shape0() : v == 3 ? ct_shape2(1, 1) : ct_shape1(n));
}

const ct_op ct_op_add_diag = { .name = "add_diag",
                               .n_in = 2,
                               .shape = shape,
                               .forward = forward,
                               .vjp = vjp,
                               .jvp = jvp,
                               .jvp_stacked = true,
                               .sample = sample };

ct_var ct_add_diag(ct_var A, ct_var d) { return ct_apply(&ct_op_add_diag, (ct_var[]){ A, d }, 2, NULL, 0); }
