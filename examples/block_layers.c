/* Many small networks trained as one: M blocks of columns, each with its own two layers, as block-diagonal
 * layers:
 *     y = V relu(W x + b) + c,  loss = mean (y - t)²,  t_m = |x_m|. docs/users/block-diagonal-layers.md */
#include <cotangent/cotangent.h>
#include <stdio.h>

enum { B = 128, M = 8, F = 4, H = 16, STEPS = 300, PARAMETERS = 4 };

/* The same function serves training (leaves) and inference (constants). */
static ct_var networks(ct_var x, const ct_var *p)
{
    ct_var hidden = ct_relu(ct_blockdiag_linear(x, p[0], p[1]));
    return ct_blockdiag_linear(hidden, p[2], p[3]);
}

int main(void)
{
    ct_device *device = ct_device_open(NULL);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *x = ct_rand_normal(device, CT_F32, ct_shape2(B, M * F), 1, 0);
    ct_tensor *weights[PARAMETERS] = { ct_rand_normal(device, CT_F32, ct_shape3(M, H, F), 1, 1),
                                       ct_zeros(device, CT_F32, ct_shape1(M * H)),
                                       ct_rand_normal(device, CT_F32, ct_shape3(M, 1, H), 1, 2),
                                       ct_zeros(device, CT_F32, ct_shape1(M)) };
    double first = 0, last = 0;
    ct_status status = CT_OK;
    for (int step = 0; step < STEPS && !status; step++) {
        ct_tape_reset(tape);
        ct_var p[PARAMETERS], inputs = ct_constant(tape, x);
        for (int k = 0; k < PARAMETERS; k++) p[k] = ct_leaf(tape, weights[k]);
        ct_var squares = ct_reshape(ct_square(inputs), ct_shape3(B, M, F));
        ct_var target = ct_sqrt(ct_sum(squares, -1, false)); /* |x_m|, (B, M) */
        ct_var loss = ct_mse(networks(inputs, p), target);
        if ((status = ct_backward(loss))) break;
        last = ct_item(loss);
        if (step == 0) first = last;
        for (int k = 0; k < PARAMETERS && !status; k++) {
            ct_var descent = ct_scale(ct_constant(tape, ct_cotangent(p[k])), 0.05);
            status = ct_copy(ct_value(ct_sub(p[k], descent)), weights[k]);
        }
    }
    if (status)
        fprintf(stderr, "%s\n", ct_tape_message(tape));
    else
        printf("loss %.2f -> %.4f for %d networks at once\n", first, last, M);

    for (int k = 0; k < PARAMETERS; k++) ct_release(weights[k]);
    ct_release(x), ct_tape_free(tape), ct_device_close(device);
    return status != CT_OK;
}
