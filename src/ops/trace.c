/* trace:    y = Σ_i A_ii                  (..., n, n) -> (...): the sum of a view
 * adjoint:  Ā = ȳ I                                                             [dy = Σ_i dA_ii] */
#include "support.h"

static ct_var compose(ct_call *c)
{
    if (!ct__need_square(c, 0)) return ct_none();
    return ct_sum(ct_diag(ct_arg_var(c, 0)), -1, false);
}

static void sample(ct_sample *s) { ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), ct_sample_size(s))); }

const ct_op ct_op_trace = { .name = "trace", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_trace(ct_var A) { return ct_apply(&ct_op_trace, &A, 1, NULL, 0); }
