/* A covariance matrix, or gradients of one, and the vector code that computes them. */
#ifndef CT_TENSOR_CPU_COVARIANCE_RUN_H
#define CT_TENSOR_CPU_COVARIANCE_RUN_H

#include "cpu.h"
#include "kernel/isa.h"
#include "tensor/covariance.h"

#include <stdatomic.h>

typedef struct ct__cov_problem {
    const ct_cov_program *program;
    const ct_view *theta, *x, *z, *r, *noise;
    /* lanes: members of a batch that are computed side by side, L or 1; members: of the batch */
    int64_t n, m, d, z_row, blocks, lanes, members;
    bool symmetric, lower; /* lower: only the lower triangle */
    int threads;
    atomic_llong next; /* the next task, a tile or a block of rows; threads share this counter */
    /* For values; row i begins at K + i * ld: */
    void *K;
    int64_t ld;
    bool upper; /* K is transposed: the lower triangle is its upper one */
    enum {
        CT__COV_ALL,
        CT__COV_LOWER,
        CT__COV_UPPER
    } clip; /* the part of the rows and columns that is computed */
    /* For gradients; theta_bar or x_bar may be NULL: */
    const ct_cov_bar *K_bar;
    ct_view *theta_bar, *x_bar;
    bool add;
    /* For Gaussians; theta_bar and noise_bar may both be NULL: */
    ct_view *alpha, *diagonal, *noise_bar;
    double tolerance;
    char *block; /* `workspace` bytes for each thread */
    size_t workspace;
    atomic_bool failed;
} ct__cov_problem;

typedef struct ct__cov_code {
    size_t (*workspace)(
        const ct__cov_problem *); /* bytes of the block that a thread needs; the others get it */
    void (*forward)(ct__cov_problem *, char *block), (*backward)(ct__cov_problem *, char *block);
    void (*gaussians)(ct__cov_problem *, int threads);
} ct__cov_code;
CT__VARIANTS(ct__cov_code)

/* Whether a node computes distances from products, in numbers of that size. */
static inline bool ct__cov_by_products(const ct_cov_node *n, size_t size)
{
    return n->code < CT_COV_PROFILES && n->geometry == CT_DISTANCE &&
           n->n_dims >= (size == sizeof(float) ? CT__COV_MANY_F32 : CT__COV_MANY_F64);
}

/* `columns` in whole groups. */
static inline int64_t ct__cov_whole(int64_t columns, int64_t group)
{
    return (columns + group - 1) / group * group;
}

#endif
