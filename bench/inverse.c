/* Inverses of a batch of 512×512 matrices, and parts of them, for a loss with a given cotangent: 60 columns,
 * all columns of the first 60 rows, the diagonal. Floors in products of the same size: spd 0.5 forward, 1.5
 * with backward; general 1.0 and 3.0; diag 0.67 and 2.0, diag_spd 0.33 and 1.0. The diagonals are also taken
 * from whole inverses, as who=cotangent-inverse. On a GPU who=cotangent-graph is the training step as a
 * graph.
 *
 *     inverse [case [dtype [n [batch [seconds]]]]] */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 60 };

typedef enum part { ALL, COLUMNS, ROWS, DIAGONAL } part;

typedef struct work {
    const char *name;
    bool spd;
    part part;
} work;

static const work works[] = { { "spd", true, ALL },         { "general", false, ALL },
                              { "cols60", false, COLUMNS }, { "rows60", false, ROWS },
                              { "diag", false, DIAGONAL },  { "diag_spd", true, DIAGONAL } };

typedef struct problem {
    work work;
    ct_tape *tape;
    ct_tensor *A, *bar, *index;
    bool whole, training; /* the diagonal of the whole inverse; forward and backward */
} problem;

static ct_var inverse_of(const problem *p, ct_tape *tape, ct_var A)
{
    const bool spd = p->work.spd;
    switch (p->work.part) {
    case COLUMNS: return ct_inverse_cols(A, ct_constant(tape, p->index));
    case ROWS: return ct_inverse_rows(A, ct_constant(tape, p->index));
    case DIAGONAL:
        if (!p->whole) return (spd ? ct_inverse_diag_spd : ct_inverse_diag)(A);
        return ct_diag((spd ? ct_inverse_spd : ct_inverse)(A));
    default: return (spd ? ct_inverse_spd : ct_inverse)(A);
    }
}

static ct_status step(ct_tape *tape, void *context)
{
    const problem *p = context;
    ct_var A = p->training ? ct_leaf(tape, p->A) : ct_constant(tape, p->A), A_bar;
    ct_var P = inverse_of(p, tape, A);
    return p->training ? ct_grad(P, ct_constant(tape, p->bar), &A, &A_bar, 1, CT_GRAD_FREE) : CT_OK;
}

static void run(void *context)
{
    problem *p = context;
    ct_tape_reset(p->tape);
    step(p->tape, p);
}

static ct_shape shape_of(part which, int64_t batch, int64_t n)
{
    return which == COLUMNS    ? ct_shape3(batch, n, PART)
           : which == ROWS     ? ct_shape3(batch, PART, n)
           : which == DIAGONAL ? ct_shape2(batch, n)
                               : ct_shape3(batch, n, n);
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

/* The training step as a graph, and whether it waits. */
static void measure_step(const bench *b, problem *p, double gemm)
{
    const char *dtype = ct_dtype_name(ct_tensor_dtype(p->A));
    const int64_t batch = ct_tensor_shape(p->A).dim[0], n = ct_tensor_shape(p->A).dim[1];
    const double graph = bench_replays(b, step, p, 2, 0.2);
    if (graph > 0)
        printf("bench=inverse case=%s who=cotangent-graph n=%lld batch=%lld dtype=%s pass=training "
               "seconds=%.6g per_gemm=%.3f%s\n",
               p->work.name, (long long)n, (long long)batch, dtype, graph, graph / gemm / (double)batch,
               b->where);
    char name[40];
    snprintf(name, sizeof name, "inverse-%s-%s", p->work.name, dtype);
    bench_waits(b, name, run, p);
}

/* Prints forward and training; returns whether they failed. */
static bool measure(const bench *b, problem *p, double seconds, double *gemm)
{
    const ct_dtype dtype = ct_tensor_dtype(p->A);
    const int64_t batch = ct_tensor_shape(p->A).dim[0], n = ct_tensor_shape(p->A).dim[1];
    bool failed = false;
    for (int training = 0; training <= 1; training++) {
        p->training = training;
        ct_tape_reset(p->tape);
        double best;
        uint64_t held = ct_memory(b->dev).bytes_now;
        ct_memory_mark(b->dev);
        run(p);
        uint64_t peak = ct_memory(b->dev).bytes_peak - held;
        const double ratio = per_gemm(b, p, n, dtype, batch, seconds, gemm, &best);
        const ct_status status = ct_tape_status(p->tape);
        failed |= status != CT_OK;
        printf("bench=inverse case=%s who=%s n=%lld batch=%lld dtype=%s pass=%s seconds=%.6g per_gemm=%.3f "
               "peak_bytes=%llu%s\n",
               p->work.name, p->whole ? "cotangent-inverse" : "cotangent", (long long)n, (long long)batch,
               ct_dtype_name(dtype), training ? "training" : "forward", best, ratio, (unsigned long long)peak,
               b->where);
        fflush(stdout);
        if (status) fprintf(stderr, "inverse: %s\n", ct_tape_message(p->tape));
    }
    return failed;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    ct_device *dev = b.dev;
    const char *only = argc > 1 ? argv[1] : "all", *dtype_only = argc > 2 ? argv[2] : "all";
    int64_t n = argc > 3 ? atoll(argv[3])
                : b.n    ? b.n
                         : 512,
            batch = argc > 4  ? atoll(argv[4])
                    : b.batch ? b.batch
                              : 100;
    double seconds = argc > 5 ? atof(argv[5]) : b.queues ? 0.3 : 3;
    if (n < 1 || batch < 1) {
        fprintf(stderr, "inverse: n and batch must be numbers above 0: inverse [case [dtype [n [batch]]]]\n");
        return 1;
    }
    bool failed = false;
    int64_t columns[PART], rows[PART];
    for (int64_t i = 0; i < PART; i++) columns[i] = (i * 37 + 11) % n, rows[i] = i % n;
    ct_tensor *column_index = ct_from(dev, CT_I64, ct_shape1(PART), columns),
              *row_index = ct_from(dev, CT_I64, ct_shape1(PART), rows);
    for (int f32 = 0; f32 <= 1; f32++) {
        const ct_dtype dtype = f32 ? CT_F32 : CT_F64;
        if (strcmp(dtype_only, "all") && strcmp(dtype_only, ct_dtype_name(dtype))) continue;
        if (!bench_wants(&b, dtype)) continue;
        double gemm = 1e300;
        for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
            const work *w = &works[i];
            if (strcmp(only, "all") && strcmp(only, w->name)) continue;
            problem p = { .work = *w, .tape = ct_tape_new(dev) };
            p.index = w->part == ROWS ? row_index : column_index;
            p.A = matrices(dev, dtype, batch, n, w->spd);
            p.bar = ct_rand_normal(dev, dtype, shape_of(w->part, batch, n), 8, 0);
            failed |= measure(&b, &p, seconds, &gemm);
            measure_step(&b, &p, gemm);
            p.whole = true;
            if (w->part == DIAGONAL) failed |= measure(&b, &p, seconds, &gemm);
            ct_tape_free(p.tape);
            ct_release(p.A);
            ct_release(p.bar);
        }
    }
    ct_release(column_index);
    ct_release(row_index);
    bench_close(&b);
    return failed;
}
