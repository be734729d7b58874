/* `paths [n...]`: factors of batches of matrices, all members together (who=together), by our blocked code or
 * cuBLAS, and one after the other by cuSOLVER (who=looped). Then prints the largest batches for which
 * cuSOLVER is faster, for CT__ONE_BY_ONE of src/tensor/cuda/config.h. --batch is the largest batch. The
 * program is linked with the CUDA backend, because no public call chooses between the two ways. */
extern "C" {
#include "bench.h"
}

#include "tensor/cuda/batch.cuh"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { POTRF, GETRF, GEQRF, FACTORS };
static const char *const names[FACTORS] = { "potrf", "getrf", "geqrf" };
static const int64_t batches[] = { 1, 4, 16, 64, 256 };
enum { BATCHES = sizeof batches / sizeof *batches };
static const double MOST = 1 << 28; /* numbers in a batch */

struct work {
    ct_device *dev;
    kind what;
    bool looped;
    ct_tensor *A, *factors, *pivots, *failed;
    ct_status status;
};

/* Both times include copying the matrices. */
static void run(void *context)
{
    work *w = (work *)context;
    const ct_view *t = &w->factors->view;
    ct__matrix m;
    ct__job b = ct__make_job(w->dev, 1, &t, &m);
    int64_t *failed = (int64_t *)w->failed->view.data, *pivots = (int64_t *)w->pivots->view.data;
    ct_status s = ct_copy(w->A, w->factors);
    if (w->what != POTRF) m = ct__transposed(m);
    if (!s && w->what == POTRF) s = (w->looped ? ct__cholesky_looped : ct__cholesky_blocked)(b, m, failed);
    if (!s && w->what == GETRF) s = (w->looped ? ct__lu_looped : ct__lu_batched)(b, m, pivots, failed);
    if (!s && w->what == GEQRF) /* tau in the place of pivots */
        s = (w->looped ? ct__qr_looped : ct__qr_batched)(b, m, ct__dense(b, pivots, 1, m.rows));
    if (s) w->status = s;
}

/* R Rᵀ / n + I */
static ct_tensor *matrices(ct_device *dev, ct_dtype dtype, int64_t members, int64_t n)
{
    ct_tensor *R = ct_rand_normal(dev, dtype, ct_shape3(members, n, n), 7, 0);
    ct_tape *tape = ct_tape_new(dev);
    ct_var r = ct_constant(tape, R), square = ct_scale(ct_matmul(r, ct_t(r)), 1 / (double)n);
    ct_tensor *A = ct_retain(ct_value(ct_add_diag(square, ct_scalar(tape, dtype, 1))));
    ct_tape_free(tape);
    ct_release(R);
    return A;
}

/* The largest batch for which cuSOLVER is faster; 0: none. */
static int64_t measure(const bench *b, kind what, ct_dtype dtype, int64_t n, int *wrong)
{
    int64_t members = 0;
    bool ahead = true;
    for (int i = 0; i < BATCHES && batches[i] * (double)n * (double)n <= MOST && !*wrong; i++) {
        if (b->batch && batches[i] > b->batch) break;
        ct_tensor *A = matrices(b->dev, dtype, batches[i], n);
        work w = { b->dev,
                   what,
                   false,
                   A,
                   A ? ct_empty(b->dev, dtype, ct_tensor_shape(A)) : NULL,
                   ct_empty(b->dev, CT_I64, ct_shape2(batches[i], n)),
                   ct_empty(b->dev, CT_I64, ct_shape1(batches[i])),
                   CT_OK };
        double seconds[2] = { 0, 0 };
        *wrong = !w.A || !w.factors || !w.pivots || !w.failed;
        for (int looped = 0; looped < 2 && !*wrong; looped++) {
            w.looped = looped;
            seconds[looped] = bench_best(b, run, &w, 3, 0);
            *wrong = w.status || ct_tape_status(b->tape);
            printf("bench=paths case=%s who=%s n=%lld batch=%lld dtype=%s pass=forward seconds=%.6g%s\n",
                   names[what], looped ? "looped" : "together", (long long)n, (long long)batches[i],
                   ct_dtype_name(dtype), seconds[looped], b->where);
        }
        ahead = ahead && seconds[1] < seconds[0];
        if (ahead) members = batches[i];
        for (ct_tensor *t : { w.A, w.factors, w.pivots, w.failed }) ct_release(t);
        ct_memory_trim(b->dev);
        fflush(stdout);
    }
    return members;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = { 64, 128, 256, 512, 1024, 2048 };
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    int wrong = !b.queues;
    if (wrong) fprintf(stderr, "paths: there is one way on a CPU: --device cuda:0\n");
    const int count = argc > 1 ? argc - 1 : (int)(sizeof sizes / sizeof *sizes);
    for (int i = 0; i < count && !wrong; i++) {
        const int64_t n = argc > 1 ? atoll(argv[i + 1]) : sizes[i];
        int64_t most[FACTORS][2];
        for (int what = 0; what < FACTORS; what++)
            for (int f32 = 0; f32 < 2; f32++)
                most[what][f32] = measure(&b, (kind)what, f32 ? CT_F32 : CT_F64, n, &wrong);
        for (int what = 0; what < FACTORS && !wrong; what++)
            printf("# n=%lld %s: cuSOLVER is quicker up to a batch of %lld in f64, %lld in f32\n",
                   (long long)n, names[what], (long long)most[what][0], (long long)most[what][1]);
    }
    if (wrong && b.queues) fprintf(stderr, "paths: %s\n", ct_message(b.dev));
    bench_close(&b);
    return wrong;
}
