/* potrf_lower, trtri and lauum on one triangle of either layout, whose surroundings must not change; one
 * right-hand side. */
#include "check.h"

#include <stdlib.h>

#include "tensor/internal.h"

#include <cotangent/op.h>

static ct_device *device;
static const ct_backend *cpu = &ct__cpu_backend;
static const int64_t sizes[] = { 0, 1, 2, 3, 8, 15, 16, 17, 33, 64, 130 };
enum { SIZES = sizeof sizes / sizeof *sizes, PITCH = 140 };

/* An n x n view of a rectangle that is NaN elsewhere: by rows, or by columns. */
typedef struct square {
    ct_tensor *all, *view;
    double *reference; /* [n * n] */
    int64_t n;
} square;

static double entry(int64_t i, int64_t j) { return exp(-0.1 * (double)llabs(i - j)) + (i == j ? 1 : 0); }

static square square_new(int64_t n, ct_dtype dtype, bool columns)
{
    square s = { .n = n, .reference = malloc((size_t)(n * n + 1) * sizeof(double)) };
    double *host = malloc((size_t)PITCH * PITCH * sizeof *host);
    for (int64_t i = 0; i < PITCH * PITCH; i++) host[i] = NAN;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            host[columns ? j * PITCH + i + 1 : i * PITCH + j + 1] = s.reference[i * n + j] = entry(i, j);
    ct_tensor *wide = assert_tensor(ct_from(device, CT_F64, ct_shape2(PITCH, PITCH), host), device);
    s.all = assert_tensor(ct_tensor_cast(wide, dtype), device);
    ct_tensor *rows = ct_tensor_slice(s.all, 0, 0, n, 1), *part = ct_tensor_slice(rows, 1, 1, n + 1, 1);
    s.view = columns ? ct_tensor_transpose(part) : ct_retain(part);
    ct_release(wide);
    ct_release(rows);
    ct_release(part);
    free(host);
    return s;
}

/* Checks that the lower triangle equals the reference and all else is still NaN. */
static void square_check(square *s, double tolerance)
{
    ct_tensor *wide = assert_tensor(ct_tensor_cast(s->all, CT_F64), device);
    ct_tensor *view = assert_tensor(ct_tensor_cast(s->view, CT_F64), device);
    double *all = malloc((size_t)PITCH * PITCH * sizeof *all),
           *part = malloc((size_t)(s->n * s->n + 1) * sizeof *part);
    assert_ok(ct_read(wide, all, (size_t)PITCH * PITCH * sizeof *all), ct_message(device));
    assert_ok(ct_read(view, part, (size_t)(s->n * s->n) * sizeof *part), ct_message(device));
    int64_t numbers = 0;
    for (int64_t i = 0; i < PITCH * PITCH; i++) numbers += !isnan(all[i]);
    assert_int_equal(numbers, s->n * (s->n + 1) / 2);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j <= i; j++)
            assert_close(part[i * s->n + j], s->reference[i * s->n + j], tolerance, tolerance);
    free(all);
    free(part);
    ct_release(wide);
    ct_release(view);
    ct_release(s->all);
    ct_release(s->view);
    free(s->reference);
}

static void cholesky(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            for (int64_t k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(a[i * n + i]) : a[i * n + j] / a[j * n + j];
        }
}

static void invert(double *l, int64_t n)
{
    double *m = calloc((size_t)(n * n + 1), sizeof *m);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = i == j;
            for (int64_t k = j; k < i; k++) sum -= l[i * n + k] * m[k * n + j];
            m[i * n + j] = sum / l[i * n + i];
        }
    memcpy(l, m, (size_t)(n * n) * sizeof *m);
    free(m);
}

static void gram(double *l, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = i; k < n; k++) sum += l[k * n + i] * l[k * n + j];
            l[i * n + j] = sum;
        }
}

static void one_triangle_in_place(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++)
        for (int layout = 0; layout < 4; layout++) {
            ct_dtype dtype = layout & 2 ? CT_F32 : CT_F64;
            double tolerance = dtype == CT_F32 ? 1e-4 : 1e-12;
            for (int steps = 1; steps <= 3; steps++) {
                square s = square_new(sizes[i], dtype, layout & 1);
                ct_failure failure = { .set = false };
                assert_ok(cpu->potrf_lower(device, 5, &s.view->view, &failure), ct_message(device));
                assert_false(failure.set);
                cholesky(s.reference, s.n);
                if (steps > 1) assert_ok(cpu->trtri(device, &s.view->view), ct_message(device));
                if (steps > 1) invert(s.reference, s.n);
                if (steps > 2) assert_ok(cpu->lauum(device, &s.view->view), ct_message(device));
                if (steps > 2) gram(s.reference, s.n);
                square_check(&s, tolerance);
            }
        }
}

static void a_bad_minor_is_counted_from_the_first_row(void **state)
{
    (void)state;
    for (int i = 3; i < SIZES; i++)
        for (int columns = 0; columns < 2; columns++) {
            square s = square_new(sizes[i], CT_F64, columns);
            ct_tensor *diagonal = ct_tensor_diagonal(s.view), *second = ct_tensor_slice(diagonal, 0, 1, 2, 1);
            assert_ok(cpu->fill(device, &second->view, -1), ct_message(device));
            ct_failure failure = { .set = false };
            assert_ok(cpu->potrf_lower(device, 40, &s.view->view, &failure), ct_message(device));
            assert_true(failure.set);
            assert_int_equal(failure.detail, 42);
            ct_release(second);
            ct_release(diagonal);
            ct_release(s.all);
            ct_release(s.view);
            free(s.reference);
        }
}

/* T x = b and Tᵀ x = b for one column, and xᵀ T = bᵀ for one row. */
static void one_right_hand_side(void **state)
{
    (void)state;
    for (int i = 1; i < SIZES; i++)
        for (int flags = 0; flags < 8; flags++) {
            bool columns = flags & 1, right = flags & 2, trans = flags & 4;
            int64_t n = sizes[i];
            square s = square_new(n, CT_F64, columns);
            double *x = malloc((size_t)n * sizeof *x), *b = calloc((size_t)n, sizeof *b);
            for (int64_t k = 0; k < n; k++) x[k] = cos((double)k);
            for (int64_t r = 0; r < n; r++)
                for (int64_t k = 0; k <= r; k++) {
                    if (right == trans)
                        b[r] += s.reference[r * n + k] * x[k];
                    else
                        b[k] += s.reference[r * n + k] * x[r];
                }
            ct_shape shape = right ? ct_shape2(1, n) : ct_shape2(n, 1);
            ct_tensor *t = assert_tensor(ct_from(device, CT_F64, shape, b), device);
            assert_ok(cpu->trsm(device, (right ? CT_RIGHT : 0u) | (trans ? CT_TRANS : 0u), 1, &s.view->view,
                                &t->view),
                      ct_message(device));
            assert_ok(ct_read(t, b, (size_t)n * sizeof *b), ct_message(device));
            for (int64_t k = 0; k < n; k++) assert_close(b[k], x[k], 1e-9, 1e-9);
            free(x);
            free(b);
            ct_release(t);
            square_check(&s, 0);
        }
}

static int open_device(void **state)
{
    (void)state;
    device = ct_device_open("cpu");
    return ct_device_status(device) != CT_OK;
}

static int close_device(void **state)
{
    (void)state;
    ct_device_close(device);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_triangle_in_place),
        cmocka_unit_test(a_bad_minor_is_counted_from_the_first_row),
        cmocka_unit_test(one_right_hand_side),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
