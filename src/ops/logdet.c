/* logdet:   y = log det A by LU; -inf where det A = 0, NaN and flagged where det A < 0
 *           A: (..., n, n) -> (...)
 * adjoint:  Ā = ȳ A⁻ᵀ, that of slogdet.c */
#include "support.h"

static ct_var compose(ct_call *c)
{
    ct_var sign, y = ct_slogdet(ct_arg_var(c, 0), &sign);
    ct_var not_negative = ct__one_by_one(ct_shift(sign, 1)); /* sign + 1: 0, 1 or 2 */
    return ct__where_positive(
        y, not_negative, "the determinant", /* its place is always 1, so the message omits it */
        "is negative or NaN and has no logarithm: ct_slogdet gives log |det A| and the sign");
}

static void sample(ct_sample *s) { ct_sample_invertible(s, 0, ct_sample_size(s)); }

const ct_op ct_op_logdet = { .name = "logdet", .n_in = 1, .compose = compose, .sample = sample };

ct_var ct_logdet(ct_var A) { return ct_apply(&ct_op_logdet, &A, 1, NULL, 0); }
