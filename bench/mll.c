/* The likelihood of an exact GP and its gradient: `mll [n... case... pass mixed]`. With mixed the factor is
 * also computed in f32; with --dtype f32 everything is. Each size, kernel and pass prints one line. The unit
 * of per_gemm is one n x n x n product, timed next to it. bytes_per_8n2 is the most memory held at once, in n
 * x n arrays; with --once resident_bytes is the most that the process held. n may be `largest`, what the
 * device's memory holds. On a GPU who=cotangent-graph is value and gradient as a graph. case=batch64 is one
 * call for 64 data sets, up to n = 500 unless it is named, with d = 4 for n <= 20; its per_gemm is a
 * member's, and value is the members' sum. Targets with gradient: 0.60, 0.68 and 0.90 of a product for
 * n = 6000, 3000 and 1000. */
#include "bench.h"

#include <cotangent/gp.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_COLUMNS = 8, FEW_COLUMNS = 4, SMALLEST = 20, BATCH_ROWS = 500 };

static const struct kernel_case {
    const char *name, *kernel;
    int64_t batch; /* 0: none */
    int levels;    /* of column 0; 0: numbers */
} cases[] = {
    { "rbf", "scale(1.3) * rbf(ard, lengthscale=0.7)", 0, 0 },
    { "matern52", "scale(1.3) * matern52(ard, lengthscale=0.7)", 0, 0 },
    { "sum3",
      "scale(1.3) * rbf(ard, lengthscale=0.7) + scale(0.5) * matern32(ard, lengthscale=1.5) + "
      "scale(0.2) * linear",
      0, 0 },
    { "category", "scale(1.3) * rbf(ard, lengthscale=0.7) * category(dims=0)", 0, 0 },
    { "index", "scale(1.3) * rbf(ard, lengthscale=0.7) * index(dims=0, rank=2, levels=5)", 0, 5 },
    { "batch64", "scale(1.3) * rbf(ard, lengthscale=0.7)", 64, 0 },
};

typedef struct problem {
    ct_tape *tape;
    ct_kernel *kernel;
    ct_tensor *X, *y, *noise, *theta; /* theta: only of a batch */
    ct_dtype dtype;
    int training, mixed;
    ct_var v;
    double value;
    ct_gp_mixed report;
    ct_status status;
} problem;

static ct_status step(ct_tape *tape, void *context)
{
    problem *p = context;
    ct_var theta = p->theta ? ct_leaf(tape, p->theta) : ct_kernel_theta(p->kernel, tape, p->dtype);
    ct_var noise = p->training ? ct_leaf(tape, p->noise) : ct_constant(tape, p->noise);
    if (!p->training) theta = ct_stop_gradient(theta);
    ct_var X = ct_constant(tape, p->X), y = ct_constant(tape, p->y);
    p->v = p->mixed ? ct_gp_nlml_mixed(p->kernel, theta, X, y, noise, &p->report)
                    : ct_gp_nlml(p->kernel, theta, X, y, noise);
    if (p->theta) p->v = ct_sum(p->v, CT_ALL, false);
    return p->training ? ct_backward(p->v) : CT_OK;
}

static void start(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    p->status = step(p->tape, p);
}

/* Reads the value, as a search does after each step. */
static void run(void *context)
{
    problem *p = context;
    start(p);
    p->value = ct_item(p->v);
    if (!p->status) p->status = ct_tape_status(p->tape);
}

static ct_tensor *as(ct_tensor *f64, ct_dtype dtype)
{
    ct_tensor *t = ct_tensor_cast(f64, dtype);
    ct_release(f64);
    return t;
}

/* The parameters of member k are the kernel's times 1 + k/500. */
static int make_theta(ct_device *dev, int64_t batch, problem *p)
{
    const int64_t P = ct_kernel_params(p->kernel);
    double *theta = malloc((size_t)(batch * P) * sizeof *theta);
    for (int64_t i = 0; theta && i < batch * P; i++)
        theta[i] = ct_kernel_param(p->kernel, i % P)->value * (1 + (double)(i / P) / 500);
    p->theta = theta ? as(ct_from(dev, CT_F64, ct_shape2(batch, P), theta), p->dtype) : NULL;
    ct_release(p->noise);
    p->noise = ct_full(dev, p->dtype, ct_shape2(batch, 1), 0.1);
    free(theta);
    return !p->theta || !p->noise;
}

/* Columns frac((i + 1) √prime), and a smooth function of two of them with a ripple; mll.py draws the same. A
 * batch has the first n rows, the next n, and so on. */
static int make_data(ct_device *dev, const struct kernel_case *k, int64_t rows, int d, problem *p)
{
    static const double prime[MOST_COLUMNS] = { 2, 3, 5, 7, 11, 13, 17, 19 };
    const int64_t batch = k->batch, n = rows * (batch ? batch : 1), shape[] = { batch, rows, d };
    double *x = malloc((size_t)(n * (d + 1)) * sizeof *x), *y = x ? x + n * d : NULL;
    for (int64_t i = 0; x && i < n; i++) {
        for (int j = 0; j < d; j++) x[i * d + j] = fmod((double)(i + 1) * sqrt(prime[j]), 1);
        y[i] = sin(6 * x[i * d]) + x[i * d + 1] + 0.1 * sin(1000 * (double)(i + 1));
        if (k->levels) x[i * d] = floor(k->levels * x[i * d]);
    }
    p->X = x ? as(ct_from(dev, CT_F64, batch ? ct_shape_of(3, shape) : ct_shape2(n, d), x), p->dtype) : NULL;
    p->y = x ? as(ct_from(dev, CT_F64, batch ? ct_shape_of(2, shape) : ct_shape1(n), y), p->dtype) : NULL;
    p->noise = ct_full(dev, p->dtype, ct_shape0(), 0.1);
    free(x);
    return !p->X || !p->y || !p->noise || (batch && make_theta(dev, batch, p));
}

/* Bytes; getrusage counts in KiB. */
static double most_resident(void)
{
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* Value and gradient as a graph, and whether starting them waits. */
static void measure_step(const bench *b, problem *p, const char *name, int64_t n, int d, int rounds,
                         double unit)
{
    const double graph = bench_replays(b, step, p, rounds, 0);
    if (graph > 0)
        printf("bench=mll case=%s who=cotangent-graph n=%lld d=%d dtype=%s pass=training seconds=%.6g "
               "per_gemm=%.3f%s\n",
               name, (long long)n, d, ct_dtype_name(p->dtype), graph, graph / unit, b->where);
    char named[40];
    snprintf(named, sizeof named, "mll-%s-%lld-%s", name, (long long)n, ct_dtype_name(p->dtype));
    bench_waits(b, named, start, p);
}

static int measure(const bench *b, int64_t n, const struct kernel_case *k, int training, int mixed)
{
    ct_device *dev = b->dev;
    const int d = b->d ? (int)b->d : k->batch && n <= SMALLEST ? FEW_COLUMNS : MOST_COLUMNS;
    problem p = { .tape = ct_tape_new(dev), .kernel = ct_kernel_parse(k->kernel) };
    p.dtype = b->dtype < 0 ? CT_F64 : (ct_dtype)b->dtype;
    p.training = training;
    p.mixed = mixed;
    int failed = ct_kernel_bind(p.kernel, d) != CT_OK || make_data(dev, k, n, d, &p);
    int rounds = k->batch   ? (n < 50    ? 200
                               : n < 200 ? 20
                                         : 3)
                 : n < 50   ? 2000
                 : n < 500  ? 100
                 : n < 2000 ? 12
                 : n < 5000 ? 2
                            : 1;
    double gemm = 0, seconds = 0;
    uint64_t peak = 0;
    if (!failed) {
        const uint64_t before = ct_memory(dev).bytes_now;
        for (int i = 0; i < (b->once ? 1 : 2); i++) { /* alternates, because other programs may be running */
            double product = b->once ? 0 : bench_gemm(b, n, p.dtype, rounds);
            ct_memory_mark(dev);
            double ours = bench_best(b, run, &p, rounds, 0);
            const uint64_t held = ct_memory(dev).bytes_peak - before;
            peak = held > peak ? held : peak;
            gemm = i && gemm < product ? gemm : product;
            seconds = i && seconds < ours ? seconds : ours;
        }
        printf("bench=mll case=%s who=cotangent n=%lld d=%d dtype=%s pass=%s seconds=%.6g", k->name,
               (long long)n, d, mixed ? "mixed" : ct_dtype_name(p.dtype), training ? "training" : "forward",
               seconds);
        if (!b->once) printf(" per_gemm=%.3f", seconds / gemm / (double)(k->batch ? k->batch : 1));
        if (k->batch) printf(" peak_bytes=%llu", (unsigned long long)peak);
        if (!k->batch) printf(" bytes_per_8n2=%.3f", (double)peak / (8.0 * (double)n * (double)n));
        printf(" value=%.12g", p.value);
        if (mixed) printf(" error=%.2g steps=%d", p.report.error, p.report.steps);
        if (b->once) printf(" resident_bytes=%.0f", most_resident());
        printf("%s\n", b->where);
        fflush(stdout);
        failed = p.status != CT_OK;
        if (failed) fprintf(stderr, "mll: %s\n", ct_tape_message(p.tape));
        if (!failed && training && !mixed && !b->once)
            measure_step(b, &p, k->name, n, d, rounds, gemm * (double)(k->batch ? k->batch : 1));
    }
    ct_tape_free(p.tape);
    ct_kernel_free(p.kernel);
    ct_release(p.X);
    ct_release(p.y);
    ct_release(p.noise);
    ct_release(p.theta);
    return failed;
}

/* The most rows whose likelihood the device holds, in thousands. */
static int64_t largest(const bench *b)
{
    const double most = 0.95 * (double)ct_memory(b->dev).limit;
    int64_t n = 1000;
    while ((double)ct_gp_bytes_needed(b->dev, n + 1000, MOST_COLUMNS, CT_F64, true) <= most) n += 1000;
    return n;
}

static int named(const char *name, int count, const char *const *words)
{
    for (int i = 1; i < count; i++)
        if (!strcmp(words[i], name)) return 1;
    return 0;
}

/* Whether the arguments name the case and the pass, or no case and pass at all, which selects all but large
 * batches. */
static int wanted(size_t k, int64_t n, int training, int count, const char *const *words)
{
    int some = n > BATCH_ROWS && cases[k].batch, one = named("forward", count, words);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) some |= named(cases[i].name, count, words);
    return (!some || named(cases[k].name, count, words)) &&
           (one == named("training", count, words) || one != training);
}

int main(int argc, char **argv)
{
    static const char *const sizes[] = { "mll", "20", "100", "500", "1000", "3000" };
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    if (b.d == 1 || b.d > MOST_COLUMNS)
        return fprintf(stderr, "mll: --d is 2 to %d\n", MOST_COLUMNS), bench_close(&b), 1;
    const char *const *words = argc > 1 ? (const char *const *)argv : sizes;
    int count = argc > 1 ? argc : (int)(sizeof sizes / sizeof *sizes), failed = 0;
    for (int i = 1; i < count; i++) {
        int64_t n = strcmp(words[i], "largest") ? strtoll(words[i], NULL, 10) : largest(&b);
        for (size_t k = 0; k < sizeof cases / sizeof *cases && n > 0; k++)
            for (int training = 0; training < 2; training++)
                for (int mixed = 0; mixed <= (!cases[k].batch && named("mixed", count, words)); mixed++)
                    if (wanted(k, n, training, count, words))
                        failed |= measure(&b, n, &cases[k], training, mixed);
    }
    bench_close(&b);
    return failed;
}
