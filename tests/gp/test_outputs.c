/* Several outputs: against the dense formulas, the models of single outputs, and themselves from a file. */
#include "gp_device.h"

#include <cotangent/gradcheck.h>
#include <cotangent/io.h>
#include <cotangent/ops.h>
#include <cotangent/outputs.h>

#include "alloc.h"
#include "gp/model/model.h"
#include "reference/outputs_tables.h"

#include <string.h>
#include <unistd.h>

enum { N = OUTPUTS_N, P = OUTPUTS_P, NEW = OUTPUTS_NEW, ROWS = sizeof outputs_table / sizeof *outputs_table };

static char path[256];
static const ct_column names[] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };

static ct_tensor *tensor(ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *f64 = assert_tensor(ct_from(device, CT_F64, shape, x), device);
    ct_tensor *t = assert_tensor(ct_tensor_cast(f64, dtype), device);
    ct_release(f64);
    return t;
}

static ct_tensor *ones(ct_shape shape) { return assert_tensor(ct_full(device, CT_F64, shape, 1), device); }

static void assert_outputs(const ct_outputs *o)
{
    if (!o) fail_msg("no outputs: %s", ct_message(device));
}

/* |a - b| <= tolerance max(|b|, unit), where b is not NaN */
static void assert_near(const char *what, const double *a, const double *b, int64_t n, double tolerance,
                        double unit)
{
    for (int64_t i = 0; i < n; i++)
        if (!isnan(b[i]) && !(fabs(a[i] - b[i]) <= tolerance * fmax(unit, fabs(b[i]))))
            fail_msg("%s, element %lld: %.17g is not %.17g", what, (long long)i, a[i], b[i]);
}

/* Outputs of the table's first rows with the parameters of a row of it. */
static ct_outputs *make(const struct outputs_row *row, int64_t rows, ct_dtype dtype)
{
    const bool joint = row->name[0] == 'j';
    ct_tensor *X = tensor(dtype, ct_shape2(rows, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(rows, P), strchr(row->name, ',') ? outputs_Y_missing : outputs_Y);
    const ct_outputs_options how = { .kind = joint ? CT_OUTPUTS_JOINT : CT_OUTPUTS_SHARED,
                                     .outputs = names,
                                     .rank = 2 };
    ct_outputs *o = ct_outputs_new(X, Y, ct_kernel_parse(joint ? "rbf(ard)" : "scale * rbf(ard)"), &how);
    ct_release(X), ct_release(Y);
    assert_outputs(o);
    ct_gp *whole = ct_outputs_whole(o);
    assert_int_equal(ct_gp_params(whole), row->n_params);
    for (int64_t i = 0; i < row->n_params; i++) {
        ct_param p = *ct_gp_param(whole, i);
        p.value = row->theta[i];
        assert_ok(ct_gp_set_param(whole, i, &p), ct_message(device));
    }
    return o;
}

/* -- against the table ----------------------------------------------------------------------------------- */

static void check_values(const struct outputs_row *row, ct_outputs *o)
{
    ct_gp *whole = ct_outputs_whole(o);
    const int64_t n = ct_gp_params(whole);
    double u[16], value, gradient[16], nlml = ct_outputs_nlml(o);
    assert_near(row->name, &nlml, &row->nlml, 1, 1e-11, 1);
    for (int64_t i = 0; i < n; i++)
        u[i] = ct_gp_param(whole, i)->any_sign ? row->theta[i] : log(row->theta[i]);
    assert_ok(ct_gp_objective(whole, u, &value, gradient), ct_message(device));
    assert_near("objective", &value, &row->nlml, 1, 1e-11, 1);
    assert_near("gradient", gradient, row->gradient, n, 1e-10, 1);
}

static void check_predictions(const struct outputs_row *row, ct_outputs *o)
{
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X),
              *mean = tensor(CT_F64, ct_shape2(NEW, P), row->mean),
              *C = tensor(CT_F64, ct_shape2(NEW * P, NEW * P), row->covariance),
              *one = tensor(CT_F64, ct_shape1(NEW), row->mean),
              *variance = tensor(CT_F64, ct_shape1(NEW), row->mean),
              *left = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(N)), device);
    assert_ok(ct_outputs_predict_full(o, Xs, false, mean, C), ct_message(device));
    double *m = gp_host(mean), *c = gp_host(C);
    assert_near("mean", m, row->mean, NEW * P, 1e-11, 0);
    assert_near("covariance", c, row->covariance, NEW * P * NEW * P, 1e-10, 1e-9);
    for (int64_t j = 0; j < P; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        assert_gp(gp, device);
        assert_string_equal(ct_gp_output(gp)->name, names[j].name);
        assert_int_equal(ct_gp_dims(gp), 2);
        assert_ok(ct_gp_predict(gp, Xs, one, variance), ct_message(device));
        double *a = gp_host(one), *v = gp_host(variance);
        for (int64_t i = 0; i < NEW; i++) {
            assert_near("mean of one", &a[i], &row->mean[i * P + j], 1, 1e-11, 0);
            assert_near("variance of one", &v[i], &row->covariance[(i * P + j) * (NEW * P + 1)], 1, 1e-10, 0);
        }
        free(a), free(v);
    }
    ct_release(Xs), ct_release(mean), ct_release(C), ct_release(one), ct_release(variance), ct_release(left);
    free(m), free(c);
}

static void check_left_out(const struct outputs_row *row, ct_outputs *o)
{
    for (int64_t j = 0; j < P; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        const int64_t n = ct_gp_points(gp);
        ct_tensor *mean = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(n)), device);
        assert_ok(ct_gp_loo(gp, mean, NULL, NULL), ct_message(device));
        double *m = gp_host(mean);
        for (int64_t i = 0, k = 0; i < N; i++)
            if (!isnan(row->left_out[i * P + j]))
                assert_near("leave-one-out", &m[k++], &row->left_out[i * P + j], 1, 1e-10, 0);
        free(m);
        ct_release(mean);
    }
}

static void the_dense_formulas(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        ct_outputs *o = make(&outputs_table[r], N, CT_F64);
        check_values(&outputs_table[r], o);
        check_predictions(&outputs_table[r], o);
        check_left_out(&outputs_table[r], o);
        ct_outputs_free(o);
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
        ct_var in[4], by[2][4], v[2];
        for (int i = 0; i < 4; i++) {
            ct_var raw = ct_leaf(tape, t[i]);
            in[i] = i == 0 || i == 3 ? ct_shift(raw, 0.3) : raw;
            ct_release(t[i]);
        }
        v[0] = ct_outputs_nlml_shared(k, in[0], in[1], in[2], in[3]);
        v[1] = column_by_column(k, in, p);
        const double tolerance = dtype == CT_F64 ? 1e-11 : 2e-3, unit = dtype == CT_F64 ? 1 : (double)n;
        double a = ct_item(v[0]), b = ct_item(v[1]);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        assert_near("value", &a, &b, 1, tolerance, unit);
        for (int recorded = 0; recorded < 2; recorded++) {
            for (int side = 0; side < 2; side++)
                assert_ok(ct_grad(v[side], ct_scalar(tape, dtype, 1.5), in, by[side], 4,
                                  recorded && !side ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                          ct_tape_message(tape));
            for (int i = 0; i < 4; i++) {
                double *x = gp_host(ct_value(by[0][i])), *y = gp_host(ct_value(by[1][i]));
                assert_near("gradient", x, y, ct_tensor_count(ct_value(by[1][i])), 100 * tolerance, unit);
                free(x), free(y);
            }
        }
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

/* Equal rows without noise: NaN, and told. */
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

/* Where there are eigenvectors. */
static bool on_cpu(void) { return !strcmp(ct_device_name(device), "cpu"); }

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
        ct_var in[4], by[2][4];
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
        const double tolerance = dtype == CT_F64 ? 1e-11 : 2e-3, unit = dtype == CT_F64 ? 1 : (double)n;
        double a = ct_item(v), b = ct_item(dense);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        assert_near("value", &a, &b, 1, tolerance, unit);
        for (int recorded = 0; recorded < 2; recorded++) {
            assert_ok(ct_grad(v, ct_scalar(tape, dtype, 1.5), in, by[0], 4,
                              recorded ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                      ct_tape_message(tape));
            assert_ok(ct_grad(dense, ct_scalar(tape, dtype, 1.5), in, by[1], 4, CT_GRAD_KEEP),
                      ct_tape_message(tape));
            for (int i = 0; i < 4; i++) {
                double *x = gp_host(ct_value(by[0][i])), *y = gp_host(ct_value(by[1][i]));
                assert_near("gradient", x, y, ct_tensor_count(ct_value(by[1][i])), 100 * tolerance, unit);
                free(x), free(y);
            }
        }
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
        const ct_status told = !nan ? CT_ESHAPE : on_cpu() ? CT_ENUMERIC : CT_EUNSUPPORTED;
        assert_status(ct_tape_status(tape), told, ct_tape_message(tape));
        ct_tape_free(tape);
    }
}

/* An eigenvalue of K or B below zero is told. Their upper triangles are not read, recorded or not. */
static void kronecker_reads_lower_triangles_of_covariances(void **state)
{
    (void)state;
    if (!on_cpu()) return;
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

/* -- fits ------------------------------------------------------------------------------------------------ */

static ct_outputs *fitted(ct_outputs_kind kind, int64_t n)
{
    gp_data s = gp_data_new(device, CT_F64, n, 2);
    double *Y = malloc((size_t)(3 * n) * sizeof *Y);
    for (int64_t i = 0; i < n; i++) {
        Y[3 * i] = s.y_host[i];
        Y[3 * i + 1] = 100 - 7 * s.y_host[i] + (double)(i % 3);
        Y[3 * i + 2] = 0.01 * s.y_host[(i * 7) % n];
    }
    ct_tensor *all = tensor(CT_F64, ct_shape2(n, 3), Y);
    ct_outputs *o = ct_outputs_new(s.X, all, ct_kernel_parse("scale * rbf(ard)"),
                                   &(ct_outputs_options){ .kind = kind, .outputs = names });
    assert_outputs(o);
    assert_ok(ct_outputs_fit(o, &(ct_fit_options){ .restarts = 1 }), ct_message(device));
    ct_release(all);
    free(Y);
    gp_data_free(&s);
    return o;
}

static void a_shared_fit_lowers_the_sum(void **state)
{
    (void)state;
    ct_outputs *o = fitted(CT_OUTPUTS_SHARED, 40);
    ct_gp *whole = ct_outputs_whole(o);
    assert_true(ct_fit_converged(ct_gp_report(whole).end));
    const double objective = ct_gp_report(whole).objective, nlml = ct_outputs_nlml(o);
    assert_near("objective", &objective, &nlml, 1, 1e-10, 1);
    for (int64_t i = 0; i < ct_gp_params(whole); i++) { /* a minimum */
        for (int side = -1; side <= 1; side += 2) {
            ct_param before = *ct_gp_param(whole, i), p = before;
            p.value *= 1 + 0.01 * side;
            assert_ok(ct_gp_set_param(whole, i, &p), ct_message(device));
            assert_true(ct_outputs_nlml(o) >= nlml - 1e-7);
            assert_ok(ct_gp_set_param(whole, i, &before), ct_message(device));
        }
    }
    /* what the outputs have in common, in their own units */
    ct_gp *a = ct_outputs_model(o, 0), *b = ct_outputs_model(o, 1);
    assert_near("lengthscale", &(double){ gp_get(a, "rbf.lengthscale[0]") },
                &(double){ gp_get(b, "rbf.lengthscale[0]") }, 1, 0, 0);
    const double share = gp_get(whole, "noise.variance") / gp_get(whole, "scale.variance");
    for (int64_t j = 0; j < 3; j++) {
        ct_gp *gp = ct_outputs_model(o, j);
        const double own = gp_get(gp, "noise.variance") / gp_get(gp, "scale.variance");
        assert_near("share of the noise", &own, &share, 1, 1e-12, 0);
    }
    ct_outputs_free(o);
}

static double *column_of(ct_outputs *o, int64_t j, int64_t *n)
{
    ct_gp *gp = ct_outputs_model(o, j);
    *n = ct_gp_points(gp);
    ct_tensor *y = assert_tensor(ct_zeros(device, CT_F64, ct_shape1(*n)), device);
    assert_ok(ct_gp_data(gp, NULL, y), ct_message(device));
    double *host = gp_host(y);
    ct_release(y);
    return host;
}

/* What a model of one joint output says of itself, and that a fit by Kronecker products ends where one of the
 * whole matrix does. */
static void a_joint_output_is_a_model(void **state)
{
    (void)state;
    ct_outputs *o = make(&outputs_table[2], N, CT_F64), *full = make(&outputs_table[1], N, CT_F64);
    assert_int_equal(ct_outputs_whole(full)->in_grid, on_cpu() ? P : 0);
    assert_int_equal(ct_outputs_whole(o)->in_grid, 0);
    assert_int_equal(ct_outputs_values(o), N * P - 4);
    for (int64_t j = 0; j < P; j++) {
        int64_t n;
        double *y = column_of(o, j, &n);
        for (int64_t i = 0, k = 0; i < N; i++)
            if (!isnan(outputs_Y_missing[i * P + j]))
                assert_near("data", &y[k++], &outputs_Y_missing[i * P + j], 1, 1e-14, 0);
        free(y);
    }
    ct_gp *gp = ct_outputs_model(o, 1);
    assert_int_equal(ct_gp_points(gp), N - 1);
    assert_int_equal(ct_gp_get_options(gp).noise, CT_NOISE_LEARNED);
    assert_null(ct_gp_input(gp, 2));
    assert_true(ct_gp_noise_variance(gp) == gp_get(gp, "noise.variance[b]"));
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *own = assert_tensor(ct_zeros(device, CT_F64, ct_shape2(N - 1, 2)), device);
    assert_ok(ct_gp_data(gp, own, NULL), ct_message(device));
    double *x = gp_host(own), first[2], total[2], without[2];
    assert_near("inputs", x, outputs_X + 2, 2 * (N - 1), 1e-14, 0); /* row 0 has no b */
    assert_ok(ct_gp_sobol(gp, 64, 1, first, total), ct_message(device));
    assert_ok(ct_gp_loo_without(gp, (int64_t[]){ 1 }, 1, without), ct_message(device));
    assert_ok(ct_gp_loo_without(gp, NULL, 0, without + 1), ct_message(device));
    assert_true(without[0] != without[1]);
    assert_failed(ct_gp_loo_without(gp, (int64_t[]){ 2 }, 1, without), device, CT_EINDEX, "column 2 of 2");
    /* on a tape */
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X);
    ct_var at = ct_leaf(tape, Xs), m, v, C;
    ct_gp_posterior(gp, at, true, &m, &v);
    ct_gp_posterior_full(gp, at, false, NULL, &C);
    assert_ok(ct_check(m), ct_tape_message(tape));
    double *mean = gp_host(ct_value(m)), *variance = gp_host(ct_value(v)), *covariance = gp_host(ct_value(C));
    for (int64_t i = 0; i < NEW; i++) {
        const double *row = outputs_table[2].covariance + (i * P + 1) * NEW * P,
                     noise = ct_gp_noise_variance(gp);
        assert_near("mean", &mean[i], &outputs_table[2].mean[i * P + 1], 1, 1e-11, 0);
        assert_near("variance", &variance[i], &(double){ row[i * P + 1] + noise }, 1, 1e-10, 0);
        for (int64_t l = 0; l < NEW; l++)
            assert_near("covariance", &covariance[i * NEW + l], &row[l * P + 1], 1, 1e-9, 1e-6);
    }
    free(x), free(mean), free(variance), free(covariance);
    ct_tape_free(tape);
    ct_gp_numerics q;
    assert_ok(ct_gp_inspect(gp, &q), ct_message(device));
    assert_true(q.pivot_row >= 0 && q.pivot_row < N - 1 && q.gradient_error < 1e-8 && q.gradient_error > 0);
    /* a new factor has the same likelihood */
    ct_gp *copy = ct_gp_copy(gp);
    gp_set(copy, "rbf.lengthscale[0]", 1, false);
    gp_set(copy, "rbf.lengthscale[0]", gp_get(gp, "rbf.lengthscale[0]"), false);
    assert_near("nlml", &(double){ ct_gp_nlml_value(copy) }, &(double){ ct_gp_nlml_value(gp) }, 1, 1e-12, 1);
    ct_gp_free(copy);
    /* what belongs to all outputs */
    int64_t folds[N] = { 0 };
    assert_failed(ct_gp_cross_validate(gp, folds, NULL, NULL, NULL), device, CT_EUNSUPPORTED,
                  "one output of several");
    assert_failed(ct_gp_save(gp, path), device, CT_EUNSUPPORTED, "ct_outputs_save");
    assert_failed(ct_gp_append(gp, own, own, NULL), device, CT_EUNSUPPORTED, "ct_outputs_append");
    assert_failed(ct_gp_noise_at(gp, Xs, Xs, own), device, CT_ESHAPE, "");
    ct_release(X), ct_release(own), ct_release(Xs);
    ct_outputs_free(o), ct_outputs_free(full);
}

static void a_fit_in_the_grid_is_the_fit(void **state)
{
    (void)state;
    ct_outputs *o[2] = { NULL };
    for (int k = 0; k < 2; k++) {
        ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
                  *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y);
        o[k] =
            ct_outputs_new(X, Y, ct_kernel_parse("rbf(ard)"),
                           &(ct_outputs_options){ .kind = CT_OUTPUTS_JOINT, .model.priors = CT_PRIORS_WEAK });
        assert_outputs(o[k]);
        if (k) ct_outputs_whole(o[k])->in_grid = 0;
        assert_ok(ct_outputs_fit(o[k], &(ct_fit_options){ .restarts = 1, .tolerance = 1e-9 }),
                  ct_message(device));
        ct_release(X), ct_release(Y);
    }
    const double a = ct_gp_report(ct_outputs_whole(o[0])).objective,
                 b = ct_gp_report(ct_outputs_whole(o[1])).objective;
    assert_near("objective", &a, &b, 1, 1e-6, 1);
    ct_outputs_free(o[0]), ct_outputs_free(o[1]);
}

/* Kernels of joint outputs that are a product of input and output, and those that are not. */
static void kernels_on_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *kernel;
        bool grid;
        int64_t params;
    } list[] = {
        { "rbf", true, 2 * P + 1 + P },
        { "scale * (rbf + constant) * matern32(dims=0)", true, 2 * P + 4 + P },
        { "index(dims=2) * rbf(dims=0:1) + index(dims=2) * linear(dims=0:1)", false, 4 * P + 2 + P },
        { "index(rank=2, dims=2) * rbf(dims=0:1) * index(dims=2)", true, 5 * P + 1 + P },
        { "rbf + white", false, 2 * P + 2 + P },
        { "category(dims=2) * rbf(dims=0)", true, 2 + P },
    };
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        ct_outputs *o = ct_outputs_new(X, Y, ct_kernel_parse(list[i].kernel),
                                       &(ct_outputs_options){ .kind = CT_OUTPUTS_JOINT });
        assert_outputs(o);
        ct_gp *whole = ct_outputs_whole(o);
        assert_int_equal(ct_gp_params(whole), list[i].params);
        assert_int_equal(whole->in_grid, list[i].grid && on_cpu() ? P : 0);
        double u[32], with, without, gradient[2][32];
        for (int64_t k = 0; k < ct_gp_params(whole); k++) {
            const ct_param *p = ct_gp_param(whole, k);
            u[k] = p->any_sign ? p->value : log(p->value);
        }
        assert_ok(ct_gp_objective(whole, u, &with, gradient[0]), ct_message(device));
        whole->in_grid = 0;
        assert_ok(ct_gp_objective(whole, u, &without, gradient[1]), ct_message(device));
        assert_near("value", &with, &without, 1, 1e-12, 1);
        assert_near("gradient", gradient[0], gradient[1], ct_gp_params(whole), 1e-10, 1);
        ct_outputs_free(o);
    }
    ct_release(X), ct_release(Y);
}

static void each_is_a_model_of_its_own(void **state)
{
    (void)state;
    ct_outputs *o = fitted(CT_OUTPUTS_EACH, 30);
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 1 }), ct_message(device));
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        assert_true(ct_gp_param(gp, i)->value == ct_gp_param(ct_outputs_model(o, 0), i)->value);
    assert_null(ct_outputs_whole(o));
    assert_int_equal(ct_outputs_find(o, "c"), 2);
    assert_int_equal(ct_outputs_find(o, "d"), -1);
    ct_gp_free(gp);
    ct_outputs_free(o);
    gp_data_free(&s);
}

/* -- rows more ------------------------------------------------------------------------------------------- */

static void assert_same_models(ct_outputs *a, ct_outputs *b, double tolerance)
{
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X);
    for (int64_t j = 0; j < ct_outputs_count(a); j++) {
        double *out[2][2];
        for (int k = 0; k < 2; k++) {
            ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(NEW)),
                      *variance = ct_empty(device, CT_F64, ct_shape1(NEW));
            ct_gp *gp = ct_outputs_model(k ? b : a, j);
            assert_gp(gp, device);
            assert_ok(ct_gp_predict_noisy(gp, Xs, mean, variance), ct_message(device));
            out[k][0] = gp_host(mean), out[k][1] = gp_host(variance);
            ct_release(mean), ct_release(variance);
        }
        for (int i = 0; i < 2; i++) {
            assert_near(i ? "variance" : "mean", out[0][i], out[1][i], NEW, tolerance, 0);
            free(out[0][i]), free(out[1][i]);
        }
    }
    ct_release(Xs);
}

static void rows_are_appended(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        ct_outputs *all = make(&outputs_table[r], N, CT_F64);
        const double *Y = strchr(outputs_table[r].name, ',') ? outputs_Y_missing : outputs_Y;
        ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
                  *all_Y = tensor(CT_F64, ct_shape2(N, P), Y);
        ct_tensor *X2 = ct_tensor_slice(X, 0, 4, N, 1), *Y2 = ct_tensor_slice(all_Y, 0, 4, N, 1);
        ct_outputs *o = make(&outputs_table[r], N, CT_F64);
        assert_same_models(o, all, 0);
        assert_ok(ct_outputs_append(o, X2, Y2, NULL), ct_message(device));
        ct_outputs *twice = make(&outputs_table[r], N, CT_F64);
        assert_ok(ct_outputs_append(twice, X2, Y2, NULL), ct_message(device));
        assert_same_models(o, twice, 1e-11);
        assert_true(ct_outputs_nlml(o) != ct_outputs_nlml(all));
        ct_outputs_free(o), ct_outputs_free(all), ct_outputs_free(twice);
        ct_release(X), ct_release(all_Y), ct_release(X2), ct_release(Y2);
    }
}

/* -- files ----------------------------------------------------------------------------------------------- */

static void the_same_bits_come_back(void **state)
{
    (void)state;
    for (int kind = CT_OUTPUTS_EACH; kind <= CT_OUTPUTS_JOINT; kind++) {
        for (int bare = 0; bare < 2; bare++) {
            ct_outputs *o = fitted((ct_outputs_kind)kind, 20);
            assert_ok(ct_outputs_save(o, path, &(ct_gp_save_options){ .no_factor = bare }),
                      ct_message(device));
            ct_outputs *back = ct_outputs_load(device, path);
            assert_outputs(back);
            assert_int_equal(ct_outputs_kind_of(back), kind);
            assert_int_equal(ct_outputs_count(back), 3);
            assert_int_equal(ct_outputs_find(back, "b"), 1);
            assert_same_models(o, back, bare ? 1e-12 : 0);
            assert_null(ct_gp_load(device, path));
            assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
            assert_non_null(strstr(ct_message(device), "ct_outputs_load"));
            assert_ok(ct_outputs_fit(back, NULL), ct_message(device));
            ct_outputs_free(o), ct_outputs_free(back);
        }
    }
}

static void a_model_is_one_output(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 12, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    ct_outputs *o = ct_outputs_load(device, path);
    assert_outputs(o);
    assert_int_equal(ct_outputs_count(o), 1);
    assert_string_equal(ct_gp_output(ct_outputs_model(o, 0))->name, "y");
    assert_ok(ct_outputs_save(o, path, NULL), ct_message(device));
    ct_gp *back = ct_gp_load(device, path);
    assert_gp(back, device);
    ct_gp_free(gp), ct_gp_free(back), ct_outputs_free(o);
    gp_data_free(&s);
}

static void all_damage_is_seen(void **state)
{
    (void)state;
    ct_outputs *o = make(&outputs_table[0], 3, CT_F64);
    assert_ok(ct_outputs_save(o, path, NULL), ct_message(device));
    ct_bytes file;
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    unsigned char *b = file.data;
    for (size_t i = 0; i < 2 * file.size; i++) {
        const size_t length = i < file.size ? file.size : i - file.size;
        if (i < file.size) b[i] ^= 4;
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(b, 1, length, f), length);
        fclose(f);
        if (i < file.size) b[i] ^= 4;
        assert_null(ct_outputs_load(device, path));
        assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
    }
    ct_bytes_free(device, &file);
    ct_outputs_free(o);
}

/* -- memory ---------------------------------------------------------------------------------------------- */

typedef struct job {
    ct_outputs_kind kind;
    ct_tensor *X, *Y, *mean, *C;
    ct_outputs *o;
} job;

static ct_status make_job(job *j)
{
    ct_outputs *o =
        ct_outputs_new(j->X, j->Y, ct_kernel_parse("scale * rbf"), &(ct_outputs_options){ .kind = j->kind });
    ct_outputs_free(o);
    return o ? CT_OK : ct_last_status(device);
}
static ct_status model_job(job *j)
{
    ct_gp *gp = ct_outputs_model(j->o, 1);
    return gp ? CT_OK : ct_last_status(device);
}
static ct_status device_job(job *j) { return ct_device_status(ct_outputs_device(j->o)); }
static ct_status fit_job(job *j) { return ct_outputs_fit(j->o, &(ct_fit_options){ .max_iterations = 1 }); }
static ct_status predict_job(job *j) { return ct_outputs_predict_full(j->o, j->X, true, j->mean, j->C); }
static ct_status append_job(job *j) { return ct_outputs_append(j->o, j->X, j->Y, NULL); }
static ct_status save_job(job *j) { return ct_outputs_save(j->o, path, NULL); }
static ct_status load_job(job *j)
{
    (void)j;
    ct_outputs *o = ct_outputs_load(device, path);
    ct_outputs_free(o);
    return o ? CT_OK : ct_last_status(device);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static ct_status (*const jobs[])(job *) = { device_job,  make_job,   model_job, fit_job,
                                                predict_job, append_job, save_job,  load_job };
    enum { JOBS = sizeof jobs / sizeof *jobs };
    for (int run = 0; run < 3 * JOBS; run++) {
        job j = { .kind = (ct_outputs_kind)(run / JOBS),
                  .X = tensor(CT_F64, ct_shape2(4, 2), outputs_X),
                  .Y = tensor(CT_F64, ct_shape2(4, P), outputs_Y),
                  .mean = ones(ct_shape2(4, P)),
                  .C = ones(ct_shape2(4 * P, 4 * P)) };
        ct_status s = CT_ENOMEM;
        for (int64_t k = 1; s; k++) {
            j.o = ct_outputs_new(j.X, j.Y, ct_kernel_parse("scale * rbf"),
                                 &(ct_outputs_options){ .kind = j.kind });
            assert_outputs(j.o);
            if (run % JOBS == JOBS - 1) assert_ok(save_job(&j), ct_message(device));
            const double before = ct_outputs_nlml(j.o);
            alloc_fail_at(k);
            s = jobs[run % JOBS](&j);
            const bool refused = alloc_refused();
            alloc_unwatch();
            if (s) assert_status(s, CT_ENOMEM, ct_message(device));
            const bool others_go_on = j.kind == CT_OUTPUTS_EACH && jobs[run % JOBS] == fit_job;
            if (s) assert_true(refused && (others_go_on || before == ct_outputs_nlml(j.o)));
            ct_outputs_free(j.o);
            if (!refused) assert_ok(s, ct_message(device));
            s = refused ? CT_ENOMEM : s;
        }
        ct_release(j.X), ct_release(j.Y), ct_release(j.mean), ct_release(j.C);
    }
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static void bad_input_is_refused(void **state)
{
    (void)state;
    ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
              *Y = tensor(CT_F64, ct_shape2(N, P), outputs_Y),
              *missing = tensor(CT_F64, ct_shape2(N, P), outputs_Y_missing), *given = ones(ct_shape1(N)),
              *whole = ct_zeros(device, CT_I64, ct_shape2(N, P)), *flat = ones(ct_shape2(N, P));
#define REFUSED(X, Y, status, text, ...)                                                               \
    assert_refused(ct_outputs_new(X, Y, ct_kernel_parse("rbf"), &(ct_outputs_options){ __VA_ARGS__ }), \
                   device, status, text)
    REFUSED(NULL, Y, CT_EINVAL, "X is NULL", 0);
    REFUSED(X, NULL, CT_EINVAL, "Y is NULL", 0);
    REFUSED(Y, X, CT_EINVAL, "no kind 7", .kind = 7);
    const ct_column twice[] = { { .name = "a" }, { .name = "b" }, { .name = "a" } };
    REFUSED(X, Y, CT_EINVAL, "output 2 has no unique name", .outputs = twice);
    REFUSED(X, whole, CT_EDTYPE, "f64 or f32", 0);
    REFUSED(X, missing, CT_EINVAL, "Y: row 0, column 1 is NaN", .kind = CT_OUTPUTS_SHARED);
    REFUSED(X, Y, CT_EUNSUPPORTED, "averages", .kind = CT_OUTPUTS_SHARED,
            .model = { .mean = CT_MEAN_LINEAR });
    REFUSED(X, Y, CT_EUNSUPPORTED, "learn a noise for each", .kind = CT_OUTPUTS_JOINT,
            .model = { .noise = CT_NOISE_NONE });
    REFUSED(X, Y, CT_EUNSUPPORTED, "transform", .kind = CT_OUTPUTS_SHARED,
            .model = { .transform = CT_TRANSFORM_LOG });
    REFUSED(X, Y, CT_EINVAL, "a rank of 4 for 3", .kind = CT_OUTPUTS_JOINT, .rank = 4);
    REFUSED(X, Y, CT_EUNSUPPORTED, "given noise", .kind = CT_OUTPUTS_SHARED,
            .model = { .noise = CT_NOISE_GIVEN, .noise_variances = given });
    ct_tensor *few = ones(ct_shape1(3)), *many = ones(ct_shape1(2 * N));
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_GIVEN, .noise_variances = few });
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_GIVEN, .noise_variances = many });
    REFUSED(X, Y, CT_ESHAPE, "n numbers", .model = { .noise = CT_NOISE_BY_LEVEL, .noise_levels = few });
    REFUSED(X, Y, CT_EINVAL, "belong with", .model = { .noise_levels = given });
    ct_release(few), ct_release(many);
#undef REFUSED
    ct_outputs *o = ct_outputs_new(X, flat, ct_kernel_parse("scale * rbf"),
                                   &(ct_outputs_options){ .kind = CT_OUTPUTS_SHARED });
    assert_outputs(o); /* constant outputs have a deviation of 1 */
    assert_null(ct_outputs_model(o, 3));
    assert_status(ct_last_status(device), CT_EINDEX, ct_message(device));
    assert_failed(ct_outputs_predict_full(o, Y, false, NULL, Y), device, CT_ESHAPE, "columns");
    assert_failed(ct_outputs_predict_full(o, X, false, NULL, Y), device, CT_ESHAPE,
                  "covariance must be (27, 27)");
    assert_failed(ct_outputs_append(o, X, NULL, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_outputs_append(o, X, missing, NULL), device, CT_EINVAL, "NaN");
    assert_failed(ct_outputs_append(o, Y, Y, NULL), device, CT_ESHAPE, "(k, 2)");
    assert_failed(ct_outputs_append(o, X, Y, Y), device, CT_ESHAPE, "noise");
    assert_failed(ct_outputs_fit(o, &(ct_fit_options){ .objective = CT_OBJECTIVE_LOO }), device,
                  CT_EUNSUPPORTED, "likelihood");
    assert_failed(ct_outputs_save(o, NULL, NULL), device, CT_EINVAL, "path");
    assert_null(ct_outputs_load(device, NULL));
    assert_null(ct_outputs_load(device, "/nowhere/at/all"));
    assert_status(ct_outputs_fit(NULL, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_append(NULL, X, Y, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_save(NULL, path, NULL), CT_EINVAL, "");
    assert_status(ct_outputs_predict_full(NULL, X, false, NULL, Y), CT_EINVAL, "");
    assert_null(ct_outputs_model(NULL, 0));
    assert_null(ct_outputs_whole(NULL));
    assert_true(isnan(ct_outputs_nlml(NULL)));
    assert_int_equal(ct_outputs_count(NULL), 0);
    assert_int_equal(ct_outputs_find(NULL, "a"), -1);
    assert_null(ct_outputs_of(NULL, 2));
    ct_gp *gp = ct_outputs_model(o, 0);
    assert_null(ct_outputs_of((ct_gp *[]){ gp, gp }, 2));
    assert_status(ct_last_status(device), CT_EINVAL, ct_message(device));
    ct_outputs_free(NULL);
    ct_outputs_free(o);
    ct_release(X), ct_release(Y), ct_release(missing), ct_release(given), ct_release(whole), ct_release(flat);
}

int main(void)
{
    gp_temporary(path);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dense_formulas),
        cmocka_unit_test(the_op_is_the_sum),
        cmocka_unit_test(the_op_refuses),
        cmocka_unit_test(a_singular_covariance_is_flagged),
        cmocka_unit_test(kronecker_is_the_matrix),
        cmocka_unit_test(kronecker_refuses),
        cmocka_unit_test(kronecker_reads_lower_triangles_of_covariances),
        cmocka_unit_test(a_shared_fit_lowers_the_sum),
        cmocka_unit_test(a_joint_output_is_a_model),
        cmocka_unit_test(a_fit_in_the_grid_is_the_fit),
        cmocka_unit_test(kernels_on_pairs),
        cmocka_unit_test(every_allocation_fails),
        cmocka_unit_test(each_is_a_model_of_its_own),
        cmocka_unit_test(rows_are_appended),
        cmocka_unit_test(the_same_bits_come_back),
        cmocka_unit_test(a_model_is_one_output),
        cmocka_unit_test(all_damage_is_seen),
        cmocka_unit_test(bad_input_is_refused),
    };
    int result = cmocka_run_group_tests(tests, open_check_device, close_device);
    unlink(path);
    return result;
}
