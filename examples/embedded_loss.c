/* A loss inside an application with its own buffers, its own optimiser and two threads. Each thread opens a
 * device and a tape: nothing is shared, so nothing is locked.
 * Logistic regression: f(w) = mean_i log(1 + exp(-y_i x_iᵀ w)), y_i = ±1. */
#include <cotangent/cotangent.h>
#include <pthread.h>
#include <stdio.h>

enum { ROWS = 200, COLS = 3, STEPS = 300, JOBS = 2 };

typedef struct job {
    double X[ROWS][COLS], y[ROWS], w[COLS], loss; /* the application's buffers */
    char message[256];
} job;

static void *train(void *argument)
{
    job *j = argument;
    double velocity[COLS] = { 0 };
    ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = ct_wrap(device, CT_F64, ct_shape2(ROWS, COLS), j->X, NULL, NULL); /* no copies */
    ct_tensor *y = ct_wrap(device, CT_F64, ct_shape2(ROWS, 1), j->y, NULL, NULL);
    ct_tensor *w = ct_wrap(device, CT_F64, ct_shape2(COLS, 1), j->w, NULL, NULL);
    for (int step = 0; step < STEPS; step++) {
        ct_tape_reset(tape); /* every buffer returns to the device's pool: later steps allocate nothing */
        ct_var w_var = ct_leaf(tape, w);
        ct_var margin = ct_mul(ct_constant(tape, y), ct_matmul(ct_constant(tape, X), w_var));
        ct_var loss = ct_mean(ct_softplus(ct_neg(margin)), CT_ALL, false);
        if (ct_backward(loss)) break;
        const double *gradient = ct_tensor_data(ct_cotangent(w_var));
        for (int d = 0; d < COLS; d++) j->w[d] += velocity[d] = 0.9 * velocity[d] - 0.1 * gradient[d];
        j->loss = ct_item(loss);
    }
    snprintf(j->message, sizeof j->message, "%s", ct_tape_message(tape));
    ct_release(X), ct_release(y), ct_release(w), ct_tape_free(tape), ct_device_close(device);
    return NULL;
}

int main(void)
{
    static job jobs[JOBS];
    pthread_t threads[JOBS];
    int failed = 0;
    for (int k = 0; k < JOBS; k++) {
        for (int i = 0; i < ROWS; i++) {
            double a = i * 37 % 100 / 50.0 - 1, b = i * 61 % 89 / 44.5 - 1, noise = i * 17 % 20 / 10.0 - 1;
            jobs[k].X[i][0] = 1, jobs[k].X[i][1] = a, jobs[k].X[i][2] = b;
            jobs[k].y[i] = a + (k ? 2 : -1) * b + noise > 0 ? 1 : -1;
        }
        if (pthread_create(&threads[k], NULL, train, &jobs[k])) return 1;
    }
    for (int k = 0; k < JOBS; k++) {
        pthread_join(threads[k], NULL);
        failed |= jobs[k].message[0] != 0;
        printf("loss %.4f, slopes %.3f and %.3f %s\n", jobs[k].loss, jobs[k].w[1], jobs[k].w[2],
               jobs[k].message);
    }
    return failed;
}
