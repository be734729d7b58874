/* mean:     y = 1/n Σ_k x_k         over one dimension, or all
 * adjoint:  x̄_k = ȳ / n, from the composition of sum and scale */
#include "support.h"

static ct_var compose(ct_call *c)
{
    const ct__axis *axis = ct_attr(c);
    const int64_t results = ct_shape_count(ct__axis_shape(c, false));
    if (!ct_call_fine(c)) return ct_none();
    const int64_t n = results ? ct__count(ct__arg_view(c, 0)) / results : 1;
    return ct_scale(ct_sum(ct_arg_var(c, 0), axis->dim, axis->keep), 1 / (double)n);
}

static void sample(ct_sample *s) { ct__axis_sample(s, 1); }

const ct_op ct_op_mean = { .name = "mean", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_mean(ct_var x, int dim, bool keep) { return ct__apply_axis(&ct_op_mean, x, dim, keep); }
