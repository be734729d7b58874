/* cast:     y = x in another floating dtype, rounded to the nearest (an i64 x gives constants)
 * adjoint:  x̄ = ȳ in x's dtype                                           [the identity, rounded] */
#include "support.h"

static ct_shape shape(ct_call *c)
{
    const ct_dtype *dtype = ct__need_attr(c);
    if (dtype && ct_require(c, (unsigned)*dtype <= CT_F16 && *dtype != CT_I64, CT_EDTYPE,
                            "cast to a floating dtype; for integers use ct_tensor_cast before recording"))
        ct_set_dtype(c, *dtype);
    return ct_arg_shape(c, 0);
}

static void forward(ct_call *c)
{
    const ct_dtype *dtype = ct_attr(c);
    ct_view x = ct_arg(c, 0);
    if (x.dtype == *dtype)
        ct_set_result(c, 0, x);
    else
        ct_prim_copy(c, x, ct_result(c));
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_cast(ct_out_bar(g), ct_var_dtype(ct_in(g, 0)))); }

/* Casts only to f64: finite differences cannot see through rounding. */
static void sample(ct_sample *s)
{
    ct_dtype dtype = CT_F64;
    ct_sample_attr(s, &dtype, sizeof dtype);
    ct_sample_normal(s, 0, ct_shape2(ct_sample_size(s), 3));
}

const ct_op ct_op_cast = { .name = "cast",
                           .n_in = 1,
                           .shape = shape,
                           .forward = forward,
                           .vjp = vjp,
                           .jvp = ct_jvp_linear,
                           .jvp_stacked = true,
                           .sample = sample,
                           .half = true,
                           .integers = 1 };

ct_var ct_cast(ct_var x, ct_dtype dtype) { return ct_apply(&ct_op_cast, &x, 1, &dtype, sizeof dtype); }
