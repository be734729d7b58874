/* The derivatives of the ridge solve in forward and recorded sweeps, against quadruple precision. */
#include "ridge_problem.h"

typedef enum mode { FORWARD, RECORDED, TWICE_FORWARD, TWICE_BACKWARD, MODES } mode;
static const char *const names[MODES] = { "forward", "recorded", "reverse over forward",
                                          "reverse over reverse" };

/* Σ_i ⟨a_i, b_i⟩ */
static ct_var inner(const ct_var *a, const ct_var *b, int n)
{
    ct_var sum = ct_sum(ct_mul(a[0], b[0]), CT_ALL, false);
    for (int i = 1; i < n; i++) sum = ct_add(sum, ct_sum(ct_mul(a[i], b[i]), CT_ALL, false));
    return sum;
}

/* The error of the first (or second) derivative of ⟨P̄, P⟩ in the direction, relative to the size of its
 * terms. NaN if it is flagged. */
static double error_of(const problem *p, ct_dtype dtype, mode how)
{
    ct_device *device = ct_device_open(check_device());
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t[] = {
        tensor(device, dtype, ct_shape2(R, N), p->B),     tensor(device, dtype, ct_shape2(p->m, N), p->D),
        tensor(device, dtype, ct_shape0(), &p->lambda),   tensor(device, dtype, ct_shape2(R, N), p->dB),
        tensor(device, dtype, ct_shape2(p->m, N), p->dD), tensor(device, dtype, ct_shape0(), &p->d_lambda),
        tensor(device, dtype, ct_shape2(N, R), p->P_bar)
    };
    ct_var x[3], d[3], bar[3], dot, slope;
    for (int i = 0; i < 3; i++) x[i] = ct_leaf(tape, t[i]), d[i] = ct_constant(tape, t[3 + i]);
    ct_var P_bar = ct_constant(tape, t[6]), P = ct_ridge_solve(x[0], x[1], x[2]);
    if (how == FORWARD || how == TWICE_FORWARD) {
        ct_jvp(&P, &dot, 1, x, d, 3, how == FORWARD ? CT_GRAD_FREE : CT_GRAD_RECORD);
        slope = inner(&dot, &P_bar, 1);
    } else {
        ct_grad(P, P_bar, x, bar, 3, CT_GRAD_RECORD);
        slope = inner(bar, d, 3);
    }
    const bool twice = how == TWICE_FORWARD || how == TWICE_BACKWARD;
    if (twice) {
        ct_grad(slope, ct_none(), x, bar, 3, CT_GRAD_FREE);
        slope = inner(bar, d, 3);
    }
    const double found = ct_item(slope);
    quad exact = 0;
    double size = 0;
    for (int i = 0; i < N * R; i++) {
        const quad term = (twice ? p->ddP[i] : p->dP[i]) * p->P_bar[i];
        exact += term;
        size += fabs((double)term);
    }
    const bool ok = ct_tape_status(tape) == CT_OK;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) ct_release(t[i]);
    ct_tape_free(tape);
    ct_device_close(device);
    return ok ? fabs((double)((quad)found - exact)) / size : NAN;
}

static const double sizes[] = { 0.01, 1, 100 };

/* The rules of these sweeps square the condition of [B; √λ D], 1 to 10⁹ here. In f32 no digit is lost. */
static void f32_keeps_its_digits(void **unused)
{
    (void)unused;
    for (int b = 0; b < 3; b++)
        for (double condition = 1; condition < 1e5; condition *= 10)
            for (int m = N; m <= 2 * N; m += N)
                for (mode how = 0; how < MODES; how++) {
                    problem p;
                    make_problem(&p, m, condition, 1e-2, sizes[b], CT_F32);
                    const double error = error_of(&p, CT_F32, how);
                    if (!(error < 1e-4))
                        fail_msg("%s, condition %g, m %d, B %g: %g", names[how], condition, m, sizes[b],
                                 error);
                    free(p.D);
                }
}

/* In f64 nothing is left of a condition of 10⁸ squared. That is flagged. */
static void f64_says_what_it_loses(void **unused)
{
    (void)unused;
    int flagged = 0;
    for (int b = 0; b < 3; b++)
        for (double condition = 1; condition < 1e10; condition *= 10)
            for (mode how = 0; how < MODES; how++) {
                problem p;
                make_problem(&p, N, condition, 1e-2, sizes[b], CT_F64);
                const double error = error_of(&p, CT_F64, how), large = fmax(1, sizes[b]);
                const double limit = 4e-15 * pow(large * condition, 2) * large;
                if (isnan(error) ? limit < 1e-5 : !(error < fmin(0.01, 1e-14 + limit)))
                    fail_msg("%s, condition %g, B %g: %g", names[how], condition, sizes[b], error);
                flagged += isnan(error);
                free(p.D);
            }
    assert_true(flagged >= MODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(f32_keeps_its_digits),
                                        cmocka_unit_test(f64_says_what_it_loses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
