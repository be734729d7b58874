/* The likelihood as an op: its rule against finite differences, and against the composition of public ops. */
#include "tensor/internal.h"

#include "gp_device.h"

#include <cotangent/gradcheck.h>

#include "gp/likelihood/dense.h"

static void rule_agrees_with_differences(void **state)
{
    (void)state;
    char report[65536];
    ct_status s = ct_gradcheck_op(device, &ct__op_gp_nlml, NULL, report, sizeof report);
    if (s) fputs(report, stderr);
    assert_ok(s, "gradcheck");
}

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π from public ops alone. */
static ct_var composed(const ct_kernel *k, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    int64_t n = ct_var_shape(X).dim[0];
    ct_var L = ct_cholesky(ct_add_diag(ct_cov(k, theta, X, X), noise));
    ct_var column = ct_reshape(r, ct_shape2(n, 1));
    ct_var fit = ct_sum(ct_mul(column, ct_cholesky_solve(L, column)), CT_ALL, false);
    ct_var both = ct_scale(ct_add(fit, ct_cholesky_logdet(L)), 0.5);
    return ct_shift(both, 0.5 * (double)n * 1.8378770664093454836);
}

/* Value and cotangents of theta, X, r and noise (one, or one per point) of -1.7 times the likelihood. Where
 * products and sums are not fused, a value in f32 of n < 80 points may be wrong by n units of rounding, 5e-6.
 */
static void compare(const char *kernel, int64_t n, ct_dtype dtype, bool each, double tolerance)
{
    gp_data wide = gp_data_new(device, CT_F64, n, 3), s = gp_data_new(device, dtype, n, 3);
    ct_kernel *k = ct_kernel_parse(kernel);
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    int64_t noises = each ? n : 1;
    double *fused[4], *reference[4];
    double value = gp_density_at(ct_gp_nlml, k, &s, noises, fused);
    assert_close(value, gp_density_at(composed, k, &wide, noises, reference), 2.5e-4 * tolerance, 0);
    const int64_t count[] = { ct_kernel_params(k), n * 3, n, noises };
    for (int j = 0; j < 4; j++) {
        double size = 0;
        for (int64_t p = 0; p < count[j]; p++) size = fmax(size, fabs(reference[j][p]));
        for (int64_t p = 0; p < count[j]; p++)
            assert_close(fused[j][p], reference[j][p], tolerance, 0.01 * tolerance * size);
        free(fused[j]);
        free(reference[j]);
    }
    ct_kernel_free(k);
    gp_data_free(&s);
    gp_data_free(&wide);
}

static void equals_the_composition(void **state)
{
    (void)state;
    const int64_t sizes[] = {
        1, 2, 3, 4, 5, 16, 17, 31, 32, 33, 34, 63, 64, 65, 127, 130, 200, 321, 530, 1023
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (check_quick() > 1); i++)
        for (int each = 0; each < 2; each++)
            compare("scale(1.5) * rbf(ard) + scale(0.3) * linear", sizes[i], CT_F64, each, 1e-8);
}

static void equals_it_for_every_kind_of_kernel(void **state)
{
    (void)state;
    const char *const kernels[] = { "rbf",
                                    "matern52(ard) + white(0.1)",
                                    "matern32 * (linear + constant)",
                                    "rq",
                                    "scale * periodic * matern12(dims=0:2) + white",
                                    "scale * cosine(dims=1)",
                                    "poly(degree=2)",
                                    "constant",
                                    "white" };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int64_t n = 44; n < 46; n++) compare(kernels[i], n, CT_F64, false, 1e-8);
}

static void holds_in_single_precision(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 80; n += 13) compare("scale * rbf(ard)", n, CT_F32, n % 2, 0.02);
}

/* The packed triangle is the only array of its order; the value alone takes no more. */
static void memory_is_one_triangle(void **state)
{
    (void)state;
    const int64_t n = check_quick() > 1 ? 900 : 1500;
    gp_data s = gp_data_new(device, CT_F64, n, 3);
    ct_kernel *k = ct_kernel_parse("scale * rbf(ard) + scale * matern52 + white");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    for (int leaves = 0; leaves < 3; leaves++) {
        ct_tape *tape = ct_tape_new(device);
        ct_memory_trim(device);
        ct_tensor *noise = ct_full(device, CT_F64, ct_shape0(), 0.1);
        ct_var theta = ct_kernel_theta(k, tape, CT_F64), X = (leaves == 2 ? ct_leaf : ct_constant)(tape, s.X);
        if (!leaves) theta = ct_stop_gradient(theta);
        uint64_t before = ct_memory(device).bytes_now;
        ct_memory_mark(device);
        ct_var y = ct_gp_nlml(k, theta, X, ct_constant(tape, s.y), ct_constant(tape, noise));
        if (leaves) assert_ok(ct_backward(y), ct_tape_message(tape));
        assert_ok(ct_check(y), ct_tape_message(tape));
        uint64_t peak = ct_memory(device).bytes_peak - before;
        /* beside the triangle: a panel of the sweep; each thread of a GPU has sums of its own */
        assert_true((double)peak < 0.5 * 8 * (double)n * (double)n + (check_at_once() ? 3.5e6 : 5e6));
        assert_true(ct_memory(device).bytes_now - before < 400 * (uint64_t)n);
        ct_release(noise);
        ct_tape_free(tape);
    }
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* Two likelihoods on one tape, and gradients through the ops that compute the inputs. */
static void sweeps_again(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 23, 3);
    ct_kernel *k = ct_kernel_parse("scale * rbf(ard)");
    assert_ok(ct_kernel_bind(k, 3), ct_kernel_message(k));
    ct_tape *tape = ct_tape_new(device);
    ct_var x = ct_leaf(tape, s.X), theta = ct_kernel_theta(k, tape, CT_F64);
    ct_tensor *noise = ct_full(device, CT_F64, ct_shape0(), 0.1);
    ct_var y = ct_gp_nlml(k, ct_exp(theta), ct_tanh(x), ct_constant(tape, s.y), ct_leaf(tape, noise)), bar[3];
    ct_var in[] = { x, theta };
    for (int i = 0; i < 3; i++)
        assert_ok(ct_grad(y, (ct_var){ NULL, 0, 0 }, in + (i == 1), bar + i, 1,
                          i < 2 ? CT_GRAD_KEEP : CT_GRAD_RECORD),
                  ct_tape_message(tape));
    double *plain = gp_host(ct_value(bar[0])), *recorded = gp_host(ct_value(bar[2]));
    for (int64_t i = 0; i < 69; i++) assert_close(plain[i], recorded[i], 1e-8, 1e-10);
    free(plain);
    free(recorded);
    ct_release(noise);
    ct_tape_free(tape);
    ct_kernel_free(k);
    gp_data_free(&s);
}

/* All threads keep subnormal results and operands. */
static void subnormals_stay(void)
{
    int lost = 0;
#pragma omp parallel reduction(+ : lost)
    {
        volatile double small = 0x1p-1000;
        volatile double least = small * 0x1p-60; /* zero where results are flushed, */
        lost += least * 0x1p1000 != 0x1p-60;     /* and here where operands are     */
    }
    assert_int_equal(lost, 0);
}

/* The likelihood of n points in a unit of r, and its gradient in r. */
static double in_unit(const ct_kernel *k, ct_dtype dtype, const double *X, const double *r, int64_t n,
                      double unit, double *r_bar)
{
    const double theta[] = { unit * unit, 1 };
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *t[] = { ct_from(device, CT_F64, ct_shape1(2), theta),
                       ct_from(device, CT_F64, ct_shape2(n, 1), X), ct_from(device, CT_F64, ct_shape1(n), r),
                       ct_full(device, CT_F64, ct_shape0(), 0.1 * unit * unit) };
    ct_var in[4];
    for (int i = 0; i < 4; i++) {
        ct_tensor *own = ct_tensor_cast(t[i], dtype);
        in[i] = (i == 2 ? ct_leaf : ct_constant)(tape, own);
        ct_release(own), ct_release(t[i]);
    }
    ct_var y = ct_gp_nlml(k, in[0], in[1], ct_scale(in[2], unit), in[3]);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    double *bar = gp_host(ct_cotangent(in[2])), value = ct_item(y);
    memcpy(r_bar, bar, (size_t)n * sizeof *bar);
    free(bar);
    ct_tape_free(tape);
    return value;
}

/* Two groups of points so far apart that their covariances are subnormal: the likelihood is the sum of
 * both's. In a unit in which all covariances are nearly that small it differs by n log(unit). The threads'
 * treatment of subnormals stays as it is. */
static void subnormal_covariances(void **state)
{
    (void)state;
    enum { HALF = 160, N = 2 * HALF };
    double X[N], r[N], bar[N], other[N];
    ct_kernel *k = ct_kernel_parse("scale * rbf");
    assert_ok(ct_kernel_bind(k, 1), ct_kernel_message(k));
    for (int dtype = CT_F64; dtype <= CT_F32; dtype++) {
        const double apart = dtype == CT_F64 ? 38 : 13.8, accuracy = dtype == CT_F64 ? 1e-11 : 1e-4,
                     of_bar = 50 * accuracy, unit = dtype == CT_F64 ? 0x1p-508 : 0x1p-61;
        for (int i = 0; i < N; i++) X[i] = i % HALF * 0.01 + (i < HALF ? 0 : apart), r[i] = sin(7 * i);
        const double all = in_unit(k, dtype, X, r, N, 1, bar),
                     parts = in_unit(k, dtype, X, r, HALF, 1, other) +
                             in_unit(k, dtype, X + HALF, r + HALF, HALF, 1, other + HALF);
        assert_close(all, parts, accuracy, 0);
        for (int i = 0; i < N; i++) assert_close(bar[i], other[i], of_bar, of_bar);
        assert_close(in_unit(k, dtype, X, r, N, unit, other) - N * log(unit), all, accuracy, 0);
        for (int i = 0; i < N; i++) assert_close(bar[i], other[i], of_bar, of_bar);
    }
    ct_kernel_free(k);
    subnormals_stay();
}

static void indefinite_is_flagged(void **state)
{
    (void)state;
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *X = tensor2(device, 2, 1, 0.0, 0.0), *r = tensor1(device, 2, 1.0, 2.0),
              *zero = tensor1(device, 1, 0.0);
    ct_kernel *k = ct_kernel_rbf();
    assert_ok(ct_kernel_bind(k, 1), ct_kernel_message(k));
    ct_var y = ct_gp_nlml(k, ct_kernel_theta(k, tape, CT_F64), ct_constant(tape, X), ct_constant(tape, r),
                          ct_constant(tape, zero));
    assert_true(isnan(ct_item(y)));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    assert_non_null(strstr(ct_tape_message(tape), "minor 2"));
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_release(X);
    ct_release(r);
    ct_release(zero);
    subnormals_stay();
}

/* Two points 1.5e-8 apart, or 5e-4 in f32: C is [1 1-ε; 1-ε 1], whose Cholesky factorisation succeeds with a
 * pivot of rounding size. With the device's own sweep and without. */
static void singular_to_rounding_is_flagged(void **state)
{
    (void)state;
    const ct_backend *own = device->backend;
    ct_backend plain = *own;
    plain.packed_sweep = NULL;
    ct_kernel *k = ct_kernel_rbf();
    assert_ok(ct_kernel_bind(k, 1), ct_kernel_message(k));
    for (int kind = 0; kind < 16; kind++) {
        const ct_dtype dtype = kind & 1 ? CT_F32 : CT_F64;
        const bool fine = kind & 8; /* with noise enough */
        device->backend = kind & 4 ? &plain : own;
        ct_tape *tape = ct_tape_new(device);
        ct_tensor *X = tensor2(device, 3, 1, 5.0, 0.0, kind & 1 ? 5e-4 : 1.5e-8),
                  *r = tensor1(device, 3, 1.0, 1.0, 2.0), *noise = tensor1(device, 1, fine ? 1e-4 : 0.0);
        ct_tensor *in[] = { ct_tensor_cast(X, dtype), ct_tensor_cast(r, dtype),
                            ct_tensor_cast(noise, dtype) };
        ct_var theta = ct_kernel_theta(k, tape, dtype), x = ct_leaf(tape, in[0]), y = ct_leaf(tape, in[1]),
               v = ct_leaf(tape, in[2]);
        ct_var value = (kind & 2 ? ct_gp_loo_nlpd : ct_gp_nlml)(k, theta, x, y, v);
        if (isnan(ct_item(value)) == fine)
            fail_msg("kind %d: %g, %s", kind, ct_item(value), ct_tape_message(tape));
        assert_status(ct_tape_status(tape), fine ? CT_OK : CT_ENUMERIC, ct_tape_message(tape));
        assert_status(ct_backward(value), fine ? CT_OK : CT_ENUMERIC, ct_tape_message(tape));
        if (!fine) assert_non_null(strstr(ct_tape_message(tape), "minor 3"));
        ct_tensor *all[] = { X, r, noise, in[0], in[1], in[2] };
        for (int i = 0; i < 6; i++) ct_release(all[i]);
        ct_tape_free(tape);
    }
    device->backend = own;
    ct_kernel_free(k);
}

static void shapes_are_checked(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_rbf();
    assert_ok(ct_kernel_bind(k, 2), ct_kernel_message(k));
    ct_tensor *X = tensor2(device, 2, 2, 2.0, 0.0, 0.0, 2.0),
              *bad = tensor2(device, 2, 3, 1.0, 0, 0, 0, 1, 0);
    ct_tensor *one = tensor1(device, 1, 1.0), *two = tensor1(device, 2, 1.0, 2.0),
              *three = tensor1(device, 3, 1.0, 2.0, 3.0);
    /* theta, X, r, noise */
    ct_tensor *in[][4] = {
        { one, bad, two, two }, { one, X, three, two }, { one, X, two, three }, { two, X, two, two }
    };
    for (int i = 0; i < 4; i++) {
        ct_tape *tape = ct_tape_new(device);
        ct_gp_nlml(k, ct_leaf(tape, in[i][0]), ct_leaf(tape, in[i][1]), ct_leaf(tape, in[i][2]),
                   ct_leaf(tape, in[i][3]));
        assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
        ct_tape_free(tape);
    }
    ct_kernel_free(k);
    ct_release(X);
    ct_release(bad);
    ct_release(one);
    ct_release(two);
    ct_release(three);
}

static void needs_a_bound_kernel(void **state)
{
    (void)state;
    ct_kernel *k = ct_kernel_rbf();
    ct_tensor *one = tensor1(device, 1, 1.0);
    ct_tape *tape = ct_tape_new(device);
    ct_var v = ct_leaf(tape, one);
    ct_gp_nlml(k, v, v, v, v);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
    ct_tape_reset(tape);
    v = ct_leaf(tape, one);
    ct_apply(&ct__op_gp_nlml, (ct_var[]){ v, v, v, v }, 4, NULL, 0);
    assert_status(ct_tape_status(tape), CT_EINVAL, ct_tape_message(tape));
    ct_tape_free(tape);
    ct_kernel_free(k);
    ct_release(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_agrees_with_differences),
        cmocka_unit_test(equals_the_composition),
        cmocka_unit_test(equals_it_for_every_kind_of_kernel),
        cmocka_unit_test(holds_in_single_precision),
        cmocka_unit_test(memory_is_one_triangle),
        cmocka_unit_test(sweeps_again),
        cmocka_unit_test(subnormal_covariances),
        cmocka_unit_test(indefinite_is_flagged),
        cmocka_unit_test(singular_to_rounding_is_flagged),
        cmocka_unit_test(shapes_are_checked),
        cmocka_unit_test(needs_a_bound_kernel),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
