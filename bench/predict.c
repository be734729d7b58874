/* Mean and variance of an exact GP at m new points: `predict [n...]`, m = 10,000. The unit of per_trsm is one
 * solve with the n x n triangle and m right-hand sides by BLAS, timed next to it; the target is 1.3.
 * pass=training adds the gradient of both in the points. extra_bytes is the most memory held beyond the
 * model, the points and the results. */
#include "bench.h"

#include <cotangent/gp.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 8, POINTS = 10000 };

void dtrsm_(const char *, const char *, const char *, const char *, const int *, const int *, const double *,
            const double *, const int *, double *, const int *);

static const struct kernel_case {
    const char *name, *kernel;
} cases[] = {
    { "rbf", "scale(1.3) * rbf(ard, lengthscale=0.7)" },
    { "matern52", "scale(1.3) * matern52(ard, lengthscale=0.7)" },
};

/* -- the unit -------------------------------------------------------------------------------------------- */

typedef struct solution {
    int n, m;
    double *L, *B;
} solution;

static void solve(void *context)
{
    solution *s = context;
    dtrsm_("L", "L", "N", "N", &s->n, &s->m, &(double){ 1 }, s->L, &s->n, s->B, &s->n);
}

/* Seconds of one solve. L is close to the identity, so B hardly changes from solve to solve. */
static double blas_trsm(const bench *b, int64_t n, int rounds)
{
    solution s = { (int)n, POINTS, malloc((size_t)(n * n) * sizeof(double)),
                   malloc((size_t)(n * POINTS) * sizeof(double)) };
    double best = 0;
    if (s.L && s.B) {
        for (int64_t i = 0; i < n * n; i++) s.L[i] = i % (n + 1) == 0 ? 1 : 1e-9 * (double)(i % 7);
        for (int64_t i = 0; i < n * POINTS; i++) s.B[i] = (double)(i % 11);
        best = bench_best(b, solve, &s, rounds, 0);
    }
    free(s.L);
    free(s.B);
    return best;
}

typedef struct operands {
    ct_tape *tape;
    ct_tensor *L, *B;
} operands;

static void solve_there(void *context)
{
    const operands *o = context;
    ct_tape_reset(o->tape);
    ct_tri_solve(ct_constant(o->tape, o->L), ct_constant(o->tape, o->B), 0);
}

static double time_trsm(const bench *b, int64_t n, int rounds)
{
    if (!b->queues) return blas_trsm(b, n, rounds);
    operands o = { ct_tape_new(b->dev), ct_full(b->dev, CT_F64, ct_shape2(n, n), 1e-9),
                   ct_full(b->dev, CT_F64, ct_shape2(n, POINTS), 1) };
    ct_var L = ct_add_diag(ct_constant(o.tape, o.L), ct_scalar(o.tape, CT_F64, 1));
    ct_release(o.L);
    o.L = ct_retain(ct_value(L));
    double best = bench_best(b, solve_there, &o, rounds, 0);
    ct_tape_free(o.tape);
    ct_release(o.L), ct_release(o.B);
    ct_memory_trim(b->dev);
    return best;
}

/* -- prediction ------------------------------------------------------------------------------------------ */

typedef struct problem {
    ct_gp *gp;
    ct_tape *tape;
    ct_tensor *X, *y, *Xs, *mean, *variance;
    ct_status status;
} problem;

static void predict(void *context)
{
    problem *p = context;
    p->status = ct_gp_predict(p->gp, p->Xs, p->mean, p->variance);
}

static void predict_with_gradient(void *context)
{
    problem *p = context;
    ct_var mean, variance;
    ct_tape_reset(p->tape);
    ct_gp_posterior(p->gp, ct_leaf(p->tape, p->Xs), false, &mean, &variance);
    p->status = ct_backward(ct_sum(ct_add(mean, variance), CT_ALL, false));
}

/* Rows from `first` on of columns frac((i + 1) √prime), and a smooth function of two of them with a ripple;
 * predict.py draws the same. */
static ct_tensor *columns(ct_device *dev, int64_t first, int64_t n, ct_tensor **y)
{
    static const double prime[COLUMNS] = { 2, 3, 5, 7, 11, 13, 17, 19 };
    double *x = malloc((size_t)(n * (COLUMNS + 1)) * sizeof *x), *v = x ? x + n * COLUMNS : NULL;
    for (int64_t i = 0; x && i < n; i++) {
        double row = (double)(first + i + 1);
        for (int d = 0; d < COLUMNS; d++) x[i * COLUMNS + d] = fmod(row * sqrt(prime[d]), 1);
        v[i] = sin(6 * x[i * COLUMNS]) + x[i * COLUMNS + 1] + 0.1 * sin(1000 * row);
    }
    ct_tensor *X = x ? ct_from(dev, CT_F64, ct_shape2(n, COLUMNS), x) : NULL;
    if (y) *y = x ? ct_from(dev, CT_F64, ct_shape1(n), v) : NULL;
    free(x);
    return X;
}

static double sum(const ct_tensor *t)
{
    double *x = malloc(POINTS * sizeof *x), total = NAN;
    if (x && !ct_read(t, x, POINTS * sizeof *x)) {
        total = 0;
        for (int i = 0; i < POINTS; i++) total += x[i];
    }
    free(x);
    return total;
}

static ct_gp *model(const problem *p, const char *kernel)
{
    ct_gp *gp = ct_gp_new(p->X, p->y, ct_kernel_parse(kernel),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    int64_t i = ct_gp_find(gp, "noise.variance");
    if (i < 0) return gp;
    ct_param noise = *ct_gp_param(gp, i);
    noise.value = 0.1;
    ct_gp_set_param(gp, i, &noise);
    return gp;
}

static int measure(const bench *b, int64_t n, const struct kernel_case *k, int training)
{
    ct_device *dev = b->dev;
    problem p = { .tape = ct_tape_new(dev),
                  .Xs = columns(dev, n, POINTS, NULL),
                  .mean = ct_empty(dev, CT_F64, ct_shape1(POINTS)),
                  .variance = ct_empty(dev, CT_F64, ct_shape1(POINTS)) };
    p.X = columns(dev, 0, n, &p.y);
    p.gp = p.tape && p.Xs && p.mean && p.variance && p.X && p.y ? model(&p, k->kernel) : NULL;
    int rounds = n < 500 ? 10 : n < 2000 ? 3 : 1;
    double trsm = 0, seconds = 0;
    if (p.gp && !(p.status = ct_gp_predict(p.gp, p.X, NULL, NULL))) {
        uint64_t before = ct_memory(dev).bytes_now, peak = 0;
        for (int i = 0; i < 2; i++) { /* alternates, because other programs may be running */
            double unit = time_trsm(b, n, rounds);
            ct_memory_mark(dev);
            double ours = bench_best(b, training ? predict_with_gradient : predict, &p, rounds, 0);
            trsm = i && trsm < unit ? trsm : unit;
            seconds = i && seconds < ours ? seconds : ours;
            const uint64_t held = ct_memory(dev).bytes_peak - before;
            peak = held > peak ? held : peak;
        }
        predict(&p);
        printf("bench=predict case=%s who=cotangent n=%lld m=%d d=%d dtype=f64 pass=%s seconds=%.6g "
               "per_trsm=%.3f extra_bytes=%llu value=%.12g%s\n",
               k->name, (long long)n, POINTS, COLUMNS, training ? "training" : "forward", seconds,
               seconds / trsm, (unsigned long long)peak, sum(p.mean) + sum(p.variance), b->where);
        fflush(stdout);
    }
    int failed = !p.gp || p.status;
    if (failed) fprintf(stderr, "predict: %s\n", ct_message(dev));
    ct_gp_free(p.gp);
    ct_tape_free(p.tape);
    ct_tensor *all[] = { p.X, p.y, p.Xs, p.mean, p.variance };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ct_release(all[i]);
    return failed;
}

int main(int argc, char **argv)
{
    static const char *const sizes[] = { "predict", "1000", "3000" };
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    const char *const *n_text = argc > 1 ? (const char *const *)argv : sizes;
    int count = argc > 1 ? argc : (int)(sizeof sizes / sizeof *sizes), failed = 0;
    for (int i = 1; i < count; i++) {
        int64_t n = strtoll(n_text[i], NULL, 10);
        for (size_t k = 0; k < sizeof cases / sizeof *cases && n > 0; k++)
            for (int training = 0; training < 2; training++) failed |= measure(&b, n, &cases[k], training);
    }
    bench_close(&b);
    return failed;
}
