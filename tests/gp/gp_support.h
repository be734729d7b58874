/* Small data sets and shorthands for the tests of the GP. */
#ifndef TESTS_GP_SUPPORT_H
#define TESTS_GP_SUPPORT_H

#include "check.h"

#include <cotangent/gp.h>

/* y = 2 sin(3 x_0) + x_1 + 0.1 e on random points of [0, 2]^d (later columns have no effect), from a fixed seed. */
typedef struct gp_data {
    ct_device *device;
    ct_tensor *X, *y;
    int64_t n, d;
    double *y_host;
} gp_data;

static inline gp_data gp_data_new(ct_device *device, ct_dtype dtype, int64_t n, int64_t d)
{
    gp_data s = { .device = device, .n = n, .d = d };
    ct_tensor *uniform = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(n, d), 11, 0), device);
    ct_tensor *normal = assert_tensor(ct_rand_normal(device, CT_F64, ct_shape1(n), 11, 1), device);
    double *x = malloc((size_t)(n * d) * sizeof *x);
    s.y_host = malloc((size_t)n * sizeof *s.y_host);
    assert_ok(ct_read(uniform, x, (size_t)(n * d) * sizeof *x), ct_message(device));
    assert_ok(ct_read(normal, s.y_host, (size_t)n * sizeof *x), ct_message(device));
    for (int64_t i = 0; i < n * d; i++) x[i] *= 2;
    for (int64_t i = 0; i < n; i++)
        s.y_host[i] = 2 * sin(3 * x[i * d]) + (d > 1 ? x[i * d + 1] : 0) + 0.1 * s.y_host[i];
    assert_ok(ct_write(uniform, x, (size_t)(n * d) * sizeof *x), ct_message(device));
    assert_ok(ct_write(normal, s.y_host, (size_t)n * sizeof *x), ct_message(device));
    s.X = assert_tensor(ct_tensor_cast(uniform, dtype), device);
    s.y = assert_tensor(ct_tensor_cast(normal, dtype), device);
    ct_release(uniform);
    ct_release(normal);
    free(x);
    return s;
}

static inline void gp_data_free(gp_data *s)
{
    ct_release(s->X);
    ct_release(s->y);
    free(s->y_host);
}

static inline void assert_gp_at(ct_gp *gp, ct_device *device, const char *file, int line)
{
    if (gp) return;
    print_error("no model: %s\n", ct_message(device));
    _fail(file, line);
}

#define assert_gp(gp, device) assert_gp_at((gp), (device), __FILE__, __LINE__)

/* Refused: no model, this status, and a message that contains the text. */
#define assert_refused(gp, device, status, text)                                                   \
    do {                                                                                           \
        assert_null(gp);                                                                           \
        assert_status(ct_last_status(device), (status), ct_message(device));                       \
        if (!strstr(ct_message(device), (text))) print_error("message: %s\n", ct_message(device)); \
        assert_non_null(strstr(ct_message(device), (text)));                                       \
    } while (0)

#define assert_failed(call, device, status, text)                                                  \
    do {                                                                                           \
        assert_status((call), (status), ct_message(device));                                       \
        if (!strstr(ct_message(device), (text))) print_error("message: %s\n", ct_message(device)); \
        assert_non_null(strstr(ct_message(device), (text)));                                       \
    } while (0)

/* Sets one parameter by name; fixed where asked. */
static inline void gp_set(ct_gp *gp, const char *name, double value, bool fixed)
{
    int64_t i = ct_gp_find(gp, name);
    assert_true(i >= 0);
    ct_param p = *ct_gp_param(gp, i);
    p.value = value;
    p.fixed = fixed;
    assert_ok(ct_gp_set_param(gp, i, &p), ct_message(ct_gp_device(gp)));
}

static inline double gp_get(const ct_gp *gp, const char *name)
{
    const ct_param *p = ct_gp_param(gp, ct_gp_find(gp, name));
    assert_non_null(p);
    return p->value;
}

/* A tensor's elements as doubles, to be freed. */
static inline double *gp_host(const ct_tensor *t)
{
    ct_tensor *f64 = assert_tensor(ct_tensor_cast(t, CT_F64), ct_tensor_device(t));
    double *x = malloc((size_t)ct_tensor_count(t) * sizeof *x + 1);
    assert_ok(ct_read(f64, x, (size_t)ct_tensor_count(t) * sizeof *x), ct_message(ct_tensor_device(t)));
    ct_release(f64);
    return x;
}

#endif
