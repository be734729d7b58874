/* The smallest whole program: f(w) = mean (X w - y)² and its gradient ∇f = 2/n Xᵀ (X w - y). */
#include <cotangent/cotangent.h>
#include <stdio.h>

int main(void)
{
    const double X_data[] = { 1, 0, 1, 1, 1, 2 }, y_data[] = { 1, 3, 5 }, w_data[] = { 0, 0 };

    ct_device *device = ct_device_open(NULL);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(3, 2), X_data);
    ct_tensor *y = ct_from(device, CT_F64, ct_shape2(3, 1), y_data);
    ct_tensor *w = ct_from(device, CT_F64, ct_shape2(2, 1), w_data);

    ct_var w_var = ct_leaf(tape, w);
    ct_var loss = ct_mse(ct_matmul(ct_constant(tape, X), w_var), ct_constant(tape, y));
    ct_status status = ct_backward(loss);

    double gradient[2];
    if (!status) status = ct_read(ct_cotangent(w_var), gradient, sizeof gradient);
    if (!status)
        printf("f = %g, gradient = (%g, %g)\n", ct_item(loss), gradient[0], gradient[1]);
    else
        fprintf(stderr, "%s\n", ct_tape_message(tape));

    ct_release(X), ct_release(y), ct_release(w);
    ct_tape_free(tape);
    ct_device_close(device);
    return status != CT_OK;
}
