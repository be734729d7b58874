/* Blocked one-thread routines that the LU and Cholesky inverses share. Matrices are row-major, leading
 * dimensions count elements, and triangles are lower, unless stated. `work` is a product's workspace
 * (kit.h). */
#ifndef CT_TENSOR_CPU_INVERSE_H
#define CT_TENSOR_CPU_INVERSE_H

#include "batch.h"
#include "blas.h"
#include "kernel/kit.h"

/* Element (i, j) of a row-major matrix. */
static inline void *ct__ij(const void *data, ct_dtype dtype, int64_t ld, int64_t i, int64_t j)
{
    return ct__at(data, dtype, i * ld + j);
}

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

/* Where a triangle is split in two, at a tile's border. */
static inline int64_t ct__half(int64_t n) { return (n / 2 + CT__TILE - 1) / CT__TILE * CT__TILE; }

/* X = M⁻¹ X in place, X n x cols. M is a triangle with strides rs and cs, one of which is 1. With `unit` its
 * diagonal counts as ones. Nothing else of M is read. */
void ct__substitute(const ct__kit *kit, bool lower, bool unit, int64_t n, const void *m, int64_t rs,
                    int64_t cs, void *x, int64_t ldx, int64_t cols, void *work);

/* m = T⁻¹, n x n, for the triangle T of a, with strides and `unit` as above. In m's diagonal tiles the other
 * triangle becomes zero. */
void ct__invert_triangle(const ct__kit *kit, bool lower, bool unit, const void *a, int64_t rs, int64_t cs,
                         void *m, int64_t ld, int64_t n, void *work);

/* x = the last `cols` columns of the n x n identity */
void ct__set_identity(ct_dtype dtype, int64_t n, int64_t cols, void *x, int64_t ld);

/* Σ x_i y_i */
double ct__dot(ct_dtype dtype, int64_t n, const void *x, const void *y);

/* Stores the lower triangle of a in both triangles of the job's output, which is then symmetric to the
 * bit. */
void ct__put_symmetric(const ct__job *job, void *a, int64_t ld, void *out);

/* A[order] = L U with partial pivoting, in place in a, n x n. columns: workspace of ct__lu_columns(n)
 * numbers. The caller checks for zero pivots and for elements that are not finite. */
void ct__lu(const ct__kit *kit, void *a, int64_t ld, int64_t n, int64_t *order, void *columns, void *work);
int64_t ct__lu_columns(int64_t n);

#endif
