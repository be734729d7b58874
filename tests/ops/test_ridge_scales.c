/* The ridge solve at every scale: B, D and λ times powers of two give P and the cotangents times others. */
#include "ridge_problem.h"

#include "ops/ridge/ridge.h"

/* P, B̄, D̄ and λ̄, one after the other. */
enum { TALL = 2 * N, LENGTH = N * R + R * N + TALL * N + 1 };

static ct_tensor *scaled(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x, int k)
{
    double y[TALL * N];
    for (int64_t i = 0; i < ct_shape_count(shape); i++) y[i] = ldexp(x[i], k);
    return tensor(device, dtype, shape, y);
}

/* The answers of B 2^b, D 2^d and λ 2^l, brought to the scale of B, D and λ if l = 2 (b - d). */
static ct_status solve_at(const problem *p, ct_dtype dtype, ct_ridge_form form, const int k[3],
                          double answer[LENGTH])
{
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t[] = { scaled(device, dtype, ct_shape2(R, N), p->B, k[0]),
                       scaled(device, dtype, ct_shape2(p->m, N), p->D, k[1]),
                       scaled(device, dtype, ct_shape0(), &p->lambda, k[2]),
                       scaled(device, dtype, ct_shape2(N, R), p->P_bar, k[0]) };
    ct_var x[3], out[4];
    for (int i = 0; i < 3; i++) x[i] = ct_leaf(tape, t[i]);
    out[0] = ct__ridge_solve_as(x[0], x[1], x[2], form);
    ct_grad(out[0], ct_constant(tape, t[3]), x, out + 1, 3, CT_GRAD_KEEP);
    int64_t at = 0;
    for (int i = 0; i < 4; i++) {
        ct_tensor *wide = ct_tensor_cast(ct_value(out[i]), CT_F64);
        const int64_t n = ct_tensor_count(wide);
        ct_read(wide, answer + at, (size_t)n * sizeof *answer);
        for (int64_t e = at; e < at + n; e++) answer[e] = ldexp(answer[e], i ? k[i - 1] : k[0]);
        ct_release(wide);
        at += n;
    }
    const ct_status status = ct_tape_status(tape);
    if (status) print_error("%s\n", ct_tape_message(tape));
    for (int i = 0; i < 4; i++) ct_release(t[i]);
    ct_tape_free(tape);
    ct_device_close(device);
    return status;
}

static void no_scale_matters(void **unused)
{
    (void)unused;
    static const int f32[][3] = { { 66, 66, 0 },    { -66, -66, 0 },   { 60, 0, 120 },   { 0, 60, -120 },
                                  { -60, 0, -120 }, { 63, 126, -126 }, { 20, 80, -120 }, { 80, 20, 120 } };
    for (ct_dtype dtype = CT_F64; dtype <= CT_F32; dtype++)
        for (ct_ridge_form form = CT_RIDGE_PRIMAL; form <= CT_RIDGE_PUSH_THROUGH; form++)
            for (size_t i = 0; i < sizeof f32 / sizeof *f32; i++) {
                static double wanted[LENGTH], got[LENGTH];
                const int more = dtype == CT_F32 ? 1 : 8,
                          k[3] = { more * f32[i][0], more * f32[i][1], more * f32[i][2] };
                problem p;
                make_problem(&p, i % 2 ? N : TALL, 3, 0.5, 1, dtype);
                const int64_t n = N * R + R * N + p.m * N + 1;
                assert_int_equal(solve_at(&p, dtype, form, (const int[3]){ 0 }, wanted), CT_OK);
                assert_int_equal(solve_at(&p, dtype, form, k, got), CT_OK);
                const double rounding = dtype == CT_F32 ? 1e-5 : 1e-13;
                for (int64_t e = 0; e < n; e++)
                    if (!(fabs(got[e] - wanted[e]) <= rounding * (1 + fabs(wanted[e]))))
                        fail_msg("%s, form %d, scales 2^%d, 2^%d, 2^%d: %g, not %g", ct_dtype_name(dtype),
                                 (int)form, k[0], k[1], k[2], got[e], wanted[e]);
                free(p.D);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_scale_matters) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
