/* The k-th allocation fails, for every k, in what the op matrix does not reach: factors kept across tapes,
 * solves with factors, products over kept groups, rows. */
#include "alloc.h"
#include "check.h"

#include <cotangent/cotangent.h>

typedef ct_var step_fn(ct_tape *tape, ct_tensor *A, ct_tensor *B);

static ct_var kept(ct_tape *tape, ct_tensor *A, ct_tensor *B, bool symmetric)
{
    ct_factor *f = ct_factor_new(A, symmetric);
    if (!f) ct_tape_fail(tape, ct_last_status(ct_tape_device(tape)), "%s", ct_message(ct_tape_device(tape)));
    ct_var x = ct_factor_solve(f, ct_leaf(tape, B));
    ct_factor_free(f);
    return x;
}

static ct_var lu_factor(ct_tape *tape, ct_tensor *A, ct_tensor *B) { return kept(tape, A, B, false); }
static ct_var cholesky_factor(ct_tape *tape, ct_tensor *A, ct_tensor *B) { return kept(tape, A, B, true); }

static ct_var lu_solve(ct_tape *tape, ct_tensor *A, ct_tensor *B)
{
    ct_var order, a = ct_leaf(tape, A), LU = ct_lu(a, &order);
    return ct_lu_solve(a, LU, order, ct_leaf(tape, B), CT_TRANS);
}

static ct_var grouped(ct_tape *tape, ct_tensor *A, ct_tensor *B)
{
    ct_tensor *q = ct_from(ct_tape_device(tape), CT_I64, ct_shape1(3), (int64_t[]){ 1, 0, 1 });
    ct_var groups = ct_group_by(ct_constant(tape, q), 2);
    ct_release(q);
    ct_var a = ct_reshape(ct_leaf(tape, A), ct_shape3(3, 1, 3)), b = ct_leaf(tape, B);
    return ct_grouped_matmul(a, ct_concat((ct_var[]){ ct_unsqueeze(b, 0), ct_unsqueeze(b, 0) }, 2, 0),
                             groups);
}

static ct_var rows(ct_tape *tape, ct_tensor *A, ct_tensor *B)
{
    (void)B;
    ct_var a = ct_leaf(tape, A), s = ct_leaf_scalar(tape, CT_F64, 2);
    return ct_mul(s, ct_stack((ct_var[]){ ct_row(a, 0), ct_row(a, -1) }, 2, -1));
}

static ct_status life(step_fn *step, double *value)
{
    static const double a[] = { 4, 1, 0, 1, 3, 1, 0, 1, 5 };
    ct_device *device = ct_device_open(check_device());
    ct_tensor *A = ct_from(device, CT_F64, ct_shape2(3, 3), a),
              *B = ct_from(device, CT_F64, ct_shape2(3, 2), a);
    ct_tape *tape = ct_tape_new(device);
    ct_status status = ct_last_status(device);
    if (A && B && tape) {
        ct_var y = ct_sum(ct_square(step(tape, A, B)), CT_ALL, false);
        status = ct_backward(y);
        *value = ct_item(y);
    }
    ct_tape_free(tape);
    ct_release(A);
    ct_release(B);
    ct_device_close(device);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    step_fn *const steps[] = { lu_factor, cholesky_factor, lu_solve, grouped, rows };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double wanted = NAN, value = NAN;
        assert_ok(life(steps[i], &wanted), "with memory");
        assert_true(isfinite(wanted));
        bool refused = true;
        for (int64_t k = 1; refused; k++) {
            alloc_fail_at(k);
            ct_status status = life(steps[i], &value);
            refused = alloc_refused();
            assert_int_equal(alloc_live(), 0);
            alloc_unwatch();
            assert_true(status == CT_ENOMEM ? refused : status == CT_OK && value == wanted);
            assert_in_range(k, 1, 2000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_allocation_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
