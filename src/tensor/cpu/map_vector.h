/* The elementwise functions that have vector code. */
#ifndef CT_TENSOR_CPU_MAP_VECTOR_H
#define CT_TENSOR_CPU_MAP_VECTOR_H

#include "cpu.h"

/* The kernels for an instruction set (isa.h): of the value over out and x, and of g f'(x) over out, x, y and
 * g. NULL if map.c's loop is used. The result's bits depend neither on strides nor on position. */
ct__kernel ct__vector_map(int isa, ct_map1 f, bool f32);
ct__kernel ct__vector_map_bar(int isa, ct_map1 f, bool f32);
/* x_i = e^x_i */
void ct__vector_exp(int isa, int64_t n, double *x);

#endif
