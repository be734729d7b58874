/* mean:     y = 1/n Σ_k x_k         over one dimension, or all
 * adjoint:  x̄_k = ȳ / n, from the composition of sum and scale */
#include "support.h"

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    const ct__axis *axis = attr;
    ct_shape shape = ct_var_shape(in[0]);
    char text[96];
    (void)n_in;
    if (!axis) {
        ct_tape_fail(tape, CT_EINVAL, "op #%lld mean: the attributes are missing: call ct_mean",
                     (long long)ct_tape_length(tape));
        return ct_none();
    }
    ct_var y = ct_sum(in[0], axis->dim, axis->keep);
    int dim = axis->dim < 0 ? axis->dim + shape.ndim : axis->dim;
    int64_t n = axis->dim == CT_ALL            ? ct_shape_count(shape)
                : dim >= 0 && dim < shape.ndim ? shape.dim[dim]
                                               : 1;
    if (n == 0)
        ct_tape_fail(tape, CT_EINVAL, "op #%lld mean(%s): nothing to average: the input is empty there",
                     (long long)ct_tape_length(tape), ct__shape_text(shape, text, sizeof text));
    return ct_scale(y, 1 / (double)n);
}

static void sample(ct_sample *s) { ct__axis_sample(s, 1); }

const ct_op ct_op_mean = { .name = "mean", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_mean(ct_var x, int dim, bool keep) { return ct__apply_axis(&ct_op_mean, x, dim, keep); }
