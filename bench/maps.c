/* Elementwise functions: `maps [case...]`. The input is n points of (0, 3), 100,000 unless --n is given.
 * training is the gradient of the sum. value is the sum. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 100000 };

static const struct map_case {
    const char *name;
    ct_var (*op)(ct_var x);
} cases[] = {
    { "exp", ct_exp },         { "expm1", ct_expm1 },       { "log", ct_log },       { "log1p", ct_log1p },
    { "sin", ct_sin },         { "cos", ct_cos },           { "tanh", ct_tanh },     { "erf", ct_erf },
    { "sigmoid", ct_sigmoid }, { "softplus", ct_softplus }, { "lgamma", ct_lgamma },
};

typedef struct problem {
    ct_tape *tape;
    ct_tensor *x;
    ct_var (*op)(ct_var x);
    ct_status status;
    double value;
} problem;

static void forward(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    p->op(ct_constant(p->tape, p->x));
    p->status = ct_tape_status(p->tape);
}

static void training(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    ct_var sum = ct_sum(p->op(ct_leaf(p->tape, p->x)), CT_ALL, false);
    p->status = ct_backward(sum);
    p->value = ct_item(sum);
}

/* x_i = 3 (i + ½) / n */
static ct_tensor *points(ct_device *dev, ct_dtype dtype, int64_t n)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++) x[i] = 3 * ((double)i + 0.5) / (double)n;
    ct_tensor *wide = x ? ct_from(dev, CT_F64, ct_shape1(n), x) : NULL, *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    free(x);
    return t;
}

static bool wanted(const char *name, int argc, char **argv)
{
    bool found = argc < 2;
    for (int i = 1; i < argc; i++) found |= !strcmp(argv[i], name);
    return found;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    const int64_t n = b.n ? b.n : POINTS;
    int failed = 0;
    for (ct_dtype dtype = CT_F64; dtype <= CT_F32; dtype++) {
        if (!bench_wants(&b, dtype)) continue;
        problem p = { .tape = ct_tape_new(b.dev), .x = points(b.dev, dtype, n) };
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            if (!wanted(cases[k].name, argc, argv)) continue;
            p.op = cases[k].op;
            const double seconds[] = { bench_best(&b, forward, &p, 30, 0.05),
                                       bench_best(&b, training, &p, 30, 0.05) };
            for (int pass = 0; pass < 2; pass++)
                printf(
                    "bench=maps case=%s who=cotangent n=%lld dtype=%s pass=%s seconds=%.4g value=%.17g%s\n",
                    cases[k].name, (long long)n, ct_dtype_name(dtype), pass ? "training" : "forward",
                    seconds[pass], p.value, b.where);
            failed |= p.status;
            if (p.status) fprintf(stderr, "maps: %s\n", ct_tape_message(p.tape));
        }
        ct_release(p.x);
        ct_tape_free(p.tape);
    }
    bench_close(&b);
    return failed != 0;
}
