/* Factors of a batch of matrices: our blocked code (Cholesky) and cuBLAS work on all of them together,
 * cuSOLVER on one after the other. Which is quicker is measured: `./run gpu` (bench/paths) prints the rows
 * below for the GPU at hand.
 *
 * NOT MEASURED YET. These rows hold until a run on a GPU has given others. */
#ifndef CT_TENSOR_CUDA_PATHS_H
#define CT_TENSOR_CUDA_PATHS_H

#include <cotangent/tensor.h>

typedef enum ct__factors { CT__POTRF, CT__GETRF, CT__GEQRF, CT__FACTORS } ct__factors;

enum { CT__NEVER = 0, CT__ALWAYS = INT32_MAX };

/* From extent n on batches of at most so many matrices are cuSOLVER's, in f64 and in f32. */
typedef struct ct__path {
    int32_t n, members[CT__FACTORS][2];
} ct__path;

static const ct__path ct__paths[] = {
    /* n        potrf f64, f32                 getrf f64, f32                 geqrf f64, f32 */
    { 0, { { CT__NEVER, CT__NEVER }, { CT__NEVER, CT__NEVER }, { CT__NEVER, CT__NEVER } } },
    { 1024, { { CT__ALWAYS, CT__ALWAYS }, { CT__ALWAYS, CT__ALWAYS }, { CT__ALWAYS, CT__ALWAYS } } },
};

/* Whether one after the other. */
static inline bool ct__one_by_one(ct__factors what, ct_dtype dtype, int64_t n, int64_t members)
{
    int row = (int)(sizeof ct__paths / sizeof *ct__paths) - 1;
    while (row > 0 && ct__paths[row].n > n) row--;
    return members <= ct__paths[row].members[what][dtype == CT_F32];
}

#endif
