/* gather_matmul: out_i = A_i C_{q_i} in f32, forward, and forward with both gradients, for several kinds of
 * q; in uniform-C only with the gradient of C. The unit of per_gemm is one product of as many flops, all rows
 * of A with one C. who=copy is a copy that reads and writes as many bytes as the pass must: the memory floor.
 * On a GPU who=cotangent-graph is the training step as a graph. Arguments: names of cases; --n sets the
 * number of rows of A, and that of the groups in proportion. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);

typedef struct kind {
    const char *name;
    int N, M, I;
} kind;

static const kind kinds[] = {
    { "uniform", 131072, 2048, 1 }, { "uniform-I8", 16384, 2048, 8 }, { "zipf", 131072, 2048, 1 },
    { "zipf-I8", 16384, 2048, 8 },  { "M1", 131072, 1, 1 },           { "M1-I8", 16384, 1, 8 },
    { "MN", 8192, 8192, 1 },        { "MN-I8", 8192, 8192, 8 },       { "empty", 131072, 2048, 1 },
    { "reused", 131072, 2048, 1 },  { "uniform-C", 131072, 2048, 1 },
};

enum { J = 64, K = 64 };

typedef struct work {
    const kind *kind;
    ct_tape *tape;
    ct_tensor *A, *C, *q, *G, *groups;
} work;

/* Whether only C needs a gradient. */
static bool C_alone(const work *w) { return !strcmp(w->kind->name, "uniform-C"); }

static ct_var gathered(const work *w, ct_tape *tape, ct_var in[2])
{
    in[0] = C_alone(w) ? ct_constant(tape, w->A) : ct_leaf(tape, w->A), in[1] = ct_leaf(tape, w->C);
    return w->groups ? ct_grouped_matmul(in[0], in[1], ct_constant(tape, w->groups))
                     : ct_gather_matmul(in[0], in[1], ct_constant(tape, w->q));
}

static void forward(void *context)
{
    work *w = context;
    ct_var in[2];
    ct_tape_reset(w->tape);
    gathered(w, w->tape, in);
}

static ct_status step(ct_tape *tape, void *context)
{
    const work *w = context;
    ct_var in[2], bar[2], out = gathered(w, tape, in);
    const int first = C_alone(w);
    return ct_grad(out, ct_constant(tape, w->G), in + first, bar, 2 - first, CT_GRAD_FREE);
}

static void training(void *context)
{
    work *w = context;
    ct_tape_reset(w->tape);
    step(w->tape, w);
}

/* One product of as many flops. */
static void product(void *context)
{
    const work *w = context;
    int rows = w->kind->N * w->kind->I, j = J, k = K;
    sgemm_("N", "N", &k, &rows, &j, &(float){ 1 }, ct_tensor_data(w->C), &k, ct_tensor_data(w->A), &j,
           &(float){ 0 }, ct_tensor_data(w->G), &k);
}

/* The next number in (0, 1) of a fixed stream. */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

/* zipf: P(m) ∝ 1/m; empty: uses only every 32nd row of C; MN: a permutation. bench/gather.py draws the
 * same. */
static void draw_index(const kind *k, int64_t *q)
{
    uint64_t state = 1;
    double *below = calloc((size_t)k->M + 1, sizeof *below);
    for (int m = 0; below && m < k->M; m++) below[m + 1] = below[m] + 1.0 / (m + 1);
    for (int i = 0; i < k->N; i++) {
        double u = draw(&state);
        q[i] = (int64_t)(u * k->M);
        if (!strncmp(k->name, "empty", 5)) q[i] = q[i] / 32 * 32;
        if (!strncmp(k->name, "MN", 2)) q[i] = (int64_t)i * 5501 % k->M;
        if (below && !strncmp(k->name, "zipf", 4)) {
            int low = 0, high = k->M;
            while (high - low > 1) {
                int middle = (low + high) / 2;
                if (below[middle] <= u * below[k->M])
                    low = middle;
                else
                    high = middle;
            }
            q[i] = low;
        }
    }
    free(below);
}

/* The unit on a GPU. */
static double product_there(const bench *b, const work *w)
{
    ct_tensor *A = ct_tensor_reshape(w->A, ct_shape2((int64_t)w->kind->N * w->kind->I, J)),
              *part = ct_tensor_slice(w->C, 0, 0, 1, 1), *C = ct_tensor_reshape(part, ct_shape2(J, K));
    double best = bench_product(b, A, C, 5, 0.1);
    ct_release(A), ct_release(part), ct_release(C);
    return best;
}

static int run_kind(const bench *b, const kind *k)
{
    ct_device *dev = b->dev;
    work w = { .kind = k, .tape = ct_tape_new(dev) };
    int64_t *q = malloc((size_t)k->N * sizeof *q);
    if (!q || !w.tape) return 1;
    draw_index(k, q);
    w.q = ct_from(dev, CT_I64, ct_shape1(k->N), q);
    free(q);
    w.A = ct_rand_normal(dev, CT_F32, ct_shape3(k->N, k->I, J), 1, 0);
    w.C = ct_rand_normal(dev, CT_F32, ct_shape3(k->M, J, K), 1, 1);
    w.G = ct_rand_normal(dev, CT_F32, ct_shape3(k->N, k->I, K), 1, 2);
    if (!strcmp(k->name, "reused"))
        w.groups = ct_retain(ct_value(ct_group_by(ct_constant(w.tape, w.q), k->M)));
    /* A, C, out; then A, the cotangents of out and C, and for A's gradient C and that of A */
    const int64_t rows = (int64_t)k->N * k->I * (int64_t)sizeof(float), both = !C_alone(&w),
                  all_C = (int64_t)k->M * J * K * (int64_t)sizeof(float),
                  forward_bytes = rows * (J + K) + all_C,
                  bytes[2] = { forward_bytes,
                               forward_bytes + rows * (J + K + both * J) + (1 + both) * all_C };
    double gemm = 1e300, seconds[2] = { 1e300, 1e300 }, copies[2] = { 1e300, 1e300 };
    for (int round = 0; round < 3; round++) { /* interleaved */
        double g = b->queues ? product_there(b, &w) : bench_best(b, product, &w, 5, 0.1),
               f = bench_best(b, forward, &w, 5, 0.1), t = bench_best(b, training, &w, 5, 0.2);
        gemm = fmin(gemm, g), seconds[0] = fmin(seconds[0], f), seconds[1] = fmin(seconds[1], t);
        for (int pass = 0; pass < 2; pass++) copies[pass] = fmin(copies[pass], bench_copy(b, bytes[pass], 3));
    }
    printf("bench=gather case=%s who=gemm n=%d dtype=f32 pass=forward seconds=%.6g per_gemm=1%s\n", k->name,
           k->N, gemm, b->where);
    for (int pass = 0; pass < 2; pass++) {
        printf("bench=gather case=%s who=copy n=%d dtype=f32 pass=%s seconds=%.6g per_gemm=%.3f%s\n", k->name,
               k->N, pass ? "training" : "forward", copies[pass], copies[pass] / gemm, b->where);
        uint64_t out = (uint64_t)k->N * (uint64_t)k->I * K,
                 A_bar = (uint64_t)both * (uint64_t)k->N * (uint64_t)k->I * J, C_bar = (uint64_t)k->M * J * K,
                 results = (pass ? out + A_bar + C_bar : out) * sizeof(float);
        ct_tape_reset(w.tape);
        ct_memory_mark(dev);
        uint64_t before = ct_memory(dev).bytes_now;
        pass ? training(&w) : forward(&w);
        uint64_t more = ct_memory(dev).bytes_peak - before;
        printf("bench=gather case=%s who=cotangent n=%d dtype=f32 pass=%s seconds=%.6g per_gemm=%.3f "
               "peak_bytes=%lld%s\n",
               k->name, k->N, pass ? "training" : "forward", seconds[pass], seconds[pass] / gemm,
               (long long)more - (long long)results, b->where);
    }
    const double graph = bench_replays(b, step, &w, 5, 0.2);
    if (graph > 0)
        printf("bench=gather case=%s who=cotangent-graph n=%d dtype=f32 pass=training seconds=%.6g "
               "per_gemm=%.3f%s\n",
               k->name, k->N, graph, graph / gemm, b->where);
    char name[40];
    snprintf(name, sizeof name, "gather-%s", k->name);
    bench_waits(b, name, training, &w);
    const ct_status status = ct_tape_status(w.tape);
    if (status) fprintf(stderr, "gather: %s\n", ct_tape_message(w.tape));
    ct_tape_free(w.tape);
    ct_release(w.A), ct_release(w.C), ct_release(w.q), ct_release(w.G), ct_release(w.groups);
    ct_memory_trim(dev);
    return status != CT_OK;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    int failed = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool chosen = argc < 2;
        for (int a = 1; a < argc; a++) chosen |= !strcmp(argv[a], kinds[i].name);
        kind k = kinds[i];
        if (b.n) k.M = (int)(k.M * b.n / k.N) > 1 ? (int)(k.M * b.n / k.N) : 1, k.N = (int)b.n;
        if (chosen) failed |= run_kind(&b, &k);
        fflush(stdout);
    }
    bench_close(&b);
    return failed;
}
