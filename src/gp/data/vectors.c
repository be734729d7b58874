#include "vectors.h"

#include <stddef.h>

/* Four sums, so that additions do not wait for one another. */
double ct__gp_dot(const double *a, const double *b, int64_t n)
{
    double sum[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
    for (; i < n; i++) sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

void ct__gp_project_out(const double *q, int64_t rows, int64_t n, double length, double *v, double *c,
                        int64_t step)
{
    for (int64_t pass = 0; pass < 2 * rows; pass++) {
        const int64_t k = pass % rows;
        const double part = ct__gp_dot(q + k * n, v, n) / length;
        for (int64_t i = 0; i < n; i++) v[i] -= part * q[k * n + i];
        if (c) c[k * step] += part;
    }
}
