/* Values and derivatives of GradBench's problems, on one thread. GradBench is the neutral comparison of
 * tapes. */
#include "gradbench/gradbench.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ct_tensor *sines(ct_device *device, ct_shape shape, double first, double scale)
{
    const int64_t n = ct_shape_count(shape);
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; v && i < n; i++) v[i] = scale * sin(first + 0.1 * (double)i * (double)i);
    ct_tensor *t = ct_from(device, CT_F64, shape, v);
    free(v);
    return t;
}

ct_var constant(const problem *p, int i) { return ct_constant(p->tape, p->constant[i]); }

void finish(problem *p, ct_var x, ct_var y)
{
    p->value = ct_item(y);
    ct_backward(y);
    p->derivative = ct_cotangent(x);
}

static void run(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    p->run(p);
}

/* Σ_i d_i cos i of the derivative's elements */
static double checksum(const problem *p)
{
    const int64_t n = ct_tensor_count(p->derivative);
    double sum = NAN, *d = calloc((size_t)n + 1, sizeof *d);
    if (d && !ct_read(p->derivative, d, (size_t)n * sizeof *d)) {
        sum = 0;
        for (int64_t i = 0; i < n; i++) sum += d[i] * cos((double)i);
    }
    free(d);
    return sum;
}

static int measure(bench *b, const problem *of, int64_t n, int64_t m)
{
    problem p = *of;
    p.n = n, p.m = m;
    p.device = b->dev;
    p.tape = ct_tape_new(b->dev);
    p.setup(&p);
    const double seconds = bench_best(b, run, &p, 3, 0.3);
    printf("bench=gradbench case=%s-%lldx%lld who=cotangent n=%lld dtype=f64 pass=training seconds=%.3g%s\n",
           p.name, (long long)n, (long long)m, (long long)n, seconds, b->where);
    printf("# case=%s-%lldx%lld y=%.15g derivative=%.15g\n", p.name, (long long)n, (long long)m, p.value,
           checksum(&p));
    const int failed = ct_tape_status(p.tape);
    if (failed) fprintf(stderr, "gradbench: %s: %s\n", p.name, ct_tape_message(p.tape));
    ct_tape_free(p.tape);
    ct_release(p.x);
    for (int i = 0; i < CONSTANTS; i++) ct_release(p.constant[i]);
    return failed;
}

int main(int argc, char **argv)
{
    static const struct {
        const problem *problem;
        int64_t n, m;
    } cases[] = {
        { &lse, 2500, 1 },      { &lse, 1000000, 1 },    { &llsq, 64, 128 },  { &llsq, 1024, 128 },
        { &gmm, 10, 10 },       { &gmm, 20, 50 },        { &det, 7, 1 },      { &det, 9, 1 },
        { &kmeans, 10000, 10 }, { &kmeans, 10000, 100 }, { &ode, 1000, 100 }, { &ode, 10000, 100 },
        { &lstm, 1024, 2 },     { &ht, 544, 20 },        { &ba, 10000, 1 },
    };
    bench b;
    int failed = 0;
    if (bench_open(&b, &argc, argv)) return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool chosen = argc < 2;
        for (int k = 1; k < argc; k++) chosen |= !strcmp(argv[k], cases[i].problem->name);
        if (chosen) failed |= measure(&b, cases[i].problem, cases[i].n, cases[i].m);
    }
    bench_close(&b);
    return failed != 0;
}
