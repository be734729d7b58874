/* The likelihoods of several outputs as ops: with one factor, against the sum over the columns; by Kronecker
 * products, against the whole matrix. */
#include "gp_outputs.h"

#include <cotangent/ops.h>

#include "alloc.h"

/* Value and gradients of two functions of `in`; those of the first also recorded. */
static void assert_same(ct_var a, ct_var b, const ct_var in[4], ct_dtype dtype, int64_t n)
{
    ct_tape *tape = a.tape;
    const double tolerance = dtype == CT_F64 ? 1e-11 : 2e-3, unit = dtype == CT_F64 ? 1 : (double)n;
    double of_a = ct_item(a), of_b = ct_item(b);
    assert_ok(ct_tape_status(tape), ct_tape_message(tape));
    assert_near("value", &of_a, &of_b, 1, tolerance, unit);
    for (int recorded = 0; recorded < 2; recorded++) {
        ct_var by[2][4];
        assert_ok(
            ct_grad(a, ct_scalar(tape, dtype, 1.5), in, by[0], 4, recorded ? CT_GRAD_RECORD : CT_GRAD_KEEP),
            ct_tape_message(tape));
        assert_ok(ct_grad(b, ct_scalar(tape, dtype, 1.5), in, by[1], 4, CT_GRAD_KEEP), ct_tape_message(tape));
        for (int i = 0; i < 4; i++) {
            double *x = gp_host(ct_value(by[0][i])), *y = gp_host(ct_value(by[1][i]));
            assert_near("gradient", x, y, ct_tensor_count(ct_value(by[1][i])), 100 * tolerance, unit);
            free(x), free(y);
        }
    }
}

/* -- the op of outputs with one factor ------------------------------------------------------------------- */

/* The sum of ct_gp_nlml over the columns. */
static ct_var column_by_column(const ct_kernel *k, const ct_var *in, int64_t p)
{
    ct_var sum = { 0 };
    for (int64_t j = 0; j < p; j++) {
        ct_var v = ct_gp_nlml(k, in[0], in[1], ct_slice(in[2], 1, j, j + 1, 1), in[3]);
        sum = j ? ct_add(sum, v) : v;
    }
    return sum;
}

static void the_op_is_the_sum(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse("scale * matern52(ard) + linear");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    for (int variant = 0; variant < 12; variant++) {
        const int64_t n = (int64_t[]){ 1, 7, 300 }[variant % 3], p = 1 + variant % 4;
        const ct_dtype dtype = variant < 6 ? CT_F64 : CT_F32;
        ct_tape *tape = ct_tape_new(device);
        ct_tensor *t[] = { ct_rand_uniform(device, dtype, ct_shape1(ct_kernel_params(k)), 1, 0),
                           ct_rand_normal(device, dtype, ct_shape2(n, 3), 1, 1),
                           ct_rand_normal(device, dtype, ct_shape2(n, p), 1, 2),
                           ct_rand_uniform(device, dtype, ct_shape1(variant % 2 ? n : 1), 1, 3) };
        ct_var in[4], v[2];
        for (int i = 0; i < 4; i++) {
            ct_var raw = ct_leaf(tape, t[i]);
            in[i] = i == 0 || i == 3 ? ct_shift(raw, 0.3) : raw;
            ct_release(t[i]);
        }
        v[0] = ct_outputs_nlml_shared(k, in[0], in[1], in[2], in[3]);
        v[1] = column_by_column(k, in, p);
        assert_same(v[0], v[1], in, dtype, n);
        ct_tape_free(tape);
    }
    ct_kernel_free(k);
}

static void the_op_refuses(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse("rbf");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    const ct_shape shapes[][4] = {
        { ct_shape1(1), ct_shape2(4, 2), ct_shape1(4), ct_shape1(1) },
        { ct_shape1(1), ct_shape2(4, 2), ct_shape2(5, 2), ct_shape1(1) },
        { ct_shape1(1), ct_shape2(4, 2), ct_shape2(4, 0), ct_shape1(1) },
        { ct_shape1(1), ct_shape2(4, 2), ct_shape2(4, 2), ct_shape1(2) },
        { ct_shape1(1), ct_shape2(4, 3), ct_shape2(4, 2), ct_shape1(1) },
        { ct_shape2(2, 1), ct_shape2(4, 2), ct_shape2(4, 2), ct_shape1(1) },
        { ct_shape1(1), ct_shape3(2, 4, 2), ct_shape2(4, 2), ct_shape1(1) },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        ct_tape *tape = ct_tape_new(device);
        ct_var in[4];
        for (int j = 0; j < 4; j++) {
            ct_tensor *t = ones(shapes[i][j]);
            in[j] = ct_leaf(tape, t);
            ct_release(t);
        }
        ct_outputs_nlml_shared(k, in[0], in[1], in[2], in[3]);
        assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
        ct_tape_free(tape);
    }
    ct_kernel_free(k);
}

/* Equal rows without noise: NaN, with a message. */
static void a_singular_covariance_is_flagged(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_parse("rbf");
    assert_ok(ct_kernel_bind(k, 1), ct_kernel_message(k));
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t[] = { ones(ct_shape1(1)), ones(ct_shape2(6, 1)), ones(ct_shape2(6, 2)),
                       ct_zeros(device, CT_F64, ct_shape1(1)) };
    ct_var in[4];
    for (int i = 0; i < 4; i++) in[i] = ct_leaf(tape, t[i]), ct_release(t[i]);
    assert_true(isnan(ct_item(ct_outputs_nlml_shared(k, in[0], in[1], in[2], in[3]))));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    ct_tape_free(tape);
    ct_kernel_free(k);
}

/* -- the op of Kronecker products ------------------------------------------------------------------------ */

/* A Aᵀ + I, so that a gradient in it is one in A; (n, n). */
static ct_var positive(ct_tape *tape, ct_dtype dtype, int64_t n, uint64_t stream)
{
    ct_tensor *t = ct_rand_normal(device, dtype, ct_shape2(n, n), 2, stream);
    ct_var a = ct_constant(tape, t);
    ct_release(t);
    return ct_add(ct_scale(ct_matmul(a, ct_t(a)), 1 / (double)n),
                  ct_add_diag(ct_scale(a, 0), ct_scalar(tape, dtype, 1)));
}

/* Value and gradients against C as a matrix, and recorded. */
static void kronecker_is_the_matrix(void **state)
{
    (void)state;
    if (!on_cpu()) return;
    for (int variant = 0; variant < 12; variant++) {
        const int64_t n = (int64_t[]){ 1, 6, 40 }[variant % 3], p = 1 + variant % 4;
        const ct_dtype dtype = variant < 9 ? CT_F64 : CT_F32;
        ct_tape *tape = ct_tape_new(device);
        ct_tensor *r = ct_rand_normal(device, dtype, ct_shape2(n, p), 2, 2),
                  *d = ct_rand_uniform(device, dtype, ct_shape1(p), 2, 3);
        ct_var raw[] = { positive(tape, dtype, n, 0), positive(tape, dtype, p, 1), ct_constant(tape, r),
                         ct_shift(ct_constant(tape, d), 0.2) };
        ct_var in[4];
        for (int i = 0; i < 4; i++) in[i] = ct_leaf(tape, ct_value(raw[i]));
        ct_var v = ct_outputs_nlml_kronecker(in[0], in[1], in[2], in[3]);
        ct_var C = ct_mul(ct_reshape(in[1], ct_shape_of(4, (int64_t[]){ p, 1, p, 1 })),
                          ct_reshape(in[0], ct_shape_of(4, (int64_t[]){ 1, n, 1, n })));
        ct_var noise = ct_broadcast_to(ct_reshape(in[3], ct_shape2(p, 1)), ct_shape2(p, n)),
               L = ct_cholesky(
                   ct_add_diag(ct_reshape(C, ct_shape2(p * n, p * n)), ct_reshape(noise, ct_shape1(p * n)))),
               column = ct_reshape(ct_t(in[2]), ct_shape2(p * n, 1)),
               dense = ct_scale(ct_add(ct_sum(ct_mul(column, ct_cholesky_solve(L, column)), CT_ALL, false),
                                       ct_cholesky_logdet(L)),
                                0.5);
        dense = ct_shift(dense, 0.5 * log(2 * acos(-1)) * (double)(n * p));
        assert_same(v, dense, in, dtype, n);
        ct_release(r), ct_release(d);
        ct_tape_free(tape);
    }
}

static void kronecker_refuses(void **state)
{
    (void)state;
    const ct_shape shapes[][4] = {
        { ct_shape2(4, 4), ct_shape2(2, 2), ct_shape2(4, 3), ct_shape1(2) },
        { ct_shape2(4, 3), ct_shape2(2, 2), ct_shape2(4, 2), ct_shape1(2) },
        { ct_shape2(4, 4), ct_shape2(2, 2), ct_shape2(4, 2), ct_shape1(1) },
        { ct_shape3(2, 4, 4), ct_shape2(2, 2), ct_shape2(4, 2), ct_shape1(2) },
        { ct_shape2(4, 4), ct_shape2(2, 2), ct_shape1(4), ct_shape1(2) },
    };
    for (size_t i = 0; i < 1 + sizeof shapes / sizeof *shapes; i++) {
        ct_tape *tape = ct_tape_new(device);
        ct_var in[4];
        const bool nan = i == sizeof shapes / sizeof *shapes;
        for (int j = 0; j < 4; j++) {
            const ct_shape good[] = { ct_shape2(4, 4), ct_shape2(2, 2), ct_shape2(4, 2), ct_shape1(2) };
            ct_tensor *t = ct_full(device, CT_F64, nan ? good[j] : shapes[i][j], nan && j == 0 ? NAN : 1);
            in[j] = ct_leaf(tape, t);
            ct_release(t);
        }
        ct_var v = ct_outputs_nlml_kronecker(in[0], in[1], in[2], in[3]);
        if (nan) assert_true(isnan(ct_item(v)));
        assert_status(ct_tape_status(tape), nan ? CT_ENUMERIC : CT_ESHAPE, ct_tape_message(tape));
        ct_tape_free(tape);
    }
}

/* An eigenvalue of K or B below zero is told. Their upper triangles are not read, recorded or not. */
static void kronecker_reads_lower_triangles_of_covariances(void **state)
{
    (void)state;
    if (!on_cpu()) return; /* a GPU tells a failure of K in the words for B */
    const double unread[] = { 2, NAN, 0.5, 1 }, indefinite[] = { 1, 2, 2, 1 },
                 *cases[][2] = { { unread, unread }, { indefinite, unread }, { unread, indefinite } };
    for (int i = 0; i < 3; i++) {
        ct_tape *tape = ct_tape_new(device);
        ct_tensor *t[] = { tensor(CT_F64, ct_shape2(2, 2), cases[i][0]),
                           tensor(CT_F64, ct_shape2(2, 2), cases[i][1]), ones(ct_shape2(2, 2)),
                           ones(ct_shape1(2)) };
        ct_var in[4], by[2][4];
        for (int j = 0; j < 4; j++) in[j] = ct_leaf(tape, t[j]), ct_release(t[j]);
        ct_var v = ct_outputs_nlml_kronecker(in[0], in[1], in[2], in[3]);
        for (int recorded = 0; recorded < 2 && !i; recorded++) {
            const ct_status s = ct_grad(v, ct_scalar(tape, CT_F64, 1), in, by[recorded], 4,
                                        recorded ? CT_GRAD_RECORD : CT_GRAD_KEEP);
            assert_ok(s, ct_tape_message(tape));
        }
        for (int j = 0; j < 4 && !i; j++) {
            double *x = gp_host(ct_value(by[0][j])), *y = gp_host(ct_value(by[1][j]));
            for (int e = 0; e < (j < 3 ? 4 : 2); e++) assert_true(fabs(x[e] - y[e]) <= 1e-13);
            free(x), free(y);
        }
        assert_true(isnan(ct_item(v)) == (i > 0));
        assert_status(ct_tape_status(tape), i ? CT_ENUMERIC : CT_OK, ct_tape_message(tape));
        if (i)
            assert_non_null(
                strstr(ct_tape_message(tape), i == 1 ? "eigenvalue 1 of K" : "eigenvalue 1 of B"));
        ct_tape_free(tape);
    }
}

/* -- memory ---------------------------------------------------------------------------------------------- */

/* Value and gradients of the op with these inputs; with a kernel in[0] are its parameters. */
static ct_status sweep(const ct_kernel *k, ct_tensor *const t[4])
{
    ct_tape *tape = ct_tape_new(device);
    if (!tape) return ct_last_status(device);
    ct_var in[4];
    for (int i = 0; i < 4; i++) in[i] = ct_leaf(tape, t[i]);
    const ct_status s = ct_backward(k ? ct_outputs_nlml_shared(k, in[0], in[1], in[2], in[3])
                                      : ct_outputs_nlml_kronecker(in[0], in[1], in[2], in[3]));
    ct_tape_free(tape);
    return s;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static const double one[] = { 1, 0, 0, 1 }, r[] = { 0.5, -1, 2, 1 };
    ct_kernel *k = ct_kernel_parse("rbf");
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    ct_tensor *eye = tensor(CT_F64, ct_shape2(2, 2), one), *R = tensor(CT_F64, ct_shape2(2, 2), r),
              *noises = ones(ct_shape1(2)), *noise = ones(ct_shape1(1));
    ct_tensor *const shared[] = { noise, eye, R, noise }, *const kronecker[] = { eye, eye, R, noises };
    for (int op = 0; op < (on_cpu() ? 2 : 1); op++) {
        bool refused = true;
        for (int64_t at = 1; refused; at++) {
            alloc_fail_at(at);
            const ct_status s = sweep(op ? NULL : k, op ? kronecker : shared);
            refused = alloc_refused();
            alloc_unwatch();
            assert_status(s, refused && s ? CT_ENOMEM : CT_OK, ct_message(device));
        }
    }
    ct_kernel_free(k);
    ct_release(eye), ct_release(R), ct_release(noises), ct_release(noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_op_is_the_sum),
        cmocka_unit_test(the_op_refuses),
        cmocka_unit_test(a_singular_covariance_is_flagged),
        cmocka_unit_test(kronecker_is_the_matrix),
        cmocka_unit_test(kronecker_refuses),
        cmocka_unit_test(kronecker_reads_lower_triangles_of_covariances),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
