/* ct_cov and ct_cov_diag: against scikit-learn's numbers, finite differences, and their own composition. */
#include "one_tape.h"

#include <cotangent/gp/kernel.h>
#include <cotangent/gradcheck.h>

#include "alloc.h"
#include "gp/kernel/cov_compose.h"
#include "reference/kernel_tables.h"

static ct_kernel *kernel(const char *text, int64_t dims)
{
    ct_kernel *k = ct_kernel_parse(text);
    assert_ok(ct_kernel_bind(k, dims), ct_kernel_message(k));
    return k;
}

static ct_var put(ct_tensor *t, ct_dtype dtype)
{
    ct_tensor *cast = ct_tensor_cast(t, dtype);
    ct_var v = ct_leaf(tape, cast);
    ct_release(cast);
    ct_release(t);
    return v;
}

static ct_var leaf2(int64_t rows, int64_t cols, const double *data, ct_dtype dtype)
{
    return put(ct_from(device, CT_F64, ct_shape2(rows, cols), data), dtype);
}

static ct_var random2(int64_t rows, int64_t cols, uint64_t stream, ct_dtype dtype)
{
    return put(ct_rand_normal(device, CT_F64, ct_shape2(rows, cols), 7, stream), dtype);
}

static double *doubles(const ct_tensor *t)
{
    ct_tensor *wide = ct_tensor_cast(t, CT_F64);
    size_t bytes = (size_t)ct_tensor_count(t) * sizeof(double);
    double *out = malloc(bytes + 1);
    assert_ok(ct_read(wide, out, bytes), ct_message(device));
    ct_release(wide);
    return out;
}

/* |a - b| <= tolerance max(1, |b|), element by element */
static void assert_same(const char *what, ct_var a, ct_var b, double tolerance)
{
    assert_ok(ct_check(a), ct_tape_message(tape));
    assert_ok(ct_check(b), ct_tape_message(tape));
    assert_true(ct_shape_equal(ct_var_shape(a), ct_var_shape(b)));
    double *x = doubles(ct_value(a)), *y = doubles(ct_value(b));
    for (int64_t i = 0; i < ct_tensor_count(ct_value(a)); i++)
        if (!(fabs(x[i] - y[i]) <= tolerance * fmax(1, fabs(y[i]))))
            fail_msg("%s, element %lld: %.17g is not %.17g", what, (long long)i, x[i], y[i]);
    free(x);
    free(y);
}

/* -- tables ---------------------------------------------------------------------------------------------- */

static void check_table(ct_dtype dtype, double tolerance)
{
    for (size_t r = 0; r < sizeof kernel_table / sizeof *kernel_table; r++) {
        const struct kernel_row *row = &kernel_table[r];
        ct_kernel *k = kernel(row->text, 2);
        assert_int_equal(ct_kernel_params(k), row->n_params);
        ct_var theta = ct_kernel_theta(k, tape, dtype), X = leaf2(5, 2, table_X, dtype),
               Z = leaf2(3, 2, table_Z, dtype);
        ct_var K = ct_cov(k, theta, X, X);
        assert_same(row->text, K, leaf2(5, 5, row->K, dtype), tolerance);
        assert_same(row->text, ct_cov(k, theta, X, Z), leaf2(5, 3, row->C, dtype), tolerance);
        assert_same(row->text, ct_cov_diag(k, theta, X), ct_diag(K), tolerance);

        ct_var bar;
        assert_ok(ct_grad(K, leaf2(5, 5, table_W, dtype), &theta, &bar, 1, CT_GRAD_KEEP),
                  ct_tape_message(tape));
        double *g = doubles(ct_value(bar)), *value = doubles(ct_value(theta));
        for (int p = 0; p < row->n_params; p++)
            if (!isnan(row->G[p]) && !check_close(g[p] * value[p], row->G[p], tolerance, 10 * tolerance))
                fail_msg("%s, gradient %d: %.17g is not %.17g", row->text, p, g[p] * value[p], row->G[p]);
        free(g);
        free(value);
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
}

static void tables_f64(void **state)
{
    (void)state;
    check_table(CT_F64, 1e-13);
}

static void tables_f32(void **state)
{
    (void)state;
    check_table(CT_F32, 3e-5);
}

/* -- rules ----------------------------------------------------------------------------------------------- */

/* Every profile, and some of their combinations. */
#define TEXT(CODE, name, text, ...) text,
static const char *const composites[] = {
    CT_PROFILES(TEXT) "rbf(ard)",
    "matern32(ard)",
    "matern52(ard, dims=2:0)",
    "periodic(ard)",
    "linear(ard)",
    "poly(degree=1)",
    "poly(degree=4)",
    "constant",
    "white",
    "scale * rbf(ard) + scale * periodic(dims=0) * rbf + white",
    "(matern32 + constant) * (scale * matern52(dims=1) + linear) * rq",
    "scale * scale * (white + rbf) * cosine(dims=0:2)",
};

/* X has more rows than one block of the primitives, Z more than one tile's columns; some rows are equal. */
static void fused_is_composed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++) {
        for (int symmetric = 0; symmetric < 2; symmetric++) {
            const char *text = composites[i];
            ct_kernel *k = kernel(text, 3);
            const ct_cov_program *p = ct_kernel_program(k);
            int64_t n = 70, m = symmetric ? n : 300;
            ct_var theta = put(ct_full(device, CT_F64, ct_shape1(p->n_params), 1.3), CT_F64);
            ct_var X = random2(n, 3, 1, CT_F64), Z = symmetric ? X : random2(m, 3, 2, CT_F64);
            ct_var in[3] = { theta, X, Z }, fused[3], composed[3], recorded[3];
            int n_in = symmetric ? 2 : 3;
            ct_var K = ct_cov(k, theta, X, Z);
            ct_var C = ct__cov_compose(p, theta, X, symmetric ? (ct_var){ NULL, 0, 0 } : Z, false);
            assert_same(text, K, C, 1e-13);
            ct_var bar = random2(n, m, 3, CT_F64);
            assert_ok(ct_grad(K, bar, in, fused, n_in, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(C, bar, in, composed, n_in, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(K, bar, in, recorded, n_in, CT_GRAD_RECORD), ct_tape_message(tape));
            for (int j = 0; j < n_in; j++) {
                assert_same(text, fused[j], composed[j], 1e-11);
                assert_same(text, recorded[j], fused[j], 1e-11);
            }
            ct_tape_reset(tape);
            ct_kernel_free(k);
        }
    }
}

/* Cases in which a backend's data for a block of pairs may not fit its fast memory: many columns, parameters
 * or nodes, few columns of many. Sizes at the edges of blocks, and every layout of the points and the
 * cotangent. */
static void large_programs(void **state)
{
    (void)state;
    enum { TERMS = 60 };
    char many[TERMS * 16] = "periodic * white";
    for (int i = 0; i < TERMS; i++)
        strcat(many, i % 3 == 2 ? " + (rbf * linear)" : i % 3 ? " + matern32" : " + rbf");
    const struct {
        const char *text;
        int64_t d, n, m;
    } cases[] = {
        { "scale * rbf", 3, 5, 3 },
        { "scale * rbf(ard)", 8, 32, 33 },
        { "scale * matern52(ard)", 300, 65, 31 },
        { "rq(dims=7:150) + white", 300, 33, 64 },
        { "matern32 * (linear(ard) + constant)", 70, 31, 65 },
        { "periodic(ard) + poly(degree=2)", 70, 1, 2 },
        { many, 2, 33, 17 },
        { "rbf", 1, 40, 9000 },
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int variant = 0; variant < 4; variant++) {
            const bool symmetric = variant % 2, turned = variant / 2;
            const int64_t n = cases[c].n, m = symmetric ? n : cases[c].m, d = cases[c].d;
            ct_kernel *k = kernel(cases[c].text, d);
            const ct_cov_program *p = ct_kernel_program(k);
            ct_var theta =
                put(ct_full(device, CT_F64, ct_shape1(p->n_params), 1.3 * sqrt((double)d)), CT_F64);
            ct_var X = turned ? ct_t(random2(d, n, 1, CT_F64)) : random2(n, d, 1, CT_F64),
                   Z = symmetric ? X
                       : turned  ? ct_t(random2(d, m, 2, CT_F64))
                                 : random2(m, d, 2, CT_F64);
            ct_var bar = turned ? ct_t(random2(m, n, 3, CT_F64)) : random2(n, m, 3, CT_F64);
            ct_var in[3] = { theta, X, Z }, fused[3], composed[3], alone;
            const int n_in = symmetric ? 2 : 3;
            ct_var K = ct_cov(k, theta, X, Z);
            ct_var C = ct__cov_compose(p, theta, X, symmetric ? (ct_var){ NULL, 0, 0 } : Z, false);
            assert_same(cases[c].text, K, C, 1e-12);
            assert_ok(ct_grad(K, bar, in, fused, n_in, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(C, bar, in, composed, n_in, CT_GRAD_KEEP), ct_tape_message(tape));
            for (int j = 0; j < n_in; j++) assert_same(cases[c].text, fused[j], composed[j], 1e-10);
            ct_var constant = ct_stop_gradient(X);
            K = ct_cov(k, theta, constant, symmetric ? constant : ct_stop_gradient(Z));
            /* what a block may find left by another */
            ct_var nan = put(ct_full(device, CT_F64, ct_shape2(64, d), NAN), CT_F64), left;
            left = ct_cov(k, theta, nan, nan);
            assert_ok(ct_grad(left, left, &theta, &left, 1, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(K, bar, in, &alone, 1, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_same(cases[c].text, alone, composed[0], 1e-10);
            ct_tape_reset(tape);
            ct_kernel_free(k);
        }
    }
}

/* Each input alone gives the same as all together. */
static void wanted_inputs_alone(void **state)
{
    (void)state;
    ct_kernel *k = kernel("scale * rbf(ard) + linear * periodic", 3);
    ct_var theta = ct_kernel_theta(k, tape, CT_F64), X = random2(40, 3, 1, CT_F64),
           Z = random2(50, 3, 2, CT_F64);
    ct_var in[3] = { theta, X, Z }, all[3], one[3], K = ct_cov(k, theta, X, Z),
           bar = random2(40, 50, 3, CT_F64);
    assert_ok(ct_grad(K, bar, in, all, 3, CT_GRAD_KEEP), ct_tape_message(tape));
    for (int i = 0; i < 3; i++) {
        ct_var partial[3] = { ct_stop_gradient(theta), ct_stop_gradient(X), ct_stop_gradient(Z) };
        partial[i] = in[i];
        ct_var alone = ct_cov(k, partial[0], partial[1], partial[2]);
        assert_ok(ct_grad(alone, bar, &in[i], &one[i], 1, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_same("alone", one[i], all[i], 1e-12);
    }
    ct_var last[2];
    ct_var without_x = ct_cov(k, theta, ct_stop_gradient(X), Z);
    assert_ok(ct_grad(without_x, bar, (ct_var[]){ theta, Z }, last, 2, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_same("theta and Z", last[0], all[0], 1e-12);
    assert_same("theta and Z", last[1], all[2], 1e-12);
    ct_tape_reset(tape);
    ct_kernel_free(k);
}

/* theta and Z are computed from X: the rule's own sweep must stop at them and not go on to X. */
static void inputs_of_one_another(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++) {
        ct_kernel *k = kernel(composites[i], 3);
        ct_var X = random2(4, 3, 1, CT_F64), fused, recorded;
        ct_var level = ct_shift(ct_square(ct_mean(X, CT_ALL, false)), 1.3);
        ct_var theta = ct_broadcast_to(level, ct_shape1(ct_kernel_program(k)->n_params));
        ct_var K = ct_cov(k, theta, X, ct_scale(X, 0.5)), bar = random2(4, 4, 3, CT_F64);
        assert_ok(ct_grad(K, bar, &X, &fused, 1, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_ok(ct_grad(K, bar, &X, &recorded, 1, CT_GRAD_RECORD), ct_tape_message(tape));
        assert_same(composites[i], recorded, fused, 1e-12);
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
}

/* -- numbers --------------------------------------------------------------------------------------------- */

/* A far offset costs no digits, equal points are at distance 0, far points give 0 and not NaN. */
static void distances_are_exact(void **state)
{
    (void)state;
    static const char *const texts[] = { "rbf", "matern12", "matern32(ard)", "matern52",
                                         "rq",  "periodic", "cosine" };
    const double x[] = { 1e8, 1e8 + 0.25, 1e8, -1e150 }, near[] = { 0, 0.25, 0 };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        ct_kernel *k = kernel(texts[i], 1);
        ct_var theta = ct_kernel_theta(k, tape, CT_F64), X = leaf2(4, 1, x, CT_F64),
               N = leaf2(3, 1, near, CT_F64);
        ct_var K = ct_cov(k, theta, X, X);
        assert_same(texts[i], ct_slice(ct_slice(K, 0, 0, 3, 1), 1, 0, 3, 1), ct_cov(k, theta, N, N), 1e-15);
        double *v = doubles(ct_value(K));
        assert_true(v[0] == 1 && v[2] == 1 && v[8] == 1 && v[15] == 1);
        free(v);
        ct_var in[2] = { theta, X }, bar[2];
        assert_ok(ct_grad(K, K, in, bar, 2, CT_GRAD_KEEP), ct_tape_message(tape));
        for (int j = 0; j < 2; j++) {
            double *g = doubles(ct_value(bar[j]));
            for (int64_t e = 0; e < ct_tensor_count(ct_value(bar[j])); e++)
                if (!isfinite(g[e])) fail_msg("%s: gradient %d is %g", texts[i], j, g[e]);
            free(g);
        }
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
}

/* With many columns distances come from products, except those of near points. Rows of X are random, the same
 * a little moved, the same again, and all of these far from the origin. */
static void many_columns(void **state)
{
    (void)state;
    static const char *const texts[] = { "rbf(ard)",
                                         "matern12",
                                         "matern12(ard)",
                                         "matern32(ard)",
                                         "rq",
                                         "cosine",
                                         "scale * rbf(ard) + matern52 * linear" };
    enum { FIRST = 90, N = 3 * FIRST };
    const int rounds = check_quick() && !check_at_once() ? 1 : 6;
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const int64_t d = round % 3 == 2 ? 70 : round % 3 ? 37 : 32;
            const double offset = round < 3 ? 0 : 1e3;
            /* the composition scales the points before it takes differences, and that limits its accuracy */
            const bool linear = strstr(texts[i], "linear"), kink = strstr(texts[i], "matern12");
            const double close = (offset > 0 ? 1e-12 : 1e-13) * (linear ? fmax(1, offset) : 1);
            const double slopes = kink ? 1e-4 : offset > 0 ? 1e-7 : 1e-9;
            ct_kernel *k = kernel(texts[i], d);
            const ct_cov_program *p = ct_kernel_program(k);
            ct_tensor *base = ct_rand_normal(device, CT_F64, ct_shape2(FIRST, d), 5, (uint64_t)d);
            double *b = doubles(base), *x = malloc((size_t)(N * d) * sizeof *x);
            for (int64_t r = 0; r < N; r++)
                for (int64_t c = 0; c < d; c++)
                    x[r * d + c] = offset + b[r % FIRST * d + c] +
                                   (r / FIRST == 1 ? 1e-7 * sin((double)(r + 7 * c)) : 0);
            ct_var theta = put(ct_full(device, CT_F64, ct_shape1(p->n_params), 5), CT_F64);
            ct_var X = leaf2(N, d, x, CT_F64), Z = random2(300, d, 2, CT_F64), bar = random2(N, N, 3, CT_F64);
            ct_var in[] = { theta, X }, fused[2], composed[2];
            ct_var K = ct_cov(k, theta, X, X),
                   C = ct__cov_compose(p, theta, X, (ct_var){ NULL, 0, 0 }, false);
            assert_same(texts[i], K, C, close);
            assert_ok(ct_grad(K, bar, in, fused, 2, CT_GRAD_KEEP), ct_tape_message(tape));
            assert_ok(ct_grad(C, bar, in, composed, 2, CT_GRAD_KEEP), ct_tape_message(tape));
            for (int j = 0; j < 2 && !linear; j++) assert_same(texts[i], fused[j], composed[j], slopes);
            assert_same(texts[i], ct_cov(k, theta, X, Z), ct__cov_compose(p, theta, X, Z, false), 10 * close);
            ct_var narrow = ct_cast(X, CT_F32), narrow_theta = ct_cast(theta, CT_F32);
            if (offset == 0)
                assert_same(texts[i], ct_cast(ct_cov(k, narrow_theta, narrow, narrow), CT_F64), C, 2e-5);
            double *v = doubles(ct_value(K));
            if (!strcmp(texts[i], "rbf(ard)"))
                for (int64_t r = 0; r < FIRST; r++)
                    assert_true(v[r * N + r] == 1 && v[(2 * FIRST + r) * N + r] == 1 &&
                                v[r * N + 2 * FIRST + r] == 1);
            free(v);
            free(b);
            free(x);
            ct_release(base);
            ct_tape_reset(tape);
            ct_kernel_free(k);
        }
    /* infinite, huge and NaN distances are those of differences */
    double x[3 * 32] = { 0 };
    x[32] = INFINITY;
    x[64] = -1e200;
    ct_kernel *k = kernel("rbf", 32);
    ct_var X = leaf2(3, 32, x, CT_F64), K = ct_cov(k, ct_kernel_theta(k, tape, CT_F64), X, X);
    double *v = doubles(ct_value(K));
    assert_true(v[0] == 1 && v[3] == 0 && isnan(v[4]) && v[6] == 0 && v[7] == 0 && v[8] == 1);
    free(v);
    ct_tape_reset(tape);
    ct_kernel_free(k);
}

static void nan_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++) {
        if (!strcmp(composites[i], "constant") || !strcmp(composites[i], "white")) continue;
        ct_kernel *k = kernel(composites[i], 3);
        const double x[] = { 1, 2, 3, NAN, NAN, NAN };
        ct_var theta = ct_kernel_theta(k, tape, CT_F64), X = leaf2(2, 3, x, CT_F64);
        double *v = doubles(ct_value(ct_cov(k, theta, X, X)));
        assert_true(!isnan(v[0]) && isnan(v[1]) && isnan(v[2]) && isnan(v[3]));
        free(v);
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
}

/* Views of every layout, and a transposed cotangent, give the same bits as contiguous tensors. */
static void any_layout(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        ct_dtype dtype = d ? CT_F32 : CT_F64;
        ct_kernel *k = kernel("scale * rbf(ard) + periodic(dims=1)", 3);
        ct_var theta = ct_kernel_theta(k, tape, dtype), X = random2(37, 3, 1, dtype),
               Z = random2(41, 3, 2, dtype);
        ct_tensor *flipped = ct_tensor_transpose(ct_value(X)), *copy = ct_tensor_clone(flipped);
        ct_tensor *view = ct_tensor_transpose(copy); /* column-major, with X's values */
        ct_var Xv = ct_leaf(tape, view);
        ct_var in[3] = { theta, X, Z }, in_v[3] = { theta, Xv, Z }, bar[3], bar_v[3];
        ct_var K = ct_cov(k, theta, X, Z), Kv = ct_cov(k, theta, Xv, Z), G = random2(41, 37, 3, dtype);
        assert_same("values", Kv, K, 0);
        /* a GPU numbers its threads along the layout, which orders its sums */
        const double close = check_at_once() ? 0 : d ? 1e-6 : 1e-13;
        ct_tensor *turned = ct_tensor_transpose(ct_value(G)), *straight = ct_tensor_clone(turned);
        assert_ok(ct_grad(K, ct_constant(tape, straight), in, bar, 3, CT_GRAD_KEEP), ct_tape_message(tape));
        assert_ok(ct_grad(Kv, ct_t(G), in_v, bar_v, 3, CT_GRAD_KEEP), ct_tape_message(tape));
        for (int i = 0; i < 3; i++) assert_same("gradients", bar_v[i], bar[i], close);
        ct_release(flipped);
        ct_release(copy);
        ct_release(view);
        ct_release(turned);
        ct_release(straight);
        ct_tape_reset(tape);
        ct_kernel_free(k);
    }
}

static void empty_inputs(void **state)
{
    (void)state;
    ct_kernel *k = kernel("scale * rbf + white", 2);
    ct_var theta = ct_kernel_theta(k, tape, CT_F64), E = random2(0, 2, 1, CT_F64),
           X = random2(3, 2, 1, CT_F64);
    ct_var in[3] = { theta, E, X }, bar[3], K = ct_cov(k, theta, E, X);
    assert_int_equal(ct_tensor_count(ct_value(K)), 0);
    assert_ok(ct_grad(K, K, in, bar, 3, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_elements(ct_value(bar[0]), 0, 0, 0, 0, 0);
    assert_elements(ct_value(bar[2]), 0, 0, 0, 0, 0, 0, 0, 0);
    K = ct_cov(k, theta, X, E);
    assert_ok(ct_grad(K, K, in, bar, 3, CT_GRAD_KEEP), ct_tape_message(tape));
    assert_elements(ct_value(bar[2]), 0, 0, 0, 0, 0, 0, 0, 0);
    assert_int_equal(ct_tensor_count(ct_value(ct_cov(k, theta, E, E))), 0);
    assert_int_equal(ct_tensor_count(ct_value(ct_cov_diag(k, theta, E))), 0);
    ct_tape_reset(tape);
    ct_kernel_free(k);
}

/* The bits do not depend on the number of threads, forward or backward. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    double *first[3] = { NULL, NULL, NULL };
    for (int threads = 1; threads <= 3; threads++) {
        ct_device *d = ct_device_open_with(check_device(), &(ct_device_options){ .threads = threads });
        ct_tape *t = ct_tape_new(d);
        ct_kernel *k = kernel("scale * matern52(ard) + white", 3);
        ct_tensor *x = ct_rand_normal(d, CT_F64, ct_shape2(333, 3), 1, 1);
        ct_var theta = ct_kernel_theta(k, t, CT_F64), X = ct_leaf(t, x), K = ct_cov(k, theta, X, X), bar[2];
        assert_ok(ct_grad(K, K, (ct_var[]){ theta, X }, bar, 2, CT_GRAD_KEEP), ct_tape_message(t));
        ct_var out[3] = { K, bar[0], bar[1] };
        for (int i = 0; i < 3; i++) {
            double *v = doubles(ct_value(out[i]));
            size_t bytes = (size_t)ct_tensor_count(ct_value(out[i])) * sizeof *v;
            if (first[i]) assert_memory_equal(v, first[i], bytes);
            if (first[i])
                free(v);
            else
                first[i] = v;
        }
        ct_kernel_free(k);
        ct_tape_free(t);
        ct_release(x);
        ct_device_close(d);
    }
    for (int i = 0; i < 3; i++) free(first[i]);
}

/* -- misuse ---------------------------------------------------------------------------------------------- */

static void expect(ct_var v, ct_status status, const char *part)
{
    assert_status(ct_check(v), status, ct_tape_message(tape));
    if (!strstr(ct_tape_message(tape), part)) fail_msg("%s\nis not about: %s", ct_tape_message(tape), part);
    ct_tape_reset(tape);
}

static void refusals(void **state)
{
    (void)state;
    ct_kernel *k = kernel("rbf(ard)", 3), *unbound = ct_kernel_rbf(), *bad = ct_kernel_parse("rbf +");
#define THETA ct_kernel_theta(k, tape, CT_F64)
#define X3    random2(4, 3, 1, CT_F64)
    expect(ct_cov(unbound, THETA, X3, X3), CT_EINVAL, "ct_kernel_bind");
    expect(ct_cov(bad, THETA, X3, X3), CT_EFORMAT, "ends");
    expect(ct_cov(NULL, THETA, X3, X3), CT_ENOMEM, "NULL");
    expect(ct_cov(k, THETA, random2(4, 2, 1, CT_F64), X3), CT_ESHAPE, "3 columns");
    expect(ct_cov(k, THETA, X3, random2(4, 4, 1, CT_F64)), CT_ESHAPE, "3 columns");
    expect(ct_cov(k, ct_t(X3), X3, X3), CT_ESHAPE, "theta must be a vector");
    expect(ct_cov(k, X3, ct_reshape(random2(6, 3, 1, CT_F64), ct_shape_of(3, (int64_t[]){ 2, 3, 3 })), X3),
           CT_ESHAPE, "do not broadcast");
    expect(ct_cov(k, ct_slice(THETA, 0, 0, 2, 1), X3, X3), CT_ESHAPE, "3 parameters");
    expect(ct_cov(k, THETA, random2(4, 3, 1, CT_F32), X3), CT_EDTYPE, "f32");
    ct_tensor *whole = ct_zeros(device, CT_I64, ct_shape2(4, 3));
    expect(ct_cov(k, THETA, ct_constant(tape, whole), X3), CT_EDTYPE, "");
    expect(ct_cov_diag(k, THETA, random2(4, 2, 1, CT_F64)), CT_ESHAPE, "3 columns");
    expect(ct_cov_diag(unbound, THETA, X3), CT_EINVAL, "ct_kernel_bind");
    expect(ct_kernel_theta(unbound, tape, CT_F64), CT_EINVAL, "ct_kernel_bind");
    expect(ct_kernel_theta(k, tape, CT_I64), CT_EDTYPE, "");
    expect(ct_apply(&ct_op_cov, (ct_var[]){ THETA, X3 }, 2, NULL, 0), CT_EINVAL, "program");
    expect(ct_apply(&ct_op_cov, (ct_var[]){ THETA }, 1, NULL, 0), CT_EINVAL, "theta, X");
    expect(ct_apply(&ct_op_cov_diag, (ct_var[]){ THETA, X3 }, 2, NULL, 0), CT_EINVAL, "program");
    ct_var none = { NULL, 0, 0 };
    assert_status(ct_check(ct_cov(k, none, none, none)), CT_EINVAL, "");
    assert_status(ct_check(ct_kernel_theta(k, NULL, CT_F64)), CT_EINVAL, "");
#undef THETA
#undef X3
    ct_release(whole);
    ct_kernel_free(k);
    ct_kernel_free(unbound);
    ct_kernel_free(bad);
}

/* A training step in its steady state allocates nothing; the kernel may be freed while the tape lives. */
static void steady_state(void **state)
{
    (void)state;
    ct_kernel *k = kernel("scale * rbf(ard) + scale * periodic * matern32 + white", 3);
    ct_tensor *x = ct_rand_normal(device, CT_F64, ct_shape2(50, 3), 1, 1);
    ct_tensor *values = ct_full(device, CT_F64, ct_shape1(ct_kernel_params(k)), 1.1);
    for (int step = 0; step < 6; step++) {
        if (step == 3) alloc_watch();
        ct_var theta = ct_leaf(tape, values), X = ct_leaf(tape, x);
        ct_var y = ct_sum(ct_square(ct_cov(k, theta, X, X)), CT_ALL, false);
        assert_ok(ct_backward(y), ct_tape_message(tape));
        ct_tape_reset(tape);
    }
    int64_t calls = alloc_calls();
    alloc_unwatch();
    assert_int_equal(calls, 0);

    ct_var theta = ct_leaf(tape, values), X = ct_leaf(tape, x);
    ct_var y = ct_sum(ct_cov(k, theta, X, X), CT_ALL, false);
    ct_kernel_free(k);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_release(x);
    ct_release(values);
}

static void step(bool record)
{
    ct_device *d = ct_device_open(check_device());
    ct_tape *t = ct_tape_new(d);
    ct_kernel *k = ct_kernel_parse("scale * rbf(ard) + periodic * linear + white");
    ct_status s = ct_kernel_bind(k, 3);
    ct_tensor *x = t ? ct_rand_normal(d, CT_F64, ct_shape2(9, 3), 1, 1) : NULL;
    if (!s && x) {
        ct_var theta = ct_kernel_theta(k, t, CT_F64), X = ct_leaf(t, x), bar[2];
        ct_var y = ct_sum(ct_square(ct_cov(k, theta, X, X)), CT_ALL, false);
        ct_var all = { NULL, 0, 0 };
        s = ct_grad(y, all, (ct_var[]){ theta, X }, bar, 2, record ? CT_GRAD_RECORD : CT_GRAD_FREE);
        if (!s) s = ct_check(ct_cov_diag(k, theta, X));
    }
    if (!alloc_refused()) assert_ok(s, t ? ct_tape_message(t) : "");
    if (alloc_refused() && t && x && s) assert_status(s, CT_ENOMEM, t ? ct_tape_message(t) : "");
    ct_release(x);
    ct_tape_free(t);
    ct_kernel_free(k);
    ct_device_close(d);
}

static void out_of_memory(void **state)
{
    (void)state;
    for (int record = 0; record < 2; record++) {
        for (int64_t at = 1;; at++) {
            alloc_fail_at(at);
            step(record);
            bool refused = alloc_refused();
            int64_t live = alloc_live();
            alloc_unwatch();
            assert_int_equal(live, 0);
            if (!refused) break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_f64),
        cmocka_unit_test(tables_f32),
        cmocka_unit_test(fused_is_composed),
        cmocka_unit_test(large_programs),
        cmocka_unit_test(wanted_inputs_alone),
        cmocka_unit_test(inputs_of_one_another),
        cmocka_unit_test(distances_are_exact),
        cmocka_unit_test(many_columns),
        cmocka_unit_test(nan_stays),
        cmocka_unit_test(any_layout),
        cmocka_unit_test(empty_inputs),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(refusals),
        cmocka_unit_test(steady_state),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("cov", tests, open_tape, close_tape);
}
