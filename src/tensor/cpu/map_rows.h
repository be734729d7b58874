/* The vector code of elementwise functions. */
#ifndef CT_TENSOR_CPU_MAP_ROWS_H
#define CT_TENSOR_CPU_MAP_ROWS_H

#include "cpu.h"
#include "kernel/isa.h"

/* The kernels for one type and instruction set. Those of any_... replace the others if they are not NULL. */
typedef struct ct__maps {
    ct__kernel value1[CT_MAP1_COUNT], bar1[CT_MAP1_COUNT], value2[CT_MAP2_COUNT], bar2[CT_MAP2_COUNT][2],
        any_value[CT_MAP1_COUNT], any_bar[CT_MAP1_COUNT], axpby; /* p[0] x + p[1] y */
} ct__maps;
CT__VARIANTS(ct__maps)

#endif
