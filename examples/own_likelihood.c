/* The marginal likelihood of a Gaussian process by hand. It uses an op of its own, which is checked first.
 *     K = exp(-D/2) + σ² I,  D_ij = |x_i - x_j|² / l²,  K = L Lᵀ,  z = L⁻¹ y
 *     f(l, σ²) = ½ zᵀz + Σ_i log L_ii + n/2 log 2π                [Rasmussen & Williams 2006, eq. 2.30] */
#include <cotangent/cotangent.h>
#include <math.h>
#include <stdio.h>

/* half_exp:  y = exp(-x/2), elementwise;   adjoint: x̄ = -½ y ∘ ȳ */
static ct_shape shape(ct_call *c)
{
    ct_require(c, ct_arg(c, 0).dtype == CT_F64, CT_EDTYPE, "half_exp computes in f64");
    return ct_arg_shape(c, 0);
}

static void forward(ct_call *c)
{
    const double *x = ct_contiguous(c, ct_arg(c, 0)).data;
    double *y = ct_result(c).data;
    for (int64_t i = 0; ct_call_ok(c) && i < ct_view_count(ct_arg(c, 0)); i++) y[i] = exp(-0.5 * x[i]);
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_scale(ct_mul(ct_out(g), ct_out_bar(g)), -0.5)); }
static void sample(ct_sample *s) { ct_sample_normal(s, 0, ct_shape1(ct_sample_size(s))); }
static const ct_op half_exp = {
    .name = "half_exp", .n_in = 1, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

static ct_var likelihood(ct_var x, ct_var y, ct_var log_l, ct_var log_s2)
{
    ct_var D = ct_mul(ct_sqdist(x, x), ct_exp(ct_scale(log_l, -2)));
    ct_var L = ct_cholesky(ct_add_diag(ct_apply(&half_exp, &D, 1, NULL, 0), ct_exp(log_s2)));
    ct_var z = ct_tri_solve(L, y, CT_LOWER);
    ct_var f = ct_scale(ct_sum(ct_square(z), CT_ALL, false), 0.5);
    f = ct_add(f, ct_sum(ct_log(ct_diag(L)), CT_ALL, false));
    return ct_shift(f, 0.5 * (double)ct_var_shape(y).dim[0] * log(2 * acos(-1)));
}

int main(void)
{
    static char report[4096];
    ct_device *device = ct_device_open(NULL);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *x = ct_rand_uniform(device, CT_F64, ct_shape2(50, 2), 1, 0);
    ct_tensor *y = ct_rand_normal(device, CT_F64, ct_shape2(50, 1), 1, 1);
    ct_tensor *log_l = ct_full(device, CT_F64, ct_shape0(), -1);
    ct_tensor *log_s2 = ct_full(device, CT_F64, ct_shape0(), -2);
    ct_status status = ct_gradcheck_op(device, &half_exp, NULL, report, sizeof report);
    printf("%s", report);
    ct_var a = ct_leaf(tape, log_l), b = ct_leaf(tape, log_s2);
    ct_var f = likelihood(ct_constant(tape, x), ct_constant(tape, y), a, b);
    if (!status) status = ct_backward(f);
    printf("f = %.6f, df/dlog l = %.6f, df/dlog s2 = %.6f %s\n", ct_item(f), ct_tensor_item(ct_cotangent(a)),
           ct_tensor_item(ct_cotangent(b)), ct_tape_message(tape));

    ct_release(x), ct_release(y), ct_release(log_l), ct_release(log_s2), ct_tape_free(tape);
    ct_device_close(device);
    return status != CT_OK;
}
