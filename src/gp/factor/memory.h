/* A matrix or factor in the memory of one process. */
#ifndef CT_GP_IN_MEMORY_H
#define CT_GP_IN_MEMORY_H

#include "factor.h"

/* In a packed rectangle, or in a square. */
ct__factor ct__factor_packed(ct_view rectangle, int64_t n);
ct__factor ct__factor_square(ct_view square, int64_t n);

#endif
