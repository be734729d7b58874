#include "direction.h"

#include <math.h>

double ct__dot_of(const double *a, const double *b, int64_t n)
{
    double sum = 0, correction = 0; /* Kahan */
    for (int64_t i = 0; i < n; i++) {
        double term = a[i] * b[i] - correction, next = sum + term;
        correction = (next - sum) - term;
        sum = next;
    }
    return sum;
}

double ct__dot_abs(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fabs(a[i] * b[i]);
    return sum;
}

int64_t ct__mirror_of(int64_t at, int64_t n) { return at + (at % n - at / n % n) * (n - 1); }

void ct__normal(ct__check *k, uint64_t stream, double *out, int64_t n)
{
    ct_tensor *t =
        ct_rand_normal(k->device, CT_F64, ct_shape1(n), k->options.seed, ((uint64_t)1 << 32) + stream);
    if (!t || ct_read(t, out, (size_t)n * sizeof *out) != CT_OK) ct__check_fail(k, ct_last_status(k->device));
    ct_release(t);
}

void ct__direction(ct__check *k, int which, uint64_t stream, double *out)
{
    ct__normal(k, stream, out, k->N);
    for (int i = 0; i < k->n; i++) {
        double *d = out + k->offset[i], factor = which < 0 || which == i ? k->scale[i] : 0;
        for (int64_t e = 0; e < k->count[i]; e++) d[e] *= factor;
        if (!(k->symmetric >> i & 1)) continue;
        int64_t n = ct_tensor_dim(k->in[i], -1);
        for (int64_t e = 0; e < k->count[i]; e++) {
            const int64_t mirror = ct__mirror_of(e, n);
            if (mirror < e) d[e] = d[mirror] = 0.5 * (d[e] + d[mirror]);
        }
    }
}
