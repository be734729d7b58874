/* CUB's radix sort, executed late. Its temporary memory must have the size that was asked for, and is filled
 * with NaN when it runs. */
#include "sim.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

using namespace sim;

cudaError_t cub::DeviceRadixSort::SortPairs(void *room, size_t &bytes, const int64_t *keys_in,
                                            int64_t *keys_out, const int64_t *values_in, int64_t *values_out,
                                            int64_t n, int begin_bit, int end_bit, cudaStream_t stream)
{
    entry e("cub::DeviceRadixSort::SortPairs");
    if (e.refused) return fail(e.error);
    const size_t need = (size_t)(16 * n + 771),
                 size = (size_t)n * sizeof(int64_t); /* as nobody would guess */
    if (!room) {
        bytes = need;
        return cudaSuccess;
    }
    if (bytes < need || begin_bit < 0 || end_bit > 64) return fail(cudaErrorInvalidValue);
    if (cudaError_t error = usable(stream)) return fail(error);
    if (!n) return cudaSuccess;
    enqueue(stream, called("cub::DeviceRadixSort::SortPairs", { n }), [=] {
        if (!check(room, need, "memory of CUB") || !check(keys_in, size, "keys of CUB") ||
            !check(keys_out, size, "sorted keys of CUB") || !check(values_in, size, "values of CUB") ||
            !check(values_out, size, "sorted values of CUB"))
            return;
        poison(room, need);
        const uint64_t mask = (end_bit < 64 ? (uint64_t)1 << end_bit : 0) - ((uint64_t)1 << begin_bit);
        std::vector<int64_t> order((size_t)n);
        for (int64_t i = 0; i < n; i++) order[(size_t)i] = i;
        std::stable_sort(order.begin(), order.end(), [=](int64_t i, int64_t j) {
            return ((uint64_t)keys_in[i] & mask) < ((uint64_t)keys_in[j] & mask);
        });
        for (int64_t i = 0; i < n; i++) {
            keys_out[i] = keys_in[order[(size_t)i]];
            values_out[i] = values_in[order[(size_t)i]];
        }
    });
    return done(e);
}
