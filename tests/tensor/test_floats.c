/* The elementary functions in f32 beside those in f64, over the floats, for every instruction set of this
 * machine. Every 1021st float is taken, or every 4099th. CT_ALL_FLOATS=1 takes all 2^32, which takes minutes,
 * and CT_SHOW=1 prints the largest errors. */
#include "check.h"

#include "tensor/cpu/cpu.h"
#include "tensor/cpu/kernel/isa.h"

enum { N = 8192 };

typedef struct function {
    const char *name;
    ct_map1 map;
    double allowed; /* in units in the last place */
} function;

static const function functions[] = {
    { "exp", CT_MAP_exp, 1 },     { "expm1", CT_MAP_expm1, 1 },     { "log", CT_MAP_log, 1 },
    { "log1p", CT_MAP_log1p, 1 }, { "sin", CT_MAP_sin, 0.6 },       { "cos", CT_MAP_cos, 0.6 },
    { "tanh", CT_MAP_tanh, 1 },   { "erf", CT_MAP_erf, 1 },         { "gaussian", CT_MAP_gaussian, 1 },
    { "sech2", CT_MAP_sech2, 1 }, { "sigmoid", CT_MAP_sigmoid, 1 }, { "softplus", CT_MAP_softplus, 1 },
};

static ct_view vector(ct_dtype dtype, void *data)
{
    ct_view v = ct_no_view();
    v.dtype = dtype, v.data = data;
    v.ndim = 1, v.dim[0] = N, v.stride[0] = 1;
    return v;
}

/* The error of y in units in the last place of f32, without calls or branches. Beyond the largest float the
 * unit stays the same. */
static double error_of(float y, double wanted)
{
    const double most = 0x1p128,
                 got = y > most    ? most
                       : y < -most ? -most
                                   : (double)y,
                 right = wanted > most    ? most
                         : wanted < -most ? -most
                                          : wanted;
    uint64_t bits, signs[2];
    memcpy(&bits, &right, sizeof bits);
    memcpy(&signs[0], &got, sizeof got);
    memcpy(&signs[1], &right, sizeof right);
    int64_t exponent = (int64_t)(bits >> 52 & 0x7ff);
    exponent = exponent < 1023 - 126 ? 1023 - 126 : exponent > 1023 + 127 ? 1023 + 127 : exponent;
    const uint64_t unit_bits = (uint64_t)(2 * 1023 + 23 - exponent) << 52;
    double inverse_unit;
    memcpy(&inverse_unit, &unit_bits, sizeof unit_bits);
    const double error = fabs(got - right) * inverse_unit;
    const bool one_is_nan = (y != y) != (wanted != wanted),
               other_sign = got == right && (signs[0] ^ signs[1]) >> 63;
    return one_is_nan || other_sign ? INFINITY : y != y ? 0 : error;
}

/* The largest error over the floats whose bits are multiples of `step`, and where it is. */
static double worst_of(ct_device *device, ct_device *reference, ct_map1 map, uint64_t step, float *where)
{
    static float x[N], y[N];
    static double wide[N], wanted[N], error[N];
    double worst = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
        for (int i = 0; i < N; i++, bits += step) {
            const uint32_t low = (uint32_t)bits;
            memcpy(&x[i], &low, sizeof low);
            wide[i] = (double)x[i];
        }
        const ct_view from = vector(CT_F32, x), wide_from = vector(CT_F64, wide);
        ct_view to = vector(CT_F32, y), wide_to = vector(CT_F64, wanted);
        assert_int_equal(ct__cpu_map1(device, map, NULL, &from, &to), CT_OK);
        assert_int_equal(ct__cpu_map1(reference, map, NULL, &wide_from, &wide_to), CT_OK);
        double chunk = 0;
        for (int i = 0; i < N; i++) {
            error[i] = error_of(y[i], wanted[i]);
            chunk = error[i] > chunk ? error[i] : chunk;
        }
        for (int i = 0; chunk > worst; i++)
            if (error[i] == chunk) worst = chunk, *where = x[i];
    }
    return worst;
}

static void right_everywhere(void **state)
{
    (void)state;
    const uint64_t step = getenv("CT_ALL_FLOATS") ? 1 : check_quick() ? 4099 : 1021;
    ct_device *reference = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
    for (int isa = 0; isa <= (int)ct__best_isa(); isa++) {
        ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
        device->isa = isa;
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
            const function *f = &functions[k];
            float where = 0;
            const double worst = worst_of(device, reference, f->map, step, &where);
            if (getenv("CT_SHOW"))
                print_message("isa %d %-8s %.4f at %a\n", isa, f->name, worst, (double)where);
            if (worst > f->allowed)
                fail_msg("isa %d: %s(%a) is off by %.4f ulp", isa, f->name, (double)where, worst);
        }
        ct_device_close(device);
    }
    ct_device_close(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(right_everywhere) };
    return cmocka_run_group_tests_name("floats", tests, NULL, NULL);
}
