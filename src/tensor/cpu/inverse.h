/* What the inverses by LU and by Cholesky, and their adjoints, share. */
#ifndef CT_TENSOR_CPU_INVERSE_H
#define CT_TENSOR_CPU_INVERSE_H

#include "batch.h"
#include "blas.h"
#include "kernel/substitute.h"

/* Whether each matrix is computed by all threads, one matrix after the other: if there are fewer matrices
 * than threads and they are larger than `limit`. Otherwise each is computed by one thread. */
static inline bool ct__inverse_alone(const ct_device *dev, int64_t members, int64_t n, int64_t limit)
{
    return 2 * members <= dev->threads && n > limit;
}

/* A routine on square matrices, and its cost. */
typedef struct ct__routine {
    double cubes;     /* operations for a member, in n³                                        */
    int64_t matrices; /* of workspace after the product's, with leading dimension ct__pitch(n) */
    int64_t limit;    /* of ct__inverse_alone                                                  */
    /* computes a member by one thread; by all threads (NULL: always by one) */
    int64_t (*member)(const ct__job *, void *const *), (*alone)(const ct__job *, void *const *);
} ct__routine;

/* Runs the routine on members n x n, each with `more_bytes` more of workspace. */
ct_status ct__routine_run(ct__job *job, const ct__routine *routine, int64_t n, size_t more_bytes);

/* A leading dimension for n columns: rows start on cache lines and do not all map to the same cache set. */
static inline int64_t ct__pitch(int64_t n) { return n <= 32 ? (n + 7) / 8 * 8 : (n + 15) / 16 * 16 + 16; }

/* Whether a primitive that takes a square matrix was given a column instead, for a diagonal. */
static inline bool ct__is_diagonal(const ct__matrix *m) { return m->cols != m->rows; }

/* Σ x_i y_i */
double ct__dot(ct_dtype dtype, int64_t n, const void *x, const void *y);

/* Stores the lower triangle of a in both triangles of the job's output, which is then symmetric to the
 * bit. */
void ct__put_symmetric(const ct__job *job, void *a, int64_t ld, void *out);

#endif
