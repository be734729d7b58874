/* Shared by the files of the CPU backend: the loop driver of all elementwise work, helpers, and the
 * primitives. */
#ifndef CT_TENSOR_CPU_H
#define CT_TENSOR_CPU_H

#include "kernel/config.h"
#include "team.h"
#include "tensor/loop.h"
#include "tuning.h"

/* Works on n1 x n0 elements: operand k's element (j, i) is data[k][j * s1[k] + i * s0[k]], k = 0 the
 * output. */
typedef void (*ct__kernel)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                           const void *context);

/* Runs kernel over all elements of t[0]; t[1..n) have its shape. The order of elements is unspecified.
 * Dimensions are merged and sorted by the output's strides. If an operand's shortest stride is along another
 * dimension, the last two dimensions are traversed in tiles. `grain`: elements for each thread. */
void ct__loop(ct_device *dev, int n, const ct_view *const *t, ct__kernel kernel, const void *context,
              int64_t grain);

/* y = x between strided matrices of one dtype. */
void ct__copy_matrix(ct_device *dev, ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t x_rs,
                     int64_t x_cs, void *y, int64_t y_rs, int64_t y_cs);

/* Element `offset` of an array of that dtype. */
static inline void *ct__at(const void *data, ct_dtype dtype, int64_t offset)
{
    return (char *)data + offset * (int64_t)ct__size(dtype);
}

/* Element (i, j) of a row-major matrix. */
static inline void *ct__ij(const void *data, ct_dtype dtype, int64_t ld, int64_t i, int64_t j)
{
    return ct__at(data, dtype, i * ld + j);
}

/* Read and write one element of an f64 or f32 array. */
static inline double ct__get(ct_dtype dtype, const void *data, int64_t offset)
{
    return dtype == CT_F64 ? ((const double *)data)[offset] : (double)((const float *)data)[offset];
}

static inline void ct__set(ct_dtype dtype, void *data, int64_t offset, double value)
{
    if (dtype == CT_F64)
        ((double *)data)[offset] = value;
    else
        ((float *)data)[offset] = (float)value;
}

/* c[at] = alpha sum + beta c[at] */
static inline void ct__blend(ct_dtype dtype, double alpha, double sum, double beta, void *c, int64_t at)
{
    ct__set(dtype, c, at, beta == 0 ? alpha * sum : alpha * sum + beta * ct__get(dtype, c, at));
}

/* The offset of batch member `member` of t. Members are numbered by the batch dimensions of `shape`, to which
 * t's are broadcast. */
static inline int64_t ct__member_offset(const ct_view *t, const ct_view *shape, int64_t member)
{
    int64_t offset = 0;
    for (int d = shape->ndim - 2; d-- > 0;) {
        offset += member % shape->dim[d] * t->stride[d];
        member /= shape->dim[d];
    }
    return offset;
}

/* The beginning of part `part` when n items are divided evenly into `parts` parts. */
static inline int64_t ct__part(int64_t n, int64_t parts, int64_t part)
{
    return n / parts * part + n % parts * part / parts;
}

static inline size_t ct__aligned(size_t bytes)
{
    return (bytes + CT__ALIGNMENT - 1) / CT__ALIGNMENT * CT__ALIGNMENT;
}

/* The next aligned piece of a block, advancing *used; NULL if block is NULL. */
static inline void *ct__take(char *block, size_t *used, size_t bytes)
{
    void *piece = block ? block + *used : NULL;
    *used += ct__aligned(bytes);
    return piece;
}

/* x_i = e^x_i, in the vector code of an instruction set (isa.h) */
void ct__vector_exp(int isa, int64_t n, double *x);

/* special.c: log|gamma(x)|, and the k-th derivative of digamma (k = 0: digamma). Thread-safe. */
double ct__lgamma(double x);
float ct__lgammaf(float x);
double ct__polygamma(int k, double x);
float ct__polygammaf(int k, float x);

#define PROTOTYPE(name)         CT__ENTRY(name) ct__cpu_##name;
#define CT_PRIMITIVE(name, ...) PROTOTYPE(name)
#define CT_FLAGGING             CT_PRIMITIVE
#include <cotangent/primitives.inc>
CT__MORE_ENTRIES(PROTOTYPE)
PROTOTYPE(sweep_bytes)
PROTOTYPE(number1)
PROTOTYPE(number1_bar)
PROTOTYPE(number2)
PROTOTYPE(number2_bar)
PROTOTYPE(affine)
PROTOTYPE(packed_sweep)
PROTOTYPE(gaussians)
PROTOTYPE(keeps_root)
PROTOTYPE(potri_root)
PROTOTYPE(inverse_root_bar)
#undef PROTOTYPE

#endif
