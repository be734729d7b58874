/* packed_sweep: the factor and the inverse of a packed triangle, for every instruction set of this machine,
 * against naive loops; the rectangle's padding is not touched; failures name the minor. */
#include "check.h"

#include <float.h>
#include <stdlib.h>

#include "tensor/cpu/kernel/isa.h"
#include "tensor/internal.h"

static const ct_backend *cpu = &ct__cpu_backend;
static const int64_t sizes[] = {
    1, 2, 3, 8, 17, 23, 24, 25, 48, 49, 95, 96, 97, 100, 145, 193, 211, 290, 433
};
enum { SIZES = sizeof sizes / sizeof *sizes, COLUMNS = 3 /* of z, one after the other */ };

typedef struct problem {
    int64_t n, ld;
    double *C, *z, *diagonal; /* C: n x n, symmetric, then its factor or inverse */
} problem;

static double covariance(int64_t i, int64_t j)
{
    return exp(-0.1 * (double)llabs(i - j)) + (i == j ? 0.5 : 0);
}

/* Element i of column i / n of z, with n rows */
static double right_hand_side(int64_t n, int64_t i) { return sin((double)(i % n + i / n * 5)); }

/* z = L⁻¹z, or M^T L⁻¹z with M = L⁻¹ */
static void solve(int64_t n, const double *L, const double *M, double *z)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) z[i] -= L[i * n + k] * z[k];
        z[i] /= L[i * n + i];
    }
    for (int64_t i = 0; i < n && M; i++) {
        z[i] *= M[i * n + i];
        for (int64_t k = i + 1; k < n; k++) z[i] += M[k * n + i] * z[k];
    }
}

static problem reference(int64_t n, bool inverse)
{
    problem p = { .n = n, .ld = n + 9, .C = malloc((size_t)(n * n) * sizeof(double)) };
    p.z = malloc((size_t)(COLUMNS * n) * sizeof *p.z);
    p.diagonal = malloc((size_t)n * sizeof *p.diagonal);
    double *L = p.C, *M = calloc((size_t)(n * n), sizeof *M);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = covariance(i, j);
            for (int64_t k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? sqrt(sum) : sum / L[j * n + j];
        }
        p.diagonal[i] = L[i * n + i];
    }
    for (int64_t j = 0; j < n && inverse; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = i == j;
            for (int64_t k = j; k < i; k++) sum -= L[i * n + k] * M[k * n + j];
            M[i * n + j] = sum / L[i * n + i];
        }
    for (int64_t i = 0; i < COLUMNS * n; i++) p.z[i] = right_hand_side(n, i);
    for (int j = 0; j < COLUMNS; j++) solve(n, L, inverse ? M : NULL, p.z + j * n);
    for (int64_t i = 0; i < n && inverse; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = i; k < n; k++) sum += M[k * n + i] * M[k * n + j];
            L[i * n + j] = sum;
        }
    free(M);
    return p;
}

static void problem_free(problem *p)
{
    free(p->C);
    free(p->z);
    free(p->diagonal);
}

/* The place of (i, j), j <= i, as pictured in docs/gp.md. */
static int64_t place(int64_t n, int64_t ld, int64_t i, int64_t j)
{
    int64_t n1 = n - n / 2, odd = n % 2;
    return j < n1 ? j * ld + 1 - odd + i : (i - n1 + odd) * ld + j - n1;
}

typedef struct result {
    ct_tensor *A, *z, *diagonal;
    ct_failure failure;
} result;

/* value(i, j) in the triangle, NaN elsewhere */
static result run(ct_device *dev, ct_dtype dtype, int64_t n, bool inverse, double (*value)(int64_t, int64_t))
{
    int64_t ld = n + 9, rows = n - n / 2;
    double *host = malloc((size_t)(rows * ld) * sizeof *host), *z = malloc((size_t)(COLUMNS * n) * sizeof *z);
    for (int64_t i = 0; i < rows * ld; i++) host[i] = NAN;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) host[place(n, ld, i, j)] = value(i, j);
    for (int64_t i = 0; i < COLUMNS * n; i++) z[i] = right_hand_side(n, i);
    ct_tensor *wide = assert_tensor(ct_from(dev, CT_F64, ct_shape2(rows, ld), host), dev);
    ct_tensor *wide_z = assert_tensor(ct_from(dev, CT_F64, ct_shape2(COLUMNS, n), z), dev);
    result r = { .A = assert_tensor(ct_tensor_cast(wide, dtype), dev),
                 .z = assert_tensor(ct_tensor_cast(wide_z, dtype), dev),
                 .diagonal = assert_tensor(ct_full(dev, dtype, ct_shape1(n), NAN), dev) };
    if (dtype == CT_F64) { /* a cast to the same type may share memory */
        ct_release(r.A);
        ct_release(r.z);
        r.A = ct_retain(wide);
        r.z = ct_retain(wide_z);
    }
    ct_view columns = ct_view_transpose(r.z->view);
    assert_ok(cpu->packed_sweep(dev, n, inverse, 0, &r.A->view, &columns, &r.diagonal->view, &r.failure),
              ct_message(dev));
    ct_release(wide);
    ct_release(wide_z);
    free(host);
    free(z);
    return r;
}

static void result_free(result *r)
{
    ct_release(r->A);
    ct_release(r->z);
    ct_release(r->diagonal);
}

static double at(const ct_tensor *t, int64_t i)
{
    return t->view.dtype == CT_F64 ? ((const double *)t->view.data)[i]
                                   : (double)((const float *)t->view.data)[i];
}

static void check_result(const result *r, const problem *p, double tolerance)
{
    int64_t n = p->n, numbers = 0;
    assert_false(r->failure.set);
    for (int64_t i = 0; i < (n - n / 2) * p->ld; i++) numbers += !isnan(at(r->A, i));
    assert_int_equal(numbers, n * (n + 1) / 2);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i; j < COLUMNS * n; j += n) assert_close(at(r->z, j), p->z[j], tolerance, tolerance);
        assert_close(at(r->diagonal, i), p->diagonal[i], tolerance, tolerance);
        for (int64_t j = 0; j <= i; j++)
            assert_close(at(r->A, place(n, p->ld, i, j)), p->C[i * n + j], tolerance, tolerance);
    }
}

static void equals_naive_loops(void **state)
{
    (void)state;
    for (int k = 0; k < SIZES; k++)
        for (int inverse = 0; inverse < 2; inverse++) {
            problem p = reference(sizes[k], inverse);
            for (int isa = 0; isa <= (int)ct__best_isa(); isa++)
                for (int threads = 1; threads <= 3; threads++) {
                    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = threads });
                    dev->isa = isa;
                    result wide = run(dev, CT_F64, p.n, inverse, covariance),
                           narrow = run(dev, CT_F32, p.n, inverse, covariance);
                    check_result(&wide, &p, 1e-12);
                    check_result(&narrow, &p, 2e-4);
                    result_free(&wide);
                    result_free(&narrow);
                    ct_device_close(dev);
                }
            problem_free(&p);
        }
}

/* The result does not depend on the division of work: one thread, several, more than there are tiles in a
 * row. Tasks of the last extent have 192 rows with one thread, 96 with more. */
static void same_bits(void **state)
{
    (void)state;
    static const int64_t extent[] = { 250, 500, 1600 };
    static const int threads[] = { 2, 2, 3, 9 };
    ct_device *alone = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    for (int k = 0; k < 3; k++)
        for (int inverse = 0; inverse < 2; inverse++) {
            int64_t n = extent[k], count = (n - n / 2) * (n + 9);
            result a = run(alone, CT_F64, n, inverse, covariance);
            for (int i = 0; i < 4; i++) {
                ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = threads[i] });
                result b = run(dev, CT_F64, n, inverse, covariance);
                assert_memory_equal(a.A->view.data, b.A->view.data, (size_t)count * sizeof(double));
                assert_memory_equal(a.z->view.data, b.z->view.data, (size_t)(COLUMNS * n) * sizeof(double));
                result_free(&b);
                ct_device_close(dev);
            }
            result_free(&a);
        }
    ct_device_close(alone);
}

static int64_t bad;

static double indefinite(int64_t i, int64_t j) { return i == bad && j == bad ? 0.1 : covariance(i, j); }
static double not_a_number(int64_t i, int64_t j) { return i == bad && j == bad / 2 ? NAN : covariance(i, j); }

static void failures_name_the_minor(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
    static const int64_t rows[] = { 3, 30, 95, 96, 130, 249 };
    for (int k = 0; k < 6; k++)
        for (int inverse = 0; inverse < 2; inverse++) {
            bad = rows[k];
            result r = run(dev, CT_F64, 250, inverse, indefinite);
            assert_true(r.failure.set);
            assert_int_equal(r.failure.detail, bad + 1);
            result_free(&r);
            r = run(dev, CT_F64, 250, inverse, not_a_number);
            assert_true(r.failure.set);
            result_free(&r);
        }
    ct_device_close(dev);
}

static double smooth(int64_t i, int64_t j)
{
    const double r = (double)(i - j) / 20;
    return 1.3 * exp(-0.5 * r * r) + (i == j ? 1e-8 : 0);
}

/* C - L Lᵀ where tiles on the diagonal have condition numbers of 10⁹, as neighbouring points give them */
static void as_accurate_as_a_column_at_a_time(void **state)
{
    (void)state;
    for (ct__isa isa = 0; isa <= ct__best_isa(); isa++) {
        ct_device *dev = ct_device_open("cpu");
        dev->isa = isa;
        for (int64_t n = 100; n < 300; n += 111) {
            result r = run(dev, CT_F64, n, false, smooth);
            double worst = 0;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++) {
                    long double sum = smooth(i, j);
                    for (int64_t k = 0; k <= j; k++)
                        sum -= (long double)at(r.A, place(n, n + 9, i, k)) * at(r.A, place(n, n + 9, j, k));
                    worst = fmax(worst, fabs((double)sum));
                }
            if (!(worst <= 16 * DBL_EPSILON * 1.3))
                fail_msg("isa %d, n = %d: %g ε", isa, (int)n, worst / 1.3 / DBL_EPSILON);
            result_free(&r);
        }
        ct_device_close(dev);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_naive_loops),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(as_accurate_as_a_column_at_a_time),
        cmocka_unit_test(failures_name_the_minor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
