/* softmax_cross_entropy:  y = 1/N Σ_i (logsumexp_k z_ik - z_{i, q_i})
 *                         logits z: (..., classes), labels q: (...) i64
 * adjoint:                z̄_ik = ȳ (softmax(z_i)_k - [k = q_i]) / N                  [Bishop 2006, §4.3.4]
 *
 * z_{i, q_i} is picked by a one-hot mask, so logits of -∞ (classes ruled out) are fine unless they are the
 * label. */
#include "support.h"

/* one_hot: h_ik = [k = q_i]; a label outside 0..classes-1 is CT_EINDEX. A constant: it has no adjoint. */
typedef struct one_hot_attr {
    int64_t classes;
    ct_dtype dtype;
} one_hot_attr;

static ct_shape one_hot_shape(ct_call *c)
{
    const one_hot_attr *a = ct_attr(c);
    ct_shape h = ct_arg_shape(c, 0);
    ct_set_dtype(c, a->dtype);
    ct_require(c, a->dtype == CT_F64 || a->classes <= 1 << 24, CT_EUNSUPPORTED,
               "f32 counts to 2^24 exactly, there are %lld classes: use f64 logits", (long long)a->classes);
    h.dim[h.ndim++] = a->classes;
    return h;
}

static void one_hot_forward(ct_call *c)
{
    ct_device *device = ct_call_device(c);
    const one_hot_attr *a = ct_attr(c);
    const ct_tensor *label = ct_contiguous(c, ct_arg(c, 0));
    if (!label) return;
    int64_t rows = ct_tensor_count(label);
    ct_tensor vector = ct__reshaped(label, ct_shape1(rows)), column = ct__reshaped(label, ct_shape2(rows, 1));
    ct_tensor *h = ct_result(c), *q = ct_scratch(c, a->dtype, ct_shape2(rows, 1));
    ct_tensor *zeros = ct_scratch(c, CT_I64, ct_shape1(a->classes)),
              *groups = ct_scratch(c, CT_I64, ct_shape1(2 + a->classes)),
              *k = ct_scratch(c, a->dtype, ct_shape1(a->classes));
    if (!h || !q || !zeros || !groups || !k) return;
    ct_prim_fill(c, k, 0);
    ct_tensor q_vector = ct__reshaped(q, ct_shape1(rows)); /* a gather from 0..classes-1 checks the labels */
    ct__call_status(c, device->backend->gather(device, k, &vector, &q_vector));
    ct_prim_fill(c, zeros, 0); /* one group of all: behind its two offsets the positions 0, 1, ... */
    ct__call_status(c, device->backend->group_by(device, zeros, groups));
    ct_tensor numbers = ct__reshaped(groups, ct_shape1(2 + a->classes));
    numbers.dim[0] = a->classes;
    numbers.data = (int64_t *)numbers.data + 2;
    ct_prim_copy(c, &numbers, k);
    ct_prim_copy(c, &column, q);
    ct_tensor mask = ct__reshaped(h, ct_shape2(rows, a->classes));
    ct__map2(c, CT_MAP_equal, q, k, &mask);
}

static const ct_op one_hot = {
    .name = "one_hot", .n_in = 1, .shape = one_hot_shape, .forward = one_hot_forward
};

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    ct_var logits = in[0], label = in[1];
    ct_shape z = ct_var_shape(logits), q = ct_var_shape(label), rows = z;
    char z_text[96], q_text[96];
    (void)n_in, (void)attr;
    rows.ndim--;
    if (ct_var_dtype(label) != CT_I64 || z.ndim < 1 || !ct_shape_equal(rows, q)) {
        ct_tape_fail(tape, ct_var_dtype(label) != CT_I64 ? CT_EDTYPE : CT_ESHAPE,
                     "op #%lld softmax_cross_entropy(%s, %s): wanted logits (..., classes) and one i64 label "
                     "(...) a row",
                     (long long)ct_tape_length(tape), ct__shape_text(z, z_text, sizeof z_text),
                     ct__shape_text(q, q_text, sizeof q_text));
        return ct_none();
    }
    one_hot_attr a = { z.dim[z.ndim - 1], ct_var_dtype(logits) };
    ct_var hot = ct_apply(&one_hot, &label, 1, &a, sizeof a);
    ct_var picked = ct_sum(ct_where(hot, logits, ct_scalar(tape, a.dtype, 0)), -1, false);
    return ct_mean(ct_sub(ct_logsumexp(logits, -1, false), picked), CT_ALL, false);
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
    .name = "softmax_cross_entropy", .n_in = 2, .compose = compose, .sample = sample
};

ct_var ct_softmax_cross_entropy(ct_var logits, ct_var label)
{
    return ct_apply(&ct_op_softmax_cross_entropy, (ct_var[]){ logits, label }, 2, NULL, 0);
}
