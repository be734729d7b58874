/* The value of the likelihood in mixed precision (mixed.h), by conjugate gradients and random signs. */
#ifndef CT_GP_MIXED_VALUE_H
#define CT_GP_MIXED_VALUE_H

#include <cotangent/gp/likelihood.h>

#include "mixed_strips.h"

enum { CT__MIXED_PROBES = 16 }; /* columns of random signs             */
#define CT__MIXED_DEVIATION 0.5 /* the largest |E|_F that is not refused */

typedef struct ct__mixed_value {
    double value;       /* ½ rᵀα + ½ log det C + n/2 log 2π, with α = C⁻¹r */
    double size;        /* the largest element of r */
    ct_view alpha;      /* (n): α / size */
    ct_view workspace;  /* (n), free to use */
    ct_gp_mixed report; /* the caller sets it; of a refused value it has what is known */
} ct__mixed_value;

/* The factor of C replaces m's triangle. r (n); V (n, CT__MIXED_PROBES) has random signs. False if f32 has no
 * factor, or one with too large an error: then only the report is set. */
bool ct__mixed_evaluate(const ct__mixed *m, ct_view r, ct_view V, ct__mixed_value *out);
/* The bytes that this holds besides the triangle. */
uint64_t ct__mixed_value_bytes(int64_t n);

#endif
