/* The part of CUB's radix sort that the CUDA backend uses; see cuda_runtime.h. */
#ifndef CUDASIM_CUB_DEVICE_RADIX_SORT_CUH
#define CUDASIM_CUB_DEVICE_RADIX_SORT_CUH

#include <cuda_runtime.h>

namespace cub
{
struct DeviceRadixSort {
    /* Without memory, how many bytes it needs. Stable, by bits [begin_bit, end_bit) of the keys. */
    static cudaError_t SortPairs(void *d_temp_storage, size_t &temp_storage_bytes, const int64_t *d_keys_in,
                                 int64_t *d_keys_out, const int64_t *d_values_in, int64_t *d_values_out,
                                 int64_t num_items, int begin_bit, int end_bit, cudaStream_t stream);
};
} // namespace cub

#endif
