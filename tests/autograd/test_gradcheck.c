/* Gradcheck accepts right rules and catches wrong ones. */
#include "check.h"

#include <cotangent/gradcheck.h>

#include "alloc.h"
#include "autograd/check/sample.h"

/* -- ops with a right and several wrong rules ------------------------------------------------------------ */

/* y = aᵀ-free quadratic form: q = Σ_ij A_ij x_i x_j; A n×n, x n×1 -> 1×1 */
static ct_shape quad_shape(ct_call *c)
{
    ct_require(c,
               ct_arg_dim(c, 0, -2) == ct_arg_dim(c, 0, -1) && ct_arg_dim(c, 0, -1) == ct_arg_dim(c, 1, -2),
               CT_ESHAPE, "A must be square and match x");
    return ct_shape2(1, 1);
}

static void quad_forward(ct_call *c)
{
    ct_view A = ct_arg(c, 0), x = ct_arg(c, 1), Ax = ct_scratch(c, A.dtype, ct_view_shape(x));
    ct_prim_gemm(c, 1, A, x, 0, Ax);
    ct_prim_gemm(c, 1, ct_view_transpose(x), Ax, 0, ct_result(c));
}

static void quad_right(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1), q_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_mul(q_bar, ct_matmul(x, ct_t(x))));
    ct_in_bar(g, 1, ct_mul(q_bar, ct_matmul(ct_add(A, ct_t(A)), x)));
}

/* x̄ without its second term, which is right only for A = 0. */
static void quad_drops_a_term(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1), q_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_mul(q_bar, ct_matmul(x, ct_t(x))));
    ct_in_bar(g, 1, ct_mul(q_bar, ct_matmul(A, x)));
}

/* x̄ = 2 q̄ A x, which is right for a symmetric A, so only a general A shows the fault. */
static void quad_assumes_symmetry(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1), q_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_mul(q_bar, ct_matmul(x, ct_t(x))));
    ct_in_bar(g, 1, ct_mul(q_bar, ct_scale(ct_matmul(A, x), 2)));
}

/* Ā is forgotten. */
static void quad_forgets_an_input(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1), q_bar = ct_out_bar(g);
    ct_in_bar(g, 1, ct_mul(q_bar, ct_matmul(ct_add(A, ct_t(A)), x)));
}

/* q̇ = xᵀ Ȧ x + xᵀ (A + Aᵀ) ẋ */
static void quad_dot(ct_rule *g)
{
    ct_var A = ct_in(g, 0), x = ct_in(g, 1);
    ct_give_out_dot(g, 0, ct_matmul(ct_t(x), ct_matmul(ct_in_dot(g, 0), x)));
    ct_give_out_dot(g, 0, ct_matmul(ct_t(x), ct_matmul(ct_add(A, ct_t(A)), ct_in_dot(g, 1))));
}

static void quad_dot_drops_a_term(ct_rule *g)
{
    ct_var x = ct_in(g, 1);
    ct_give_out_dot(g, 0, ct_matmul(ct_t(x), ct_matmul(ct_in_dot(g, 0), x)));
}

static void quad_sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct_sample_normal(s, 0, ct_shape2(n, n));
    ct_sample_normal(s, 1, ct_shape2(n, 1));
}

/* C = A B, with Ā = C̄ B where it should be C̄ Bᵀ: shapes agree for square matrices. */
static ct_shape product_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void product_forward(ct_call *c) { ct_prim_gemm(c, 1, ct_arg(c, 0), ct_arg(c, 1), 0, ct_result(c)); }

static void product_forgets_a_transpose(ct_rule *g)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), C_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_matmul(C_bar, B));
    ct_in_bar(g, 1, ct_matmul(ct_t(A), C_bar));
}

/* y = x², right at first order by a fused rule, wrong at second (a rule that is a constant of x). */
static ct_shape same_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void square_forward(ct_call *c)
{
    const double *x = ct_contiguous(c, ct_arg(c, 0)).data;
    double *y = ct_result(c).data;
    for (int64_t i = 0; ct_call_ok(c) && i < ct_view_count(ct_arg(c, 0)); i++) y[i] = x[i] * x[i];
}

static void square_right(ct_rule *g) { ct_in_bar(g, 0, ct_mul(ct_out_bar(g), ct_scale(ct_in(g, 0), 2))); }

static void square_constant_rule(ct_rule *g)
{
    ct_in_bar(g, 0, ct_mul(ct_out_bar(g), ct_scale(ct_stop_gradient(ct_in(g, 0)), 2)));
}

static void square_one_percent_off(ct_rule *g)
{
    ct_in_bar(g, 0, ct_mul(ct_out_bar(g), ct_scale(ct_in(g, 0), 2.02)));
}

static void square_sample(ct_sample *s) { ct_sample_normal(s, 0, ct_shape1(ct_sample_size(s))); }

static void no_sample(ct_sample *s) { ct_sample_normal(s, 1, ct_shape1(1)); }

/* Two outputs: y0 = x a, y1 = x + a, with the rule for both. */
static ct_shape two_shape(ct_call *c)
{
    ct_more_out(c, 1, ct_arg(c, 0).dtype, ct_arg_shape(c, 0));
    return ct_arg_shape(c, 0);
}

static void two_forward(ct_call *c)
{
    const double *x = ct_contiguous(c, ct_arg(c, 0)).data, *a = ct_contiguous(c, ct_arg(c, 1)).data;
    double *product = ct_result(c).data, *sum = ct_result_at(c, 1).data;
    for (int64_t i = 0; ct_call_ok(c) && i < ct_view_count(ct_arg(c, 0)); i++) {
        product[i] = x[i] * a[i];
        sum[i] = x[i] + a[i];
    }
}

static void two_right(ct_rule *g)
{
    ct_var first = ct_out_bar_at(g, 0), second = ct_out_bar_at(g, 1);
    ct_in_bar(g, 0, ct_add(ct_mul(first, ct_in(g, 1)), second));
    ct_in_bar(g, 1, ct_add(ct_mul(first, ct_in(g, 0)), second));
}

static void two_ignores_the_second(ct_rule *g)
{
    ct_var first = ct_out_bar_at(g, 0);
    ct_in_bar(g, 0, ct_mul(first, ct_in(g, 1)));
    ct_in_bar(g, 1, ct_mul(first, ct_in(g, 0)));
}

static void two_sample(ct_sample *s)
{
    ct_sample_normal(s, 0, ct_shape1(ct_sample_size(s)));
    ct_sample_normal(s, 1, ct_shape1(ct_sample_size(s)));
}

static ct_op quad(void (*vjp)(ct_rule *g))
{
    return (ct_op){ .name = "quad",
                    .n_in = 2,
                    .shape = quad_shape,
                    .forward = quad_forward,
                    .vjp = vjp,
                    .sample = quad_sample };
}

static ct_op square(void (*vjp)(ct_rule *g))
{
    return (ct_op){ .name = "square_of_mine",
                    .n_in = 1,
                    .shape = same_shape,
                    .forward = square_forward,
                    .vjp = vjp,
                    .sample = square_sample };
}

static ct_op two(void (*vjp)(ct_rule *g))
{
    return (ct_op){
        .name = "two", .n_in = 2, .shape = two_shape, .forward = two_forward, .vjp = vjp, .sample = two_sample
    };
}

/* -- tests ----------------------------------------------------------------------------------------------- */

static ct_device *device;
static char report[1 << 16];

static int open_device(void **state)
{
    (void)state;
    device = ct_device_open("cpu");
    return ct_device_status(device);
}

static int close_device(void **state)
{
    (void)state;
    uint64_t held = ct_memory(device).bytes_now;
    ct_device_close(device);
    return held != 0;
}

static int number_of(const char *what)
{
    int n = 0;
    for (const char *at = report; (at = strstr(at, what)); at++) n++;
    return n;
}

static void accepted(const ct_op *op)
{
    assert_ok(ct_gradcheck_op(device, op, NULL, report, sizeof report), ct_message(device));
    assert_int_equal(number_of("FAIL"), 0);
    assert_true(number_of("  ok ") > 0);
}

static void caught(const ct_op *op, const char *by)
{
    assert_int_equal(ct_gradcheck_op(device, op, NULL, report, sizeof report), CT_ENUMERIC);
    assert_true(number_of("FAIL") > 0);
    if (!strstr(report, by)) print_error("%s\n", report);
    assert_non_null(strstr(report, by));
    assert_non_null(strstr(ct_message(device), op->name));
}

static void test_right_rules(void **state)
{
    (void)state;
    ct_op q = quad(quad_right), s = square(square_right), t = two(two_right);
    accepted(&q);
    accepted(&s);
    accepted(&t);
    q.jvp = quad_dot;
    accepted(&q);
    assert_non_null(strstr(report, "forward rule"));
}

static void test_wrong_rules(void **state)
{
    (void)state;
    ct_op a = quad(quad_drops_a_term), b = quad(quad_assumes_symmetry), c = quad(quad_forgets_an_input);
    caught(&a, "FAIL  jacobian of in1");
    caught(&b, "FAIL  jacobian of in1");
    caught(&c, "FAIL  direction of in0");
    ct_op d = square(square_one_percent_off), e = square(square_constant_rule);
    caught(&d, "FAIL  direction of in0");
    caught(&e, "FAIL  second order, inputs");
    ct_op f = two(two_ignores_the_second);
    caught(&f, "d out1");
    ct_op h = quad(quad_right), l = square(square_right);
    h.jvp = quad_dot_drops_a_term;
    l.jvp = ct_jvp_linear; /* of an op that is not linear */
    caught(&h, "FAIL  forward rule");
    caught(&l, "FAIL  forward rule");
}

/* At symmetric inputs the first derivative cannot show a forgotten transpose; the second can. */
static void test_symmetric_looking_inputs(void **state)
{
    (void)state;
    static const ct_op op = { .name = "product",
                              .n_in = 2,
                              .shape = product_shape,
                              .forward = product_forward,
                              .vjp = product_forgets_a_transpose };
    ct_tensor *A = tensor2(device, 2, 2, 2, 1, 1, 3), *B = tensor2(device, 2, 2, 1, 0.5, 0.5, 1);
    ct_tensor *in[] = { A, B };
    assert_ok(ct_gradcheck(&op, in, 2, NULL, 0, 0, &(ct_gradcheck_options){ .first_only = 1 }, NULL, 0),
              ct_message(device));
    assert_int_equal(ct_gradcheck(&op, in, 2, NULL, 0, 0, NULL, report, sizeof report), CT_ENUMERIC);
    assert_non_null(strstr(report, "FAIL  second order, symmetry"));
    ct_release(B);
    in[1] = B = tensor2(device, 2, 2, 1, 0.5, 0.7, 1);
    assert_int_equal(ct_gradcheck(&op, in, 2, NULL, 0, 0, NULL, report, sizeof report), CT_ENUMERIC);
    assert_non_null(strstr(report, "FAIL  jacobian of in0"));
    ct_release(A);
    ct_release(B);
}

static void test_names_the_worst_entry(void **state)
{
    (void)state;
    ct_op op = quad(quad_drops_a_term);
    ct_tensor *A = tensor2(device, 2, 2, 1, 0, 8, 1), *x = tensor2(device, 2, 1, 1, 0);
    assert_int_equal(ct_gradcheck(&op, (ct_tensor *[]){ A, x }, 2, NULL, 0, 0, NULL, report, sizeof report),
                     CT_ENUMERIC);
    assert_non_null(strstr(report, "quad(2x2 f64, 2x1 f64)"));
    assert_non_null(strstr(report, "d out0[0,0] / d in1["));
    ct_release(A);
    ct_release(x);
}

/* Difficult points: next to a kink, at the edge of a domain, very small and very large. */
static void test_hard_points(void **state)
{
    (void)state;
    ct_tensor *near = tensor1(device, 4, 1e-3, -2e-4, 5, -7);
    assert_ok(ct_gradcheck(ct_op_find("abs"), &near, 1, NULL, 0, 0, NULL, report, sizeof report),
              ct_message(device));
    ct_release(near);
    ct_tensor *edge = tensor1(device, 3, 1e-3, 5, 20);
    assert_ok(ct_gradcheck(ct_op_find("log"), &edge, 1, NULL, 0, 0, NULL, report, sizeof report),
              ct_message(device));
    ct_release(edge);
    for (int e = -100; e <= 100; e += 50) {
        double unit = pow(10, e);
        ct_tensor *x = tensor1(device, 3, unit, 2 * unit, -3 * unit);
        assert_ok(ct_gradcheck(ct_op_find("square"), &x, 1, NULL, 0, 0, NULL, report, sizeof report),
                  ct_message(device));
        ct_release(x);
    }
}

static void test_symmetric_inputs(void **state)
{
    (void)state;
    ct_tensor *A = tensor2(device, 2, 2, 3, 1, 1, 2);
    assert_ok(ct_gradcheck(ct_op_find("cholesky"), &A, 1, NULL, 0, 1, NULL, report, sizeof report),
              ct_message(device));
    assert_non_null(strstr(report, "symmetry of in0's cotangent"));
    /* the triangle that is not read has derivative 0, so free perturbations disagree with a symmetric
     * cotangent */
    assert_int_equal(ct_gradcheck(ct_op_find("cholesky"), &A, 1, NULL, 0, 0, NULL, report, sizeof report),
                     CT_ENUMERIC);
    ct_release(A);
    ct_tensor *wide = ct_zeros(device, CT_F64, ct_shape2(2, 3));
    assert_int_equal(ct_gradcheck(ct_op_find("exp"), &wide, 1, NULL, 0, 1, NULL, report, sizeof report),
                     CT_ESHAPE);
    ct_release(wide);
}

static void test_f32(void **state)
{
    (void)state;
    ct_tensor *A = ct_rand_normal(device, CT_F32, ct_shape2(3, 3), 1, 0);
    ct_tensor *x = ct_rand_normal(device, CT_F32, ct_shape2(3, 1), 1, 1);
    ct_tensor *in[] = { A, x };
    ct_op right = quad(quad_right), wrong = quad(quad_drops_a_term);
    assert_ok(ct_gradcheck(&right, in, 2, NULL, 0, 0, NULL, report, sizeof report), ct_message(device));
    assert_non_null(strstr(report, "f32 gradient of in1"));
    assert_non_null(strstr(report, "f32 second order of in0"));
    assert_int_equal(ct_gradcheck(&wrong, in, 2, NULL, 0, 0, NULL, report, sizeof report), CT_ENUMERIC);
    ct_gradcheck_options strict = { .tolerance = 1e-12 };
    assert_int_equal(ct_gradcheck(&right, in, 2, NULL, 0, 0, &strict, report, sizeof report), CT_OK);
    ct_release(A);
    ct_release(x);
}

static void test_no_gradient(void **state)
{
    (void)state;
    ct_op constant = square(NULL);
    ct_tensor *x = tensor1(device, 2, 1, 2), *label = ct_zeros(device, CT_I64, ct_shape1(2));
    assert_ok(ct_gradcheck(&constant, &x, 1, NULL, 0, 0, NULL, report, sizeof report), ct_message(device));
    assert_non_null(strstr(report, "no gradient flows"));
    ct_tensor *rows = tensor2(device, 3, 1, 1, 2, 3);
    assert_ok(ct_gradcheck(ct_op_find("gather"), (ct_tensor *[]){ rows, label }, 2, NULL, 0, 0, NULL, report,
                           sizeof report),
              ct_message(device));
    ct_release(x);
    ct_release(label);
    ct_release(rows);
}

static void test_refusals(void **state)
{
    (void)state;
    ct_op op = quad(quad_right), unsampled = quad(quad_right), half = square(square_right);
    unsampled.sample = NULL;
    half.sample = no_sample;
    ct_tensor *A = tensor2(device, 2, 2, 1, 2, 3, 4), *x = tensor2(device, 3, 1, 1, 2, 3);
    assert_int_equal(ct_gradcheck(NULL, &A, 1, NULL, 0, 0, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck(&op, NULL, 1, NULL, 0, 0, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck(&op, &A, 0, NULL, 0, 0, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck(&op, (ct_tensor *[]){ A, NULL }, 2, NULL, 0, 0, NULL, NULL, 0), CT_EINVAL);
    assert_int_equal(ct_gradcheck(&op, &A, 1, NULL, 0, 0, NULL, report, sizeof report), CT_EINVAL);
    /* the op's own refusal comes through, with its message */
    assert_int_equal(ct_gradcheck(&op, (ct_tensor *[]){ A, x }, 2, NULL, 0, 0, NULL, report, sizeof report),
                     CT_ESHAPE);
    assert_non_null(strstr(ct_message(device), "A must be square and match x"));
    assert_non_null(strstr(report, "error: "));
    assert_int_equal(ct_gradcheck_op(device, NULL, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck_op(NULL, &op, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck_op(device, &unsampled, NULL, report, sizeof report), CT_EINVAL);
    assert_int_equal(ct_gradcheck_op(device, &half, NULL, report, sizeof report), CT_EINVAL);
    assert_non_null(strstr(ct_message(device), "input 0"));
    ct_release(A);
    ct_release(x);
}

/* A small or absent buffer: the same status, the text cut, nothing written beyond. */
static void test_small_reports(void **state)
{
    (void)state;
    ct_op op = quad(quad_drops_a_term);
    assert_int_equal(ct_gradcheck_op(device, &op, NULL, NULL, 0), CT_ENUMERIC);
    char small[16];
    memset(small, 'x', sizeof small);
    assert_int_equal(ct_gradcheck_op(device, &op, NULL, small, 8), CT_ENUMERIC);
    assert_int_equal(strlen(small), 7);
    assert_int_equal(small[8], 'x');
}

/* A fixed step, the size of the Jacobian that is checked, the order. */
static void test_options(void **state)
{
    (void)state;
    ct_op op = quad(quad_right);
    ct_gradcheck_options step = { .step = 1e-5, .tolerance = 1e-6 };
    assert_ok(ct_gradcheck_op(device, &op, &step, report, sizeof report), ct_message(device));
    ct_gradcheck_options no_jacobian = { .jacobian = 1, .first_only = 1 };
    assert_ok(ct_gradcheck_op(device, &op, &no_jacobian, report, sizeof report), ct_message(device));
    assert_int_equal(number_of("second order"), 0);
    ct_gradcheck_options other = { .seed = 12345 };
    assert_ok(ct_gradcheck_op(device, &op, &other, report, sizeof report), ct_message(device));
}

/* The k-th allocation fails, for every k: a status, no leak. */
static void test_out_of_memory(void **state)
{
    (void)state;
    ct_op op = quad(quad_right);
    for (int64_t k = 1;; k++) {
        alloc_fail_at(k);
        ct_device *own = ct_device_open("cpu");
        ct_status status = ct_gradcheck_op(own, &op, NULL, report, sizeof report);
        ct_device_close(own);
        bool refused = alloc_refused();
        int64_t live = alloc_live();
        alloc_unwatch();
        assert_int_equal(live, 0);
        if (!refused) {
            assert_int_equal(status, CT_OK);
            return;
        }
        if (status != CT_OK && status != CT_ENOMEM) print_error("k = %lld: %s\n", (long long)k, report);
        assert_true(status == CT_OK || status == CT_ENOMEM);
        assert_true(k < 5000);
    }
}

/* -- the draws ------------------------------------------------------------------------------------------- */

static void draw_all(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_variant(s, 3);
    ct_sample_spd(s, 0, n);
    ct_sample_lower(s, 1, n);
    ct_sample_upper(s, 2, n);
    ct_sample_uniform(s, 3, ct_shape1(n), -2, -1);
    ct_sample_unbatched(s);
    ct_sample_index(s, 4, ct_shape1(n), 3);
}

static void test_draws(void **state)
{
    (void)state;
    ct_op op = { .name = "draws", .n_in = 5, .sample = draw_all };
    double f64[5][3 * 17 * 17], f32[5][3 * 17 * 17];
    for (int64_t n = 0; n <= 17; n = n ? n * 4 + 1 : 1) {
        for (int single = 0; single < 2; single++) {
            ct_sample s = { .device = device,
                            .dtype = single ? CT_F32 : CT_F64,
                            .size = n,
                            .batch = ct_shape1(3),
                            .seed = 5,
                            .variant = 2 };
            assert_ok(ct__sample_draw(&s, &op), ct_message(device));
            assert_int_equal(s.n_in, 5);
            assert_int_equal(s.n_variants, 3);
            assert_int_equal(s.symmetric, 1);
            assert_true(ct_shape_equal(ct_tensor_shape(s.in[0]), ct_shape3(3, n, n)));
            assert_true(ct_shape_equal(ct_tensor_shape(s.in[4]), ct_shape1(n)));
            for (int i = 0; i < 5; i++) {
                assert_int_equal(ct_tensor_dtype(s.in[i]), i == 4 ? CT_I64 : s.dtype);
                ct_tensor *t = ct_tensor_cast(s.in[i], CT_F64);
                assert_ok(ct_read(t, single ? f32[i] : f64[i], (size_t)ct_tensor_count(t) * sizeof(double)),
                          ct_message(device));
                for (int64_t e = 0; e < ct_tensor_count(t) && single; e++)
                    assert_true(f32[i][e] == (double)(float)f64[i][e]);
                ct_release(t);
            }
            ct__sample_clear(&s);
        }
        for (int64_t e = 0; e < 3 * n * n; e++) {
            int64_t row = e / n % n, col = e % n, mirror = e + (col - row) * n + row - col;
            assert_true(f64[0][e] == f64[0][mirror]);
            assert_true(row == col ? f64[0][e] >= 1 : true);
            assert_true(col > row ? f64[1][e] == 0 && f64[2][mirror] == 0 : true);
            assert_true(row == col ? f64[1][e] >= 1 && f64[2][e] >= 1 : true);
        }
        for (int64_t e = 0; e < 3 * n; e++) assert_true(f64[3][e] > -2 && f64[3][e] < -1);
        for (int64_t e = 0; e < n; e++) assert_true(f64[4][e] == 0 || f64[4][e] == 1 || f64[4][e] == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_rules),
        cmocka_unit_test(test_wrong_rules),
        cmocka_unit_test(test_symmetric_looking_inputs),
        cmocka_unit_test(test_names_the_worst_entry),
        cmocka_unit_test(test_hard_points),
        cmocka_unit_test(test_symmetric_inputs),
        cmocka_unit_test(test_f32),
        cmocka_unit_test(test_no_gradient),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_small_reports),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_draws),
    };
    return cmocka_run_group_tests_name("gradcheck", tests, open_device, close_device);
}
