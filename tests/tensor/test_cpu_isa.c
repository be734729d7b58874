/* Every instruction set of this machine: vector code against long double, and the same results for each. */
#include "check.h"

#include "tensor/cpu/cpu.h"
#include "tensor/cpu/kernel/isa.h"

#include <cotangent/gp.h>
#include <cotangent/ops.h>

enum { N = 4096 };

typedef struct function {
    ct_map1 map;
    bool f32;
    long double (*exact)(long double);
    double lo, hi, allowed; /* in units in the last place */
} function;

static long double sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static long double sech2(long double x) { return 1 / (coshl(x) * coshl(x)); }
static long double gaussian(long double x) { return expl(-x * x); }
static long double softplus(long double x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }

static const function functions[] = {
    { CT_MAP_exp, false, expl, -745, 709.7, 1 },
    { CT_MAP_exp, false, expl, -1e-3, 1e-3, 1 },
    { CT_MAP_exp, true, expl, -103, 88.7, 1 },
    { CT_MAP_exp, true, expl, -1e-3, 1e-3, 1 },
    { CT_MAP_expm1, false, expm1l, -50, 709.7, 2 },
    { CT_MAP_expm1, false, expm1l, -3, 3, 2 },
    { CT_MAP_expm1, false, expm1l, -1e-3, 1e-3, 2 },
    { CT_MAP_expm1, false, expm1l, -1e-300, 1e-300, 2 },
    { CT_MAP_expm1, true, expm1l, -20, 88.7, 1 },
    { CT_MAP_expm1, true, expm1l, -3e-3, 3e-3, 1 },
    { CT_MAP_expm1, true, expm1l, -1e-30, 1e-30, 1 },
    { CT_MAP_log, false, logl, 0, 3, 1 },
    { CT_MAP_log, false, logl, 0.99, 1.01, 1 },
    { CT_MAP_log, false, logl, 0, 1e-307, 1 },
    { CT_MAP_log, false, logl, 0, 1.7e308, 1 },
    { CT_MAP_log, true, logl, 0, 3, 1 },
    { CT_MAP_log, true, logl, 0.99, 1.01, 1 },
    { CT_MAP_log, true, logl, 0, 1e-38, 1 },
    { CT_MAP_log1p, false, log1pl, -1, 1, 1 },
    { CT_MAP_log1p, false, log1pl, -1e-9, 1e-9, 1 },
    { CT_MAP_log1p, false, log1pl, 0, 1e300, 1 },
    { CT_MAP_log1p, true, log1pl, -1, 1, 1 },
    { CT_MAP_log1p, true, log1pl, 0, 1e30, 1 },
    { CT_MAP_tanh, false, tanhl, -22, 22, 3 },
    { CT_MAP_tanh, false, tanhl, -1, 1, 3 },
    { CT_MAP_tanh, false, tanhl, -1e-3, 1e-3, 3 },
    { CT_MAP_tanh, true, tanhl, -12, 12, 1 },
    { CT_MAP_tanh, true, tanhl, -3e-3, 3e-3, 1 },
    { CT_MAP_tanh, true, tanhl, -1e-30, 1e-30, 1 },
    { CT_MAP_sech2, false, sech2, -375, 375, 4 },
    { CT_MAP_sech2, false, sech2, -1, 1, 4 },
    { CT_MAP_sech2, true, sech2, -53, 53, 1 },
    { CT_MAP_sigmoid, false, sigmoid, -750, 40, 3 },
    { CT_MAP_sigmoid, false, sigmoid, -2, 2, 3 },
    { CT_MAP_sigmoid, true, sigmoid, -105, 30, 1 },
    { CT_MAP_softplus, false, softplus, -740, 100, 2 },
    { CT_MAP_softplus, false, softplus, -5, 5, 2 },
    { CT_MAP_softplus, true, softplus, -103, 100, 1 },
    { CT_MAP_softplus, true, softplus, -1, 1, 1 },
    { CT_MAP_erf, false, erfl, -1.5, 1.5, 1.5 },
    { CT_MAP_erf, false, erfl, -7, 7, 1.5 },
    { CT_MAP_erf, false, erfl, -1e-9, 1e-9, 1.5 },
    { CT_MAP_erf, true, erfl, -5, 5, 1 },
    { CT_MAP_gaussian, false, gaussian, -28, 28, 2 },
    { CT_MAP_gaussian, false, gaussian, -1, 1, 2 },
    { CT_MAP_gaussian, true, gaussian, -11, 11, 1 },
    { CT_MAP_sin, false, sinl, -7, 7, 1 },
    { CT_MAP_sin, false, sinl, -0x1p20, 0x1p20, 1 },
    { CT_MAP_sin, false, sinl, -1e-9, 1e-9, 1 },
    { CT_MAP_sin, false, sinl, 0, 1e300, 1 },
    { CT_MAP_sin, true, sinl, -7, 7, 0.51 },
    { CT_MAP_sin, true, sinl, -2e6, 2e6, 1 },
    { CT_MAP_cos, false, cosl, -7, 7, 1 },
    { CT_MAP_cos, false, cosl, -0x1p20, 0x1p20, 1 },
    { CT_MAP_cos, false, cosl, 0, 2e6, 1 },
    { CT_MAP_cos, true, cosl, -7, 7, 0.51 },
};

static long double ulp(long double y, bool f32)
{
    int e, digits = f32 ? 24 : 53, least = f32 ? -149 : -1074;
    frexpl(y, &e);
    return ldexpl(1, e - digits > least ? e - digits : least);
}

static uint64_t seed = 7;
static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * ((double)(seed >> 11) * 0x1p-53);
}

/* `./run test isa` asks for OpenBLAS's kernels and an instruction set; this is what a device then has. */
static void what_was_asked_for(void **state)
{
    (void)state;
    const char *core = getenv("OPENBLAS_CORETYPE"), *isa = getenv("CT_TEST_ISA");
    ct_device *device = ct_device_open("cpu");
    if (isa) assert_int_equal(device->isa, atoi(isa));
    if (isa && core) assert_non_null(strstr(ct_device_description(device), core));
    ct_device_close(device);
}

/* A device is tuned for its processor, and for an unknown one by its instruction set. */
static void tuned_for_the_processor(void **state)
{
    (void)state;
    enum { AMD = 1, INTEL = 2, ARM = 0x41, OTHER = 0 };
    static const struct {
        ct__processor processor;
        int isa;
        const char *name;
    } known[] = {
        { { AMD, 0x19, 0x01 }, CT__ISA_AVX2, "Zen 3" },
        { { AMD, 0x19, 0x11 }, CT__ISA_AVX512, "Zen 4" },
        { { AMD, 0x1a, 0x02 }, CT__ISA_AVX512, "Zen 5" },
        { { INTEL, 6, 0x6a }, CT__ISA_AVX512, "Ice Lake" },
        { { INTEL, 6, 0x8f }, CT__ISA_AVX512, "Sapphire Rapids" },
        { { INTEL, 6, 0x55 }, CT__ISA_AVX512, "any CPU with AVX-512" },
        { { INTEL, 6, 0x8f }, CT__ISA_AVX2, "any CPU with AVX2" },
        { { ARM, 0, 0xd40 }, CT__ISA_BASE, "Neoverse" },
        { { OTHER, 0, 0 }, CT__ISA_BASE, "any CPU" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(ct__tuning_of(known[i].processor, known[i].isa)->name, known[i].name);
    ct_device *device = ct_device_open("cpu");
    const ct__tuning *own = ct__tuning_of(ct__this_processor(), device->isa);
    assert_ptr_equal(device->tuning, own);
    assert_int_equal(own->isa, device->isa);
    char text[64];
    snprintf(text, sizeof text, "tuned for %s,", own->name);
    assert_non_null(strstr(ct_device_description(device), text));
    ct_device_close(device);
}

static ct_device *device_of(int isa)
{
    ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    device->isa = isa;
    return device;
}

static ct_view vector(bool f32, void *data, int64_t at, int64_t n, int64_t step)
{
    ct_view v = ct_no_view();
    v.dtype = f32 ? CT_F32 : CT_F64;
    v.data = (char *)data + (size_t)(at * step) * (f32 ? sizeof(float) : sizeof(double));
    v.ndim = 1, v.dim[0] = n, v.stride[0] = step;
    return v;
}

/* In pieces of odd lengths, with a stride. */
static void apply(ct_device *device, ct_map1 map, bool f32, int64_t step, const double *x, double *y)
{
    static double in[3 * N], out[3 * N];
    float *narrow_in = (float *)in, *narrow_out = (float *)out;
    for (int64_t i = 0; i < N; i++)
        if (f32)
            narrow_in[i * step] = (float)x[i];
        else
            in[i * step] = x[i];
    for (int64_t i = 0, n; i < N; i += n) {
        n = 1 + i % 700 < N - i ? 1 + i % 700 : N - i;
        const ct_view from = vector(f32, in, i, n, step);
        ct_view to = vector(f32, out, i, n, step);
        assert_int_equal(ct__cpu_map1(device, map, NULL, &from, &to), CT_OK);
    }
    for (int64_t i = 0; i < N; i++) y[i] = f32 ? (double)narrow_out[i * step] : out[i * step];
}

static void right_to_an_ulp(void **state)
{
    (void)state;
    static double x[N], y[N], strided[N];
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++) {
        ct_device *device = device_of(isa);
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            const function *f = &functions[k];
            for (int i = 0; i < N; i++) x[i] = uniform(f->lo, f->hi);
            for (int i = 0; f->f32 && i < N; i++) x[i] = (double)(float)x[i];
            apply(device, f->map, f->f32, 1, x, y);
            apply(device, f->map, f->f32, 3, x, strided);
            assert_memory_equal(y, strided, sizeof y);
            for (int i = 0; i < N; i++) {
                long double wanted = f->exact(x[i]), error = fabsl(y[i] - wanted);
                if (error > f->allowed * ulp(wanted, f->f32))
                    fail_msg("isa %d, function %zu at %a: %a is off by %.3Lf ulp", isa, k, x[i], y[i],
                             error / ulp(wanted, f->f32));
            }
        }
        ct_device_close(device);
    }
}

/* The derivatives that are functions of their own, for g = 2 in an array and as a scalar. */
static void derivatives(void **state)
{
    (void)state;
    static const ct_map1 maps[] = { CT_MAP_softplus, CT_MAP_erf, CT_MAP_sin, CT_MAP_cos };
    static double x[3 * N], g[3 * N], out[3 * N];
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++) {
        ct_device *device = device_of(isa);
        for (int way = 0; way < 4 * 3; way++) {
            const int k = way % 4, step = way < 8 ? 1 : 3;
            for (int i = 0; i < N; i++) x[i * step] = uniform(-4, i % 7 ? 4 : 3e6), g[i * step] = 2;
            const ct_view at = vector(false, x, 0, N, step), bar = vector(false, g, 0, N, way < 4 ? 0 : step);
            ct_view to = vector(false, out, 0, N, step);
            assert_int_equal(ct__cpu_map1_bar(device, maps[k], NULL, &at, &at, &bar, &to), CT_OK);
            for (int64_t i = 0; i < N; i++) {
                const double t = x[i * step],
                             wanted[] = { 1 / (1 + exp(-t)), 2 / sqrt(acos(-1)) * exp(-t * t), cos(t),
                                          -sin(t) };
                assert_close(out[i * step], 2 * wanted[k], 1e-15, 1e-15);
            }
        }
        ct_device_close(device);
    }
}

/* a - b, where each is an array, strided, or a scalar. */
static void subtraction(void **state)
{
    (void)state;
    static double a[3 * N], b[3 * N], out[3 * N];
    static const int64_t steps[] = { 0, 1, 3 };
    for (int i = 0; i < 3 * N; i++) a[i] = i, b[i] = -2 * i - 7;
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++) {
        ct_device *device = device_of(isa);
        for (int way = 0; way < 27; way++) {
            const int64_t s = steps[way % 3], t = steps[way / 3 % 3], u = way / 9 ? steps[way / 9] : 2;
            const ct_view x = vector(false, a, 0, N, s), y = vector(false, b, 0, N, t);
            ct_view to = vector(false, out, 0, N, u);
            assert_int_equal(ct__cpu_map2(device, CT_MAP_sub, &x, &y, &to), CT_OK);
            for (int64_t i = 0; i < N; i++) assert_true(out[i * u] == a[i * s] - b[i * t]);
        }
        ct_device_close(device);
    }
}

static void ends_of_the_range(void **state)
{
    (void)state;
    static double y[N];
    const double x[N] = { INFINITY, -INFINITY, NAN, -0.0, 1e30, -1e30 };
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++) {
        ct_device *device = device_of(isa);
        for (int f32 = 0; f32 < 2; f32++) {
            const double big = f32 ? (double)1e30f : 1e30, log2 = 0.69314718055994531;
            const struct {
                ct_map1 map;
                double at[6];
            } wanted[] = { { CT_MAP_exp, { INFINITY, 0, NAN, 1, INFINITY, 0 } },
                           { CT_MAP_expm1, { INFINITY, -1, NAN, -0.0, INFINITY, -1 } },
                           { CT_MAP_log, { INFINITY, NAN, NAN, -INFINITY, log(big), NAN } },
                           { CT_MAP_log1p, { INFINITY, NAN, NAN, -0.0, log(big), NAN } },
                           { CT_MAP_sin, { NAN, NAN, NAN, -0.0, sin(big), -sin(big) } },
                           { CT_MAP_cos, { NAN, NAN, NAN, 1, cos(big), cos(big) } },
                           { CT_MAP_tanh, { 1, -1, NAN, -0.0, 1, -1 } },
                           { CT_MAP_sech2, { 0, 0, NAN, 1, 0, 0 } },
                           { CT_MAP_sigmoid, { 1, 0, NAN, 0.5, 1, 0 } },
                           { CT_MAP_softplus, { INFINITY, 0, NAN, log2, big, 0 } },
                           { CT_MAP_erf, { 1, -1, NAN, -0.0, 1, -1 } },
                           { CT_MAP_gaussian, { 0, 0, NAN, 1, 0, 0 } } };
            for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
                apply(device, wanted[k].map, f32, 1, x, y);
                for (int i = 0; i < 6; i++) {
                    const double right = f32 ? (double)(float)wanted[k].at[i] : wanted[k].at[i];
                    if (isnan(right))
                        assert_true(isnan(y[i]));
                    else
                        assert_true(y[i] == right && signbit(y[i]) == signbit(right));
                }
            }
        }
        ct_device_close(device);
    }
}

/* -- whole primitives: the device's choice is overridden ------------------------------------------------- */

typedef struct answer {
    double likelihood, theta_bar[9], X_bar[3 * 300], logsumexp[2], exponential;
} answer;

static answer evaluate(int isa, ct_dtype dtype)
{
    answer a = { 0 };
    ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 2 });
    device->isa = isa;
    ct_tape *tape = ct_tape_new(device);
    ct_kernel *k =
        ct_kernel_parse("scale * rbf(ard, lengthscale=0.6) + rq(alpha=2) * periodic(period=1.3) + linear");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    ct_tensor *X = ct_rand_uniform(device, dtype, ct_shape2(300, 3), 3, 0),
              *y = ct_rand_normal(device, dtype, ct_shape1(300), 3, 1);
    ct_var theta = ct_kernel_theta(k, tape, dtype), x = ct_leaf(tape, X), r = ct_constant(tape, y);
    ct_var v = ct_gp_nlml(k, theta, x, r, ct_scalar(tape, dtype, 0.3));
    a.likelihood = ct_item(v);
    assert_ok(ct_backward(v), ct_tape_message(tape));
    ct_tensor *bars[] = { ct_tensor_cast(ct_cotangent(theta), CT_F64),
                          ct_tensor_cast(ct_cotangent(x), CT_F64) };
    assert_ok(ct_read(bars[0], a.theta_bar, (size_t)ct_kernel_params(k) * sizeof(double)),
              ct_message(device));
    assert_ok(ct_read(bars[1], a.X_bar, sizeof a.X_bar), ct_message(device));
    a.logsumexp[0] = ct_item(ct_logsumexp(r, CT_ALL, false));
    a.logsumexp[1] = ct_item(ct_sum(ct_logsumexp(ct_constant(tape, X), 0, false), CT_ALL, false));
    a.exponential = ct_item(ct_sum(ct_tanh(ct_exp(r)), CT_ALL, false));
    ct_release(bars[0]);
    ct_release(bars[1]);
    ct_release(X);
    ct_release(y);
    ct_kernel_free(k);
    ct_tape_free(tape);
    ct_device_close(device);
    return a;
}

static void the_choice_does_not_matter(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; f32++) {
        ct_dtype dtype = f32 ? CT_F32 : CT_F64;
        const double tolerance = f32 ? 2e-3 : 1e-9;
        answer base = evaluate(CT__ISA_BASE, dtype);
        for (int isa = 1; isa <= (int)ct__best_isa(); isa++) {
            answer other = evaluate(isa, dtype);
            const double *a = (const double *)&base, *b = (const double *)&other;
            for (size_t i = 0; i < sizeof base / sizeof *a; i++)
                assert_close(b[i], a[i], tolerance, tolerance);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for),
        cmocka_unit_test(tuned_for_the_processor),
        cmocka_unit_test(right_to_an_ulp),
        cmocka_unit_test(derivatives),
        cmocka_unit_test(subtraction),
        cmocka_unit_test(ends_of_the_range),
        cmocka_unit_test(the_choice_does_not_matter),
    };
    return cmocka_run_group_tests_name("cpu_isa", tests, NULL, NULL);
}
