/* Every op of the lists, on its own samples, forward and backward. The k-th call of CUDA fails, for every k,
 * alone and with all after it. The result is an error that says where, or the right numbers; nothing leaks,
 * and the same device computes again. A number that a call asks for and that does not come fails the call. */
#include "check.h"

#include <cotangent/gp.h>
#include <cotangent/ops.h>
#include <cotangent/tape.h>

#include "autograd/check/sample.h"
#include "cudasim.h"
#include "tensor/internal.h"

enum { ROOM = 2048, SIZE = 3 };

typedef struct outcome {
    ct_status status;
    char message[512];
    double x[ROOM]; /* the value, and the cotangents */
    int64_t n;
} outcome;

static void read_into(outcome *o, ct_device *device, const ct_tensor *t)
{
    if (!t || ct_tensor_dtype(t) != CT_F64 || ct_tensor_count(t) > ROOM - o->n) return;
    int64_t n = ct_tensor_count(t);
    ct_status status = ct_read(t, o->x + o->n, (size_t)n * sizeof *o->x);
    o->n += n;
    if (!status || o->status) return;
    o->status = status;
    snprintf(o->message, sizeof o->message, "%s", ct_message(device));
}

static void compute(outcome *o, ct_tape *tape, const ct_op *op, const ct_sample *s)
{
    ct_device *device = ct_tape_device(tape);
    memset(o, 0, sizeof *o);
    ct_tape_reset(tape);
    ct_var v[CT_MAX_INPUTS];
    for (int i = 0; i < s->n_in; i++)
        v[i] = s->kind[i] == CT__SAMPLE_INDEX ? ct_constant(tape, s->in[i]) : ct_leaf(tape, s->in[i]);
    ct_var y = ct_apply_on(tape, op, v, s->n_in, s->attr_size ? s->attr : NULL, s->attr_size);
    if (ct_var_needs_grad(y)) ct_backward(ct_sum(ct_square(y), CT_ALL, false));
    o->status = ct_tape_status(tape);
    snprintf(o->message, sizeof o->message, "%s", ct_tape_message(tape));
    read_into(o, device, ct_value(y));
    for (int i = 0; i < s->n_in; i++) read_into(o, device, ct_cotangent(v[i]));
}

static bool equal(const outcome *a, const outcome *b)
{
    return a->status == b->status && a->n == b->n && !memcmp(a->x, b->x, (size_t)a->n * sizeof *a->x);
}

static int64_t calls_failed;
static int thinned; /* every k in the slow set only */

static void fail_each_call(ct_tape *tape, const ct_op *op, const ct_sample *s)
{
    static outcome wanted, got;
    ct_device *device = ct_tape_device(tape);
    for (int round = 0; round < 2; round++) compute(&wanted, tape, op, s);
    if (wanted.status == CT_EUNSUPPORTED) return; /* the op matrix knows which are for a CPU alone */
    assert_ok(wanted.status, wanted.message);
    ct_tape_reset(tape);
    ct_memory_trim(device);
    const int64_t live = cudasim_live(), bytes = cudasim_live_bytes();
    for (int broken = 0; broken < 2; broken++)
        for (int64_t k = 1;; k += 1 + thinned * (k % 13)) {
            cudasim_fail_at(k, broken);
            compute(&got, tape, op, s);
            const bool failed = cudasim_failed();
            const char *call = cudasim_failed_call();
            char name[64];
            snprintf(name, sizeof name, "%s", call);
            cudasim_fail_at(0, false);
            const bool told = got.status && (strstr(got.message, "cuda:0") || strstr(got.message, op->name));
            bool ok = told || equal(&got, &wanted);
            if (!ok)
                print_error("%s: call %lld, %s, fails: %s, \"%s\"\n", op->name, (long long)k, name,
                            ct_status_name(got.status), got.message);
            ct_tape_reset(tape);
            device->backend->synchronize(device); /* an unwritten index may be out of range */
            ct_memory_trim(device);
            if (cudasim_live() != live || cudasim_live_bytes() != bytes) {
                print_error("%s: call %lld, %s, leaves %lld things, %lld bytes\n", op->name, (long long)k,
                            name, (long long)(cudasim_live() - live),
                            (long long)(cudasim_live_bytes() - bytes));
                ok = false;
            }
            compute(&got, tape, op, s);
            if (!equal(&got, &wanted)) {
                print_error("%s: after call %lld, %s, the device does not compute again: %s, \"%s\"\n",
                            op->name, (long long)k, name, ct_status_name(got.status), got.message);
                ok = false;
            }
            assert_true(ok);
            ct_tape_reset(tape);
            ct_memory_trim(device);
            if (!failed) break;
            calls_failed++;
        }
}

static void every_call_fails(void **state)
{
    const ct_op *op = *state;
    ct_device *device = ct_device_open("cuda:0");
    ct_tape *tape = ct_tape_new(device);
    assert_non_null(tape);
    for (int variant = 0, n = 1; variant < n; variant++) {
        ct_sample s = { .device = device, .dtype = CT_F64, .size = SIZE, .seed = 11, .variant = variant };
        assert_ok(ct__sample_draw(&s, op), ct_message(device));
        n = s.n_variants;
        fail_each_call(tape, op, &s);
        ct__sample_clear(&s);
    }
    ct_tape_free(tape);
    ct_device_close(device);
    assert_int_equal(cudasim_live(), 0);
}

/* Opening, copying a number there and back, closing. */
static void every_call_of_opening_fails(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++)
        for (int64_t k = 1, failed = 1; failed; k++) {
            double x = 3, y = 0;
            cudasim_fail_at(k, broken);
            ct_device *device = ct_device_open("cuda:0");
            ct_status status = ct_device_status(device);
            ct_tensor *t = status ? NULL : ct_from(device, CT_F64, ct_shape0(), &x);
            if (!status) status = t ? ct_read(t, &y, sizeof y) : ct_last_status(device);
            const bool told = status && strstr(ct_message(device), "cuda:0");
            if (!told && y != x)
                print_error("call %lld, %s: %s, \"%s\"\n", (long long)k, cudasim_failed_call(),
                            ct_status_name(status), ct_message(device));
            assert_true(told || y == x);
            ct_release(t);
            ct_device_close(device);
            failed = cudasim_failed();
            cudasim_fail_at(0, false);
            assert_int_equal(cudasim_live(), 0);
            calls_failed += failed;
        }
}

static double item; /* as the call saw it */

static ct_shape item_shape(ct_call *c)
{
    (void)c;
    return ct_shape0();
}

static void item_forward(ct_call *c)
{
    item = ct_call_item(c, ct_arg(c, 0));
    ct_prim_fill(c, ct_result(c), item);
}

static const ct_op op_item = { .name = "reads", .n_in = 1, .shape = item_shape, .forward = item_forward };

/* Reads a scalar within a call while the k-th call of CUDA fails. */
static void a_download_fails(void **state)
{
    (void)state;
    ct_device *device = ct_device_open("cuda:0");
    ct_tape *tape = ct_tape_new(device);
    int downloads = 0;
    bool failed = true;
    for (int64_t k = 1; failed; k++) {
        ct_tape_reset(tape);
        ct_var x = ct_scalar(tape, CT_F64, 3);
        assert_ok(ct_tape_status(tape), ct_tape_message(tape));
        item = 0;
        cudasim_fail_at(k, false);
        ct_var y = ct_apply(&op_item, &x, 1, NULL, 0);
        failed = cudasim_failed();
        cudasim_fail_at(0, false);
        if (!failed || !isnan(item)) {
            assert_true(item == 3);
            continue;
        }
        assert_status(ct_tape_status(tape), CT_EDEVICE, ct_tape_message(tape));
        assert_non_null(strstr(ct_tape_message(tape), " reads(scalar): cuda:0: "));
        assert_null(ct_value(y));
        downloads += strstr(ct_tape_message(tape), "cuda:0: downloading: ") != NULL;
    }
    assert_true(downloads > 0);
    ct_tape_reset(tape);
    ct_var x = ct_scalar(tape, CT_F64, 3);
    assert_true(ct_item(ct_apply(&op_item, &x, 1, NULL, 0)) == 3);
    ct_tape_free(tape);
    ct_device_close(device);
    assert_int_equal(cudasim_live(), 0);
}

int main(void)
{
    int n_ops = 0, n_gp = 0, n = 0;
    const ct_op *const *ops = ct_op_list(&n_ops), *const *gp_ops = ct_gp_op_list(&n_gp);
    thinned = check_quick() > 1;
    struct CMUnitTest tests[256] = { cmocka_unit_test(every_call_of_opening_fails),
                                     cmocka_unit_test(a_download_fails) };
    n = 2;
    for (int i = 0; i < n_ops + n_gp && n < 256; i++) {
        const ct_op *op = i < n_ops ? ops[i] : gp_ops[i - n_ops];
        tests[n++] = (struct CMUnitTest){ .name = op->name,
                                          .test_func = every_call_fails,
                                          .initial_state = (void *)op };
    }
    int status = _cmocka_run_group_tests("failing calls", tests, (size_t)n, NULL, NULL);
    print_message("# %lld calls have failed\n", (long long)calls_failed);
    return status;
}
