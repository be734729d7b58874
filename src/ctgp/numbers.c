/* Numbers of a column: their moments, and their order. */
#include "numbers.h"

#include <math.h>
#include <stdlib.h>

moments moments_of(const double *x, int64_t n, int64_t stride)
{
    moments m = { .low = INFINITY, .high = -INFINITY };
    double second = 0, third = 0;
    for (int64_t i = 0; i < n * stride; i += stride) {
        if (isnan(x[i])) continue;
        m.n++;
        m.mean += x[i];
        m.low = fmin(m.low, x[i]);
        m.high = fmax(m.high, x[i]);
    }
    m.mean /= m.n;
    for (int64_t i = 0; i < n * stride; i += stride) {
        const double e = isnan(x[i]) ? 0 : x[i] - m.mean;
        second += e * e;
        third += e * e * e;
    }
    m.variance = second / m.n;
    m.skewness = third / m.n / pow(m.variance, 1.5);
    return m;
}

int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    const int order = ascending(&x->key, &y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

void sort_keyed(keyed *list, int64_t n) { qsort(list, (size_t)n, sizeof *list, by_key); }
