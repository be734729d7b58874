/* One sweep, and the vector code that computes it. */
#ifndef CT_TENSOR_CPU_SWEEP_RUN_H
#define CT_TENSOR_CPU_SWEEP_RUN_H

#include "cpu.h"
#include "kernel/isa.h"

/* Where element {p, q} of the symmetric matrix lies: at row_offset(p) + q if p < n1 and p <= q (the first
 * part) or if n1 <= q <= p (the second part). In rectangular full packed format (op.h) the two parts share a
 * rectangle. A square matrix has n1 = 0, and its lower triangle is the second part. */
typedef struct ct__layout {
    int64_t n, n1, ld;
    int64_t column, row; /* the first column of the first part, the first row of the second */
} ct__layout;

typedef struct ct__sweep {
    const ct__tuning *tuning;
    ct__layout A;
    bool inverse;
    double tolerance;
    void *data, *z, *diagonal;
    int64_t columns; /* of z */
    int parts, team;
} ct__sweep;

typedef struct ct__sweep_code {
    size_t (*memory)(const ct__sweep *);             /* bytes that run needs */
    int64_t (*run)(const ct__sweep *, char *memory); /* returns the failing minor, or 0 */
} ct__sweep_code;
CT__VARIANTS(ct__sweep_code)

#endif
