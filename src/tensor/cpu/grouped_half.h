/* Grouped products of bf16 and f16. */
#ifndef CT_TENSOR_CPU_GROUPED_HALF_H
#define CT_TENSOR_CPU_GROUPED_HALF_H

#include "grouped_tile.h"

/* The kernel, and the bytes of scratch that it adds to f32's. */
ct__run_rows ct__grouped_half;
size_t ct__grouped_half_scratch(const ct__grouped *q);

#endif
