/* mse:      y = 1/N Σ_i r_i²              r = prediction - target, of one shape
 * adjoint:  r̄_i = 2 ȳ r_i / N, from the composition */
#include "support.h"

static ct_var compose(ct_call *c)
{
    if (!ct__need_same_shape(c, 0, 1)) return ct_none();
    return ct_mean(ct_square(ct_sub(ct_arg_var(c, 0), ct_arg_var(c, 1))), CT_ALL, false);
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s) > 0 ? ct_sample_size(s) : 1;
    const bool zeros = ct_sample_variant(s, 2); /* of the residual */
    ct_sample_unbatched(s);
    for (int i = 0; i < 2; i++)
        if (zeros)
            ct_sample_among(s, i, ct_shape2(n, 3), (const double[]){ 0, 1 }, 2);
        else
            ct_sample_normal(s, i, ct_shape2(n, 3));
}

const ct_op ct_op_mse = { .name = "mse", .n_in = 2, .compose = compose, .sample = sample };

ct_var ct_mse(ct_var prediction, ct_var target)
{
    return ct_apply(&ct_op_mse, (ct_var[]){ prediction, target }, 2, NULL, 0);
}
