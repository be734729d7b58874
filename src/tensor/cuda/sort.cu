/* A stable sort of small integers, by CUB's radix sort. */
#include "pieces.cuh"

#include <cub/device/device_radix_sort.cuh>

static __global__ void keys_kernel(const int64_t *index, int64_t n, int64_t step, int64_t groups,
                                   int64_t *key, int64_t *position)
{
    CT__EACH(i, n)
    {
        const int64_t k = index[i * step];
        key[i] = k < 0 || k >= groups ? 0 : k;
        position[i] = i;
    }
}

/* offsets[m] = the number of keys below m */
static __global__ void offsets_kernel(const int64_t *key, int64_t n, int64_t groups, int64_t *offsets)
{
    CT__EACH(m, groups + 1) offsets[m] = ct__first_not(0, n, [&](int64_t i) { return key[i] < m; });
}

ct_status ct__cuda_sort(ct_device *dev, const char *what, const int64_t *index, int64_t n, int64_t step,
                        int64_t groups, int64_t *offsets, int64_t *positions)
{
    int bits = 1;
    while (bits < 62 && (int64_t)1 << bits < groups) bits++;
    ct__scratch lists(dev, 3 * n * (int64_t)sizeof(int64_t));
    if (!lists.data) return CT_ENOMEM;
    int64_t *given = lists, *key = given + n, *position = key + n;
    size_t bytes = 0; /* without memory the sort says how much it needs */
    const auto sort = [&](void *room) {
        cudaGetLastError(); /* CUB takes an error that another left behind for its own */
        return ct__status(dev, what,
                          cub::DeviceRadixSort::SortPairs(room, bytes, given, key, position, positions, n, 0,
                                                          bits, ct__cuda_of(dev)->stream));
    };
    ct_status s = sort(NULL);
    ct__scratch room(dev, s ? 0 : (int64_t)bytes);
    if (!s && !room.data) return CT_ENOMEM;
    if (!s) s = ct__cuda_check_index(dev, what, index, n, step, groups);
    if (!s) s = CT__RUN_EACH(dev, what, keys_kernel, n, index, n, step, groups, given, position);
    if (!s) s = sort(room);
    return s ? s : CT__RUN_EACH(dev, what, offsets_kernel, groups + 1, key, n, groups, offsets);
}
