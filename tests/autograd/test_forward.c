/* Forward mode: what ct_jvp gives, what it refuses, and how it nests with backward sweeps. */
#include "alloc.h"
#include "one_tape.h"

#include <cotangent/op.h>

static ct_var leaf(ct_tensor *t)
{
    ct_var v = ct_leaf(tape, t);
    ct_release(t);
    return v;
}

static ct_var constant(ct_tensor *t)
{
    ct_var v = ct_constant(tape, t);
    ct_release(t);
    return v;
}

static ct_var number(double x) { return constant(tensor0(device, x)); }

static ct_var jvp1(ct_var y, ct_var x, ct_var x_dot, ct_grad_flags flags)
{
    ct_var y_dot;
    ct_jvp(&y, &y_dot, 1, &x, &x_dot, 1, flags);
    return y_dot;
}

static void a_derivative(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 3, 1, 2, 3)), y = ct_mul(ct_square(x), x);
    ct_var dot = jvp1(y, x, constant(tensor1(device, 3, 1, 0, -1)), CT_GRAD_FREE);
    assert_elements(ct_value(dot), 1e-15, 0, 3, 0, -27);
    assert_false(ct_var_needs_grad(dot));
    assert_null(ct_cotangent(x));
}

/* Several outputs and inputs; an output that no input reaches; an intermediate as an input, whose tangent
 * adds to what arrives from below. */
static void many_at_once(void **state)
{
    (void)state;
    ct_var a = leaf(tensor0(device, 2)), b = leaf(tensor0(device, 5)), other = leaf(tensor0(device, 7));
    ct_var p = ct_mul(a, b), y[] = { p, ct_square(p), other, ct_scale(other, 2), a }, dot[5];
    ct_var x[] = { a, b, p }, x_dot[] = { number(1), number(10), number(100) };
    assert_ok(ct_jvp(y, dot, 5, x, x_dot, 3, CT_GRAD_FREE), ct_tape_message(tape));
    const double wanted[] = { 125, 2 * 10 * 125, 0, 0, 1 };
    for (int k = 0; k < 5; k++) assert_close(ct_item(dot[k]), wanted[k], 0, 0);
}

/* Inputs that were recorded before every x have no slot in the sweep: their tangents are zeros. */
static void constants_before_the_inputs(void **state)
{
    (void)state;
    ct_var T = leaf(tensor2(device, 2, 2, 2, 0, 1, 4)), b = constant(tensor2(device, 2, 1, 2, 8));
    ct_var c = constant(tensor2(device, 2, 1, 5, 6)), x = leaf(tensor2(device, 2, 1, 1, 1));
    ct_var v = constant(tensor2(device, 2, 1, 2, 4)),
           y[] = { ct_concat((ct_var[]){ c, x }, 2, 0), ct_add(b, x), ct_tri_solve(T, x, CT_LOWER) }, dot[3];
    assert_ok(ct_jvp(y, dot, 3, &x, &v, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_elements(ct_value(dot[0]), 0, 0, 0, 0, 2, 4);
    assert_elements(ct_value(dot[1]), 0, 0, 2, 4);
    assert_elements(ct_value(dot[2]), 0, 0, 1, 0.75);
}

/* y_dot may be the array of the tangents, or y. */
static void in_place(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), y = ct_square(x), v = number(1);
    ct_var two = constant(tensor1(device, 2, 1, -1));
    assert_ok(ct_jvp(&y, &v, 1, &x, &v, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_close(ct_item(v), 6, 0, 0);
    assert_ok(ct_jvp(&y, &y, 1, &x, &two, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_elements(ct_value(y), 0, 0, 6, -6);
}

/* d/dx of x³ exp(x), four times over, by forward sweeps alone and in turns with backward ones. */
static void nests(void **state)
{
    (void)state;
    const ct_var none = { NULL, 0, 0 };
    const double x0 = 0.7, e = exp(x0), wanted = (x0 * x0 * x0 + 12 * x0 * x0 + 36 * x0 + 24) * e;
    for (int turns = 0; turns < 16; turns++) {
        ct_var x = leaf(tensor0(device, x0)), y = ct_mul(ct_pow(x, 3), ct_exp(x));
        for (int k = 0; k < 4; k++) {
            if (turns >> k & 1)
                y = jvp1(y, x, number(1), CT_GRAD_RECORD);
            else
                ct_grad(y, none, &x, &y, 1, CT_GRAD_RECORD);
        }
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        assert_close(ct_item(y), wanted, 1e-13, 0);
        ct_tape_reset(tape);
    }
}

/* A sweep that is not recorded leaves its results alone on the tape. */
static void forgets_its_work(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 0.5)), y = x, one = number(1);
    for (int i = 0; i < 100; i++) y = ct_sin(ct_shift(y, 0.1));
    const int64_t before = ct_tape_length(tape);
    ct_var dot = jvp1(y, x, one, CT_GRAD_FREE), bar;
    assert_int_equal(ct_tape_length(tape), before + 1);
    assert_ok(ct_grad(y, one, &x, &bar, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_close(ct_item(dot), ct_item(bar), 1e-14, 0);
}

/* Each op is visited once, even where an input lies far below. */
static void long_loops(void **state)
{
    (void)state;
    enum { STEPS = 20000 };
    ct_var a = leaf(tensor0(device, 0.999)), y = number(1);
    for (int i = 0; i < STEPS; i++) y = ct_tanh(ct_mul(a, y));
    const ct_memory_info before = ct_memory(device);
    ct_var dot = jvp1(y, a, number(1), CT_GRAD_FREE);
    assert_true(isfinite(ct_item(dot)));
    assert_true(ct_memory(device).bytes_peak - before.bytes_peak < (uint64_t)STEPS * 256);
}

static void without_recording(void **state)
{
    (void)state;
    ct_var x = leaf(tensor0(device, 3)), y = ct_square(x);
    ct_no_grad_begin(tape);
    ct_var dot = jvp1(y, x, number(1), CT_GRAD_RECORD);
    ct_no_grad_end(tape);
    assert_close(ct_item(dot), 6, 0, 0);
    assert_true(ct_grad_enabled(tape));
}

static void refused(ct_status s, const char *message)
{
    assert_int_not_equal(s, CT_OK);
    if (!strstr(ct_tape_message(tape), message)) print_error("%s\n", ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), message));
    ct_tape_reset(tape);
}

/* A value of as many dimensions as there can be leaves none for a second tangent. */
static void no_dimension_left(void **state)
{
    (void)state;
    const int64_t ones[CT_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 2 };
    ct_var x = leaf(tensor1(device, 2, 3, 4)), wide = ct_reshape(x, ct_shape_of(CT_MAX_DIMS, ones)), dot;
    ct_var y = ct_sum(ct_mul(ct_square(wide), wide), CT_ALL, false);
    ct_var v = constant(tensor1(device, 2, 1, 0)), two = constant(tensor2(device, 2, 2, 1, 0, 0, 1));
    assert_ok(ct_jvp(&y, &dot, 1, &x, &v, 1, CT_GRAD_FREE), ct_tape_message(tape));
    assert_close(ct_item(dot), 27, 1e-15, 0);
    refused(ct_jvp(&y, &dot, 1, &x, &two, 1, CT_GRAD_FREE), "has 8 dimensions, which leaves none");
}

static void refusals(void **state)
{
    (void)state;
    ct_var dot, x, y, one;
#define AGAIN x = leaf(tensor0(device, 3)), y = ct_square(x), one = number(1)
    AGAIN;
    ct_var pair[] = { x, x }, ones[] = { one, one };
    refused(ct_jvp(&y, &dot, 1, pair, ones, 2, CT_GRAD_FREE), "x[1] is x[0]: add their tangents");
    assert_int_equal(dot.index, UINT32_MAX);
    AGAIN;
    refused(ct_jvp(&y, &dot, 1, &one, &one, 1, CT_GRAD_FREE), "is a constant: make it a ct_leaf");
    AGAIN;
    ct_var wide = constant(tensor2(device, 2, 1, 1, 1));
    refused(ct_jvp(&y, &dot, 1, &x, &wide, 1, CT_GRAD_FREE), "x_dot[0] is 2x1, it must be");
    AGAIN;
    ct_var two[] = { constant(tensor1(device, 2, 1, 1)), constant(tensor1(device, 3, 1, 1, 1)) };
    ct_var both[] = { x, leaf(tensor0(device, 1)) };
    refused(ct_jvp(&y, &dot, 1, both, two, 2, CT_GRAD_FREE), "x_dot[1] is 3, it must be 2");
    AGAIN;
    refused(ct_jvp(&y, &dot, 1, &x, NULL, 1, CT_GRAD_FREE), "arrays of at least one");
    AGAIN;
    refused(ct_jvp(&y, &dot, 1, &x, &one, 0, CT_GRAD_FREE), "arrays of at least one");
    AGAIN;
    refused(ct_jvp(&y, &dot, 1, &x, &one, 1, (ct_grad_flags)8), "unknown flags 0x8");
    AGAIN;
    ct_var nothing = { NULL, 0, 0 };
    refused(ct_jvp(&y, &dot, 1, &x, &nothing, 1, CT_GRAD_FREE), "x_dot[0] is poisoned");
    AGAIN;
    ct_var twice = ct_sin(y);
    ct_backward(twice);
    refused(ct_jvp(&twice, &dot, 1, &x, &one, 1, CT_GRAD_FREE), "freed");
    assert_int_equal(ct_jvp(NULL, &dot, 1, &x, &one, 1, CT_GRAD_FREE), CT_EINVAL);
    assert_int_equal(ct_jvp(&nothing, &dot, 1, &x, &one, 1, CT_GRAD_FREE), CT_EINVAL);
#undef AGAIN
}

static void a_failed_factor(void **state)
{
    (void)state;
    ct_var A = leaf(tensor2(device, 2, 2, 1, 2, 2, 1)), L = ct_cholesky(A), dot, A_dot = A;
    ct_jvp(&L, &dot, 1, &A, &A_dot, 1, CT_GRAD_FREE); /* an asynchronous device does not know yet */
    assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
    assert_true(isnan(ct_item(ct_sum(dot, CT_ALL, false))));
}

/* A rule that gives a tangent of a wrong shape, or asks for an input that is not there. */
static void shape_is_wrong(ct_rule *g) { ct_give_out_dot(g, 0, ct_matmul(ct_in_dot(g, 0), ct_in_dot(g, 0))); }
static void input_is_missing(ct_rule *g) { ct_give_out_dot(g, 0, ct_in_dot(g, 3)); }

static void wrong_rules(void **state)
{
    (void)state;
    int n_ops = 0;
    const ct_op *const *ops = ct_op_list(&n_ops), *square = NULL;
    for (int i = 0; i < n_ops; i++)
        if (!strcmp(ops[i]->name, "square")) square = ops[i];
    assert_non_null(square);
    static void (*const rules[])(ct_rule *) = { shape_is_wrong, input_is_missing };
    static const char *const messages[] = { "matmul", "there is no input 3" };
    for (int i = 0; i < 2; i++) {
        ct_op op = *square;
        op.jvp = rules[i];
        ct_var x = leaf(tensor0(device, 3)), y = ct_apply(&op, &x, 1, NULL, 0), one = number(1), dot;
        refused(ct_jvp(&y, &dot, 1, &x, &one, 1, CT_GRAD_FREE), messages[i]);
    }
}

/* y = A x of three rows and two columns, by columns; its transpose, by rows; nothing between y and x. */
static void jacobians(void **state)
{
    (void)state;
    ct_var A = constant(tensor2(device, 3, 2, 1, 2, 3, 4, 5, 6)), x = leaf(tensor2(device, 2, 1, 7, 8));
    ct_var z = leaf(tensor2(device, 3, 1, 1, 1, 1));
    const int64_t before = ct_tape_length(tape) + 1;
    ct_var J = ct_jacobian(ct_matmul(A, x), x);
    assert_elements(ct_value(J), 0, 0, 1, 2, 3, 4, 5, 6);
    assert_int_equal(ct_tape_length(tape), before + 1);
    J = ct_jacobian(ct_matmul(ct_t(A), z), z);
    assert_elements(ct_value(J), 0, 0, 1, 3, 5, 2, 4, 6);
    assert_elements(ct_value(ct_jacobian(ct_square(x), z)), 0, 0, 0, 0, 0, 0, 0, 0);
    assert_elements(ct_value(ct_jacobian(x, x)), 0, 0, 1, 0, 0, 1);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
}

/* Both ways give the Jacobian of a symmetric input, whose copies of an element share the derivative. */
static void of_a_symmetric_matrix(void **state)
{
    (void)state;
    ct_var A = leaf(tensor2(device, 2, 2, 4, 2, 2, 5)), L = ct_cholesky(A);
    ct_var element, wide = ct_concat((ct_var[]){ L, L }, 2, 0);
    double forward[32], backward[16];
    assert_ok(ct_read(ct_value(ct_jacobian(wide, A)), forward, sizeof forward), "read");
    for (int i = 0; i < 4; i++) {
        element = ct_slice(ct_reshape(L, ct_shape1(4)), 0, i, i + 1, 1);
        assert_ok(ct_read(ct_value(ct_jacobian(element, A)), backward + 4 * i, 32), "read");
    }
    for (int i = 0; i < 16; i++) assert_close(forward[i], backward[i], 1e-14, 1e-15);
}

/* More columns than tangents fit into one block. */
static void a_wide_jacobian(void **state)
{
    (void)state;
    enum { N = 70 };
    ct_tensor *a = ct_rand_normal(device, CT_F64, ct_shape2(N, N), 1, 2),
              *b = ct_full(device, CT_F64, ct_shape2(N, 1), 1);
    ct_var A = constant(a), x = leaf(b), J = ct_jacobian(ct_sin(ct_matmul(A, x)), x);
    ct_var cosine = ct_cos(ct_matmul(A, x)); /* J = diag(cos A x) A */
    double *got = calloc(N * N, 8), *wanted = calloc(N * N, 8);
    assert_ok(ct_read(ct_value(J), got, N * N * 8), ct_message(device));
    assert_ok(ct_read(ct_value(ct_mul(A, cosine)), wanted, N * N * 8), ct_message(device));
    for (int i = 0; i < N * N; i++) assert_close(got[i], wanted[i], 1e-14, 1e-15);
    assert_true(ct_tensor_is_contiguous(ct_value(J)));
    free(got);
    free(wanted);
}

/* y_i = x_i x_(i+1): two diagonals, so two colours; an arrow, whose full column has a colour of its own. */
static void sparse_jacobians(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 5, 1, 2, 3, 4, 5));
    ct_var y = ct_mul(ct_slice(x, 0, 0, 4, 1), ct_slice(x, 0, 1, 5, 1));
    const int64_t row[] = { 0, 0, 1, 1, 2, 2, 3, 3, 3 }, col[] = { 0, 1, 1, 2, 2, 3, 3, 4, 0 };
    assert_elements(ct_value(ct_jacobian_sparse(y, x, row, col, 9)), 0, 0, 2, 1, 3, 2, 4, 3, 5, 4, 0);
    ct_var arrow = ct_mul(x, ct_slice(x, 0, 0, 1, 1)); /* x_i x_0 */
    const int64_t rows[] = { 0, 1, 1, 2, 2, 3, 3, 4, 4 }, cols[] = { 0, 0, 1, 0, 2, 0, 3, 0, 4 };
    assert_elements(ct_value(ct_jacobian_sparse(arrow, x, rows, cols, 9)), 0, 0, 2, 2, 1, 3, 1, 4, 1, 5, 1);
    assert_int_equal(ct_var_shape(ct_jacobian_sparse(y, x, NULL, NULL, 0)).dim[0], 0);
    refused(ct_check(ct_jacobian_sparse(y, x, row, NULL, 1)), "NULL");
    x = leaf(tensor1(device, 2, 1, 2));
    refused(ct_check(ct_jacobian_sparse(ct_square(x), x, row, col, 9)), "element 3 is (1, 2), J is 2x2");
}

/* Rows that share no column take fewer sweeps: y_i = |(x_2i, x_2i+1)|². */
static void sparse_rows(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 3, 2, 1, 2, 3, 4, 5, 6)), y = ct_sum(ct_square(x), 1, false);
    const int64_t row[] = { 2, 2, 0, 0, 1, 1 }, col[] = { 5, 4, 0, 1, 2, 3 };
    assert_elements(ct_value(ct_jacobian_sparse(y, x, row, col, 6)), 0, 0, 12, 10, 2, 4, 6, 8);
}

/* Rules of several tangents count dimensions from the end. */
static void dimensions_from_the_front(void **state)
{
    (void)state;
    ct_var x = leaf(tensor2(device, 2, 2, 1, 2, 3, 4)), top = ct_slice(x, 0, 0, 1, 1), row = ct_row(x, 1);
    ct_var wide = ct_concat((ct_var[]){ x, top, ct_unsqueeze(row, 0) }, 3, 0); /* rows 0, 1, 0, 1 */
    ct_var sums = ct_sum(ct_unslice(ct_square(wide), 0, 6, 1, 1), 0, false);   /* 2 Σ_i x_ij²     */
    ct_var all = ct_reshape(ct_sum(ct_exp(row), CT_ALL, false), ct_shape1(1));
    ct_var y = ct_concat((ct_var[]){ sums, all, ct_broadcast_to(all, ct_shape1(2)) }, 3, 0);
    const double a = exp(3), b = exp(4);
    assert_elements(ct_value(ct_jacobian(y, x)), 1e-15, 0, 4, 0, 12, 0, 0, 8, 0, 16, 0, 0, a, b, 0, 0, a, b,
                    0, 0, a, b);
}

static void hessians(void **state)
{
    (void)state;
    ct_var x = leaf(tensor1(device, 2, 3, 5)), p = ct_slice(x, 0, 0, 1, 1), q = ct_slice(x, 0, 1, 2, 1);
    ct_var H = ct_hessian(ct_mul(ct_square(p), ct_exp(q)), x); /* p² exp q */
    const double e = exp(5);
    assert_elements(ct_value(H), 1e-14, 0, 2 * e, 6 * e, 6 * e, 9 * e);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    bool refused = true;
    for (int64_t k = 1; refused; k++) {
        alloc_fail_at(k);
        ct_device *d = ct_device_open(check_device());
        ct_tape *t = ct_tape_new(d);
        ct_tensor *a = ct_full(d, CT_F64, ct_shape2(2, 2), 0.5);
        ct_var x = ct_leaf(t, a), y = ct_sum(ct_tanh(ct_matmul(x, ct_t(x))), CT_ALL, false), dot;
        ct_status s = ct_jvp(&y, &dot, 1, &x, &x, 1, CT_GRAD_RECORD);
        if (!s) s = ct_jvp(&dot, &dot, 1, &x, &x, 1, CT_GRAD_FREE);
        if (!s) s = ct_check(ct_hessian(y, x));
        if (!s) s = ct_check(ct_jacobian(ct_square(x), x));
        if (!s)
            s = ct_check(ct_jacobian_sparse(ct_square(x), x, (int64_t[]){ 0, 1 }, (int64_t[]){ 0, 1 }, 2));
        refused = alloc_refused();
        if (s) assert_true(refused);
        ct_release(a);
        ct_tape_free(t);
        ct_device_close(d);
        assert_int_equal(alloc_live(), 0);
        alloc_unwatch();
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_tape, close_tape)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_derivative),
        TEST(many_at_once),
        TEST(constants_before_the_inputs),
        TEST(in_place),
        TEST(nests),
        TEST(forgets_its_work),
        TEST(long_loops),
        TEST(without_recording),
        TEST(no_dimension_left),
        TEST(refusals),
        TEST(a_failed_factor),
        TEST(wrong_rules),
        TEST(jacobians),
        TEST(of_a_symmetric_matrix),
        TEST(a_wide_jacobian),
        TEST(sparse_jacobians),
        TEST(sparse_rows),
        TEST(dimensions_from_the_front),
        TEST(hessians),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
