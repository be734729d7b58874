/* Every sample is multiplied by the matrix of its kind, out_i = A_i C_{q_i}, and C is fitted by gradient
 * descent on loss(A, C) = mean (A_i C_{q_i} - T_i)². q stays the same, so its groups are made once.
 * docs/users/gathered-products.md */
#include <cotangent/cotangent.h>
#include <stdio.h>

enum { N = 4000, M = 50, J = 16, K = 8, STEPS = 60 };

/* T_i = A_i D_{q_i} for the D to be found. */
static ct_tensor *targets(ct_tape *tape, ct_tensor *A, ct_tensor *groups)
{
    ct_tensor *D = ct_rand_normal(ct_tape_device(tape), CT_F32, ct_shape3(M, J, K), 7, 0);
    ct_var T = ct_grouped_matmul(ct_constant(tape, A), ct_constant(tape, D), ct_constant(tape, groups));
    ct_release(D);
    return ct_retain(ct_value(T));
}

int main(void)
{
    int64_t kind[N];
    for (int i = 0; i < N; i++) kind[i] = (int64_t)i * i % 47; /* in any order, some kinds never */

    ct_device *device = ct_device_open(NULL);
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *A = ct_rand_normal(device, CT_F32, ct_shape3(N, 1, J), 1, 0);
    ct_tensor *C = ct_zeros(device, CT_F32, ct_shape3(M, J, K));
    ct_tensor *q = ct_from(device, CT_I64, ct_shape1(N), kind);
    ct_tensor *groups = ct_retain(ct_value(ct_group_by(ct_constant(tape, q), M)));
    ct_tensor *T = targets(tape, A, groups);

    double first = 0, last = 0;
    ct_status status = ct_tape_status(tape);
    for (int step = 0; step < STEPS && !status; step++) {
        ct_tape_reset(tape);
        ct_var a = ct_constant(tape, A), c = ct_leaf(tape, C);
        ct_var out = ct_grouped_matmul(a, c, ct_constant(tape, groups));
        ct_var loss = ct_mse(out, ct_constant(tape, T));
        if ((status = ct_backward(loss))) break;
        last = ct_item(loss);
        if (step == 0) first = last;
        ct_var next = ct_sub(c, ct_scale(ct_constant(tape, ct_cotangent(c)), 100.0));
        status = ct_copy(ct_value(next), C);
    }
    if (status)
        fprintf(stderr, "%s\n", ct_tape_message(tape));
    else
        printf("loss %.2f -> %.4f with %d matrices for %d samples\n", first, last, M, N);

    ct_release(A), ct_release(C), ct_release(q), ct_release(groups), ct_release(T);
    ct_tape_free(tape), ct_device_close(device);
    return status != CT_OK;
}
