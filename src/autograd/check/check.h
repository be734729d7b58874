/* An op as a function from R^N to R^M, with its first and second derivatives, for compare.c. All numbers are
 * doubles on the host; the op computes in its own dtype. */
#ifndef CT_AUTOGRAD_CHECK_H
#define CT_AUTOGRAD_CHECK_H

#include <cotangent/gradcheck.h>

#include "tensor/internal.h"

struct ct__check_block;

/* The arguments of ct_gradcheck. */
typedef struct ct__job {
    const ct_op *op;
    ct_tensor *const *in;
    int n;
    const void *attr;
    size_t attr_size;
    uint64_t symmetric;
    const ct_gradcheck_options *options;
} ct__job;

typedef struct ct__check {
    ct_device *device;
    ct_tape *tape;
    const ct_op *op;
    const void *attr;
    size_t attr_size;
    uint64_t symmetric;
    ct_gradcheck_options options;
    ct_status status; /* the first failure; everything returns false after it */

    int n;
    ct_tensor *in[CT_MAX_INPUTS]; /* owned; the floating ones in the requested dtype */
    bool floating[CT_MAX_INPUTS];
    int leaf[CT_MAX_INPUTS], n_leaves; /* the floating ones */
    ct_shape shape[CT_MAX_INPUTS];
    int64_t count[CT_MAX_INPUTS], offset[CT_MAX_INPUTS]; /* of input i within R^N; 0 for constants */
    double scale[CT_MAX_INPUTS];                         /* root mean square, 1 for zeros          */

    int n_out;
    ct_shape out_shape[CT_MAX_OUTPUTS];
    ct_dtype out_dtype[CT_MAX_OUTPUTS];
    int64_t out_offset[CT_MAX_OUTPUTS + 1];

    int64_t N, M;
    double *x, *y;       /* the given inputs; the outputs at them    */
    double eps;          /* of the least precise dtype involved      */
    bool differentiable; /* whether a gradient flows from some input */

    double *work; /* for one tensor */
    struct ct__check_block *blocks;
} ct__check;

/* Evaluates the job's op at its inputs, the floating ones converted to `dtype`. Close the check whatever it
 * returns. */
ct_status ct__check_open(ct__check *k, const ct__job *job, ct_dtype dtype);
void ct__check_close(ct__check *k);

/* n zeros (at least one), valid until ct__check_close. NULL if memory is exhausted. */
double *ct__check_numbers(ct__check *k, int64_t n);

/* Keeps the first failure as the check's. Returns false. */
bool ct__check_fail(ct__check *k, ct_status status);

/* y(x). If a factorisation fails, the outputs are NaN, which is no error. */
bool ct__check_evaluate(ct__check *k, const double *x, double *y);
/* bar = (dy/dx)ᵀ c, by an unrecorded sweep */
bool ct__check_gradient(ct__check *k, const double *x, const double *c, double *bar);
/* y_dot = (dy/dx) d, by the op's forward rule, not recorded */
bool ct__check_forward(ct__check *k, const double *x, const double *d, double *y_dot);
/* (h_x, h_c) = gradient of <v, bar(x, c)>, by a sweep over a recorded one */
bool ct__check_second(ct__check *k, const double *x, const double *c, const double *v, double *h_x,
                      double *h_c);

/* -- difference.c: derivatives of a curve in R^m at t = 0 ------------------------------------------------ */

/* Computes value[0..m) at t. Returns false if that is impossible; NaN is a value. */
typedef bool ct__curve(ct__check *k, double t, double *value, void *context);

typedef struct ct__ladder {
    double step;
    int levels;
    double *slope, *error; /* m each: the result                     */
    double *table;         /* two rows of the table, then two values */
} ct__ladder;

/* A ladder of steps, or the one step that the options give. If memory is exhausted, the check has failed. */
ct__ladder ct__ladder_new(ct__check *k, int64_t m);
/* Halves the step until all entries have converged to `goal` relative to the largest, or the ladder ends. */
bool ct__differentiate(ct__check *k, ct__curve *f, void *context, int64_t m, ct__ladder *l, double goal);

#endif
