#define _XOPEN_SOURCE 700
#include "gp_support.h"

#include <cotangent/ops.h>

#include <fcntl.h>
#include <unistd.h>

gp_data gp_data_new(ct_device *device, ct_dtype dtype, int64_t n, int64_t d)
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

void gp_data_free(gp_data *s)
{
    ct_release(s->X);
    ct_release(s->y);
    free(s->y_host);
}

void assert_gp_at(ct_gp *gp, ct_device *device, const char *file, int line)
{
    if (gp) return;
    print_error("no model: %s\n", ct_message(device));
    _fail(file, line);
}

void gp_set(ct_gp *gp, const char *name, double value, bool fixed)
{
    int64_t i = ct_gp_find(gp, name);
    assert_true(i >= 0);
    ct_param p = *ct_gp_param(gp, i);
    p.value = value;
    p.fixed = fixed;
    assert_ok(ct_gp_set_param(gp, i, &p), ct_message(ct_gp_device(gp)));
}

double gp_get(const ct_gp *gp, const char *name)
{
    const ct_param *p = ct_gp_param(gp, ct_gp_find(gp, name));
    assert_non_null(p);
    return p->value;
}

double *gp_host(const ct_tensor *t)
{
    ct_tensor *f64 = assert_tensor(ct_tensor_cast(t, CT_F64), ct_tensor_device(t));
    double *x = malloc((size_t)ct_tensor_count(t) * sizeof *x + 1);
    assert_ok(ct_read(f64, x, (size_t)ct_tensor_count(t) * sizeof *x), ct_message(ct_tensor_device(t)));
    ct_release(f64);
    return x;
}

ct_gp *gp_of(const gp_data *s, const char *kernel, const ct_gp_options *options)
{
    ct_gp *gp = ct_gp_new(s->X, s->y, ct_kernel_parse(kernel), options);
    assert_gp(gp, s->device);
    return gp;
}

double gp_density_at(gp_density *f, const ct_kernel *k, const gp_data *s, int64_t noises, double *bar[4])
{
    ct_dtype dtype = ct_tensor_dtype(s->X);
    ct_tape *tape = ct_tape_new(s->device);
    ct_tensor *v = ct_full(s->device, dtype, ct_shape1(noises), 0.02);
    ct_var in[] = { ct_kernel_theta(k, tape, dtype), ct_leaf(tape, s->X), ct_leaf(tape, s->y),
                    ct_leaf(tape, v) };
    ct_var y = ct_scale(f(k, in[0], in[1], in[2], in[3]), -1.7);
    double value = ct_item(y);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    for (int j = 0; j < 4; j++) bar[j] = gp_host(ct_cotangent(in[j]));
    ct_release(v);
    ct_tape_free(tape);
    return value;
}

void gp_temporary(char path[256])
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, 256, "%s/cotangent-test-XXXXXX", folder && *folder ? folder : "/tmp");
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
}

void overwrite(const char *path, const void *data, size_t bytes)
{
    const int descriptor = open(path, O_WRONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, data, bytes), bytes);
    assert_int_equal(ftruncate(descriptor, (off_t)bytes), 0);
    close(descriptor);
}
