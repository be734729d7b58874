/* An op of your own, from its formula to the check of its gradient. The adjoint is written in ops and is
 * therefore differentiable: ct_gradcheck_op tests the second order, too. */
#include <cotangent/cotangent.h>
#include <stdio.h>

/* quad_form:  q = xᵀ A x           A: n×n, x: n×1 → q: scalar
 * adjoint:    Ā = q̄ x xᵀ,  x̄ = q̄ (A + Aᵀ) x                      [Giles 2008, §2.2] */
static ct_shape shape(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 0, -1);
    ct_require(c, ct_arg_ndim(c, 0) == 2 && ct_arg_dim(c, 0, 0) == n, CT_ESHAPE, "A must be a square matrix");
    ct_require(c, ct_shape_equal(ct_arg_shape(c, 1), ct_shape2(n, 1)), CT_ESHAPE, "x must be %lld x 1",
               (long long)n);
    return ct_shape0();
}

static void forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), x = ct_arg(c, 1), Ax = ct_scratch(c, x.dtype, ct_view_shape(x));
    ct_view q = ct_view_reshape(ct_result(c), ct_shape2(1, 1));
    ct_prim_gemm(c, 1, A, x, 0, Ax);                    /* n×1  A x      */
    ct_prim_gemm(c, 1, ct_view_transpose(x), Ax, 0, q); /* 1×1  xᵀ (A x) */
}

static void vjp(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1), q_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_mul(q_bar, ct_matmul(x, ct_t(x))));            /* Ā = q̄ x xᵀ       */
    ct_in_bar(g, 1, ct_mul(q_bar, ct_matmul(ct_add(A, ct_t(A)), x))); /* x̄ = q̄ (A + Aᵀ) x */
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(n, n));
    ct_sample_normal(s, 1, ct_shape2(n, 1));
}

static const ct_op quad_form_op = {
    .name = "quad_form", .n_in = 2, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

int main(void)
{
    static char report[8192];
    ct_device *device = ct_device_open(NULL);
    ct_status status = ct_gradcheck_op(device, &quad_form_op, NULL, report, sizeof report);
    printf("%s%s\n", report, status ? "the rule is wrong" : "the rule is right");
    ct_device_close(device);
    return status != CT_OK;
}
