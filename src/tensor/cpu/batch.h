/* Batches of matrix routines: brings strided operands into a form that BLAS takes, and runs the members. */
#ifndef CT_TENSOR_CPU_BATCH_H
#define CT_TENSOR_CPU_BATCH_H

#include <stdatomic.h>

#include "cpu.h"

enum { CT__MATRICES = 3 };

typedef struct ct__matrix {
    int64_t rows, cols, rs, cs; /* as the tensor has it                                            */
    bool packed;                /* a row-major copy is made for each member                        */
    bool columns;               /* BLAS sees it column-major as it is; else as its transpose       */
    int ld;
} ct__matrix;

/* Dimensions d and d + 1 of a tensor. */
static inline ct__matrix ct__matrix_of(const ct_view *t, int d)
{
    return (
        ct__matrix){ .rows = t->dim[d], .cols = t->dim[d + 1], .rs = t->stride[d], .cs = t->stride[d + 1] };
}

typedef struct ct__job ct__job;
struct ct__kit;

struct ct__job {
    ct_device *dev;
    ct_dtype dtype;
    const struct ct__kit *kit; /* kernel/kit.h: of that dtype, of f32 for others */
    int n;                     /* matrices; the last is the output                             */
    ct__matrix m[CT__MATRICES];
    const char *data[CT__MATRICES];
    int64_t ndim, members; /* of the batch */
    ct__axis axis[CT_MAX_DIMS];
    double work;       /* floating-point operations of a member */
    bool reads_output; /* a packed output is filled first       */
    bool lower_output; /* and only its lower triangle returned  */
    double alpha, beta;
    unsigned flags;
    bool serial;    /* BLAS works on one thread, also for a member alone */
    size_t scratch; /* bytes that a member wants at data[n] */
    int64_t *index; /* NULL, or contiguous rows of m[0].rows integers: member i's at data[n + 1] */
    ct_failure *failure;
    const char *what, *why; /* of a failure, as ct_failure has them; why: or NULL */
    int64_t first;          /* what is before the number that failed               */
    atomic_flag *failing;   /* set by the thread that writes to *failure */
    /* Computes one member; data[k] is matrix k, packed where asked for. Returns 0, or what failed (from
     * 1). */
    int64_t (*member)(const ct__job *job, void *const *data);
};

/* Where a member's matrix k begins. */
static inline void *ct__member(const ct__job *job, int k, int64_t member)
{
    return ct__at(job->data[k], job->dtype, ct__axis_offset(job->axis, job->ndim, k, member));
}

/* Fills dtype, matrices and batch from the tensors; what else there is the caller has set, or left 0. Whether
 * there is anything to compute: the output has elements. */
bool ct__job_init(ct__job *job, ct_device *dev, int n, const ct_view *const *t);
/* Chooses the form in which BLAS takes every matrix. CT_EUNSUPPORTED where an extent passes 32 bits. */
ct_status ct__job_forms(ct__job *job, const char *name);
ct_status ct__job_run(ct__job *job);
/* Runs the one member there is in parts: the rows of the matrices `cut`, a bit each, are divided evenly among
 * the threads, and what remains follows. */
ct_status ct__job_run_rows(ct__job *job, unsigned cut);

/* Between a small strided matrix and a row-major array of doubles. */
void ct__load(ct_dtype dtype, const void *data, const ct__matrix *m, double *to);
void ct__store(ct_dtype dtype, const double *from, const ct__matrix *m, void *data);

/* Every element of a member's matrix k becomes NaN, or with lower_output those of its lower triangle. */
void ct__fill_nan(const ct__job *job, int k, void *const *data);

#endif
