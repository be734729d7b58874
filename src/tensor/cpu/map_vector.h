/* The elementwise functions that have vector code. */
#ifndef CT_TENSOR_CPU_MAP_VECTOR_H
#define CT_TENSOR_CPU_MAP_VECTOR_H

#include "cpu.h"

/* The kernel over out and x, for an instruction set (isa.h); NULL if the C library's function is used. The
 * result's bits depend neither on strides nor on position. */
ct__kernel ct__vector_map(int isa, ct_map1 f, bool f32);
/* x_i = e^x_i */
void ct__vector_exp(int isa, int64_t n, double *x);

#endif
