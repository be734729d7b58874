/* Blocked routines made of products and tiles on one thread, which LU and Cholesky inverses share. Row-major;
 * leading dimensions count elements, and triangles are lower where nothing else is said; `work` is that of a
 * product. */
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

/* Whether matrices go one by one to all threads: there are too few for a thread each, and they are larger
 * than `limit`. Else each is worked on by one thread. */
static inline bool ct__inverse_alone(const ct_device *dev, int64_t members, int64_t n, int64_t limit)
{
    return 2 * members <= dev->threads && n > limit;
}

/* How square matrices are worked on. */
typedef struct ct__routine {
    double cubes;     /* a member's operations, in n³                                                */
    int64_t matrices; /* of scratch behind a product's, with ct__pitch(n) between their rows         */
    int64_t limit;    /* of ct__inverse_alone                                                        */
    /* a member by one thread, and by all where it is alone; the latter NULL: always by one */
    int64_t (*member)(const ct__job *, void *const *), (*alone)(const ct__job *, void *const *);
} ct__routine;

/* Runs it on members n x n, each with so many more bytes of scratch. */
ct_status ct__routine_run(ct__job *job, const ct__routine *routine, int64_t n, size_t more_bytes);

/* A leading dimension for n columns: rows start on cache lines, and not where they would meet in the
 * cache. */
static inline int64_t ct__pitch(int64_t n) { return n <= 32 ? (n + 7) / 8 * 8 : (n + 15) / 16 * 16 + 16; }

/* Whether a primitive that takes a square matrix was given a column instead, for a diagonal. */
static inline bool ct__is_diagonal(const ct__matrix *m) { return m->cols != m->rows; }

/* Where a triangle is cut in two, on a border between tiles. */
static inline int64_t ct__half(int64_t n) { return (n / 2 + CT__TILE - 1) / CT__TILE * CT__TILE; }

/* X = M⁻¹ X in place, X n x cols; M is a triangle with strides rs and cs, of which one is 1, and ones on its
 * diagonal where `unit`. Nothing else of M is read. */
void ct__substitute(const ct__kit *kit, bool lower, bool unit, int64_t n, const void *m, int64_t rs,
                    int64_t cs, void *x, int64_t ldx, int64_t cols, void *work);

/* m = T⁻¹, n x n, for the triangle T of a with strides rs and cs, of which one is 1, and ones on its diagonal
 * where `unit`; in m's tiles on the diagonal the other triangle becomes zero. */
void ct__invert_triangle(const ct__kit *kit, bool lower, bool unit, const void *a, int64_t rs, int64_t cs,
                         void *m, int64_t ld, int64_t n, void *work);

/* x: the last `cols` columns of the identity, n x n */
void ct__set_identity(ct_dtype dtype, int64_t n, int64_t cols, void *x, int64_t ld);

/* Σ x_i y_i */
double ct__dot(ct_dtype dtype, int64_t n, const void *x, const void *y);

/* Both triangles of the job's symmetric output from the lower one of a: bitwise symmetric. */
void ct__put_symmetric(const ct__job *job, void *a, int64_t ld, void *out);

/* A[order] = L U with partial pivoting in place of a, n x n; columns holds ct__lu_columns(n) numbers. A zero
 * pivot, or what is not finite, is left for the caller to find. */
void ct__lu(const ct__kit *kit, void *a, int64_t ld, int64_t n, int64_t *order, void *columns, void *work);
int64_t ct__lu_columns(int64_t n);

#endif
