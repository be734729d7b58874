/* positive:  z = y where all elements of x are positive; elsewhere NaN, flagged with the place
 *            x: (..., n, 1)  y: (...) or (..., r, c) -> z, as y
 * adjoint:   ȳ = z̄, NaN where z is; x gets no cotangent
 *
 * Compositions whose input x must be positive (a variance, the diagonal of a Cholesky factor) end with this
 * op. */
#include "support.h"

#include "jvp/jvp.h"

typedef struct attr {
    const char *what, *why; /* the message, as for ct_prim_flag */
} attr;

static ct_shape shape(ct_call *c) { return ct_arg_shape(c, 1); }

static void forward(ct_call *c)
{
    const attr *a = ct_attr(c);
    ct_view z = ct_result(c);
    ct_prim_copy(c, ct_arg(c, 1), z);
    ct_prim_flag(c, CT_POSITIVE, ct_arg(c, 0), a->what, a->why,
                 ct__with_ones(z, ct_arg_ndim(c, 0) - ct_arg_ndim(c, 1)));
}

static ct_var where_number(const ct_rule *g, ct_var v) { return ct_mul(v, ct_equal(ct_out(g), ct_out(g))); }

static void vjp(ct_rule *g) { ct_in_bar(g, 1, where_number(g, ct_out_bar(g))); }
static void jvp(ct_rule *g)
{
    const ct_var y_dot = ct_reshape(ct_in_dot(g, 1), ct__dot_shape(g, ct_out(g)));
    ct_give_out_dot(g, 0, where_number(g, y_dot));
}

static const ct_op positive = { .name = "positive",
                                .n_in = 2,
                                .shape = shape,
                                .forward = forward,
                                .vjp = vjp,
                                .jvp = jvp,
                                .jvp_stacked = true };

ct_var ct__where_positive(ct_var y, ct_var x, const char *what, const char *why)
{
    attr a = { what, why };
    return ct_apply(&positive, (ct_var[]){ x, y }, 2, &a, sizeof a);
}
