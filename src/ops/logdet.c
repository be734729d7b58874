/* logdet:   y = log det A by LU; NaN where det A < 0, -inf where it is 0        A: (..., n, n) -> (...)
 * adjoint:  Ā = ȳ A⁻ᵀ, that of slogdet.c: log(sign) is 0 or NaN and constant */
#include "support.h"

static ct_var compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    (void)tape, (void)n_in, (void)attr;
    ct_var sign, y = ct_slogdet(in[0], &sign);
    return ct_add(y, ct_log(ct_stop_gradient(sign)));
}

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_logdet = { .name = "logdet", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_logdet(ct_var A) { return ct_apply(&ct_op_logdet, &A, 1, NULL, 0); }
