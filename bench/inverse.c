/* Inverses of a batch of 512×512 matrices, and 60 columns of them, for a loss with a given cotangent.
 * Floors in products of the same size: spd 0.5 forward, 1.5 with backward; general 1.0 and 3.0.
 *
 *     inverse [case [dtype [n [batch [seconds]]]]] */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 60 };

typedef struct problem {
    const char *name;
    ct_tape *tape;
    ct_tensor *A, *bar, *index;
    int training;
} problem;

static ct_var inverse_of(const problem *p, ct_var A)
{
    if (!strcmp(p->name, "spd")) return ct_inverse_spd(A);
    if (!strcmp(p->name, "general")) return ct_inverse(A);
    return ct_inverse_cols(A, ct_constant(p->tape, p->index));
}

static void run(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    ct_var A = p->training ? ct_leaf(p->tape, p->A) : ct_constant(p->tape, p->A), A_bar;
    ct_var P = inverse_of(p, A);
    if (p->training) ct_grad(P, ct_constant(p->tape, p->bar), &A, &A_bar, 1, CT_GRAD_FREE);
}

/* R Rᵀ / n + I, positive definite, or R + √n I, general. */
static ct_tensor *matrices(ct_device *dev, ct_dtype dtype, int64_t batch, int64_t n, int spd)
{
    ct_tensor *R = ct_rand_normal(dev, dtype, ct_shape3(batch, n, n), 7, 0);
    ct_tensor *d = ct_full(dev, dtype, ct_shape0(), spd ? (double)n : 22.6);
    ct_tape *tape = ct_tape_new(dev);
    ct_var r = ct_constant(tape, R), A = ct_add_diag(spd ? ct_matmul(r, ct_t(r)) : r, ct_constant(tape, d));
    ct_tensor *t = ct_retain(ct_value(ct_scale(A, 1 / (double)n)));
    ct_tape_free(tape);
    ct_release(R);
    ct_release(d);
    return t;
}

/* *gemm is the time of the fastest product of this run so far. */
static double per_gemm(const bench *b, problem *p, int64_t n, ct_dtype dtype, int64_t batch, double seconds,
                       double *gemm, double *best)
{
    *best = 1e300;
    for (double until = bench_now() + seconds; bench_now() < until || *best == 1e300;) {
        double g = bench_gemm(b, n, dtype, 10), t = bench_best(b, run, p, 2, 0);
        if (g < *gemm) *gemm = g;
        if (t < *best) *best = t;
    }
    return *best / ((double)batch * *gemm);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "spd", "general", "cols60" };
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    ct_device *dev = b.dev;
    const char *only = argc > 1 ? argv[1] : "all", *dtype_only = argc > 2 ? argv[2] : "all";
    int64_t n = argc > 3 ? atoll(argv[3])
                : b.n    ? b.n
                         : 512,
            batch = argc > 4  ? atoll(argv[4])
                    : b.batch ? b.batch
                              : 64;
    double seconds = argc > 5 ? atof(argv[5]) : 3;
    int failed = 0;
    int64_t index[COLUMNS];
    for (int64_t i = 0; i < COLUMNS; i++) index[i] = (i * 37 + 11) % n;
    ct_tensor *idx = ct_from(dev, CT_I64, ct_shape1(COLUMNS), index);
    for (int f32 = 0; f32 <= 1; f32++) {
        double gemm = 1e300;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            ct_dtype dtype = f32 ? CT_F32 : CT_F64;
            if (strcmp(only, "all") && strcmp(only, names[i])) continue;
            if (strcmp(dtype_only, "all") && strcmp(dtype_only, ct_dtype_name(dtype))) continue;
            if (!bench_wants(&b, dtype)) continue;
            problem p = { .name = names[i], .tape = ct_tape_new(dev), .index = idx };
            p.A = matrices(dev, dtype, batch, n, i == 0);
            p.bar = ct_rand_normal(dev, dtype, ct_shape3(batch, n, i == 2 ? COLUMNS : n), 8, 0);
            for (p.training = 0; p.training <= 1; p.training++) {
                ct_tape_reset(p.tape);
                double best, ratio;
                uint64_t held = ct_memory(dev).bytes_now;
                ct_memory_mark(dev);
                run(&p);
                uint64_t peak = ct_memory(dev).bytes_peak - held;
                ratio = per_gemm(&b, &p, n, dtype, batch, seconds, &gemm, &best);
                const ct_status status = ct_tape_status(p.tape);
                failed |= status;
                printf(
                    "bench=inverse case=%s who=cotangent n=%lld dtype=%s pass=%s seconds=%.5f per_gemm=%.3f "
                    "peak_bytes=%llu%s\n",
                    names[i], (long long)n, ct_dtype_name(dtype), p.training ? "training" : "forward", best,
                    ratio, (unsigned long long)peak, b.where);
                fflush(stdout);
                if (status) fprintf(stderr, "inverse: %s\n", ct_tape_message(p.tape));
            }
            ct_tape_free(p.tape);
            ct_release(p.A);
            ct_release(p.bar);
        }
    }
    ct_release(idx);
    bench_close(&b);
    return failed != 0;
}
