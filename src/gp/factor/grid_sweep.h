/* The factor or the inverse of a matrix over processes. */
#ifndef CT_GP_GRID_SWEEP_H
#define CT_GP_GRID_SWEEP_H

#include "factor.h"

/* As ct_prim_sweep_blocks: the tiles of C are replaced by those of L or, with `inverse`, of C⁻¹; z (n, 1) by
 * L⁻¹z or C⁻¹z; diagonal (n) by that of L. False if C is not positive definite or the call has failed; the
 * outputs are then undefined. */
bool ct__grid_sweep(ct_call *c, const ct__factor *A, bool inverse, double tolerance, ct_view z,
                    ct_view diagonal);

#endif
