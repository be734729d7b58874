/* A loss on part of an inverse, 60 columns of 512, for a batch of matrices, written twice. Each sample has r
 * rows B_i that measure, which are learnt; all share the smoothness rows D. x_i is recovered from y_i.
 *     exact     x̂_i = (first r columns of A_i⁻¹) y_i,  A_i = [B_i; n - r rows of D]
 *     ridge     x̂_i = P_i y_i,  P_i = (B_iᵀB_i + λ DᵀD)⁻¹ B_iᵀ, with λ learnt, too
 * Neither the n×n inverses nor their gradients are ever formed. */
#include <cotangent/cotangent.h>
#include <stdio.h>

enum { SAMPLES = 4, R = 60, WIDTH = 8, M = R * WIDTH, N = 512, STEPS = 20 };

static ct_var exact(ct_var B, ct_var D, ct_var index) /* without the first row of each block of D */
{
    ct_var blocks = ct_slice(ct_reshape(ct_slice(D, 0, 0, M, 1), ct_shape3(R, WIDTH, N)), 1, 1, WIDTH, 1);
    ct_var rows[] = { ct_reshape(blocks, ct_shape2(M - R, N)), ct_slice(D, 0, M, N, 1) };
    ct_var A[] = { B, ct_broadcast_to(ct_concat(rows, 2, 0), ct_shape3(SAMPLES, N - R, N)) };
    return ct_inverse_cols(ct_concat(A, 2, 1), index);
}

static void descend(ct_tensor *parameter, ct_var leaf, double rate)
{
    double *p = ct_tensor_data(parameter);
    const double *slope = ct_tensor_data(ct_cotangent(leaf));
    for (int64_t i = 0; i < ct_tensor_count(parameter); i++) p[i] -= rate * slope[i];
}

int main(void)
{
    static double smooth[N][N], start[SAMPLES][R][N]; /* (D x)_j = 1.1 x_j - x_{j-1} */
    static int64_t columns[R];
    for (int j = 0; j < N; j++) smooth[j][j] = 1.1, smooth[j][j ? j - 1 : j] -= j > 0, columns[j % R] = j % R;
    for (int i = 0; i < SAMPLES * M; i++) start[i / M][i % M / WIDTH][i % M] = 1.0 / WIDTH;
    ct_device *device = ct_device_open("cpu");
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *D = ct_from(device, CT_F64, ct_shape2(N, N), smooth),
              *x = ct_full(device, CT_F64, ct_shape3(SAMPLES, N, 1), 1),
              *y = ct_rand_uniform(device, CT_F64, ct_shape3(SAMPLES, R, 1), 1, 0),
              *index = ct_from(device, CT_I64, ct_shape1(R), columns);
    ct_status status = CT_OK;
    for (int ridge = 0; ridge < 2; ridge++) {
        ct_tensor *B = ct_from(device, CT_F64, ct_shape3(SAMPLES, R, N), start),
                  *log_lambda = ct_full(device, CT_F64, ct_shape0(), -3);
        double first = 0, last = 0;
        for (int step = 0; step < STEPS && !status; step++) {
            ct_tape_reset(tape);
            ct_var b = ct_leaf(tape, B), l = ct_leaf(tape, log_lambda), d = ct_constant(tape, D);
            ct_var P = ridge ? ct_ridge_solve(b, d, ct_exp(l)) : exact(b, d, ct_constant(tape, index));
            ct_var loss = ct_mse(ct_matmul(P, ct_constant(tape, y)), ct_constant(tape, x));
            status = ct_backward(loss);
            last = ct_item(loss), first = step ? first : last;
            for (int k = 0; k <= ridge && !status; k++) descend(k ? log_lambda : B, k ? l : b, 0.1);
        }
        printf("%s: loss %.4f, after %d steps %.4f %s\n", ridge ? "ridge" : "exact", first, STEPS, last,
               ct_tape_message(tape));
        ct_release(B), ct_release(log_lambda);
    }
    ct_release(D), ct_release(x), ct_release(y), ct_release(index), ct_tape_free(tape);
    ct_device_close(device);
    return status != CT_OK;
}
