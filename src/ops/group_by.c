/* group_by:  the groups of equal indices     index q (N) i64 in [0, M) -> i64 (M + 1 + N): M + 1 offsets,
 *            then the positions 0..N-1 stably sorted by q; group m is order[offset_m .. offset_{m+1})
 * adjoint:   none: the outputs are integers
 *
 * A counting sort, O(N + M). */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const int64_t *M = ct__need_attr(c);
    int64_t N = ct_arg_dim(c, 0, 0);
    if (!M) return ct_shape0();
    ct__need_index(c, 0);
    ct_require(c, *M >= 0 && *M < INT64_MAX - 1 - N, CT_EINVAL,
               "the number of groups must be 0 or more, got %lld", (long long)*M);
    return ct_shape1(c->status ? 0 : *M + 1 + N);
}

static void forward(ct_call *c) { ct_prim_group_by(c, ct_arg(c, 0), ct_result(c)); }

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s), groups = n + 1;
    ct_sample_attr(s, &groups, sizeof groups);
    ct_sample_unbatched(s);
    ct_sample_index(s, 0, ct_shape1(n), groups);
}

const ct_op ct_op_group_by = {
    .name = "group_by", .n_in = 1, .shape = shape, .forward = forward, .sample = sample, .integers = 1
};

ct_var ct_group_by(ct_var q, int64_t M) { return ct_apply(&ct_op_group_by, &q, 1, &M, sizeof M); }
