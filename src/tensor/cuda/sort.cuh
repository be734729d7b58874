/* The stable sort behind group_by and scatter_add. */
#ifndef CT_TENSOR_CUDA_SORT_CUH
#define CT_TENSOR_CUDA_SORT_CUH

#include "cuda.h"

/* n indices, `step` apart, in [0, groups), which is checked on the way: offsets[m] (groups + 1 of them) and
 * the positions sorted by index, stable. An index outside counts as 0. `what` is a static string. */
ct_status ct__cuda_sort(ct_device *dev, const char *what, const int64_t *index, int64_t n, int64_t step,
                        int64_t groups, int64_t *offsets, int64_t *positions);

#endif
