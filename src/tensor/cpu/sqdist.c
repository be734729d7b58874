/* Squared distances by direct differences, so that equal points are at distance 0 exactly. A strip of y is
 * transposed so that its points are contiguous; each row of x then runs along it. */
#include "cpu.h"

typedef struct points {
    int64_t n, step, inner; /* number of points, strides over points and dimensions */
} points;

#define SQDIST(T)                                                                                          \
    static void strip_##T(const points *x, const T *xs, const points *y, const T *ys, int64_t d, T *out,   \
                          int64_t rs, int64_t cs)                                                          \
    {                                                                                                      \
        T packed[CT__SQDIST_DEPTH * CT__SQDIST_STRIP], sum[CT__SQDIST_STRIP];                              \
        int64_t m = y->n;                                                                                  \
        for (int64_t k0 = 0; k0 < d || k0 == 0; k0 += CT__SQDIST_DEPTH) {                                  \
            int64_t depth = d - k0 < CT__SQDIST_DEPTH ? d - k0 : CT__SQDIST_DEPTH;                         \
            for (int64_t k = 0; k < depth; k++)                                                            \
                for (int64_t j = 0; j < m; j++)                                                            \
                    packed[k * CT__SQDIST_STRIP + j] = ys[j * y->step + (k0 + k) * y->inner];              \
            for (int64_t i = 0; i < x->n; i++) {                                                           \
                T *row = out + i * rs;                                                                     \
                for (int64_t j = 0; j < m; j++) sum[j] = k0 ? row[j * cs] : 0;                             \
                for (int64_t k = 0; k < depth; k++) {                                                      \
                    const T a = xs[i * x->step + (k0 + k) * x->inner], *b = packed + k * CT__SQDIST_STRIP; \
                    for (int64_t j = 0; j < m; j++) sum[j] += (a - b[j]) * (a - b[j]);                     \
                }                                                                                          \
                for (int64_t j = 0; j < m; j++) row[j * cs] = sum[j];                                      \
            }                                                                                              \
        }                                                                                                  \
    }
SQDIST(double)
SQDIST(float)

/* Computes CT__SQDIST_ROWS points of x against all of y, for one member. */
static void run_task(const ct_view *x, const ct_view *y, const ct_view *out, int64_t task)
{
    int last = out->ndim - 1;
    int64_t n = out->dim[last - 1], m = out->dim[last], d = x->dim[last],
            per_member = (n + CT__SQDIST_ROWS - 1) / CT__SQDIST_ROWS;
    int64_t member = task / per_member, i = task % per_member * CT__SQDIST_ROWS;
    points px = { n - i < CT__SQDIST_ROWS ? n - i : CT__SQDIST_ROWS, x->stride[last - 1], x->stride[last] };
    const void *xs = ct__at(x->data, x->dtype, ct__member_offset(x, out, member) + i * px.step);
    int64_t rs = out->stride[last - 1], cs = out->stride[last];
    for (int64_t j = 0; j < m; j += CT__SQDIST_STRIP) {
        points py = { m - j < CT__SQDIST_STRIP ? m - j : CT__SQDIST_STRIP, y->stride[last - 1],
                      y->stride[last] };
        const void *ys = ct__at(y->data, y->dtype, ct__member_offset(y, out, member) + j * py.step);
        void *to = ct__at(out->data, out->dtype, ct__member_offset(out, out, member) + i * rs + j * cs);
        if (out->dtype == CT_F64)
            strip_double(&px, xs, &py, ys, d, to, rs, cs);
        else
            strip_float(&px, xs, &py, ys, d, to, rs, cs);
    }
}

ct_status ct__cpu_sqdist(ct_device *dev, const ct_view *x, const ct_view *y, ct_view *out)
{
    int64_t count = ct__count(out);
    if (!count) return CT_OK;
    int64_t n = out->dim[out->ndim - 2], m = out->dim[out->ndim - 1], d = x->dim[x->ndim - 1];
    int64_t tasks = count / (n * m) * ((n + CT__SQDIST_ROWS - 1) / CT__SQDIST_ROWS);
    const int team = count > dev->tuning->grain / (d + 1) ? ct__team(dev, dev->threads) : 1;
#pragma omp parallel for schedule(static) num_threads(team)
    for (int64_t task = 0; task < tasks; task++) run_task(x, y, out, task);
    return CT_OK;
}
