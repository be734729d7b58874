/* ridge_solve: P = (BᵀB + λ DᵀD)⁻¹ Bᵀ for 64 samples, r = 60, n = 512, with one D for all (shared) or one
 * each (per-sample). The training pass takes the gradients in all three inputs. The unit of per_gemm is 64
 * n×n×n products, one per sample. Arguments: names of cases; --n and --batch set other sizes. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, N = 512, R = 60 }; /* r for n = 512; in proportion for another n */

typedef struct work {
    ct_tape *tape;
    ct_tensor *B, *D, *lambda, *G;
    ct_var in[3], P;
} work;

static void forward(void *context)
{
    work *w = context;
    ct_tape_reset(w->tape);
    w->in[0] = ct_leaf(w->tape, w->B), w->in[1] = ct_leaf(w->tape, w->D),
    w->in[2] = ct_leaf(w->tape, w->lambda);
    w->P = ct_ridge_solve(w->in[0], w->in[1], w->in[2]);
}

static void training(void *context)
{
    work *w = context;
    ct_var bar[3];
    forward(w);
    ct_grad(w->P, ct_constant(w->tape, w->G), w->in, bar, 3, CT_GRAD_FREE);
}

static double min(double a, double b) { return a < b ? a : b; }

/* D = I + ½ H/√n, H normal, as in ridge.py: condition about 3. */
static ct_tensor *near_identity(ct_device *dev, ct_tape *tape, ct_dtype dtype, ct_shape shape)
{
    ct_tensor *H = ct_rand_normal(dev, dtype, shape, 1, 1), *D = NULL;
    ct_var sum = ct_add_diag(ct_scale(ct_constant(tape, H), 0.5 / sqrt((double)shape.dim[shape.ndim - 1])),
                             ct_scalar(tape, dtype, 1));
    D = ct_retain(ct_value(sum));
    ct_tape_reset(tape);
    ct_release(H);
    return D;
}

static int run_case(const bench *b, const char *name, ct_dtype dtype)
{
    ct_device *dev = b->dev;
    const int64_t batch = b->batch ? b->batch : BATCH, n = b->n ? b->n : N,
                  r = b->n ? (b->n * R + N - 1) / N : R;
    work w = { .tape = ct_tape_new(dev) };
    bool shared = !strcmp(name, "shared");
    w.B = ct_rand_normal(dev, dtype, ct_shape3(batch, r, n), 1, 0);
    w.D = near_identity(dev, w.tape, dtype, shared ? ct_shape2(n, n) : ct_shape3(batch, n, n));
    w.lambda = ct_full(dev, dtype, ct_shape1(batch), 10);
    w.G = ct_rand_normal(dev, dtype, ct_shape3(batch, n, r), 1, 2);
    double gemm = 1e300, seconds[2] = { 1e300, 1e300 };
    for (int round = 0; round < 3; round++) { /* interleaved */
        gemm = min(gemm, bench_gemm(b, n, dtype, 10));
        seconds[0] = min(seconds[0], bench_best(b, forward, &w, 2, 0.2));
        seconds[1] = min(seconds[1], bench_best(b, training, &w, 2, 0.4));
    }
    ct_tape_reset(w.tape);
    for (int pass = 0; pass < 2; pass++) {
        ct_memory_mark(dev);
        uint64_t before = ct_memory(dev).bytes_now;
        pass ? training(&w) : forward(&w);
        uint64_t results = (uint64_t)(batch * n * r);
        if (pass) results += (uint64_t)(ct_tensor_count(w.B) + ct_tensor_count(w.D) + batch);
        printf("bench=ridge case=%s who=cotangent n=%lld dtype=%s pass=%s seconds=%.6g per_gemm=%.3f "
               "peak_bytes=%lld%s\n",
               name, (long long)n, ct_dtype_name(dtype), pass ? "training" : "forward", seconds[pass],
               seconds[pass] / gemm / (double)batch,
               (long long)(ct_memory(dev).bytes_peak - before) - (long long)(results * ct_dtype_size(dtype)),
               b->where);
        ct_tape_reset(w.tape);
    }
    char named[40];
    snprintf(named, sizeof named, "ridge-%s-%s", name, ct_dtype_name(dtype));
    bench_waits(b, named, training, &w);
    const ct_status status = ct_tape_status(w.tape);
    if (status) fprintf(stderr, "ridge: %s\n", ct_tape_message(w.tape));
    ct_tape_free(w.tape);
    ct_release(w.B), ct_release(w.D), ct_release(w.lambda), ct_release(w.G);
    return status != CT_OK;
}

int main(int argc, char **argv)
{
    static const char *const cases[] = { "shared", "per-sample" };
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    int failed = 0;
    for (size_t i = 0; i < 2; i++)
        for (int f32 = 0; f32 < 2; f32++) {
            bool chosen = argc < 2, wanted = bench_wants(&b, f32 ? CT_F32 : CT_F64);
            for (int k = 1; k < argc; k++) chosen |= !strcmp(argv[k], cases[i]);
            if (chosen && wanted) failed |= run_case(&b, cases[i], f32 ? CT_F32 : CT_F64);
            fflush(stdout);
        }
    bench_close(&b);
    return failed;
}
