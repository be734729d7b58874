/* The pool: n storages above 64 KiB are requested, held together and released, again and again. One takes a
 * bounded number of steps, whether all have one size or each a size of its own. `pool` goes up to 10^6
 * storages, or to --n. The memory is never touched, so all blocks share one address. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, LARGE = 64 * 1024, MOST = 1000000 };

static _Alignas(64) char untouched[64];

static void *take(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    return bytes > LARGE ? untouched : aligned_alloc(alignment, bytes);
}

static void give(void *context, void *pointer, size_t bytes)
{
    (void)context, (void)bytes;
    if (pointer != untouched) free(pointer);
}

typedef struct holding {
    ct_device *dev;
    ct_tensor **held;
    int64_t n;
    bool distinct;
} holding;

static void hold_and_release(void *context)
{
    const holding *h = context;
    for (int64_t i = 0; i < h->n; i++) {
        const int64_t bytes = LARGE + PAGE * (h->distinct ? i + 1 : 1);
        h->held[i] = ct_empty(h->dev, CT_F64, ct_shape1(bytes / 8));
    }
    for (int64_t i = 0; i < h->n; i++) ct_release(h->held[i]);
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 1;
    const ct_allocator one_address = { take, give, NULL };
    const ct_device_options options = { .allocator = &one_address, .memory_limit = UINT64_MAX / 4 };
    const int64_t most = b.n ? b.n : MOST;
    holding h = { .held = malloc((size_t)most * sizeof *h.held) };
    int failed = !h.held;
    for (int distinct = 0; distinct < 2 && h.held; distinct++)
        for (int64_t n = 100; n <= most; n *= 10) {
            h.dev = ct_device_open_with("cpu", &options), h.n = n, h.distinct = distinct;
            const double seconds = bench_best(&b, hold_and_release, &h, 3, 0.1);
            const ct_memory_info m = ct_memory(h.dev);
            printf("bench=pool case=%s who=cotangent n=%lld ns_per_block=%.1f\n",
                   distinct ? "distinct" : "equal", (long long)n, seconds / (double)n * 1e9);
            failed |= m.requests - m.from_pool != (uint64_t)n; /* those of the first round */
            ct_device_close(h.dev);
        }
    free(h.held);
    bench_close(&b);
    return failed;
}
