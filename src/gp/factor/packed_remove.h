/* Removes rows from a packed factor. */
#ifndef CT_GP_PACKED_REMOVE_H
#define CT_GP_PACKED_REMOVE_H

#include "packed.h"

/* Sets `to` to the factor of L Lᵀ without the `count` rows and columns row[0] < row[1] < .... */
void ct__packed_remove(ct_call *c, const ct__packed *L, const int64_t *row, int64_t count,
                       const ct__packed *to);

#endif
