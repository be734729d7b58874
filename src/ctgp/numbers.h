/* Numbers of a column: their moments, and their order. */
#ifndef CTGP_NUMBERS_H
#define CTGP_NUMBERS_H

#include <cotangent/gp.h>

/* Of numbers that are not NaN. The variance is their mean squared distance from the mean. */
typedef struct moments {
    double n, low, high, mean, variance, skewness;
} moments;

/* Of x[0], x[stride], ..., n of them. */
moments moments_of(const double *x, int64_t n, int64_t stride);
/* Numbers, for qsort and bsearch. */
int ascending(const void *a, const void *b);

typedef struct keyed {
    double key;
    int64_t index;
} keyed;

/* By key, and then by index. */
void sort_keyed(keyed *list, int64_t n);

#endif
