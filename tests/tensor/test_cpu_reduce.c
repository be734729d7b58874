/* Sums, maxima, logsumexps against naive loops; rounding; determinism. */
#include "cpu_support.h"

static const ct_backend *const cpu = &ct__cpu_backend;

static const ct_shape shapes[] = {
    { .ndim = 0, .dim = { 0 } },
    { .ndim = 1, .dim = { 0 } },
    { .ndim = 1, .dim = { 1 } },
    { .ndim = 1, .dim = { 700 } },
    { .ndim = 2, .dim = { 3, 5 } },
    { .ndim = 2, .dim = { 300, 3 } },
    { .ndim = 2, .dim = { 3, 300 } },
    { .ndim = 2, .dim = { 90, 290 } },
    { .ndim = 3, .dim = { 2, 0, 3 } },
    { .ndim = 3, .dim = { 4, 1, 7 } },
    { .ndim = 3, .dim = { 5, 20, 9 } },
    { .ndim = 4, .dim = { 2, 3, 4, 5 } },
    { .ndim = 4, .dim = { 3, 40, 2, 30 } },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The reduction over the dimensions of `mask`, by one pass over x in long double. */
static void naive(ct_reduction f, const ct_tensor *x, unsigned mask, ct_shape reduced, long double *out)
{
    int64_t n = ct_shape_count(reduced);
    long double *most = malloc((size_t)n * sizeof *most + 1);
    for (int64_t i = 0; i < n; i++) most[i] = -INFINITY, out[i] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < ct_tensor_count(x); i++) {
            int64_t rest = i, at = 0, step = 1;
            for (int d = x->view.ndim; d-- > 0;) {
                int64_t index = rest % x->view.dim[d];
                rest /= x->view.dim[d];
                if (mask >> d & 1) continue;
                at += index * step;
                step *= x->view.dim[d];
            }
            long double v = element(x, i);
            if (pass == 0)
                most[at] = v > most[at] ? v : most[at];
            else
                out[at] += f == CT_REDUCE_SUM ? v : expl(v - most[at]);
        }
    for (int64_t i = 0; i < n; i++)
        if (f != CT_REDUCE_SUM)
            out[i] = f == CT_REDUCE_MAX || isinf(most[i]) ? most[i] : most[i] + logl(out[i]);
    free(most);
}

static void every_set_of_dimensions_and_layout(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES; s++)
        for (unsigned mask = 0; mask < 1u << shapes[s].ndim; mask++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                for (int kind = 0; kind < 6; kind++) {
                    ct_dtype dtype = kind % 2 ? CT_F32 : CT_F64;
                    ct_reduction f = (ct_reduction)(kind / 2);
                    ct_shape reduced = shapes[s];
                    for (int d = 0; d < reduced.ndim; d++)
                        if (mask >> d & 1) reduced.dim[d] = 1;
                    ct_tensor *x = sample(dev, dtype, shapes[s], layout, 3);
                    ct_tensor *y = blank(dev, dtype, reduced, (layout + (int)mask) % OUT_LAYOUTS);
                    assert_ok(cpu->reduce(dev, f, &x->view, &y->view), ct_message(dev));
                    long double *wanted = malloc((size_t)ct_tensor_count(y) * sizeof *wanted + 1);
                    naive(f, x, mask, reduced, wanted);
                    for (int64_t i = 0; i < ct_tensor_count(y); i++)
                        if (!check_close(element(y, i), (double)wanted[i], dtype == CT_F64 ? 1e-14 : 1e-7,
                                         dtype == CT_F64 ? 1e-13 : 1e-6))
                            fail_msg("reduction %d shape %d mask %u layout %d at %d: %g is not %g", (int)f, s,
                                     mask, layout, (int)i, element(y, i), (double)wanted[i]);
                    if ((layout + (int)mask) % OUT_LAYOUTS == SLICED) assert_contained(y);
                    free(wanted);
                    ct_release(x);
                    ct_release(y);
                }
    ct_device_close(dev);
}

static double reduce_vector(ct_device *dev, ct_reduction f, int64_t n, const double *values)
{
    ct_tensor *x = ct_from(dev, CT_F64, ct_shape1(n), values), *y = ct_zeros(dev, CT_F64, ct_shape1(1));
    assert_ok(cpu->reduce(dev, f, &x->view, &y->view), "");
    double result = element(y, 0);
    ct_release(x);
    ct_release(y);
    return result;
}

static void infinities_and_nan(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    const double low[] = { -INFINITY, -INFINITY }, high[] = { 1, INFINITY, -INFINITY };
    const double bad[] = { 3, NAN, 5 }, worse[] = { INFINITY, NAN, -INFINITY }, big[] = { 1000, 1000 };
    const double mixed[] = { -INFINITY, 2, -INFINITY };
    assert_true(reduce_vector(dev, CT_REDUCE_LOGSUMEXP, 2, low) == -INFINITY);
    assert_true(reduce_vector(dev, CT_REDUCE_LOGSUMEXP, 3, high) == INFINITY);
    assert_close(reduce_vector(dev, CT_REDUCE_LOGSUMEXP, 2, big), 1000 + log(2), 1e-15, 0);
    assert_true(reduce_vector(dev, CT_REDUCE_LOGSUMEXP, 3, mixed) == 2);
    for (int f = 0; f < 3; f++) {
        assert_true(isnan(reduce_vector(dev, (ct_reduction)f, 3, bad)));
        assert_true(isnan(reduce_vector(dev, (ct_reduction)f, 3, worse)));
        /* NaN in one column of many */
        ct_tensor *x = ct_zeros(dev, CT_F64, ct_shape2(50, 3)), *y = ct_zeros(dev, CT_F64, ct_shape2(1, 3));
        ((double *)x->view.data)[3 * 20 + 1] = NAN;
        assert_ok(cpu->reduce(dev, (ct_reduction)f, &x->view, &y->view), "");
        assert_true(!isnan(element(y, 0)) && isnan(element(y, 1)) && !isnan(element(y, 2)));
        ct_release(x);
        ct_release(y);
    }
    ct_device_close(dev);
}

/* A naive f64 sum of these loses 1e-10; in f32 it stops at 2^24. */
static void long_sums_keep_their_digits(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    const int64_t n = 3000000;
    for (int columns = 0; columns < 2; columns++)
        for (int dtype = 0; dtype < 2; dtype++) {
            ct_tensor *x = ct_full(dev, (ct_dtype)dtype, columns ? ct_shape2(n, 2) : ct_shape2(2, n), 0.1);
            ct_tensor *y = ct_zeros(dev, (ct_dtype)dtype, columns ? ct_shape2(1, 2) : ct_shape2(2, 1));
            assert_ok(cpu->reduce(dev, CT_REDUCE_SUM, &x->view, &y->view), "");
            double wanted = (double)n * (dtype ? (double)0.1f : 0.1);
            for (int i = 0; i < 2; i++) assert_close(element(y, i), wanted, dtype ? 6e-8 : 1e-15, 0);
            ct_release(x);
            ct_release(y);
        }
    ct_device_close(dev);
}

static void the_bits_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    static const ct_shape large[] = { { .ndim = 1, .dim = { 500000 } },
                                      { .ndim = 2, .dim = { 60000, 7 } },
                                      { .ndim = 2, .dim = { 7, 60000 } },
                                      { .ndim = 2, .dim = { 700, 600 } } };
    double first[3][4][2][4];
    for (int threads = 1; threads <= 3; threads++) {
        ct_device *dev = open_cpu(threads);
        for (int s = 0; s < 4; s++)
            for (int dim = 0; dim < large[s].ndim; dim++)
                for (int f = 0; f < 3; f++) {
                    ct_shape reduced = large[s];
                    reduced.dim[dim] = 1;
                    ct_tensor *x = sample(dev, CT_F64, large[s], CONTIGUOUS, 3),
                              *y = ct_zeros(dev, CT_F64, reduced);
                    assert_ok(cpu->reduce(dev, (ct_reduction)f, &x->view, &y->view), "");
                    if (threads == 1) first[f][s][dim][0] = element(y, 0);
                    assert_true(first[f][s][dim][0] == element(y, 0));
                    ct_release(x);
                    ct_release(y);
                }
        ct_device_close(dev);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_of_dimensions_and_layout),
        cmocka_unit_test(infinities_and_nan),
        cmocka_unit_test(long_sums_keep_their_digits),
        cmocka_unit_test(the_bits_do_not_depend_on_the_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
