/* The options, the clock, the best of several rounds, and the units that times are divided by. */
#include "bench.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
            const int *, const double *, const int *, const double *, double *, const int *);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait(const bench *b)
{
    if (b->queues) ct_tape_status(b->tape);
}

/* Seconds of one call, averaged over `calls` calls in a row. */
static double timed(const bench *b, void (*run)(void *context), void *context, int calls)
{
    double start = bench_now();
    for (int i = 0; i < calls; i++) run(context);
    wait(b);
    return (bench_now() - start) / calls;
}

double bench_best(const bench *b, void (*run)(void *context), void *context, int rounds, double seconds)
{
    wait(b);
    if (b->once) return timed(b, run, context, 1);
    run(context);
    wait(b);
    int calls = 1;
    if (b->queues) {
        double once = timed(b, run, context, 1);
        while (calls < 100 && calls * once < 0.01) calls *= 2;
    }
    double best = 1e300, until = bench_now() + seconds;
    for (int i = 0; i < rounds || bench_now() < until; i++) {
        double took = timed(b, run, context, calls);
        if (took < best) best = took;
    }
    return best;
}

static void replay(void *step) { ct_step_replay(step); }

double bench_replays(const bench *b, ct_step_fn function, void *context, int rounds, double seconds)
{
    if (!b->queues) return 0;
    ct_step *step = ct_step_capture(b->dev, function, context);
    double best = step && !ct_step_replay(step) ? bench_best(b, replay, step, rounds, seconds) : 0;
    const bool failed = !best || ct_tape_status(ct_step_tape(step));
    if (failed) printf("# as a graph: %s\n", ct_message(b->dev));
    ct_step_free(step);
    return failed ? 0 : best;
}

typedef struct product {
    int n, f32;
    void *a, *b, *c;
} product;

static void multiply(void *context)
{
    product *p = context;
    if (p->f32)
        sgemm_("N", "N", &p->n, &p->n, &p->n, &(float){ 1 }, p->a, &p->n, p->b, &p->n, &(float){ 0 }, p->c,
               &p->n);
    else
        dgemm_("N", "N", &p->n, &p->n, &p->n, &(double){ 1 }, p->a, &p->n, p->b, &p->n, &(double){ 0 }, p->c,
               &p->n);
}

/* Calls BLAS directly, on the CPU. */
static double blas_gemm(const bench *b, int64_t n, int f32, int rounds)
{
    size_t bytes = (size_t)(n * n) * (f32 ? sizeof(float) : sizeof(double));
    product p = { (int)n, f32, malloc(bytes), malloc(bytes), malloc(bytes) };
    double best = 0;
    if (p.a && p.b && p.c) {
        for (int64_t i = 0; i < n * n; i++) {
            double x = (double)(i * 2654435761u % 1000) / 1000 - 0.5;
            if (f32)
                ((float *)p.a)[i] = (float)x, ((float *)p.b)[i] = (float)-x;
            else
                ((double *)p.a)[i] = x, ((double *)p.b)[i] = -x;
        }
        best = bench_best(b, multiply, &p, rounds, 0);
    }
    free(p.a);
    free(p.b);
    free(p.c);
    return best;
}

typedef struct factors {
    ct_tape *tape;
    ct_tensor *A, *B;
} factors;

static void multiply_there(void *context)
{
    factors *f = context;
    ct_tape_reset(f->tape);
    ct_matmul(ct_constant(f->tape, f->A), ct_constant(f->tape, f->B));
}

double bench_product(const bench *b, ct_tensor *A, ct_tensor *B, int rounds, double seconds)
{
    factors f = { ct_tape_new(b->dev), A, B };
    double best = bench_best(b, multiply_there, &f, rounds, seconds);
    if (ct_tape_status(f.tape)) fprintf(stderr, "the product: %s\n", ct_tape_message(f.tape));
    ct_tape_free(f.tape);
    return best;
}

double bench_gemm(const bench *b, int64_t n, ct_dtype dtype, int rounds)
{
    if (!b->queues) return blas_gemm(b, n, dtype == CT_F32, rounds);
    ct_tensor *A = ct_rand_uniform(b->dev, dtype, ct_shape2(n, n), 1, 0),
              *B = ct_rand_uniform(b->dev, dtype, ct_shape2(n, n), 1, 1);
    double best = A && B ? bench_product(b, A, B, rounds, 0) : 0;
    ct_release(A), ct_release(B);
    ct_memory_trim(b->dev);
    return best;
}

void bench_waits(const bench *b, const char *name, void (*run)(void *context), void *context)
{
    enum { LEAST = 256, MOST = 8192 };
    if (!b->queues) return;
    factors f = { .tape = ct_tape_new(b->dev) };
    double one = 0; /* product, of 10 ms: few enough for the queue of the driver */
    for (int64_t n = LEAST; n <= MOST && one < 0.01; n *= 2) {
        ct_release(f.A), ct_release(f.B);
        f.A = ct_rand_uniform(b->dev, CT_F64, ct_shape2(n, n), 1, 0);
        f.B = ct_rand_uniform(b->dev, CT_F64, ct_shape2(n, n), 1, 1);
        one = bench_product(b, f.A, f.B, 1, 0);
    }
    for (int i = 0; i < 2; i++) run(context), wait(b); /* loads its kernels and takes its memory */
    const int count = one > 1e-4 ? (int)(0.1 / one) + 1 : 1000;
    const double start = bench_now();
    for (int i = 0; i < count; i++) multiply_there(&f);
    const double queued = bench_now();
    run(context);
    const double returned = bench_now();
    wait(b);
    printf("bench=waits case=%s who=cotangent host_seconds=%.3g device_seconds=%.3g queue_seconds=%.3g%s\n",
           name, returned - queued, bench_now() - queued, count * one - (queued - start), b->where);
    fflush(stdout);
    ct_tape_free(f.tape);
    ct_release(f.A), ct_release(f.B);
    ct_memory_trim(b->dev);
}

typedef struct copying {
    char *from, *to;
    int64_t bytes;
} copying;

static void copy(void *context)
{
    const copying *c = context;
    const int threads = omp_get_max_threads();
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const int64_t start = c->bytes / threads * t,
                      end = t + 1 < threads ? start + c->bytes / threads : c->bytes;
        memcpy(c->to + start, c->from + start, (size_t)(end - start));
    }
}

typedef struct transfer {
    ct_tensor *from, *to;
} transfer;

static void copy_there(void *context)
{
    const transfer *t = context;
    ct_copy(t->from, t->to);
}

static double copy_on_device(const bench *b, int64_t bytes, int rounds)
{
    ct_shape shape = ct_shape1(bytes / 2 / (int64_t)sizeof(float));
    transfer t = { ct_zeros(b->dev, CT_F32, shape), ct_empty(b->dev, CT_F32, shape) };
    double best = t.from && t.to ? bench_best(b, copy_there, &t, rounds, 0) : 0;
    ct_release(t.from), ct_release(t.to);
    ct_memory_trim(b->dev);
    return best;
}

double bench_copy(const bench *b, int64_t bytes, int rounds)
{
    if (b->queues) return copy_on_device(b, bytes, rounds);
    copying c = { malloc((size_t)bytes / 2), malloc((size_t)bytes / 2), bytes / 2 };
    double best = 0;
    if (c.from && c.to) {
        memset(c.from, 1, (size_t)c.bytes);
        best = bench_best(b, copy, &c, rounds, 0);
    }
    free(c.from);
    free(c.to);
    return best;
}

/* -- options --------------------------------------------------------------------------------------------- */

/* Removes words[at] and the word after it from the list and returns the latter; NULL if there is none. */
static const char *take(int *count, char **words, int at, int how_many)
{
    const char *value = at + 1 < *count ? words[at + 1] : NULL;
    if (how_many > *count - at) how_many = *count - at;
    memmove(words + at, words + at + how_many, (size_t)(*count - at - how_many) * sizeof *words);
    *count -= how_many;
    return value;
}

static int dtype_named(const char *name)
{
    for (int t = CT_F64; t <= CT_F16; t++)
        if (!strcmp(name, ct_dtype_name((ct_dtype)t))) return t;
    return -1;
}

int bench_open(bench *b, int *argc, char **argv)
{
    *b = (bench){ .dtype = -1 };
    const char *name = "cpu";
    int bad = 0;
    for (int i = 1; i < *argc && !bad;) {
        const char *option = argv[i], *value;
        if (strncmp(option, "--", 2)) {
            i++;
        } else if (!strcmp(option, "--once")) {
            take(argc, argv, i, 1);
            b->once = true;
        } else if (!(value = take(argc, argv, i, 2))) {
            bad = 1;
        } else if (!strcmp(option, "--device")) {
            name = value;
            snprintf(b->where, sizeof b->where, " device=%s", name);
        } else if (!strcmp(option, "--dtype")) {
            bad = (b->dtype = dtype_named(value)) < 0;
        } else if (!strcmp(option, "--n")) {
            bad = (b->n = atoll(value)) <= 0;
        } else if (!strcmp(option, "--batch")) {
            bad = (b->batch = atoll(value)) <= 0;
        } else if (!strcmp(option, "--d")) {
            bad = (b->d = atoll(value)) <= 0;
        } else {
            bad = 1;
        }
        if (bad)
            fprintf(stderr,
                    "%s: not an option, or without its value; there are: --device NAME --dtype T --n N --d D "
                    "--batch N --once\n",
                    option);
    }
    if (bad) return bad;
    b->dev = ct_device_open(name);
    if (ct_device_status(b->dev)) {
        fprintf(stderr, "%s\n", ct_message(b->dev));
        ct_device_close(b->dev);
        return 1;
    }
    b->tape = ct_tape_new(b->dev);
    b->queues = strcmp(ct_device_name(b->dev), "cpu") != 0;
    printf("# %s\n", ct_device_description(b->dev));
    return !b->tape;
}

void bench_close(bench *b)
{
    ct_tape_free(b->tape);
    ct_device_close(b->dev);
}

bool bench_wants(const bench *b, ct_dtype dtype) { return b->dtype < 0 || b->dtype == (int)dtype; }
