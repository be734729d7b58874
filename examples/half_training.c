/* A block-diagonal layer trained in f32, bf16 and f16. The layer and its gradients have that dtype; the
 * weights, the loss and the steps are f32. Numbers below 3e-8 become 0 in f16, so the loss is multiplied by
 * a scale, and each step divided by it. A gradient that overflows halves the scale. docs/half.md */
#include <cotangent/cotangent.h>
#include <math.h>
#include <stdio.h>

enum { B = 512, M = 16, F = 32, STEPS = 31 };

static ct_var layer(ct_var x, ct_var W, ct_dtype dtype)
{
    ct_var y = ct_blockdiag_linear(ct_cast(x, dtype), ct_cast(W, dtype), ct_none());
    return ct_cast(y, CT_F32);
}

/* Fits W to the targets by gradient descent, from zero, and prints the loss of every fifth step. */
static ct_status train(ct_tape *tape, ct_tensor *x, ct_tensor *targets, ct_dtype dtype, double scale)
{
    ct_tensor *W = ct_zeros(ct_tape_device(tape), CT_F32, ct_shape3(M, F, F)); /* the master weights */
    ct_status status = CT_OK;
    printf("%4s, scale 2^%d:", ct_dtype_name(dtype), ilogb(scale));
    for (int step = 0; step < STEPS && !status; step++) {
        ct_tape_reset(tape);
        ct_var w = ct_leaf(tape, W), y = layer(ct_constant(tape, x), w, dtype);
        ct_var loss = ct_scale(ct_mse(y, ct_constant(tape, targets)), scale);
        if ((status = ct_backward(loss))) break;
        if (step % 5 == 0) printf(" %.1e", ct_item(loss) / scale);

        ct_var gradient = ct_constant(tape, ct_cotangent(w)); /* f32, scale times too large */
        if (isfinite(ct_item(ct_sum(gradient, CT_ALL, false))))
            status = ct_copy(ct_value(ct_sub(w, ct_scale(gradient, 0.3 * M * F / scale))), W);
        else
            scale /= 2, status = ct_tape_status(tape);
    }
    printf(", scale 2^%d\n", ilogb(scale));
    ct_release(W);
    return status;
}

int main(void)
{
    ct_device *device = ct_device_open(NULL);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *x = ct_rand_normal(device, CT_F32, ct_shape2(B, M * F), 1, 0);
    ct_tensor *W = ct_rand_normal(device, CT_F32, ct_shape3(M, F, F), 1, 1);
    ct_var y = layer(ct_constant(tape, x), ct_scale(ct_constant(tape, W), 0.2), CT_F32);
    ct_tensor *targets = ct_retain(ct_value(y));

    const ct_dtype dtypes[] = { CT_F32, CT_BF16, CT_F16, CT_F16 };
    ct_status status = ct_tape_status(tape);
    for (int k = 0; k < 4 && !status; k++) status = train(tape, x, targets, dtypes[k], k < 3 ? 1 : 0x1p30);
    if (status) fprintf(stderr, "%s\n", ct_tape_message(tape));

    ct_release(x), ct_release(W), ct_release(targets), ct_tape_free(tape), ct_device_close(device);
    return status != CT_OK;
}
