/* The factorisation by LU, on one thread. */
#ifndef CT_TENSOR_CPU_LU_FACTOR_H
#define CT_TENSOR_CPU_LU_FACTOR_H

#include "kernel/substitute.h"

/* A[order] = L U with partial pivoting, in place in a, n x n. columns: workspace of ct__lu_columns(n)
 * numbers. The caller checks for zero pivots and for elements that are not finite. */
void ct__lu(const ct__microkernels *kernels, void *a, int64_t ld, int64_t n, int64_t *order, void *columns,
            void *work);
int64_t ct__lu_columns(int64_t n);

#endif
