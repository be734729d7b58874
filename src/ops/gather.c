/* gather:   y_i = x_{q_i}                 rows: x (n, ...), index q (k) i64 -> y (k, ...)
 * adjoint:  x̄_j = Σ_{i : q_i = j} ȳ_i = scatter_add(ȳ, q, n)           [a selection's transpose] */
#include "jvp/jvp.h"
#include "support.h"

static ct_shape shape(ct_call *c)
{
    ct_shape x = ct_arg_shape(c, 0);
    if (!ct_require(c, x.ndim >= 1, CT_ESHAPE, "a scalar has no rows") || !ct__need_index(c, 1)) return x;
    x.dim[0] = ct_arg_dim(c, 1, 0);
    return x;
}

static void forward(ct_call *c) { ct_prim_gather(c, ct_arg(c, 0), ct_arg(c, 1), ct_result(c)); }

static void vjp(ct_rule *g)
{
    ct_in_bar(g, 0, ct_scatter_add(ct_out_bar(g), ct_in(g, 1), ct_var_shape(ct_in(g, 0)).dim[0]));
}

/* Tangents of a row are columns of it. */
static void jvp(ct_rule *g) { ct__jvp_folded(g, (ct__fold[]){ { 1, 1 } }); }

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_sample_variant(s, 2) ? ct_shape1(n) : ct_shape2(n, 3));
    ct_sample_index(s, 1, ct_shape1(n > 0 ? n + 2 : 0), n);
}

const ct_op ct_op_gather = { .name = "gather",
                             .n_in = 2,
                             .shape = shape,
                             .forward = forward,
                             .vjp = vjp,
                             .jvp = jvp,
                             .jvp_stacked = true,
                             .sample = sample,
                             .integers = 1 << 1 };

ct_var ct_gather(ct_var x, ct_var index)
{
    return ct_apply(&ct_op_gather, (ct_var[]){ x, index }, 2, NULL, 0);
}
