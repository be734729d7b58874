/* The clock, the best of several rounds, and the matrix product that others are measured by. */
#include "bench.h"

#include <cotangent/device.h>

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

double bench_best(void (*run)(void *context), void *context, int rounds, double seconds)
{
    run(context);
    double best = 1e300, until = bench_now() + seconds;
    for (int i = 0; i < rounds || bench_now() < until; i++) {
        double start = bench_now();
        run(context);
        double took = bench_now() - start;
        if (took < best) best = took;
    }
    return best;
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

double bench_gemm(int64_t n, int f32, int rounds)
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
        best = bench_best(multiply, &p, rounds, 0);
    }
    free(p.a);
    free(p.b);
    free(p.c);
    return best;
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

double bench_copy(int64_t bytes, int rounds)
{
    copying c = { malloc((size_t)bytes / 2), malloc((size_t)bytes / 2), bytes / 2 };
    double best = 0;
    if (c.from && c.to) {
        memset(c.from, 1, (size_t)c.bytes);
        best = bench_best(copy, &c, rounds, 0);
    }
    free(c.from);
    free(c.to);
    return best;
}

void bench_machine(void)
{
    ct_device *dev = ct_device_open("cpu");
    printf("# %s\n", ct_device_description(dev));
    ct_device_close(dev);
}
