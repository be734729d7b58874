/* Every test program includes this first: cmocka, a comparison of doubles, tensors from literals. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cotangent/tensor.h>

/* |a - b| <= abs + rel max(|a|, |b|); equal infinities agree, and so do two NaNs. */
static inline int check_close(double a, double b, double rel, double abs)
{
    if (a == b || (isnan(a) && isnan(b))) return 1;
    return isfinite(a) && isfinite(b) && fabs(a - b) <= abs + rel * fmax(fabs(a), fabs(b));
}

static inline void check_close_at(double a, double b, double rel, double abs, const char *what,
                                  const char *file, int line)
{
    if (check_close(a, b, rel, abs)) return;
    print_error("%s: %.17g is not %.17g: they differ by %.3g, %.3g relative\n", what, a, b, fabs(a - b),
                fabs(a - b) / fmax(fabs(a), fabs(b)));
    _fail(file, line);
}

/* cmocka_unit_test(f) or the like where the condition holds, else no test. skip() is not used, as cmocka
 * before 1.1.6 reports a skipped test as a failure in TAP. */
#define check_test_if(condition, ...) \
    ((condition) ? (struct CMUnitTest)__VA_ARGS__ : (struct CMUnitTest){ .name = NULL })

/* The device of the tests that can run on any: CT_TEST_DEVICE, or the CPU. */
static inline const char *check_device(void)
{
    const char *name = getenv("CT_TEST_DEVICE");
    return name && *name ? name : "cpu";
}

/* Whether that device computes at once. A GPU's errors and values are known only after a wait. */
static inline bool check_at_once(void) { return strcmp(check_device(), "cpu") == 0; }

/* How little to test, from CT_TEST_QUICK: 0 all, 1 fewer sizes of each op, 2 the fewest of everything. */
static inline int check_quick(void)
{
    const char *how = getenv("CT_TEST_QUICK");
    int level = how ? atoi(how) : 0;
    return level < 0 ? 0 : level > 2 ? 2 : level;
}

/* A NULL tensor or a status that is not CT_OK fails with the device's message. */
static inline ct_tensor *check_tensor_at(ct_tensor *t, const ct_device *device, const char *file, int line)
{
    if (t) return t;
    print_error("no tensor: %s\n", ct_message(device));
    _fail(file, line);
    return NULL;
}

static inline void check_status_at(ct_status got, ct_status wanted, const char *message, const char *file,
                                   int line)
{
    if (got == wanted) return;
    print_error("%s is not %s: %s\n", ct_status_name(got), ct_status_name(wanted), message);
    _fail(file, line);
}

/* Element by element in row-major order, converted to double. */
static inline void check_elements_at(const ct_tensor *t, const double *wanted, int64_t n, double rel,
                                     double abs, const char *what, const char *file, int line)
{
    if (!t || ct_tensor_count(t) != n) {
        print_error("%s: %lld elements are not %lld\n", what, t ? (long long)ct_tensor_count(t) : -1,
                    (long long)n);
        _fail(file, line);
        return;
    }
    ct_tensor *f64 = ct_tensor_cast(t, CT_F64);
    double *got = (double *)malloc((size_t)(n > 0 ? n : 1) * sizeof *got);
    int64_t bad = -1;
    double value = NAN;
    if (f64 && got && ct_read(f64, got, (size_t)n * sizeof *got) == CT_OK)
        for (bad = 0; bad < n && check_close(got[bad], wanted[bad], rel, abs); bad++) {
        }
    if (bad >= 0 && bad < n) value = got[bad];
    free(got);
    ct_release(f64);
    if (bad == n) return;
    if (bad < 0)
        print_error("%s cannot be read: %s\n", what, ct_message(ct_tensor_device(t)));
    else
        print_error("%s[%lld]: %.17g is not %.17g\n", what, (long long)bad, value, wanted[bad]);
    _fail(file, line);
}

#define assert_close(a, b, rel, abs)        check_close_at((a), (b), (rel), (abs), #a, __FILE__, __LINE__)
#define assert_tensor(t, device)            check_tensor_at((t), (device), __FILE__, __LINE__)
#define assert_status(got, wanted, message) check_status_at((got), (wanted), (message), __FILE__, __LINE__)
#define assert_ok(got, message)             check_status_at((got), CT_OK, (message), __FILE__, __LINE__)

/* assert_elements(t, 1e-12, 0, 1, 2, 3): the tensor's elements, row-major. */
#define assert_elements(t, rel, abs, ...)                                                                    \
    check_elements_at((t), (const double[]){ __VA_ARGS__ },                                                  \
                      (int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), (rel), (abs), #t, \
                      __FILE__, __LINE__)

/* f64 tensors from literals: tensor2(dev, 2, 3, 1, 2, 3, 4, 5, 6). */
static inline ct_tensor *check_from(ct_device *device, ct_shape shape, const double *data, int64_t n,
                                    const char *file, int line)
{
    if (ct_shape_count(shape) != n) {
        print_error("%lld values for a shape of %lld elements\n", (long long)n,
                    (long long)ct_shape_count(shape));
        _fail(file, line);
        return NULL;
    }
    return check_tensor_at(ct_from(device, CT_F64, shape, data), device, file, line);
}

#define CHECK_FROM(device, shape, ...)                             \
    check_from((device), (shape), (const double[]){ __VA_ARGS__ }, \
               (int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double)), __FILE__, __LINE__)
#define tensor0(device, value)              CHECK_FROM(device, ct_shape0(), value)
#define tensor1(device, n, ...)             CHECK_FROM(device, ct_shape1(n), __VA_ARGS__)
#define tensor2(device, rows, cols, ...)    CHECK_FROM(device, ct_shape2(rows, cols), __VA_ARGS__)
#define tensor3(device, b, rows, cols, ...) CHECK_FROM(device, ct_shape3(b, rows, cols), __VA_ARGS__)

#endif
