/* The vectorisable elementary functions against long double, in units in the last place. */
#include "check.h"

#include "tensor/cpu/kernel/vmath_f32.h"

enum { N = 4096, ROUNDS = 40 };

static uint64_t seed = 20;
static double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return lo + (hi - lo) * ((double)(seed >> 11) * 0x1p-53);
}

static long double ulp(long double y, int digits, int least)
{
    int e;
    frexpl(y, &e);
    return ldexpl(1, e - digits > least ? e - digits : least);
}

/* One function of one dtype: loops that the compiler may vectorise, without and with fused multiply-add. */
#define LOOPS(T, name)                                        \
    static void name##_plain(const T *x, T *y)                \
    {                                                         \
        for (int i = 0; i < N; i++) y[i] = name(x[i], false); \
    }                                                         \
    static void name##_fused(const T *x, T *y)                \
    {                                                         \
        for (int i = 0; i < N; i++) y[i] = name(x[i], true);  \
    }
LOOPS(double, ct__exp)
LOOPS(double, ct__log1p)
LOOPS(double, ct__sin2pi)
LOOPS(double, ct__cos2pi)
LOOPS(float, ct__expf)
LOOPS(float, ct__log1pf)
LOOPS(float, ct__sin2pif)
LOOPS(float, ct__cos2pif)

static long double sin2pi(long double t)
{
    t -= rintl(t);
    t = t > 0.25L ? 0.5L - t : t < -0.25L ? -0.5L - t : t;
    return sinl(2 * 3.14159265358979323846264338327950288L * t);
}

static long double cos2pi(long double t)
{
    t = fabsl(t - rintl(t)); /* exact for doubles, as are the next */
    return t > 0.125L ? sin2pi(0.25L - t) : cosl(2 * 3.14159265358979323846264338327950288L * t);
}

static void check64(const char *name, void (*f)(const double *, double *), long double (*exact)(long double),
                    double lo, double hi, double allowed)
{
    static double x[N], y[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) x[i] = uniform(lo, hi);
        f(x, y);
        for (int i = 0; i < N; i++) {
            long double wanted = exact(x[i]), error = fabsl(y[i] - wanted);
            if (error > allowed * ulp(wanted, 53, -1074) &&
                !(isinf(y[i]) && wanted > 0x1.fffffffffffffp1023L))
                fail_msg("%s(%a) = %a is off by %.3Lf ulp", name, x[i], y[i], error / ulp(wanted, 53, -1074));
        }
    }
}

static void check32(const char *name, void (*f)(const float *, float *), long double (*exact)(long double),
                    double lo, double hi, double allowed)
{
    static float x[N], y[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) x[i] = (float)uniform(lo, hi);
        f(x, y);
        for (int i = 0; i < N; i++) {
            long double wanted = exact(x[i]), error = fabsl(y[i] - wanted);
            if (error > allowed * ulp(wanted, 24, -149) && !(isinf(y[i]) && wanted > 0x1.fffffep127L))
                fail_msg("%s(%a) = %a is off by %.3Lf ulp", name, x[i], y[i], error / ulp(wanted, 24, -149));
        }
    }
}

#define BOTH64(name, exact, lo, hi, allowed)              \
    check64(#name, name##_plain, exact, lo, hi, allowed); \
    check64(#name " fused", name##_fused, exact, lo, hi, allowed)
#define BOTH32(name, exact, lo, hi, allowed)              \
    check32(#name, name##_plain, exact, lo, hi, allowed); \
    check32(#name " fused", name##_fused, exact, lo, hi, allowed)

static void exponential(void **state)
{
    (void)state;
    BOTH64(ct__exp, expl, -1, 1, 1);
    BOTH64(ct__exp, expl, -708.3, 709.7, 1);
    BOTH64(ct__exp, expl, -746, -708, 1); /* subnormal results */
    BOTH64(ct__exp, expl, -1e-8, 1e-8, 1);
    BOTH64(ct__exp, expl, 709.7, 710.5, 1); /* across the overflow */
    BOTH32(ct__expf, expl, -1, 1, 1);
    BOTH32(ct__expf, expl, -87, 88.7, 1);
    BOTH32(ct__expf, expl, -105, -86, 1);
    BOTH32(ct__expf, expl, 88.5, 89.5, 1);
    for (int fused = 0; fused < 2; fused++) {
        assert_true(ct__exp(0, fused) == 1 && ct__exp(-0.0, fused) == 1 && ct__exp(5e-324, fused) == 1);
        assert_true(ct__exp(INFINITY, fused) == INFINITY && ct__exp(1e308, fused) == INFINITY);
        assert_true(ct__exp(-INFINITY, fused) == 0 && ct__exp(-1e308, fused) == 0 &&
                    ct__exp(-745.2, fused) == 0);
        assert_true(isnan(ct__exp(NAN, fused)) && isnan(ct__expf(NAN, fused)));
        assert_true(ct__exp(0x1.62e42fefa39efp+9, fused) < INFINITY &&
                    ct__exp(0x1.62e42fefa39f0p+9, fused) == INFINITY);
        assert_true(ct__expf(0, fused) == 1 && ct__expf(INFINITY, fused) == INFINITY &&
                    ct__expf(-1e30f, fused) == 0);
    }
}

/* Every float of a coarse sieve over all bit patterns. */
static void exponential_all_floats(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits < 0x100000000; bits += 9973) {
        float x = ct__of_bits32((uint32_t)bits), y = ct__expf(x, false);
        long double wanted = expl(x);
        if (isnan(x))
            assert_true(isnan(y));
        else if (wanted >= 0x1.ffffffp127L)
            assert_true(y == INFINITY);
        else if (fabsl(y - wanted) > ulp(wanted, 24, -149))
            fail_msg("exp(%a) = %a", (double)x, (double)y);
    }
}

static void logarithm(void **state)
{
    (void)state;
    BOTH64(ct__log1p, log1pl, 0, 1, 2);
    BOTH64(ct__log1p, log1pl, 0, 1e-9, 2);
    BOTH64(ct__log1p, log1pl, 0, 100, 2);
    BOTH64(ct__log1p, log1pl, 1e300, 1.7e308, 2);
    BOTH32(ct__log1pf, log1pl, 0, 1, 2);
    BOTH32(ct__log1pf, log1pl, 0, 1e-6, 2);
    BOTH32(ct__log1pf, log1pl, 0, 1e30, 2);
    assert_true(ct__log1p(0, true) == 0 && ct__log1p(INFINITY, true) == INFINITY &&
                isnan(ct__log1p(NAN, true)));
    assert_true(ct__log1pf(0, true) == 0 && ct__log1pf(INFINITY, true) == INFINITY &&
                isnan(ct__log1pf(NAN, true)));
}

static void turns(void **state)
{
    (void)state;
    BOTH64(ct__sin2pi, sin2pi, -2, 2, 2);
    BOTH64(ct__cos2pi, cos2pi, -2, 2, 2);
    BOTH64(ct__sin2pi, sin2pi, -1e-9, 1e-9, 2);
    BOTH64(ct__sin2pi, sin2pi, 1e6, 1e6 + 1, 2);
    BOTH32(ct__sin2pif, sin2pi, -2, 2, 2);
    BOTH32(ct__cos2pif, cos2pi, -2, 2, 2);
    for (double t = -3; t <= 3; t += 0.25) {
        double s, c;
        assert_true(ct__sin2pi(t, true) == (int)lrint(sin(t * 6.283185307179586)));
        assert_true(ct__cos2pi(t, true) == (int)lrint(cos(t * 6.283185307179586)));
        ct__sine_square(t, &s, &c, true);
        assert_true(s == sin(t * 3.141592653589793) * sin(t * 3.141592653589793) ||
                    fabs(s - round(2 * s) / 2) < 1e-15);
    }
    assert_true(ct__sin2pi(0x1p60, true) == 0 && ct__cos2pi(0x1p60, true) == 1);
    assert_true(isnan(ct__sin2pi(INFINITY, true)) && isnan(ct__cos2pi(NAN, true)) &&
                isnan(ct__sin2pif(NAN, true)));
    for (int i = 0; i < 1000; i++) {
        double t = uniform(-5, 5), square, slope;
        ct__sine_square(t, &square, &slope, false);
        assert_close(square, (1 - (double)cos2pi(t)) / 2, 0, 3e-16);
        assert_close(slope, (double)sin2pi(t), 1e-15, 1e-16);
        float fsquare, fslope;
        ct__sine_squaref((float)t, &fsquare, &fslope, false);
        assert_close(fsquare, (1 - (double)cos2pi((float)t)) / 2, 0, 3e-7);
        assert_close(fslope, (double)sin2pi((float)t), 1e-6, 1e-7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential),
        cmocka_unit_test(exponential_all_floats),
        cmocka_unit_test(logarithm),
        cmocka_unit_test(turns),
    };
    return cmocka_run_group_tests_name("vmath", tests, NULL, NULL);
}
