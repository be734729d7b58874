/* blockdiag_linear in f32: x (128, M F), W (M, F, F) and a bias, forward, and forward with all gradients; per_gemm is
 * over one product of as many flops, x_m (128 x F) with all of W (F x M F). Arguments: names of cases, M4-F1024. */
#include "bench.h"

#include <cotangent/cotangent.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);

enum { ROWS = 128 };

typedef struct work {
    int M, F;
    ct_tape *tape;
    ct_tensor *x, *W, *bias, *y_bar;
    ct_var in[3], y;
    ct_status status;
} work;

static void forward(void *context)
{
    work *w = context;
    ct_tape_reset(w->tape);
    ct_tensor *const in[] = { w->x, w->W, w->bias };
    for (int i = 0; i < 3; i++) w->in[i] = ct_leaf(w->tape, in[i]);
    w->y = ct_blockdiag_linear(w->in[0], w->in[1], w->in[2]);
    w->status = ct_check(w->y);
}

static void training(void *context)
{
    work *w = context;
    ct_var bar[3];
    forward(w);
    w->status = ct_grad(w->y, ct_constant(w->tape, w->y_bar), w->in, bar, 3, CT_GRAD_FREE);
}

static void product(void *context)
{
    const work *w = context;
    int columns = w->M * w->F, rows = ROWS, F = w->F;
    sgemm_("T", "N", &columns, &rows, &F, &(float){ 1 }, ct_tensor_data(w->W), &F, ct_tensor_data(w->x), &F,
           &(float){ 0 }, ct_tensor_data(w->y_bar), &columns);
}

static int run_case(const char *name, int M, int F, ct_device *dev)
{
    work w = { .M = M, .F = F, .tape = ct_tape_new(dev) };
    w.x = ct_rand_normal(dev, CT_F32, ct_shape2(ROWS, (int64_t)M * F), 1, 0);
    w.W = ct_rand_normal(dev, CT_F32, ct_shape3(M, F, F), 1, 1);
    w.bias = ct_rand_normal(dev, CT_F32, ct_shape1((int64_t)M * F), 1, 2);
    w.y_bar = ct_rand_normal(dev, CT_F32, ct_shape2(ROWS, (int64_t)M * F), 1, 3);
    double gemm = 1e300, seconds[2] = { 1e300, 1e300 };
    int rounds = (double)M * F * F > 5e7 ? 1 : 3;
    for (int round = 0; round < 3; round++) { /* interleaved */
        gemm = fmin(gemm, bench_best(product, &w, rounds, 0.02));
        seconds[0] = fmin(seconds[0], bench_best(forward, &w, rounds, 0.02));
        seconds[1] = fmin(seconds[1], bench_best(training, &w, rounds, 0.04));
    }
    printf("bench=blockdiag case=%s who=gemm n=%d dtype=f32 pass=forward seconds=%.6g per_gemm=1\n", name,
           ROWS, gemm);
    for (int pass = 0; pass < 2; pass++)
        printf("bench=blockdiag case=%s who=cotangent n=%d dtype=f32 pass=%s seconds=%.6g per_gemm=%.3f\n",
               name, ROWS, pass ? "training" : "forward", seconds[pass], seconds[pass] / gemm);
    fflush(stdout);
    if (w.status) fprintf(stderr, "blockdiag: %s\n", ct_tape_message(w.tape));
    ct_tape_free(w.tape);
    ct_release(w.x), ct_release(w.W), ct_release(w.bias), ct_release(w.y_bar);
    ct_memory_trim(dev);
    return w.status != CT_OK;
}

int main(int argc, char **argv)
{
    bench_machine();
    ct_device *dev = ct_device_open("cpu");
    int failed = 0;
    for (int F = 64; F <= 4096; F *= 4)
        for (int M = 1; M <= 16; M *= 2) {
            char name[32];
            snprintf(name, sizeof name, "M%d-F%d", M, F);
            bool chosen = argc < 2;
            for (int k = 1; k < argc; k++) chosen |= !strcmp(argv[k], name);
            if (chosen) failed |= run_case(name, M, F, dev);
        }
    ct_device_close(dev);
    return failed;
}
