/* One device and one tape per thread share nothing: eight of them give the bits that one gives. */
#include "check.h"

#include <cotangent/op.h>

#include <pthread.h>

enum { THREADS = 8, STEPS = 20, N = 12 };

/* Gradient steps on log det(XXᵀ + I) + a smooth term; the last value. */
static double train(void)
{
    ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = 1 });
    ct_tape *tape = ct_tape_new(dev);
    ct_tensor *w = ct_rand_normal(dev, CT_F64, ct_shape2(N, N), 3, 0);
    double data[N * N], bar[N * N], value = NAN;
    bool ready = tape && w && !ct_read(w, data, sizeof data);
    for (int step = 0; step < STEPS && ready; step++) {
        ct_tape_reset(tape);
        ct_var x = ct_leaf(tape, w), one = ct_scalar(tape, CT_F64, 1);
        ct_var L = ct_cholesky(ct_add_diag(ct_matmul(x, ct_t(x)), one));
        ct_var y = ct_add(ct_cholesky_logdet(L), ct_mean(ct_square(ct_tanh(x)), CT_ALL, false));
        if (ct_backward(y)) break;
        value = ct_item(y);
        if (ct_read(ct_cotangent(x), bar, sizeof bar)) break;
        for (int i = 0; i < N * N; i++) data[i] -= 0.01 * bar[i];
        if (ct_write(w, data, sizeof data)) break;
    }
    ct_release(w);
    ct_tape_free(tape);
    ct_device_close(dev);
    return value;
}

static void *run(void *result)
{
    *(double *)result = train();
    return NULL;
}

static void eight_threads_give_the_bits_of_one(void **state)
{
    (void)state;
    double alone = train(), value[THREADS];
    pthread_t thread[THREADS];
    assert_true(isfinite(alone));
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, run, &value[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) assert_memory_equal(&value[i], &alone, sizeof alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(eight_threads_give_the_bits_of_one) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
