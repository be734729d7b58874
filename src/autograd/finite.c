/* Values and derivatives that are not finite, of ops that call this a failure (ct_op.finite). */
#include "internal.h"

void ct__flag_infinite(ct_call *c, ct_view x)
{
    const ct_view t = x.ndim < 2 ? x : ct_view_transpose(x);
    if (ct_failure_known(c)) return;
    if (!ct__is_contiguous(&x)) x = ct__is_contiguous(&t) ? t : ct_contiguous(c, x);
    ct_prim_flag(c, CT_FINITE, x, "element %lld", CT__NOT_FINITE, ct_no_view());
}

void ct__check_finite(ct_tape *tape, const char *what, ct_var v)
{
    const ct_tensor *t = ct_value(v);
    if (!t) return;
    ct_call *c = ct_scope_open(tape, what);
    ct__flag_infinite(c, ct_view_of(t));
    ct_scope_close(c);
}
