/* A training step of each of the four losses that the library is for, and of layers in half precision, on the
 * simulated GPU. The numbers are those of the CPU, and the only wait is for what is read at the end.
 * Whichever call of CUDA fails, there is an error that says so, and nothing leaks. As graphs the steps give
 * the same bits with one launch, and the message names what cannot be recorded. */
#include "check_sim.h"

#include <string>

extern "C" {
#include <cotangent/gp.h>
#include <cotangent/op.h>
#include <cotangent/step.h>
}

/* The value and a checksum of the cotangents. */
struct outcome {
    ct_status status;
    char message[512];
    double loss, bars;
    int64_t waits, waits_read; /* before anything was read, and after the loss was */
    const char *first_wait;
};

enum { LEAVES = 4 };

struct step {
    const char *name;
    ct_var (*loss)(ct_tape *tape, ct_tensor *const *data, ct_var *leaf);
    void (*data)(ct_device *device, ct_tensor **data);
};

static ct_tensor *normal(ct_device *d, ct_shape shape, uint64_t seed, double scale, double shift)
{
    int64_t n = ct_shape_count(shape);
    double *x = (double *)malloc((size_t)n * sizeof *x);
    uint64_t state = seed;
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x[i] = shift + scale * ((double)(state >> 11) / 9007199254740992. - .5);
    }
    ct_tensor *t = ct_from(d, CT_F64, shape, x);
    free(x);
    return t;
}

static ct_tensor *indices(ct_device *d, int64_t n, int64_t below, int64_t stride)
{
    int64_t x[64];
    for (int64_t i = 0; i < n; i++) x[i] = i * stride % below;
    return ct_from(d, CT_I64, ct_shape1(n), x);
}

/* -- the four -------------------------------------------------------------------------------------------- */

static void gp_data(ct_device *d, ct_tensor **t)
{
    t[0] = normal(d, ct_shape1(3), 1, .5, 0);
    t[1] = normal(d, ct_shape2(40, 2), 2, 4, 0);
    t[2] = normal(d, ct_shape1(40), 3, 2, 0);
    t[3] = normal(d, ct_shape1(1), 4, 0, .1);
}

static ct_kernel *kernel;

static ct_var gp_loss(ct_tape *tape, ct_tensor *const *t, ct_var *leaf)
{
    leaf[0] = ct_leaf(tape, t[0]);
    leaf[1] = ct_leaf(tape, t[3]);
    return ct_gp_nlml(kernel, ct_exp(leaf[0]), ct_constant(tape, t[1]), ct_constant(tape, t[2]), leaf[1]);
}

static void inverse_data(ct_device *d, ct_tensor **t)
{
    t[0] = normal(d, ct_shape3(3, 4, 20), 5, 2, 0);
    t[1] = normal(d, ct_shape2(20, 20), 6, 1, 0);
    t[2] = normal(d, ct_shape0(), 7, 0, .5);
    t[3] = indices(d, 5, 20, 3);
}

static ct_var inverse_loss(ct_tape *tape, ct_tensor *const *t, ct_var *leaf)
{
    leaf[0] = ct_leaf(tape, t[0]);
    leaf[1] = ct_leaf(tape, t[1]);
    leaf[2] = ct_leaf(tape, t[2]);
    ct_var A = ct_add_diag(leaf[1], ct_scalar(tape, CT_F64, 4)), q = ct_constant(tape, t[3]);
    ct_var P = ct_ridge_solve(leaf[0], A, leaf[2]), C = ct_inverse_cols(A, q);
    ct_var d = ct_sum(ct_square(ct_inverse_diag(A)), CT_ALL, false);
    return ct_add(ct_add(ct_sum(ct_square(P), CT_ALL, false), ct_sum(ct_square(C), CT_ALL, false)), d);
}

static void layer_data(ct_device *d, ct_tensor **t)
{
    t[0] = normal(d, ct_shape2(7, 12), 8, 2, 0);
    t[1] = normal(d, ct_shape3(3, 5, 4), 9, 1, 0);
    t[2] = normal(d, ct_shape2(7, 15), 10, 1, 0);
}

static ct_var layer_loss(ct_tape *tape, ct_tensor *const *t, ct_var *leaf)
{
    leaf[0] = ct_leaf(tape, t[0]);
    leaf[1] = ct_leaf(tape, t[1]);
    return ct_mse(ct_tanh(ct_blockdiag_linear(leaf[0], leaf[1], ct_var{})), ct_constant(tape, t[2]));
}

static void gather_data(ct_device *d, ct_tensor **t)
{
    t[0] = normal(d, ct_shape3(50, 2, 6), 11, 2, 0);
    t[1] = normal(d, ct_shape3(8, 6, 5), 12, 1, 0);
    t[2] = indices(d, 50, 8, 5);
}

static ct_var gather_loss(ct_tape *tape, ct_tensor *const *t, ct_var *leaf)
{
    leaf[0] = ct_leaf(tape, t[0]);
    leaf[1] = ct_leaf(tape, t[1]);
    return ct_sum(ct_square(ct_gather_matmul(leaf[0], leaf[1], ct_constant(tape, t[2]))), CT_ALL, false);
}

static void half_data(ct_device *d, ct_tensor **t)
{
    gather_data(d, t);
    t[3] = normal(d, ct_shape3(5, 2, 2), 13, 1, 0);
}

/* Both layers in half, one of each kind: weights in f64, the loss in f64. */
static ct_var half_loss(ct_tape *tape, ct_tensor *const *t, ct_var *leaf)
{
    leaf[0] = ct_leaf(tape, t[0]);
    leaf[1] = ct_leaf(tape, t[1]);
    leaf[2] = ct_leaf(tape, t[3]);
    ct_var y =
        ct_gather_matmul(ct_cast(leaf[0], CT_BF16), ct_cast(leaf[1], CT_BF16), ct_constant(tape, t[2]));
    ct_var z = ct_blockdiag_linear(ct_cast(ct_reshape(y, ct_shape2(50, 10)), CT_F16),
                                   ct_cast(leaf[2], CT_F16), ct_var{});
    return ct_mean(ct_square(ct_cast(z, CT_F64)), CT_ALL, false);
}

static const step steps[] = {
    { "exact GP", gp_loss, gp_data },
    { "part of an inverse", inverse_loss, inverse_data },
    { "block-diagonal layer", layer_loss, layer_data },
    { "gathered products", gather_loss, gather_data },
    { "layers in half", half_loss, half_data },
};

/* -- running one ----------------------------------------------------------------------------------------- */

static double checksum(const ct_tensor *t)
{
    if (!t) return NAN;
    int64_t n = ct_tensor_count(t);
    double *x = (double *)malloc((size_t)(n + 1) * sizeof *x), sum = 0;
    if (ct_read(t, x, (size_t)n * sizeof *x)) sum = NAN;
    for (int64_t i = 0; i < n; i++) sum = .75 * sum + x[i];
    free(x);
    return sum;
}

/* One step, whose call k fails; 0: none. */
static void pass(ct_tape *tape, const step *s, ct_tensor *const *data, outcome *o, int64_t k = 0,
                 bool broken = false)
{
    ct_var leaf[LEAVES] = {};
    cudasim_fail_at(k, broken);
    ct_tape_reset(tape);
    ct_var loss = s->loss(tape, data, leaf);
    ct_backward(loss);
    o->waits = cudasim_waits();
    o->first_wait = cudasim_first_wait();
    o->loss = ct_item(loss);
    o->waits_read = cudasim_waits();
    o->bars = 0;
    for (int i = 0; i < LEAVES && leaf[i].tape; i++) o->bars += checksum(ct_cotangent(leaf[i]));
    o->status = ct_tape_status(tape);
    snprintf(o->message, sizeof o->message, "%s", ct_tape_message(tape));
    if (o->status || isfinite(o->loss + o->bars)) return;
    o->status = ct_last_status(ct_tape_device(tape)); /* of reading */
    snprintf(o->message, sizeof o->message, "%s", ct_message(ct_tape_device(tape)));
}

/* Opens the device, steps twice and closes it. */
static outcome run(const char *device, const step *s)
{
    outcome o = {};
    ct_device *d = ct_device_open(device);
    ct_tensor *data[LEAVES] = {};
    ct_tape *tape = NULL;
    if (!ct_device_status(d)) {
        s->data(d, data);
        tape = ct_tape_new(d);
    }
    if (tape) {
        pass(tape, s, data, &o);
        if (!o.status) pass(tape, s, data, &o);
    } else {
        o.status = ct_device_status(d) ? ct_device_status(d) : ct_last_status(d);
        snprintf(o.message, sizeof o.message, "%s", ct_message(d));
    }
    ct_tape_free(tape);
    for (ct_tensor *t : data) ct_release(t);
    ct_device_close(d);
    return o;
}

static void right(void **state)
{
    const step *s = (const step *)*state;
    outcome cpu = run("cpu", s), gpu = run("cuda:0", s);
    assert_ok(cpu.status, cpu.message);
    assert_ok(gpu.status, gpu.message);
    assert_close(gpu.loss, cpu.loss, 1e-10, 0);
    assert_close(gpu.bars, cpu.bars, 1e-9, 1e-9);
    assert_int_equal(cudasim_live(), 0);
}

static void waits_for_nothing(void **state)
{
    outcome o = run("cuda:0", (const step *)*state);
    if (o.waits) print_error("%lld waits, the first in %s\n", (long long)o.waits, o.first_wait);
    assert_int_equal(o.waits, 0);
    assert_true(o.waits_read > 0);
}

/* Every call in the slow set only. */
static int thinned() { return check_quick() > 1; }

/* Whichever call of a step fails, alone or with all after it, gives an error with a message, or the right
 * numbers. Nothing leaks, and the next step is right. test_failing.c has the calls of opening and closing. */
static void every_call_fails(void **state)
{
    const step *s = (const step *)*state;
    ct_device *d = ct_device_open("cuda:0");
    ct_tensor *data[LEAVES] = {};
    s->data(d, data);
    ct_tape *tape = ct_tape_new(d);
    outcome wanted = {}, o = {};
    for (int round = 0; round < 2; round++) pass(tape, s, data, &wanted);
    assert_ok(wanted.status, wanted.message);
    ct_tape_reset(tape);
    ct_memory_trim(d);
    const int64_t live = cudasim_live(), bytes = cudasim_live_bytes();
    for (int broken = 0; broken < 2; broken++) {
        int64_t k = 1, tried = 0;
        for (bool failed = true; failed; k += 1 + thinned() * (k % 13)) {
            pass(tape, s, data, &o, k, broken);
            tried += failed = cudasim_failed();
            std::string call = cudasim_failed_call();
            cudasim_fail_at(0, false);
            bool told = o.status != CT_OK && strstr(o.message, "cuda:0"),
                 harmless = o.status == CT_OK && o.loss == wanted.loss && o.bars == wanted.bars;
            if (!told && !harmless)
                print_error("call %lld, %s: %s, loss %g, \"%s\"\n", (long long)k, call.c_str(),
                            ct_status_name(o.status), o.loss, o.message);
            assert_true(told || harmless);
            ct_tape_reset(tape);
            double x;
            ct_read(data[0], &x, 0); /* an unwritten index may be out of range */
            ct_memory_trim(d);
            if (cudasim_live() != live || cudasim_live_bytes() != bytes)
                print_error("call %lld, %s, leaves %lld things\n", (long long)k, call.c_str(),
                            (long long)(cudasim_live() - live));
            assert_int_equal(cudasim_live(), live);
            assert_int_equal(cudasim_live_bytes(), bytes);
            pass(tape, s, data, &o);
            assert_ok(o.status, o.message);
            assert_true(o.loss == wanted.loss && o.bars == wanted.bars);
            ct_tape_reset(tape);
            ct_memory_trim(d);
        }
        print_message("# %s: %lld failing calls%s\n", s->name, (long long)tried,
                      broken ? ", the device broken" : "");
    }
    ct_tape_free(tape);
    for (ct_tensor *t : data) ct_release(t);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

/* The number of calls of a block-diagonal layer with so many blocks, forward and backward, in the steady
 * state. */
static int64_t calls_of_layer(ct_dtype dtype, int64_t blocks)
{
    enum { ROWS = 6, F = 8 };
    ct_device *d = ct_device_open("cuda:0");
    ct_tensor *x64 = normal(d, ct_shape2(ROWS, blocks * F), 1, 1, 0),
              *W64 = normal(d, ct_shape3(blocks, F, F), 2, 1, 0), *x = ct_tensor_cast(x64, dtype),
              *W = ct_tensor_cast(W64, dtype);
    ct_tape *tape = ct_tape_new(d);
    int64_t calls = 0;
    for (int i = 0; i < 3; i++) {
        ct_tape_reset(tape);
        ct_var in[2] = { ct_leaf(tape, x), ct_leaf(tape, W) }, bar[2];
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        cudasim_watch();
        ct_var y = ct_blockdiag_linear(in[0], in[1], ct_var{});
        ct_status s = ct_grad(y, y, in, bar, 2, CT_GRAD_FREE);
        calls = cudasim_calls();
        assert_ok(s, ct_tape_message(tape));
    }
    ct_tape_free(tape);
    for (ct_tensor *t : { x64, W64, x, W }) ct_release(t);
    ct_device_close(d);
    return calls;
}

/* One product each for y, x̄ and W̄ (and the choice of the GPU before each), however many blocks there
 * are. */
static void blocks_are_one_product(void **)
{
    for (ct_dtype dtype : { CT_F64, CT_F32, CT_BF16, CT_F16 }) {
        assert_int_equal(calls_of_layer(dtype, 1), 6);
        assert_int_equal(calls_of_layer(dtype, 7), 6);
    }
    assert_int_equal(cudasim_live(), 0);
}

/* -- as graphs ------------------------------------------------------------------------------------------- */

struct trained {
    const step *s;
    ct_tensor *data[LEAVES];
    ct_var leaf[LEAVES], loss;
    int calls;
    void (*besides)(ct_tape *tape, trained *t); /* at the second call, the recorded one */
};

/* Value, cotangents, and every leaf moved against its cotangent. */
static ct_status train(ct_tape *tape, void *context)
{
    trained *t = (trained *)context;
    for (ct_var &leaf : t->leaf) leaf = {};
    t->loss = t->s->loss(tape, t->data, t->leaf);
    ct_status status = ct_backward(t->loss);
    if (++t->calls == 2 && t->besides) t->besides(tape, t);
    for (int i = 0; i < LEAVES && t->leaf[i].tape && !status; i++) {
        ct_tensor *x = ct_value(t->leaf[i]), *x_bar = ct_cotangent(t->leaf[i]);
        ct_no_grad_begin(tape);
        ct_var moved = ct_sub(t->leaf[i], ct_scale(ct_constant(tape, x_bar), 1e-3));
        ct_no_grad_end(tape);
        status = x_bar ? ct_copy(ct_value(moved), x) : CT_OK;
    }
    return status;
}

static double sums(const trained *t)
{
    double sum = 0;
    for (int i = 0; i < LEAVES && t->leaf[i].tape; i++)
        sum += checksum(ct_value(t->leaf[i])) + checksum(ct_cotangent(t->leaf[i]));
    return sum;
}

static void replays(void **state)
{
    ct_device *d = ct_device_open("cuda:0");
    trained eager = {}, replayed = {};
    assert_cuda(cudaSetDevice(0));
    eager.s = replayed.s = (const step *)*state;
    eager.s->data(d, eager.data);
    eager.s->data(d, replayed.data);
    ct_tape *tape = ct_tape_new(d);
    ct_step *step = NULL;
    for (int i = 0; i < 4; i++) {
        ct_tape_reset(tape);
        assert_ok(train(tape, &eager), ct_tape_message(tape));
        cudasim_watch();
        if (!step)
            assert_non_null(step = ct_step_capture(d, train, &replayed));
        else
            assert_ok(ct_step_replay(step), ct_message(d));
        assert_int_equal(cudasim_waits(), i == 1);       /* for the graph's memory */
        if (i > 1) assert_int_equal(cudasim_calls(), 2); /* current GPU, launch */
        assert_true(ct_item(eager.loss) == ct_item(replayed.loss));
        assert_true(sums(&eager) == sums(&replayed));
    }
    assert_int_equal(replayed.calls, 2);
    print_message("# %s: %s\n", eager.s->name, ct_step_description(step));
    ct_step_free(step);
    ct_tape_free(tape);
    for (trained *t : { &eager, &replayed })
        for (ct_tensor *x : t->data) ct_release(x);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

/* Captures, replays and frees a step with the given fault. */
static ct_status capture_and_replay(ct_device *d, const step *s, void (*besides)(ct_tape *, trained *),
                                    char *message, size_t size)
{
    trained t = {};
    t.s = s;
    t.besides = besides;
    s->data(d, t.data);
    ct_step *step = ct_step_capture(d, train, &t);
    ct_status status = step ? CT_OK : ct_last_status(d);
    for (int i = 0; i < 3 && !status; i++) status = ct_step_replay(step);
    if (!status && !isfinite(ct_item(t.loss)))
        status = ct_tape_status(ct_step_tape(step)) ? ct_tape_status(ct_step_tape(step)) : ct_last_status(d);
    snprintf(message, size, "%s", ct_message(d));
    ct_step_free(step);
    for (ct_tensor *x : t.data) ct_release(x);
    return status;
}

static void every_call_of_a_graph_fails(void **state)
{
    const step *s = (const step *)*state;
    char message[512];
    ct_device *d = ct_device_open("cuda:0");
    for (int round = 0; round < 2; round++)
        assert_ok(capture_and_replay(d, s, NULL, message, sizeof message), message);
    ct_memory_trim(d);
    const int64_t live = cudasim_live();
    for (int broken = 0; broken < 2; broken++)
        for (int64_t k = 1, failed = 1; failed; k += 1 + thinned() * (k % 13)) {
            cudasim_fail_at(k, broken);
            ct_status status = capture_and_replay(d, s, NULL, message, sizeof message);
            failed = cudasim_failed();
            std::string call = cudasim_failed_call();
            cudasim_fail_at(0, false);
            ct_memory_trim(d);
            if (cudasim_live() != live || (status && !message[0]) || (!failed && status))
                print_error("call %lld, %s: %s, \"%s\", %lld things are left\n", (long long)k, call.c_str(),
                            ct_status_name(status), message, (long long)(cudasim_live() - live));
            assert_int_equal(cudasim_live(), live);
            assert_true(failed || !status);
            assert_true(!status || message[0]);
        }
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

static ct_shape like_input(ct_call *c) { return ct_arg_shape(c, 0); }

/* An op that does what no op of the library does. */
static void wait_for_it(ct_call *c)
{
    ct_result(c);
    cudaDeviceSynchronize();
    cudaGetLastError();
}

static void applies(ct_tape *, trained *t)
{
    static ct_op waits;
    waits.name = "waits", waits.n_in = 1, waits.shape = like_input, waits.forward = wait_for_it;
    ct_apply(&waits, &t->loss, 1, NULL, 0);
}

static void decomposes(ct_tape *, trained *t) { ct_eigh(ct_reshape(t->loss, ct_shape2(1, 1)), NULL); }

static void uploads(ct_tape *tape, trained *)
{
    static const char bytes[1 << 17] = {};
    ct_tensor *t = ct_from(ct_tape_device(tape), CT_F64, ct_shape1(sizeof bytes / 8), bytes);
    ct_constant(tape, t);
    ct_release(t);
}

/* Needs more memory than the first call has left in the pool. */
static void allocates(ct_tape *, trained *t)
{
    ct_square(ct_broadcast_to(ct_stop_gradient(t->loss), ct_shape2(300, 100)));
}

static void what_cannot_be_recorded(void **)
{
    const step *s = &steps[0];
    char message[512];
    ct_device *d = ct_device_open("cuda:0");
    ct_status status = capture_and_replay(d, s, applies, message, sizeof message);
    assert_status(status, CT_EUNSUPPORTED, message);
    assert_non_null(strstr(message, "waits(scalar): cuda:0: this cannot be part of a graph"));
    status = capture_and_replay(d, s, decomposes, message, sizeof message);
    assert_status(status, CT_EUNSUPPORTED, message);
    assert_non_null(strstr(message, "eigh(1x1): cuda:0: cuSOLVER's eigenvectors cannot be recorded"));
    status = capture_and_replay(d, s, uploads, message, sizeof message);
    assert_status(status, CT_EINVAL, message); /* a tensor that is NULL, and why */
    assert_non_null(strstr(message, "131072 bytes of the host's cannot be part of a graph"));
    assert_ok(capture_and_replay(d, &steps[2], allocates, message, sizeof message), message);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

/* From cuSOLVER's size on. */
static void large_gp_data(ct_device *d, ct_tensor **t)
{
    t[0] = normal(d, ct_shape1(3), 1, .5, 0);
    t[1] = normal(d, ct_shape2(2100, 2), 2, 40, 0);
    t[2] = normal(d, ct_shape1(2100), 3, 2, 0);
    t[3] = normal(d, ct_shape1(1), 4, 0, .1);
}

static void a_large_step_waits_for_nothing(void **)
{
    const step s = { "large exact GP", gp_loss, large_gp_data };
    outcome o = run("cuda:0", &s);
    assert_ok(o.status, o.message);
    if (o.waits) print_error("%lld waits, the first in %s\n", (long long)o.waits, o.first_wait);
    assert_int_equal(o.waits, 0);
}

/* -- from cuSOLVER's size on ----------------------------------------------------------------------------- */

struct factored {
    ct_tensor *A;
    ct_var sum;
};

static ct_status factorise(ct_tape *tape, void *context)
{
    factored *f = (factored *)context;
    f->sum = ct_sum(ct_cholesky(ct_constant(tape, f->A)), CT_ALL, false);
    return CT_OK;
}

/* cuSOLVER alone may make an op wait. No step contains it. */
static void large_factors(void **)
{
    enum { N = 1024 };
    ct_device *d = ct_device_open("cuda:0");
    double *x = (double *)calloc(N * N, sizeof *x);
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) x[i * N + j] = i == j ? 2 : 1. / (N + i + j);
    factored eager = {}, recorded = {};
    eager.A = recorded.A = ct_from(d, CT_F64, ct_shape2(N, N), x);
    ct_tape *tape = ct_tape_new(d);
    cudasim_watch();
    assert_ok(factorise(tape, &eager), ct_tape_message(tape));
    assert_int_equal(cudasim_waits(), 1);
    assert_string_equal(cudasim_first_wait(), "cusolverDnXpotrf");
    cudasim_watch();
    ct_step *step = ct_step_capture(d, factorise, &recorded);
    assert_non_null(step);
    assert_int_equal(cudasim_waits(), 0);
    const double first = ct_item(recorded.sum);
    assert_ok(ct_step_replay(step), ct_message(d));
    assert_true(ct_item(recorded.sum) == first);
    assert_close(first, ct_item(eager.sum), 1e-12, 0);
    ct_step_free(step);
    ct_tape_free(tape);
    ct_release(eager.A);
    ct_device_close(d);
    free(x);
    assert_int_equal(cudasim_live(), 0);
}

/* -- loading --------------------------------------------------------------------------------------------- */

/* The first call, which is not recorded, writes nothing: so it does not load the recorded one's kernel. */
static ct_status writes(ct_tape *, void *context)
{
    static const double x[400] = { 7 };
    static int calls;
    return calls++ ? ct_write((ct_tensor *)context, x, sizeof x) : CT_OK;
}

static void kernels_are_loaded_before_a_recording(void **)
{
    cudasim_forget_kernels();
    ct_device *d = ct_device_open("cuda:0");
    ct_tensor *t = ct_zeros(d, CT_F64, ct_shape1(400));
    ct_step *step = ct_step_capture(d, writes, t);
    assert_non_null(step);
    assert_ok(ct_step_replay(step), ct_message(d));
    double x[400];
    assert_ok(ct_read(t, x, sizeof x), ct_message(d));
    assert_true(x[0] == 7 && x[399] == 0);
    ct_step_free(step);
    ct_release(t);
    ct_device_close(d);
    assert_int_equal(cudasim_live(), 0);
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction run;
    } of_each[] = { { "is right", right },
                    { "waits for nothing", waits_for_nothing },
                    { "every call fails", every_call_fails },
                    { "replays", replays },
                    { "every call of a graph fails", every_call_of_a_graph_fails } };
    enum { EACH = sizeof steps / sizeof *steps * (sizeof of_each / sizeof *of_each) };
    static std::string names[EACH];
    struct CMUnitTest tests[EACH + 5];
    int n = 0;
    for (const step &s : steps)
        for (const auto &test : of_each) {
            names[n] = std::string(s.name) + ": " + test.name;
            tests[n] = { names[n].c_str(), test.run, NULL, NULL, (void *)&s };
            n++;
        }
    tests[n++] = cmocka_unit_test(blocks_are_one_product);
    tests[n++] = cmocka_unit_test(what_cannot_be_recorded);
    tests[n++] = cmocka_unit_test(a_large_step_waits_for_nothing);
    tests[n++] = cmocka_unit_test(large_factors);
    tests[n++] = cmocka_unit_test(kernels_are_loaded_before_a_recording);
    kernel = ct_kernel_parse("scale * rbf(ard)");
    int failed = !kernel || ct_kernel_bind(kernel, 2) ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    ct_kernel_free(kernel);
    return failed;
}
