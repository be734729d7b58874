/* Batches of likelihoods: every member has the values that it has alone, to the bit where the members are not
 * computed side by side; members that fail; memory. */
#include "tensor/cpu/kernel/isa.h"
#include "tensor/internal.h"

#include "gp_device.h"

#include <cotangent/op.h>
#include <cotangent/ops.h>

enum { MEMBERS = 9, D = 2, INPUTS = 4, SIDE_BY_SIDE = 32 };

/* theta, X, r, noise; with bit i of `batched` set input i has members. A CPU computes members of few rows
 * side by side where X is `fixed`: it wants no gradient. */
typedef struct problem {
    ct_device *device;
    ct_kernel *kernel;
    int64_t n;
    unsigned batched;
    bool fixed;
    ct_tensor *in[INPUTS];
} problem;

/* Input i without a batch: theta (4), X (n, D), r (n), noise (n) or, for an odd n, (1). */
static ct_shape shape_of(int64_t n, int i)
{
    return i == 0 ? ct_shape1(1 + D + 1) : i == 1 ? ct_shape2(n, D) : ct_shape1(i == 3 && n % 2 ? 1 : n);
}

static problem problem_new(ct_device *dev, ct_dtype dtype, int64_t n, unsigned batched)
{
    const char *few = n % 2 ? "constant + scale * matern52(ard)" : "scale * rbf(ard) + constant";
    problem p = { .device = dev,
                  .kernel = ct_kernel_parse(n > SIDE_BY_SIDE ? "scale * rbf(ard) + white" : few),
                  .n = n };
    p.batched = batched;
    assert_ok(ct_kernel_bind(p.kernel, D), ct_kernel_message(p.kernel));
    for (int i = 0; i < INPUTS; i++) {
        ct_shape s = shape_of(n, i), full = { .ndim = 0 };
        if (batched >> i & 1) full.dim[full.ndim++] = MEMBERS;
        for (int d = 0; d < s.ndim; d++) full.dim[full.ndim++] = s.dim[d];
        ct_tensor *u = assert_tensor(ct_rand_uniform(dev, CT_F64, full, 7, (uint64_t)i), dev);
        double *x = gp_host(u);
        for (int64_t e = 0; e < ct_tensor_count(u); e++) x[e] += i == 1 || i == 2 ? 0 : 0.3;
        ct_tensor *wide = assert_tensor(ct_from(dev, CT_F64, full, x), dev);
        p.in[i] = assert_tensor(ct_tensor_cast(wide, dtype), dev);
        free(x);
        ct_release(u);
        ct_release(wide);
    }
    return p;
}

static void problem_free(problem *p)
{
    ct_kernel_free(p->kernel);
    for (int i = 0; i < INPUTS; i++) ct_release(p->in[i]);
}

/* Input i of member k alone. */
static ct_tensor *member_of(const problem *p, int i, int64_t k)
{
    if (!(p->batched >> i & 1)) return ct_retain(p->in[i]);
    ct_tensor *row = ct_tensor_slice(p->in[i], 0, k, k + 1, 1), *alone = ct_tensor_squeeze(row, 0);
    ct_release(row);
    return alone;
}

/* Values, and cotangents of Σ_k (1 + k) v_k, as doubles, to be freed. A fixed X stands for its own. */
static double *values_of(gp_density *f, const problem *p, ct_tensor *const *in, double weight, double *bar[])
{
    ct_tape *tape = ct_tape_new(p->device);
    ct_var x[INPUTS];
    for (int i = 0; i < INPUTS; i++) x[i] = (p->fixed && i == 1 ? ct_constant : ct_leaf)(tape, in[i]);
    ct_var v = f(p->kernel, x[0], x[1], x[2], x[3]);
    double *value = gp_host(ct_value(v)), w[MEMBERS];
    for (int k = 0; k < MEMBERS; k++) w[k] = 1 + k;
    ct_tensor *wide = ct_from(p->device, CT_F64, ct_shape1(MEMBERS), w),
              *weights = ct_tensor_cast(wide, ct_tensor_dtype(in[0]));
    ct_var y = ct_var_shape(v).ndim ? ct_sum(ct_mul(v, ct_constant(tape, weights)), CT_ALL, false)
                                    : ct_scale(v, weight);
    assert_ok(ct_backward(y), ct_tape_message(tape));
    for (int i = 0; i < INPUTS; i++) bar[i] = gp_host(p->fixed && i == 1 ? in[i] : ct_cotangent(x[i]));
    ct_release(wide);
    ct_release(weights);
    ct_tape_free(tape);
    return value;
}

/* A batch beside its members one by one: to the bit, but where members are computed side by side or BLAS's
 * products depend on its threads. */
static void compare(gp_density *f, problem *p)
{
    double *bar[INPUTS], *value = values_of(f, p, p->in, 0, bar), *one[INPUTS];
    const double tolerance = ct_tensor_dtype(p->in[0]) == CT_F32 ? 2e-4 : 1e-12;
    const double own = f == ct_gp_nlml && !(p->fixed && p->n <= SIDE_BY_SIDE) ? 0 : tolerance;
    double *sum[INPUTS];
    for (int i = 0; i < INPUTS; i++) sum[i] = calloc((size_t)(p->n * D + 8), sizeof *sum[i]);
    for (int k = 0; k < MEMBERS; k++) {
        ct_tensor *in[INPUTS];
        for (int i = 0; i < INPUTS; i++) in[i] = member_of(p, i, k);
        double *alone = values_of(f, p, in, 1 + k, one);
        assert_close(*alone, value[k], own, 0);
        for (int i = 0; i < INPUTS; i++) {
            const int64_t count = p->fixed && i == 1 ? 0 : ct_tensor_count(in[i]);
            for (int64_t e = 0; e < count && (p->batched >> i & 1); e++)
                assert_close(one[i][e], bar[i][k * count + e], own, own * (fabs(one[i][0]) + fabs(*alone)));
            for (int64_t e = 0; e < count; e++) sum[i][e] += one[i][e];
            for (int64_t e = 0; e < count && k == MEMBERS - 1 && !(p->batched >> i & 1); e++)
                assert_close(bar[i][e], sum[i][e], tolerance, tolerance * fabs(sum[i][0]) + tolerance);
            free(one[i]);
            ct_release(in[i]);
        }
        free(alone);
    }
    for (int i = 0; i < INPUTS; i++) free(bar[i]), free(sum[i]);
    free(value);
}

static void members_are_as_single_calls(void **state)
{
    (void)state;
    const int64_t sizes[] = { 1, 2, 7, 20, 64, 97, 130, 257, 401 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes - 4 * (check_quick() > 0); s++)
        for (unsigned batched = 1; batched < 16; batched++)
            for (int kind = 0; kind < 6; kind++) {
                if (kind % 4 && batched != 15 && batched != 4) continue;
                problem p = problem_new(device, kind & 1 ? CT_F32 : CT_F64, sizes[s], batched);
                p.fixed = kind & 4;
                compare(kind & 2 ? ct_gp_loo_nlpd : ct_gp_nlml, &p);
                problem_free(&p);
            }
}

static void instruction_sets_hardly_matter(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    const int64_t sizes[] = { 1, 7, 16, 20, 32 };
    for (dev->isa = 0; dev->isa <= (int)ct__best_isa(); dev->isa++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int kind = 0; kind < 4; kind++) {
                problem p = problem_new(dev, kind & 1 ? CT_F32 : CT_F64, sizes[s], kind & 2 ? 15 : 5);
                p.fixed = true;
                compare(ct_gp_nlml, &p);
                problem_free(&p);
            }
    ct_device_close(dev);
}

static void threads_hardly_matter(void **state)
{
    (void)state;
    for (int64_t n = 5; n < 300; n += 280) {
        double *bar[2][INPUTS], *value[2];
        for (int threads = 1; threads < 3; threads++) {
            ct_device *dev = ct_device_open_with("cpu", &(ct_device_options){ .threads = 3 * threads - 2 });
            problem p = problem_new(dev, CT_F64, n, 15);
            p.fixed = true;
            value[threads - 1] = values_of(ct_gp_nlml, &p, p.in, 0, bar[threads - 1]);
            problem_free(&p);
            ct_device_close(dev);
        }
        for (int k = 0; k < MEMBERS; k++) assert_close(value[0][k], value[1][k], 1e-13, 0);
        for (int j = 0; j < 2; j++) {
            for (int i = 0; i < INPUTS; i++) free(bar[j][i]);
            free(value[j]);
        }
    }
}

/* What a CPU computes side by side, and what it leaves to others. */
static void side_by_side(void **state)
{
    (void)state;
    ct_device *dev = ct_device_open("cpu");
    for (int kind = 0; kind < 4; kind++) {
        problem p = problem_new(dev, CT_F64, kind == 1 ? 300 : 20, 15);
        ct_kernel *k = ct_kernel_parse(kind == 2 ? "scale * rq(ard)" : "scale * rbf(ard) + constant");
        assert_ok(ct_kernel_bind(k, D), ct_kernel_message(k));
        ct_tape *tape = ct_tape_new(dev);
        ct_call *c = ct_scope_open(tape, "gaussians");
        ct_view in[INPUTS], out[INPUTS];
        for (int i = 0; i < INPUTS; i++) {
            in[i] = ct_view_of(p.in[i]);
            out[i] = ct_scratch(c, CT_F64, ct_tensor_shape(p.in[i ? 2 : 0]));
        }
        const bool did = ct_prim_gaussians(c, ct_kernel_program(k), in[0], in[1], in[2], in[3], 0, out[1],
                                           out[2], out[0], kind == 3 ? ct_no_view() : out[3]);
        assert_true(did == (kind == 0));
        assert_status(ct_scope_close(c), kind == 3 ? CT_ESHAPE : CT_OK, ct_tape_message(tape));
        ct_tape_free(tape);
        ct_kernel_free(k);
        problem_free(&p);
    }
    ct_device_close(dev);
}

/* theta (2, 1, 4), X (3, n, D), r (n), noise (1, 1): a batch of 2 x 3. */
static void batches_broadcast(void **state)
{
    (void)state;
    problem p = problem_new(device, CT_F64, 9, 3);
    ct_tape *tape = ct_tape_new(device);
    ct_var theta = ct_slice(ct_constant(tape, p.in[0]), 0, 0, 2, 1), X = ct_constant(tape, p.in[1]);
    ct_var r = ct_leaf(tape, p.in[2]), noise = ct_leaf(tape, p.in[3]);
    ct_var v =
        ct_gp_nlml(p.kernel, ct_unsqueeze(theta, 1), ct_slice(X, 0, 0, 3, 1), r, ct_unsqueeze(noise, 0));
    assert_true(ct_shape_equal(ct_var_shape(v), ct_shape2(2, 3)));
    double *all = gp_host(ct_value(v));
    for (int k = 0; k < 6; k++) {
        ct_var one = ct_gp_nlml(p.kernel, ct_squeeze(ct_slice(theta, 0, k / 3, k / 3 + 1, 1), 0),
                                ct_squeeze(ct_slice(X, 0, k % 3, k % 3 + 1, 1), 0), r, noise);
        assert_close(ct_item(one), all[k], 1e-12, 0);
    }
    assert_ok(ct_backward(ct_sum(v, CT_ALL, false)), ct_tape_message(tape));
    assert_int_equal(ct_tensor_count(ct_cotangent(r)), 9);
    ct_gp_nlml(p.kernel, theta, ct_slice(X, 0, 0, 3, 1), r, noise);
    assert_failed(ct_tape_status(tape), device, CT_ESHAPE, "");
    assert_non_null(strstr(ct_tape_message(tape), "do not broadcast"));
    free(all);
    ct_tape_free(tape);
    problem_free(&p);
}

/* One column for all members, in a sweep and in a recorded one. */
static void a_column_of_residuals_is_a_vector(void **state)
{
    (void)state;
    problem p = problem_new(device, CT_F64, 8, 1);
    ct_tape *tape = ct_tape_new(device);
    ct_var x[INPUTS], bar[4];
    for (int i = 0; i < INPUTS; i++) x[i] = ct_leaf(tape, p.in[i]);
    ct_var column = ct_reshape(x[2], ct_shape2(8, 1)), none = { NULL, 0, 0 };
    for (int kind = 0; kind < 4; kind++) {
        ct_var v = ct_gp_nlml(p.kernel, x[0], x[1], kind & 1 ? column : x[2], x[3]);
        assert_ok(ct_grad(ct_sum(v, CT_ALL, false), none, &x[2], &bar[kind], 1,
                          kind & 2 ? CT_GRAD_RECORD : CT_GRAD_KEEP),
                  ct_tape_message(tape));
    }
    double *first = gp_host(ct_value(bar[0]));
    for (int kind = 1; kind < 4; kind++) {
        double *other = gp_host(ct_value(bar[kind]));
        for (int e = 0; e < 8; e++) assert_close(other[e], first[e], 1e-9, 1e-12);
        free(other);
    }
    free(first);
    ct_tape_free(tape);
    problem_free(&p);
}

/* Members 3 and 4 have two points that are the same, and no noise. */
static void a_member_that_fails_is_named(void **state)
{
    (void)state;
    for (int64_t n = 4; n < 300; n += 131) {
        problem p = problem_new(device, CT_F64, n, 14);
        ct_kernel *k = ct_kernel_rbf();
        assert_ok(ct_kernel_bind(k, D), ct_kernel_message(k));
        double *x = gp_host(p.in[1]), *noise = gp_host(p.in[3]);
        const int64_t count = ct_tensor_count(p.in[3]) / MEMBERS;
        for (int64_t m = 3; m < 5; m++) {
            for (int d = 0; d < D; d++) x[(m * n + 2) * D + d] = x[m * n * D + d];
            for (int64_t i = 0; i < count; i++) noise[m * count + i] = 0;
        }
        assert_ok(ct_write(p.in[1], x, (size_t)(MEMBERS * n * D) * sizeof *x), ct_message(device));
        assert_ok(ct_write(p.in[3], noise, (size_t)(MEMBERS * count) * sizeof *x), ct_message(device));
        ct_tape *tape = ct_tape_new(device);
        ct_var X = ct_leaf(tape, p.in[1]), v = ct_gp_nlml(k, ct_kernel_theta(k, tape, CT_F64), X,
                                                          ct_constant(tape, p.in[2]), ct_leaf(tape, p.in[3]));
        double *value = gp_host(ct_value(v));
        for (int m = 0; m < MEMBERS; m++) assert_true((m == 3 || m == 4) == isnan(value[m]));
        assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
        if (!strstr(ct_tape_message(tape), "minor 3 of batch member 3"))
            fail_msg("%s", ct_tape_message(tape));
        assert_status(ct_backward(ct_sum(v, CT_ALL, false)), CT_ENUMERIC, ct_tape_message(tape));
        free(value);
        free(x);
        free(noise);
        ct_tape_free(tape);
        ct_kernel_free(k);
        problem_free(&p);
    }
}

/* Residuals of 1e200 in member 2: its value overflows. Then, with cotangents that overflow, the gradient in
 * X, whose elements are counted over the batch. */
static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    problem p = problem_new(device, CT_F64, 12, 15);
    double *r = gp_host(p.in[2]);
    for (int i = 0; i < 12; i++) r[2 * 12 + i] = 1e200;
    assert_ok(ct_write(p.in[2], r, 12 * MEMBERS * sizeof *r), ct_message(device));
    ct_tape *tape = ct_tape_new(device);
    ct_var x[INPUTS];
    for (int i = 0; i < INPUTS; i++) x[i] = ct_constant(tape, p.in[i]);
    double *value = gp_host(ct_value(ct_gp_nlml(p.kernel, x[0], x[1], x[2], x[3])));
    for (int k = 0; k < MEMBERS; k++) assert_true(isfinite(value[k]) == (k != 2));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    if (!strstr(ct_tape_message(tape), "the value of batch member 2 is not finite"))
        fail_msg("%s", ct_tape_message(tape));
    ct_tape_reset(tape);
    ct_tensor *good = ct_rand_normal(device, CT_F64, ct_shape_of(3, (int64_t[]){ 2, 12, D }), 1, 1),
              *weight = ct_full(device, CT_F64, ct_shape0(), 1e308);
    for (int i = 0; i < INPUTS; i++) x[i] = ct_constant(tape, p.in[i]);
    ct_var X = ct_leaf(tape, good), r1 = ct_squeeze(ct_slice(x[2], 0, 0, 1, 1), 0);
    ct_var theta = ct_squeeze(ct_slice(x[0], 0, 0, 1, 1), 0),
           noise = ct_squeeze(ct_slice(x[3], 0, 0, 1, 1), 0);
    ct_var v = ct_scale(ct_sum(ct_gp_nlml(p.kernel, theta, X, r1, noise), CT_ALL, false), 100);
    ct_backward(ct_mul(v, ct_constant(tape, weight)));
    assert_status(ct_tape_status(tape), CT_ENUMERIC, ct_tape_message(tape));
    if (!strstr(ct_tape_message(tape), "element 1 of the gradient in X is not finite"))
        fail_msg("%s", ct_tape_message(tape));
    ct_release(good);
    ct_release(weight);
    free(value);
    free(r);
    ct_tape_free(tape);
    problem_free(&p);
}

/* A triangle for each thread, not for each member; and nothing new in the steady state. */
static void memory_is_a_matrix_a_thread(void **state)
{
    (void)state;
    const int64_t n = 700;
    ct_device *dev = ct_device_open_with(check_device(), &(ct_device_options){ .threads = 2 });
    problem p = problem_new(dev, CT_F64, n, 15);
    ct_tape *tape = ct_tape_new(dev);
    for (int round = 0; round < 6; round++) {
        ct_tape_reset(tape);
        const ct_memory_info before = ct_memory(dev);
        ct_memory_mark(dev);
        ct_var x[INPUTS];
        for (int i = 0; i < INPUTS; i++) x[i] = ct_leaf(tape, p.in[i]);
        assert_ok(ct_backward(ct_sum(ct_gp_nlml(p.kernel, x[0], x[1], x[2], x[3]), CT_ALL, false)),
                  ct_tape_message(tape));
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        const ct_memory_info after = ct_memory(dev);
        const double peak = (double)(after.bytes_peak - before.bytes_now);
        if (check_at_once()) assert_true(peak < 2 * (0.5 * 8 * (double)(n * n) + 2e6) + 1e6);
        if (check_at_once()) assert_true(peak > 0.5 * 8 * (double)(n * n));
        if (round == 5) assert_true(after.requests - before.requests == after.from_pool - before.from_pool);
    }
    ct_tape_free(tape);
    problem_free(&p);
    assert_true(ct_memory(dev).bytes_now == 0);
    ct_memory_trim(dev);
    assert_true(ct_memory(dev).bytes_pooled == 0);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_as_single_calls),
        cmocka_unit_test(instruction_sets_hardly_matter),
        cmocka_unit_test(threads_hardly_matter),
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(a_column_of_residuals_is_a_vector),
        cmocka_unit_test(a_member_that_fails_is_named),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(memory_is_a_matrix_a_thread),
    };
    return cmocka_run_group_tests(tests, open_check_device, close_device);
}
