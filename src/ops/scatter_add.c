/* scatter_add:  y_j = Σ_{i : q_i = j} x_i, in order of i     rows: x (k, ...), index q (k) i64 -> y (n, ...)
 * adjoint:      x̄_i = ȳ_{q_i} = gather(ȳ, q)                           [the transpose of gather] */
#include "jvp/jvp.h"
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const int64_t *n = ct__need_attr(c);
    ct_shape x = ct_arg_shape(c, 0);
    if (!n) return x;
    ct__need_index(c, 1);
    ct_require(c, *n >= 0, CT_EINVAL, "the number of rows must be 0 or more, got %lld", (long long)*n);
    if (ct_require(c, x.ndim >= 1 && x.dim[0] == ct_arg_dim(c, 1, 0), CT_ESHAPE,
                   "x must have one row for each element of the index"))
        x.dim[0] = *n;
    return x;
}

static void forward(ct_call *c)
{
    ct_view y = ct_result(c);
    ct_prim_fill(c, y, 0);
    ct_prim_scatter_add(c, ct_arg(c, 0), ct_arg(c, 1), y);
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_gather(ct_out_bar(g), ct_in(g, 1))); }

/* Tangents of a row are columns of it. */
static void jvp(ct_rule *g) { ct__jvp_folded(g, (ct__fold[]){ { 1, 1 } }); }

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s), rows = n + 1;
    ct_sample_attr(s, &rows, sizeof rows);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_sample_variant(s, 2) ? ct_shape1(n) : ct_shape2(n, 3));
    ct_sample_index(s, 1, ct_shape1(n), rows);
}

const ct_op ct_op_scatter_add = { .name = "scatter_add",
                                  .n_in = 2,
                                  .shape = shape,
                                  .forward = forward,
                                  .vjp = vjp,
                                  .jvp = jvp,
                                  .jvp_stacked = true,
                                  .sample = sample,
                                  .integers = 1 << 1 };

ct_var ct_scatter_add(ct_var x, ct_var index, int64_t n)
{
    return ct_apply(&ct_op_scatter_add, (ct_var[]){ x, index }, 2, &n, sizeof n);
}
