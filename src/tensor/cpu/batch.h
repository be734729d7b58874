/* Batches of matrix routines: brings strided operands into a form that BLAS accepts, and runs the members. */
#ifndef CT_TENSOR_CPU_BATCH_H
#define CT_TENSOR_CPU_BATCH_H

#include <stdatomic.h>

#include "cpu.h"

enum { CT__MATRICES = 4 };

typedef struct ct__matrix {
    int64_t rows, cols, rs, cs; /* of the tensor                                     */
    bool packed;                /* a row-major copy is made for each member          */
    bool columns;               /* column-major; else BLAS reads it as its transpose */
    int ld;
} ct__matrix;

/* Dimensions d and d + 1 of a tensor. */
static inline ct__matrix ct__matrix_of(const ct_view *t, int d)
{
    return (
        ct__matrix){ .rows = t->dim[d], .cols = t->dim[d + 1], .rs = t->stride[d], .cs = t->stride[d + 1] };
}

typedef struct ct__job ct__job;
struct ct__microkernels;

struct ct__job {
    ct_device *dev;
    ct_dtype dtype;
    const struct ct__microkernels *kernels; /* kernel/microkernels.h: for the dtype, or for f32    */
    int n; /* number of matrices; the last is the output (affine: the last but one, C; then D) */
    ct__matrix m[CT__MATRICES];
    const char *data[CT__MATRICES];
    int64_t ndim, members; /* of the batch */
    ct__axis axis[CT_MAX_DIMS];
    double work;       /* floating-point operations of a member */
    bool reads_output; /* a packed output is loaded first       */
    bool lower_output; /* and only its lower triangle is stored */
    double alpha, beta;
    unsigned flags;
    bool serial;    /* BLAS uses one thread, even if there is one member */
    size_t scratch; /* bytes of workspace for a member, at data[n] */
    int count;      /* elements of LAPACK's work array, which is there; its integers follow */
    int64_t *index; /* NULL, or contiguous rows of m[0].rows integers: member i's at data[n + 1] */
    ct_failure *failure;
    const char *what, *why; /* of a failure, as in ct_failure; why may be NULL */
    int64_t first;          /* added to the number that failed                 */
    atomic_flag *failing;   /* set by the thread that writes to *failure       */
    /* Computes one member; data[k] is matrix k, packed if m[k].packed. Returns 0, or the number that failed
     * (from 1). */
    int64_t (*member)(const ct__job *job, void *const *data);
};

/* Where a member's matrix k begins. */
static inline void *ct__member(const ct__job *job, int k, int64_t member)
{
    return ct__at(job->data[k], job->dtype, ct__axis_offset(job->axis, job->ndim, k, member));
}

/* Fills dtype, matrices and batch from the tensors. The caller sets the other members, or leaves them 0.
 * Returns whether the output has elements. */
bool ct__job_init(ct__job *job, ct_device *dev, int n, const ct_view *const *t);
/* Chooses the form of each matrix for BLAS. CT_EUNSUPPORTED if an extent does not fit 32 bits. */
ct_status ct__job_forms(ct__job *job, const char *name);
ct_status ct__job_run(ct__job *job);
/* Chooses the forms, and runs with LAPACK's work array of `count` elements and `whole` integers.
 * CT_EUNSUPPORTED if that is beyond 32 bits. */
ct_status ct__job_run_lapack(ct__job *job, const char *name, int64_t count, int64_t whole);
/* Runs a single member in parts. The rows, or columns, of the matrices in the bit mask `cut` are divided
 * evenly among the threads; the remaining ones follow. */
ct_status ct__job_run_parts(ct__job *job, unsigned cut, bool columns);

/* Copy a small strided matrix to a row-major array of doubles, and back. */
void ct__load(ct_dtype dtype, const void *data, const ct__matrix *m, double *to);
void ct__store(ct_dtype dtype, const double *from, const ct__matrix *m, void *data);

/* Fills a member's matrix k with NaN; with lower_output only its lower triangle. */
void ct__fill_nan(const ct__job *job, int k, void *const *data);

#endif
