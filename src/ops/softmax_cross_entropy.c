/* softmax_cross_entropy:  y = -1/N Σ_i log_softmax(z_i)_{q_i}
 *                         logits z: (..., classes), labels q: (...) i64
 * adjoint:                z̄_ik = ȳ (softmax(z_i)_k - [k = q_i]) / N                  [Bishop 2006, §4.3.4]
 *
 * A one-hot mask selects the label's entry, so a logit of -∞ (a class ruled out) is valid unless it is the
 * label's. A label outside 0..classes-1 is CT_EINDEX. */
#include "support.h"

/* h_ik = [k = q_i] as a constant. */
static ct_var one_hot(ct_call *c)
{
    const ct_dtype dtype = ct_arg(c, 0).dtype;
    const int64_t n = ct_arg_dim(c, 0, -1), rows = ct_view_count(ct_arg(c, 1));
    ct_view labels = ct_view_reshape(ct_contiguous(c, ct_arg(c, 1)), ct_shape1(rows));
    ct_view q = ct_scratch(c, dtype, ct_shape1(rows)), k = ct_scratch(c, dtype, ct_shape1(n)),
            zeros = ct_scratch(c, CT_I64, ct_shape1(n)), groups = ct_scratch(c, CT_I64, ct_shape1(2 + n)),
            h = ct_scratch(c, dtype, ct_arg_shape(c, 0));
    ct_prim_fill(c, k, 0);
    ct_prim_gather(c, k, labels, q); /* gathers the labels from 0..classes-1, which checks their range */
    ct_prim_fill(c, zeros, 0);       /* one group: after its two offsets come the positions 0, 1, ... */
    ct_prim_group_by(c, zeros, groups);
    ct_prim_copy(c, ct_view_slice(groups, 0, 2, 2 + n, 1), k);
    ct_prim_copy(c, labels, q);
    ct_prim_map2(c, CT_MAP_equal, ct_view_unsqueeze(q, -1), k, ct_view_reshape(h, ct_shape2(rows, n)));
    return ct__constant(c, h);
}

static ct_var compose(ct_call *c)
{
    ct_var logits = ct_arg_var(c, 0);
    const ct_dtype dtype = ct_arg(c, 0).dtype;
    const int dims = ct_arg_ndim(c, 0) - 1;
    if (!ct_require(c, ct_arg(c, 1).dtype == CT_I64, CT_EDTYPE, "the labels must be i64") ||
        !ct_require(
            c, dims >= 0 && ct_shape_equal(ct_shape_of(dims, ct__arg_view(c, 0)->dim), ct_arg_shape(c, 1)),
            CT_ESHAPE, "wanted logits (..., classes) and one label (...) a row") ||
        !ct_require(c, dtype == CT_F64 || ct_arg_dim(c, 0, -1) <= 1 << 24, CT_EUNSUPPORTED,
                    "f32 holds integers exactly only up to 2^24, but there are %lld classes: use f64 logits",
                    (long long)ct_arg_dim(c, 0, -1)))
        return ct_none();
    ct_var hot = one_hot(c);
    ct_var y = ct_log_softmax(logits, -1);
    ct_var picked = ct_sum(ct_where(hot, y, ct_scalar(logits.tape, dtype, 0)), -1, false);
    return ct_neg(ct_mean(picked, CT_ALL, false));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s) > 0 ? ct_sample_size(s) : 1;
    bool deep = ct_sample_variant(s, 2);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, deep ? ct_shape3(2, n, 4) : ct_shape2(3, n));
    ct_sample_index(s, 1, deep ? ct_shape2(2, n) : ct_shape1(3), deep ? 4 : n);
}

const ct_op ct_op_softmax_cross_entropy = {
    .name = "softmax_cross_entropy", .n_in = 2, .compose = compose, .sample = sample, .integers = 1 << 1
};

ct_var ct_softmax_cross_entropy(ct_var logits, ct_var label)
{
    return ct_apply(&ct_op_softmax_cross_entropy, (ct_var[]){ logits, label }, 2, NULL, 0);
}
