/* blockdiag_linear in f32 or bf16: x (128, M F), W (M, F, F) and a bias, forward, and forward with all
 * gradients. The unit of per_gemm is one f32 product of as many flops, x_m (128 x F) with all of W (F x M F);
 * on a GPU it has the case's dtype. On a GPU who=copy is a copy that reads and writes the bytes of W once, in
 * training three times, and who=cotangent-graph is the step as a graph. peak_bytes is the most memory held
 * beyond x, W and the bias: the result, and in training also the gradients. Arguments: names of cases,
 * M4-F1024, M4-F1024-bf16 or M4-F1024-f16, with any M and F; without any, twenty in f32. */
#include "bench.h"

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
    float *gemm[3]; /* operands of the product that is the unit */
} work;

static void forward(void *context)
{
    work *w = context;
    ct_tape_reset(w->tape);
    ct_blockdiag_linear(ct_leaf(w->tape, w->x), ct_leaf(w->tape, w->W), ct_leaf(w->tape, w->bias));
}

static ct_status step(ct_tape *tape, void *context)
{
    const work *w = context;
    ct_var in[3] = { ct_leaf(tape, w->x), ct_leaf(tape, w->W), ct_leaf(tape, w->bias) }, bar[3];
    ct_var y = ct_blockdiag_linear(in[0], in[1], in[2]);
    return ct_grad(y, ct_constant(tape, w->y_bar), in, bar, 3, CT_GRAD_FREE);
}

static void training(void *context)
{
    work *w = context;
    ct_tape_reset(w->tape);
    step(w->tape, w);
}

static void product(void *context)
{
    const work *w = context;
    int columns = w->M * w->F, rows = ROWS, F = w->F;
    sgemm_("T", "N", &columns, &rows, &F, &(float){ 1 }, w->gemm[0], &F, w->gemm[1], &F, &(float){ 0 },
           w->gemm[2], &columns);
}

static ct_tensor *drawn(ct_device *dev, ct_dtype dtype, ct_shape shape, uint64_t stream)
{
    ct_tensor *wide = ct_rand_normal(dev, CT_F32, shape, 1, stream), *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return t;
}

/* The unit on a GPU: the product of the same matrices in the case's dtype. */
static double product_there(const bench *b, const work *w, int rounds)
{
    ct_tensor *x = ct_tensor_slice(w->x, 1, 0, w->F, 1),
              *W = ct_tensor_reshape(w->W, ct_shape2((int64_t)w->M * w->F, w->F)),
              *W_t = ct_tensor_transpose(W);
    double best = bench_product(b, x, W_t, rounds, 0.02);
    ct_release(x), ct_release(W), ct_release(W_t);
    return best;
}

static int run_case(const bench *b, const char *name, int M, int F, ct_dtype dtype)
{
    ct_device *dev = b->dev;
    work w = { .M = M, .F = F, .tape = ct_tape_new(dev) };
    const ct_shape rows = ct_shape2(ROWS, (int64_t)M * F), weight = ct_shape3(M, F, F);
    w.x = drawn(dev, dtype, rows, 0);
    w.W = drawn(dev, dtype, weight, 1);
    w.bias = drawn(dev, dtype, ct_shape1((int64_t)M * F), 2);
    w.y_bar = drawn(dev, dtype, rows, 3);
    ct_tensor *unit[3] = { NULL };
    if (!b->queues) {
        unit[0] = drawn(dev, CT_F32, weight, 1), unit[1] = drawn(dev, CT_F32, rows, 0);
        unit[2] = ct_zeros(dev, CT_F32, rows);
        for (int i = 0; i < 3; i++) w.gemm[i] = ct_tensor_data(unit[i]);
    }
    uint64_t peak[2];
    void (*const passes[2])(void *) = { forward, training };
    for (int pass = 0; pass < 2; pass++) {
        ct_tape_reset(w.tape);
        const uint64_t held = ct_memory(dev).bytes_now;
        ct_memory_mark(dev);
        passes[pass](&w);
        peak[pass] = ct_memory(dev).bytes_peak - held;
    }
    double gemm = 1e300, seconds[2] = { 1e300, 1e300 }, copies[2] = { 1e300, 1e300 };
    const int64_t bytes = (int64_t)M * F * F * (int64_t)ct_dtype_size(dtype);
    int rounds = (double)M * F * F > 5e7 ? 1 : 3;
    for (int round = 0; round < 3; round++) { /* interleaved */
        gemm =
            fmin(gemm, b->queues ? product_there(b, &w, rounds) : bench_best(b, product, &w, rounds, 0.02));
        for (int pass = 0; pass < 2; pass++) {
            seconds[pass] = fmin(seconds[pass], bench_best(b, passes[pass], &w, rounds, pass ? 0.04 : 0.02));
            if (b->queues) copies[pass] = fmin(copies[pass], bench_copy(b, bytes * (pass ? 3 : 1), rounds));
        }
    }
    printf("bench=blockdiag case=%s who=gemm n=%d dtype=%s pass=forward seconds=%.6g per_gemm=1%s\n", name,
           ROWS, ct_dtype_name(dtype), gemm, b->where);
    for (int pass = 0; pass < 2; pass++) {
        if (b->queues)
            printf("bench=blockdiag case=%s who=copy n=%d dtype=%s pass=%s seconds=%.6g per_gemm=%.3f%s\n",
                   name, ROWS, ct_dtype_name(dtype), pass ? "training" : "forward", copies[pass],
                   copies[pass] / gemm, b->where);
        printf("bench=blockdiag case=%s who=cotangent n=%d dtype=%s pass=%s seconds=%.6g per_gemm=%.3f "
               "peak_bytes=%llu%s\n",
               name, ROWS, ct_dtype_name(dtype), pass ? "training" : "forward", seconds[pass],
               seconds[pass] / gemm, (unsigned long long)peak[pass], b->where);
    }
    const double graph = bench_replays(b, step, &w, rounds, 0.04);
    if (graph > 0)
        printf("bench=blockdiag case=%s who=cotangent-graph n=%d dtype=%s pass=training seconds=%.6g "
               "per_gemm=%.3f%s\n",
               name, ROWS, ct_dtype_name(dtype), graph, graph / gemm, b->where);
    char named[40];
    snprintf(named, sizeof named, "blockdiag-%.28s", name);
    bench_waits(b, named, training, &w);
    const ct_status status = ct_tape_status(w.tape);
    if (status) fprintf(stderr, "blockdiag: %s\n", ct_tape_message(w.tape));
    ct_tape_free(w.tape);
    ct_release(w.x), ct_release(w.W), ct_release(w.bias), ct_release(w.y_bar);
    for (int i = 0; i < 3; i++) ct_release(unit[i]);
    ct_memory_trim(dev);
    return status != CT_OK;
}

/* name: M4-F1024-bf16; f32 without a dtype */
static int run_named(const bench *b, const char *name)
{
    int M, F, length = 0;
    const bool parsed = sscanf(name, "M%d-F%d%n", &M, &F, &length) == 2 && M > 0 && F > 0;
    for (ct_dtype dtype = CT_F32; parsed && dtype <= CT_F16; dtype++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "-%s", ct_dtype_name(dtype));
        if (dtype != CT_I64 && !strcmp(name + length, dtype == CT_F32 ? "" : suffix))
            return run_case(b, name, M, F, dtype);
    }
    fprintf(stderr, "blockdiag: %s is no case; one is M4-F1024-bf16\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    int failed = 0;
    for (int k = 1; k < argc; k++) failed |= run_named(&b, argv[k]);
    for (int F = 64; F <= 4096 && argc < 2; F *= 4)
        for (int M = 1; M <= 16; M *= 2) {
            char name[32];
            snprintf(name, sizeof name, "M%d-F%d", M, F);
            failed |= run_case(&b, name, M, F, CT_F32);
        }
    bench_close(&b);
    return failed;
}
