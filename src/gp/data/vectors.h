/* Vectors of doubles on the host. */
#ifndef CT_GP_VECTORS_H
#define CT_GP_VECTORS_H

#include <stdint.h>

double ct__gp_dot(const double *a, const double *b, int64_t n);
/* v -= Σ_k c_k q_k for the projections c_k on the orthogonal rows of q (rows, n), of squared length `length`.
 * Twice, which suffices [Giraud, Langou & Rozložník 2005]. Adds c_k to c[k step]; c may be NULL. */
void ct__gp_project_out(const double *q, int64_t rows, int64_t n, double length, double *v, double *c,
                        int64_t step);

#endif
