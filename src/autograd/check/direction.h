/* Vectors of a gradcheck: draws, directions along inputs, and products. */
#ifndef CT_AUTOGRAD_DIRECTION_H
#define CT_AUTOGRAD_DIRECTION_H

#include "check.h"

double ct__dot_of(const double *a, const double *b, int64_t n);  /* Σ a_i b_i   */
double ct__dot_abs(const double *a, const double *b, int64_t n); /* Σ |a_i b_i| */
/* The element at row j, column i of a stack of n×n matrices, for the one at row i, column j. */
int64_t ct__mirror_of(int64_t at, int64_t n);
/* n standard normal draws. */
void ct__normal(ct__check *k, uint64_t stream, double *out, int64_t n);
/* A direction along input `which` (-1: along all), in units of each input's scale; symmetric if the input
 * is. */
void ct__direction(ct__check *k, int which, uint64_t stream, double *out);

#endif
