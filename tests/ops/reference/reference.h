/* The value of each op by plain loops in long double. A reference sees its inputs as contiguous arrays
 * (indices too) and shares nothing with the library but the layout of attributes. */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <cotangent/op.h>

typedef struct ref_array {
    ct_shape shape;
    int64_t n;
    long double *x;
} ref_array;

typedef struct ref_call {
    const void *attr;
    int n_in;
    const ref_array *in;
    ref_array out; /* made by ref_out */
} ref_call;

typedef void ref_function(ref_call *c);

/* Which part of an input of an n×n matrix is read; the rest may hold anything. */
typedef enum ref_part { REF_ALL, REF_LOWER, REF_UPPER, REF_STRICT_LOWER, REF_STRICT_UPPER } ref_part;

typedef struct reference {
    const char *name;
    ref_function *compute;
    ref_part (*reads)(const void *attr, int input); /* NULL: all of every input                     */
    uint64_t swallows_nan; /* bit i: an input i that is NaN all over need not make the output NaN */
    uint64_t full_rank;    /* bit i: with equal rows input i would be outside the op's domain         */
    double f32_rounding;   /* by how much its samples amplify rounding in f32; 0 means 1                   */
} reference;

/* NULL where there is none: then the matrix fails. */
const reference *reference_find(const char *op);

/* One table a file, ended by a NULL name. */
extern const reference reference_elementwise[], reference_reductions[], reference_shapes[],
    reference_matrices[], reference_inverses[], reference_losses[], reference_least_squares[],
    reference_layers[], reference_covariances[], reference_eigen[];

/* c->out with this shape, uninitialised. */
long double *ref_out(ref_call *c, ct_shape shape);

/* Extent of dimension d, negative from the end; 1 where there is none. */
int64_t ref_dim(const ref_array *a, int d);
/* The shape without its last `trailing` dimensions. */
ct_shape ref_batch(const ref_array *a, int trailing);
/* `shape` with more dimensions behind it. */
ct_shape ref_append(ct_shape shape, int n, const int64_t *dim);
/* Row-major position -> index along each dimension, and back. */
void ref_unravel(ct_shape shape, int64_t at, int64_t *index);
int64_t ref_ravel(ct_shape shape, const int64_t *index);
/* Element of `a` that stands at `index` of a result of ndim dimensions, by NumPy's broadcasting. */
long double ref_at(const ref_array *a, int ndim, const int64_t *index);
/* Start of the trailing block of `block` elements of `a` that belongs to member `member` of `batch`. */
const long double *ref_member(const ref_array *a, int trailing, ct_shape batch, int64_t member);

/* ψ⁽ᵏ⁾(x) for x > 0 */
long double ref_polygamma(int k, long double x);

#endif
