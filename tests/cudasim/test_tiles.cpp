/* Triangles of all extents around that of a tile, in both layouts, one and many: factor, inverse, LᵀL,
 * solutions and products against loops in f64. Memory that must not be read is NaN. */
#include "check_sim.h"

#include "tensor/cuda/batch.cuh"

#include <vector>

enum { MEMBERS = 3 };
static const int64_t extents[] = { 1, 8, 9, 16, 17, 32, 33, 65, 128, 129, 200 };

typedef std::vector<double> numbers;

static double uniform(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992. - .5;
}

/* Matrices on the device, (members, rows, cols), transposed where `turned`. */
struct operand {
    ct_tensor *tensor;
    ct__job b;
    ct__matrix m;
    int64_t rows, cols;
    operand(ct_device *dev, ct_dtype dtype, bool turned, int64_t r, int64_t c, const numbers &x)
        : rows(r), cols(c)
    {
        numbers stored(x.size());
        each([&](int64_t k, int64_t i, int64_t j) { stored[at(turned, k, i, j)] = x[at(false, k, i, j)]; });
        ct_tensor *wide =
            ct_from(dev, CT_F64, turned ? ct_shape3(MEMBERS, c, r) : ct_shape3(MEMBERS, r, c), &stored[0]);
        tensor = ct_tensor_cast(wide, dtype);
        ct_release(wide);
        const ct_view *t = &tensor->view;
        b = ct__make_job(dev, 1, &t, &m);
        m.columns = 0;
        if (turned) m = ct__transposed(m);
    }
    template <typename F> void each(F f) const
    {
        for (int64_t k = 0; k < MEMBERS; k++)
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < cols; j++) f(k, i, j);
    }
    size_t at(bool turned, int64_t k, int64_t i, int64_t j) const
    {
        return (size_t)(k * rows * cols + (turned ? j * rows + i : i * cols + j));
    }
    numbers read(bool turned) const
    {
        numbers stored((size_t)(MEMBERS * rows * cols)), x(stored.size());
        ct_tensor *wide = ct_tensor_cast(tensor, CT_F64);
        assert_ok(ct_read(wide, &stored[0], stored.size() * sizeof(double)), "reading");
        ct_release(wide);
        each([&](int64_t k, int64_t i, int64_t j) { x[at(false, k, i, j)] = stored[at(turned, k, i, j)]; });
        return x;
    }
    ~operand() { ct_release(tensor); }
};

/* A triangle with 1 to 2 on its diagonal and small numbers beside it. The other triangle, and with `unit` the
 * diagonal, is NaN, as it must not be read. */
static numbers triangle(int64_t n, bool lower, bool unit)
{
    numbers t((size_t)(MEMBERS * n * n));
    for (size_t e = 0; e < t.size(); e++) {
        const int64_t i = (int64_t)e / n % n, j = (int64_t)e % n;
        t[e] = i == j                    ? (unit ? NAN : 1.5 + uniform())
               : (lower ? j < i : j > i) ? 2 * uniform() / (double)n
                                         : NAN;
    }
    return t;
}

static double element(const numbers &t, int64_t n, int64_t k, int64_t i, int64_t j, bool lower, bool unit)
{
    if (i == j && unit) return 1;
    return (lower ? j <= i : j >= i) ? t[(size_t)((k * n + i) * n + j)] : 0;
}

static void expect_near(double x, double y, ct_dtype dtype, const char *what, int64_t n)
{
    const double tolerance = dtype == CT_F64 ? 1e-12 : 1e-4;
    if (!(fabs(x - y) <= tolerance * (1 + fabs(y)))) fail_msg("%s of %d: %g for %g", what, (int)n, x, y);
}

static void on_the_triangle(ct_device *dev, ct_dtype dtype, int64_t n, bool turned)
{
    /* L Lᵀ for a triangle that is known */
    numbers L = triangle(n, true, false), A(L.size()), half(L.size());
    for (size_t e = 0; e < A.size(); e++) {
        const int64_t k = (int64_t)e / n / n, i = (int64_t)e / n % n, j = (int64_t)e % n;
        A[e] = half[e] = j > i ? NAN : 0;
        for (int64_t p = 0; p <= j && j <= i; p++)
            A[e] += element(L, n, k, i, p, true, false) * element(L, n, k, j, p, true, false);
        for (int64_t p = i; p < n && j <= i; p++)
            half[e] += element(L, n, k, p, i, true, false) * element(L, n, k, p, j, true, false);
    }
    operand a(dev, dtype, turned, n, n, A), square(dev, dtype, turned, n, n, L),
        inverse(dev, dtype, turned, n, n, L);
    ct_tensor *failed = ct_full(dev, CT_I64, ct_shape1(MEMBERS), 77);
    assert_ok(ct__cholesky_blocked(a.b, a.m, (int64_t *)failed->view.data), ct_message(dev));
    assert_ok(ct__change_lower(square.b, CT__SQUARE, square.m), ct_message(dev));
    assert_ok(ct__change_lower(inverse.b, CT__INVERT, inverse.m), ct_message(dev));
    const numbers factor = a.read(turned), product = square.read(turned), M = inverse.read(turned);
    int64_t flags[MEMBERS];
    assert_ok(ct_read(failed, flags, sizeof flags), ct_message(dev));
    for (int64_t k = 0; k < MEMBERS; k++) assert_int_equal(flags[k], 0);
    a.each([&](int64_t k, int64_t i, int64_t j) {
        const size_t e = a.at(false, k, i, j);
        if (j > i) { /* as it was */
            assert_true(isnan(factor[e]) && isnan(product[e]) && isnan(M[e]));
            return;
        }
        expect_near(factor[e], L[e], dtype, "L", n);
        expect_near(product[e], half[e], dtype, "LᵀL", n);
        double sum = 0; /* of M L */
        for (int64_t p = j; p <= i; p++)
            sum += M[(size_t)((k * n + i) * n + p)] * L[(size_t)((k * n + p) * n + j)];
        expect_near(sum, i == j, dtype, "M L", n);
    });
    ct_release(failed);
}

static void beside_the_triangle(ct_device *dev, ct_dtype dtype, int64_t n, int64_t cols, int layout,
                                bool lower, bool unit)
{
    const bool t_turned = layout & 1, b_turned = layout & 2;
    const numbers T = triangle(n, lower, unit);
    numbers B((size_t)(MEMBERS * n * cols));
    for (double &x : B) x = uniform();
    operand t(dev, dtype, t_turned, n, n, T), x(dev, dtype, b_turned, n, cols, B),
        y(dev, dtype, b_turned, n, cols, B);
    const ct_view *both[] = { &t.tensor->view, &x.tensor->view };
    ct__matrix m[2];
    ct__job b = ct__make_job(dev, 2, both, m);
    assert_ok(ct__apply(b, CT__SOLVE, lower, unit, 3, t.m, x.m), ct_message(dev));
    assert_ok(ct__apply(b, CT__MULTIPLY, lower, unit, .5, t.m, y.m), ct_message(dev));
    const numbers X = x.read(b_turned), Y = y.read(b_turned);
    x.each([&](int64_t k, int64_t i, int64_t j) {
        double back = 0, product = 0;
        for (int64_t p = 0; p < n; p++) {
            const double w = element(T, n, k, i, p, lower, unit);
            back += w * X[x.at(false, k, p, j)];
            product += w * B[x.at(false, k, p, j)];
        }
        expect_near(back, 3 * B[x.at(false, k, i, j)], dtype, lower ? "L X" : "U X", n);
        expect_near(Y[x.at(false, k, i, j)], product / 2, dtype, lower ? "L B" : "U B", n);
    });
}

static void all_extents(void **)
{
    ct_device *dev = ct_device_open("cuda:0");
    for (ct_dtype dtype : { CT_F64, CT_F32 })
        for (int64_t n : extents)
            for (int layout = 0; layout < (dtype == CT_F32 ? 2 : 4); layout++) {
                if (layout < 2) on_the_triangle(dev, dtype, n, layout);
                const int64_t cols = (int64_t[]){ 1, 63, 64, 130 }[(n + layout) % 4];
                for (int which = 0; which < 4; which++)
                    if (n > 128 || which / 2 == layout % 2) /* each extent with both, not each layout */
                        beside_the_triangle(dev, dtype, n, cols, layout, which & 1, which & 2);
            }
    ct_device_close(dev);
    assert_int_equal(cudasim_live(), 0);
}

/* One large triangle, whose blocks on the diagonal are inverted first: M L = I and LᵀL are checked on a
 * vector. */
static void large_triangles(void **)
{
    ct_device *dev = ct_device_open("cuda:0");
    for (int64_t n : { 1024, 1100 })
        for (int turned = 0; turned < 2; turned++) {
            const numbers L = triangle(n, true, false);
            operand square(dev, CT_F64, turned, n, n, L), inverse(dev, CT_F64, turned, n, n, L);
            const ct__job b = { { CT_F64, 0, 1, {} }, dev, CT_OK };
            assert_ok(ct__change_lower(b, CT__SQUARE, square.m), ct_message(dev));
            assert_ok(ct__change_lower(b, CT__INVERT, inverse.m), ct_message(dev));
            const numbers P = square.read(turned), M = inverse.read(turned);
            numbers x((size_t)n), Lx((size_t)n), LtLx((size_t)n), back((size_t)n);
            for (double &e : x) e = uniform();
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++) Lx[(size_t)i] += L[(size_t)(i * n + j)] * x[(size_t)j];
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j <= i; j++) {
                    LtLx[(size_t)j] += L[(size_t)(i * n + j)] * Lx[(size_t)i];
                    back[(size_t)i] += M[(size_t)(i * n + j)] * Lx[(size_t)j];
                }
            for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int64_t j = 0; j < n; j++)
                    sum += P[(size_t)(j <= i ? i * n + j : j * n + i)] * x[(size_t)j];
                expect_near(sum, LtLx[(size_t)i], CT_F64, "LᵀL x", n);
                expect_near(back[(size_t)i], x[(size_t)i], CT_F64, "M L x", n);
                if (i + 1 < n)
                    assert_true(isnan(P[(size_t)(i * n + n - 1)]) && isnan(M[(size_t)(i * n + n - 1)]));
            }
        }
    ct_device_close(dev);
}

/* C = alpha A Aᵀ + beta C below the diagonal: extents that split into two equal halves and others, all
 * layouts, and a batch. */
static void symmetric_products(void **)
{
    ct_device *dev = ct_device_open("cuda:0");
    for (int64_t n : { 3, 512, 513, 1024, 2048, 2100 })
        for (int members : { 1, (int)MEMBERS })
            for (int layout = 0; layout < 4; layout++) {
                if (n > 1024 && (members > 1 || layout % 3)) continue;
                const int64_t k = 2;
                numbers A((size_t)(MEMBERS * n * k)), C((size_t)(MEMBERS * n * n));
                for (double &x : A) x = uniform();
                for (size_t e = 0; e < C.size(); e++)
                    C[e] = (int64_t)e % n > (int64_t)e / n % n ? NAN : uniform();
                operand a(dev, CT_F64, layout & 1, n, k, A), c(dev, CT_F64, layout & 2, n, n, C);
                const ct__job one = { { CT_F64, 0, 1, {} }, dev, CT_OK }, b = members == 1 ? one : a.b;
                assert_ok(ct__syrk(b, 2, a.m, -1, c.m), ct_message(dev));
                const numbers result = c.read(layout & 2);
                for (int64_t e = 0; e < MEMBERS * n * n; e++) {
                    const int64_t i = e / n % n, j = e % n, member = e / n / n;
                    if (j > i || member >= members) {
                        assert_true(result[(size_t)e] == C[(size_t)e] || isnan(C[(size_t)e]));
                        assert_true(isnan(result[(size_t)e]) == isnan(C[(size_t)e]));
                        continue;
                    }
                    double sum = -C[(size_t)e];
                    for (int64_t p = 0; p < k; p++)
                        sum +=
                            2 * A[(size_t)((member * n + i) * k + p)] * A[(size_t)((member * n + j) * k + p)];
                    expect_near(result[(size_t)e], sum, CT_F64, "A Aᵀ", n);
                }
            }
    ct_device_close(dev);
}

/* The first minor that fails is named, for a NaN as for a negative pivot, and the other members are
 * unaffected. */
static void the_minor_that_fails(void **)
{
    enum { N = 150 };
    ct_device *dev = ct_device_open("cuda:0");
    for (int64_t bad : { 0, 31, 64, 127, 128, 149 }) {
        numbers A((size_t)(MEMBERS * N * N));
        for (int64_t e = 0; e < MEMBERS * N * N; e++) A[(size_t)e] = e % (N * N) % (N + 1) == 0 ? 4 : 0;
        A[(size_t)(bad * (N + 1))] = -1;
        A[(size_t)(2 * N * N + bad * (N + 1))] = NAN;
        operand a(dev, CT_F32, false, N, N, A);
        ct_tensor *failed = ct_full(dev, CT_I64, ct_shape1(MEMBERS), 77);
        assert_ok(ct__cholesky_blocked(a.b, a.m, (int64_t *)failed->view.data), ct_message(dev));
        int64_t flags[MEMBERS];
        assert_ok(ct_read(failed, flags, sizeof flags), ct_message(dev));
        assert_int_equal(flags[0], bad + 1);
        assert_int_equal(flags[1], 0);
        assert_int_equal(flags[2], bad + 1);
        assert_true(a.read(false)[(size_t)(N * N + N + 1)] == 2);
        ct_release(failed);
    }
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_extents), cmocka_unit_test(large_triangles),
                                        cmocka_unit_test(symmetric_products),
                                        cmocka_unit_test(the_minor_that_fails) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
