/* fill, copy, maps, where: every layout against one element at a time. */
#include "cpu_support.h"

static const ct_backend *const cpu = &ct__cpu_backend;

static const ct_shape shapes[] = {
    { .ndim = 0, .dim = { 0 } },
    { .ndim = 1, .dim = { 0 } },
    { .ndim = 1, .dim = { 1 } },
    { .ndim = 1, .dim = { 17 } },
    { .ndim = 2, .dim = { 1, 1 } },
    { .ndim = 2, .dim = { 3, 5 } },
    { .ndim = 2, .dim = { 40, 70 } },
    { .ndim = 3, .dim = { 2, 0, 3 } },
    { .ndim = 3, .dim = { 4, 1, 7 } },
    { .ndim = 3, .dim = { 3, 33, 35 } },
    { .ndim = 4, .dim = { 2, 3, 4, 5 } },
    { .ndim = 2, .dim = { 300, 301 } },
    { .ndim = 5, .dim = { 2, 1, 3, 2, 4 } },
    { .ndim = 8, .dim = { 2, 1, 2, 1, 2, 1, 2, 3 } },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static int64_t saturated(double x)
{
    return isnan(x) ? 0 : x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static void copies_convert_every_dtype_and_layout(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES; s++)
        for (int in = 0; in < LAYOUTS; in++)
            for (int out = 0; out < OUT_LAYOUTS; out++)
                for (int pair = 0; pair < 25; pair++) {
                    if (s == SHAPES - 3 && pair % 6) continue;
                    ct_tensor *x = sample(dev, (ct_dtype)(pair / 5), shapes[s], in, 7);
                    ct_tensor *y = blank(dev, (ct_dtype)(pair % 5), shapes[s], out);
                    assert_ok(cpu->copy(dev, &x->view, &y->view), ct_message(dev));
                    for (int64_t i = 0; i < ct_tensor_count(x); i++) {
                        double wanted = element(x, i);
                        if (y->view.dtype == CT_F32) wanted = (double)(float)wanted;
                        if (y->view.dtype == CT_I64) wanted = (double)(int64_t)wanted;
                        if (ct__is_half(y->view.dtype))
                            wanted = (double)ct__from_half(y->view.dtype,
                                                           ct__to_half(y->view.dtype, ct__odd_f32(wanted)));
                        assert_true(element(y, i) == wanted);
                    }
                    if (out == SLICED && y->view.dtype != CT_I64) assert_contained(y);
                    ct_release(x);
                    ct_release(y);
                }
    ct_device_close(dev);
}

static void conversion_to_integers_saturates(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    const double values[] = { NAN, INFINITY, -INFINITY, 1e30, -1e30, 2.9, -2.9, 9007199254740993.0 };
    ct_tensor *x = ct_from(dev, CT_F64, ct_shape1(8), values), *y = ct_empty(dev, CT_I64, ct_shape1(8));
    assert_ok(cpu->copy(dev, &x->view, &y->view), ct_message(dev));
    for (int i = 0; i < 8; i++) assert_true(((int64_t *)y->view.data)[i] == saturated(values[i]));
    assert_ok(cpu->fill(dev, &y->view, NAN), ct_message(dev));
    assert_int_equal(((int64_t *)y->view.data)[3], 0);
    ct_release(x);
    ct_release(y);
    ct_device_close(dev);
}

static void fill_reaches_every_layout(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES; s++)
        for (int layout = 0; layout < OUT_LAYOUTS; layout++)
            for (int dtype = 0; dtype < 5; dtype++) {
                ct_tensor *x = blank(dev, (ct_dtype)dtype, shapes[s], layout);
                assert_ok(cpu->fill(dev, &x->view, -3), ct_message(dev));
                for (int64_t i = 0; i < ct_tensor_count(x); i++) assert_true(element(x, i) == -3);
                if (layout == SLICED && dtype != CT_I64) assert_contained(x);
                ct_release(x);
            }
    ct_device_close(dev);
}

static double value2(ct_map2 f, double a, double b)
{
    switch (f) {
    case CT_MAP_add: return a + b;
    case CT_MAP_sub: return a - b;
    case CT_MAP_mul: return a * b;
    case CT_MAP_div: return a / b;
    case CT_MAP_maximum: return a > b ? a : b;
    case CT_MAP_minimum: return a < b ? a : b;
    case CT_MAP_less: return a < b;
    case CT_MAP_equal: return a == b;
    default: return NAN;
    }
}

static void binary_maps_in_every_pair_of_layouts(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES; s++)
        for (int la = 0; la < LAYOUTS; la++)
            for (int lb = 0; lb < LAYOUTS; lb++)
                for (int out = 0; out < OUT_LAYOUTS; out++) {
                    ct_dtype dtype = (la + lb + out) % 2 ? CT_F32 : CT_F64;
                    ct_map2 f = (ct_map2)((la * 7 + lb * 3 + out + s) % CT_MAP2_COUNT);
                    ct_tensor *a = sample(dev, dtype, shapes[s], la, 1),
                              *b = sample(dev, dtype, shapes[s], lb, 2);
                    ct_tensor *y = blank(dev, dtype, shapes[s], out);
                    assert_ok(cpu->map2(dev, f, &a->view, &b->view, &y->view), ct_message(dev));
                    for (int64_t i = 0; i < ct_tensor_count(y); i++)
                        if (!check_close(element(y, i), value2(f, element(a, i), element(b, i)), 1e-6, 1e-6))
                            fail_msg("map2 %d shape %d layouts %d %d %d at %d", (int)f, s, la, lb, out,
                                     (int)i);
                    if (out == SLICED) assert_contained(y);
                    ct_release(a);
                    ct_release(b);
                    ct_release(y);
                }
    ct_device_close(dev);
}

static void a_binary_map_may_write_over_an_input(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES; s++)
        for (int layout = 0; layout < OUT_LAYOUTS; layout++)
            for (int lb = 0; lb < LAYOUTS; lb++) {
                ct_tensor *a = sample(dev, CT_F64, shapes[s], layout, 3),
                          *b = sample(dev, CT_F64, shapes[s], lb, 4);
                ct_tensor *before = ct_tensor_clone(a), *alias = ct__share(a->view);
                assert_ok(cpu->map2(dev, CT_MAP_sub, &b->view, &a->view, &alias->view), ct_message(dev));
                for (int64_t i = 0; i < ct_tensor_count(a); i++)
                    assert_true(element(a, i) == element(b, i) - element(before, i));
                ct_release(a);
                ct_release(b);
                ct_release(before);
                ct_release(alias);
            }
    ct_device_close(dev);
}

static void nan_passes_the_comparing_maps(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    const double pairs[3][2] = { { NAN, 1 }, { 1, NAN }, { NAN, NAN } };
    const ct_map2 maps[] = { CT_MAP_maximum, CT_MAP_minimum, CT_MAP_less, CT_MAP_equal, CT_MAP_add };
    for (int f = 0; f < 5; f++)
        for (int p = 0; p < 3; p++) {
            ct_tensor *a = tensor0(dev, pairs[p][0]), *b = tensor0(dev, pairs[p][1]), *y = tensor0(dev, 0);
            assert_ok(cpu->map2(dev, maps[f], &a->view, &b->view, &y->view), ct_message(dev));
            assert_true(isnan(element(y, 0)));
            ct_release(a);
            ct_release(b);
            ct_release(y);
        }
    const ct_map1 unary[] = { CT_MAP_abs,   CT_MAP_sign,     CT_MAP_relu,
                              CT_MAP_clamp, CT_MAP_softplus, CT_MAP_lgamma };
    for (int f = 0; f < 6; f++) {
        const double p[2] = { -1, 1 };
        ct_tensor *x = tensor0(dev, NAN), *y = tensor0(dev, 0);
        assert_ok(cpu->map1(dev, unary[f], p, &x->view, &y->view), ct_message(dev));
        assert_true(isnan(element(y, 0)));
        ct_release(x);
        ct_release(y);
    }
    ct_device_close(dev);
}

/* Where the domain of f is: x = |u| + 0.2 for these. */
static bool positive_only(ct_map1 f)
{
    return f == CT_MAP_log || f == CT_MAP_log1p || f == CT_MAP_sqrt || f == CT_MAP_lgamma ||
           f == CT_MAP_polygamma || f == CT_MAP_pow || f == CT_MAP_reciprocal;
}

static double value1(ct_map1 f, const double p[2], double x)
{
    switch (f) {
    case CT_MAP_neg: return -x;
    case CT_MAP_abs: return fabs(x);
    case CT_MAP_sign: return (x > 0) - (x < 0);
    case CT_MAP_exp: return exp(x);
    case CT_MAP_expm1: return expm1(x);
    case CT_MAP_log: return log(x);
    case CT_MAP_log1p: return log1p(x);
    case CT_MAP_sqrt: return sqrt(x);
    case CT_MAP_square: return x * x;
    case CT_MAP_reciprocal: return 1 / x;
    case CT_MAP_sin: return sin(x);
    case CT_MAP_cos: return cos(x);
    case CT_MAP_tanh: return tanh(x);
    case CT_MAP_sech2: return 1 / (cosh(x) * cosh(x));
    case CT_MAP_sigmoid: return 1 / (1 + exp(-x));
    case CT_MAP_softplus: return log(1 + exp(x));
    case CT_MAP_relu: return x > 0 ? x : 0;
    case CT_MAP_erf: return erf(x);
    case CT_MAP_gaussian: return exp(-x * x);
    case CT_MAP_lgamma: return lgamma(x);
    case CT_MAP_polygamma: return (lgamma(x + 1e-3) - 2 * lgamma(x) + lgamma(x - 1e-3)) / 1e-6; /* p[0] = 1 */
    case CT_MAP_pow: return pow(x, p[0]);
    case CT_MAP_scale: return p[0] * x;
    case CT_MAP_shift: return p[0] + x;
    case CT_MAP_clamp: return fmin(fmax(x, p[0]), p[1]);
    default: return NAN;
    }
}

static void unary_maps_and_their_derivatives(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_shape shape = ct_shape3(3, 33, 35);
    for (int f = 0; f < CT_MAP1_COUNT; f++)
        for (int layout = 0; layout < 2 * LAYOUTS; layout++) {
            ct_dtype dtype = layout < LAYOUTS ? CT_F64 : CT_F32;
            const double p[2] = { f == CT_MAP_polygamma ? 1 : f == CT_MAP_clamp ? -0.5 : 0.7, 0.6 };
            ct_tensor *u = sample(dev, dtype, shape, layout % LAYOUTS, 5), *x = u;
            if (positive_only((ct_map1)f)) {
                x = blank(dev, dtype, shape, (layout + 1) % OUT_LAYOUTS);
                assert_ok(cpu->map1(dev, CT_MAP_abs, p, &u->view, &x->view), "");
                assert_ok(cpu->map1(dev, CT_MAP_shift, (double[]){ 0.2, 0 }, &x->view, &x->view), "");
            }
            ct_tensor *y = blank(dev, dtype, shape, layout % OUT_LAYOUTS);
            ct_tensor *g = sample(dev, dtype, shape, CONTIGUOUS, 6), *bar = blank(dev, dtype, shape, SLICED);
            assert_ok(cpu->map1(dev, (ct_map1)f, p, &x->view, &y->view), "");
            assert_ok(cpu->map1_bar(dev, (ct_map1)f, p, &x->view, &y->view, &g->view, &bar->view), "");
            assert_contained(bar);
            ct_tensor *over = ct_tensor_clone(g);
            assert_ok(cpu->map1_bar(dev, (ct_map1)f, p, &x->view, &y->view, &over->view, &over->view), "");
            for (int64_t i = 0; i < ct_tensor_count(x); i++) {
                double v = element(x, i), h = 1e-5, tol = dtype == CT_F64 ? 1e-13 : 1e-5;
                if (f == CT_MAP_polygamma) tol = 1e-2;
                if (!check_close(element(y, i), value1((ct_map1)f, p, v), tol, tol))
                    fail_msg("map1 %d layout %d: f(%g) = %g", f, layout, v, element(y, i));
                double slope = (value1((ct_map1)f, p, v + h) - value1((ct_map1)f, p, v - h)) / (2 * h);
                bool kink =
                    fabs(v) < 2 * h || (f == CT_MAP_clamp && (fabs(v + 0.5) < h || fabs(v - 0.6) < h));
                tol = f == CT_MAP_polygamma ? 3e-2 : dtype == CT_F64 ? 1e-6 : 1e-4;
                if (!kink && !check_close(element(bar, i), element(g, i) * slope, tol, tol))
                    fail_msg("bar of map1 %d layout %d: f'(%g) = %g, not %g", f, layout, v,
                             element(bar, i) / element(g, i), slope);
                assert_true(element(over, i) == element(bar, i));
            }
            if (x != u) ct_release(x);
            ct_release(u);
            ct_release(y);
            ct_release(g);
            ct_release(bar);
            ct_release(over);
        }
    ct_device_close(dev);
}

static void where_takes_any_condition(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < SHAPES - 3; s++)
        for (int kind = 0; kind < 9; kind++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                ct_dtype dtype = (ct_dtype)(kind / 3);
                ct_tensor *raw = sample(dev, CT_I64, shapes[s], layout, 9);
                ct_tensor *cond = blank(dev, (ct_dtype)(kind % 3), shapes[s], (layout + 1) % OUT_LAYOUTS);
                for (int64_t i = 0; i < 1; i++) assert_ok(cpu->copy(dev, &raw->view, &cond->view), "");
                ct_tensor *a = sample(dev, dtype, shapes[s], (layout + 2) % LAYOUTS, 1);
                ct_tensor *b = sample(dev, dtype, shapes[s], (layout + 3) % LAYOUTS, 2);
                ct_tensor *y = blank(dev, dtype, shapes[s], layout % OUT_LAYOUTS);
                assert_ok(cpu->where(dev, &cond->view, &a->view, &b->view, &y->view), "");
                for (int64_t i = 0; i < ct_tensor_count(y); i++)
                    assert_true(element(y, i) == (element(cond, i) != 0 ? element(a, i) : element(b, i)));
                ct_release(raw);
                ct_release(cond);
                ct_release(a);
                ct_release(b);
                ct_release(y);
            }
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_convert_every_dtype_and_layout),
        cmocka_unit_test(conversion_to_integers_saturates),
        cmocka_unit_test(fill_reaches_every_layout),
        cmocka_unit_test(binary_maps_in_every_pair_of_layouts),
        cmocka_unit_test(a_binary_map_may_write_over_an_input),
        cmocka_unit_test(nan_passes_the_comparing_maps),
        cmocka_unit_test(unary_maps_and_their_derivatives),
        cmocka_unit_test(where_takes_any_condition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
