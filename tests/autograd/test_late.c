/* A device that computes later, simulated on the CPU: it notes a failed factorisation where only a download
 * finds it, and records steps as graphs. Messages and values are those of the CPU. */
#include "check.h"

#include "tensor/internal.h"

#include <cotangent/op.h>
#include <cotangent/step.h>

/* -- the device ------------------------------------------------------------------------------------------ */

static ct_backend late;
static int begun, launched, freed, graph;
static bool cannot_begin, cannot_end;

/* Notes what a primitive with that message has found. */
static ct_status note_later(ct_device *dev, const ct_failure *own, const char *what, const char *why,
                            ct_failure *failure)
{
    int64_t *note = ct__failure_note(dev, failure);
    if (!note) return CT_ENOMEM;
    if (own->set && !note[0])
        note[0] = failure->call + 1, note[1] = failure->from + own->member, note[2] = own->detail;
    if (failure->set) return CT_OK;
    failure->suspected = true;
    failure->what = what;
    failure->why = why;
    return CT_OK;
}

static ct_status potrf(ct_device *dev, ct_view *A, ct_failure *failure)
{
    ct_failure own = { .set = false };
    const ct_status s = ct__cpu_backend.potrf(dev, A, &own);
    return s ? s : note_later(dev, &own, "leading minor %lld", NULL, failure);
}

static ct_status flag(ct_device *dev, ct_domain domain, const ct_view *x, const char *what, const char *why,
                      ct_view *out, ct_failure *failure)
{
    ct_failure own = { .set = false };
    const ct_status s = ct__cpu_backend.flag(dev, domain, x, what, why, out, &own);
    return s ? s : note_later(dev, &own, what, why, failure);
}

static ct_status begin(ct_device *dev)
{
    if (cannot_begin) return ct__fail(dev, CT_EDEVICE, "no graph can begin");
    begun++;
    return CT_OK;
}

static ct_status capture_status(ct_device *dev)
{
    (void)dev;
    return CT_OK;
}

static void *end(ct_device *dev, size_t *nodes)
{
    *nodes = 7;
    if (!cannot_end) return &graph;
    ct__fail(dev, CT_EDEVICE, "the graph has no end");
    return NULL;
}

/* What was recorded was computed, too, so its values are there. */
static ct_status launch(ct_device *dev, void *which)
{
    (void)dev;
    launched += which == &graph;
    return CT_OK;
}

static void free_graph(ct_device *dev, void *which)
{
    (void)dev;
    freed += which == &graph;
}

static ct_device *open_late(void)
{
    ct_device *device = ct_device_open("cpu");
    assert_non_null(device);
    late = *device->backend;
    late.potrf = potrf;
    late.flag = flag;
    late.capture_begin = begin;
    late.capture_status = capture_status;
    late.capture_end = end;
    late.graph_launch = launch;
    late.graph_free = free_graph;
    device->backend = &late;
    begun = launched = freed = 0;
    cannot_begin = cannot_end = false;
    return device;
}

/* -- failures -------------------------------------------------------------------------------------------- */

/* The status and message of Σ log L_ii of `members` matrices, diag(1, 2, 3) but for member `bad`, whose minor
 * 2 is negative, after `before` other factorisations. */
static ct_status factorise(ct_device *device, int members, int bad, int before, char message[512])
{
    double x[4 * 9] = { 0 };
    for (int i = 0; i < members; i++)
        for (int k = 0; k < 3; k++) x[9 * i + 4 * k] = i == bad && k == 1 ? -1 : k + 1;
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *A = members > 1 ? ct_from(device, CT_F64, ct_shape3(members, 3, 3), x)
                               : ct_from(device, CT_F64, ct_shape2(3, 3), x),
              *fine = ct_full(device, CT_F64, ct_shape2(1, 1), 4);
    ct_var sum = ct_scalar(tape, CT_F64, 0);
    for (int i = 0; i < before; i++)
        sum = ct_add(sum, ct_sum(ct_cholesky(ct_leaf(tape, fine)), CT_ALL, false));
    sum = ct_add(sum, ct_sum(ct_log(ct_diag(ct_cholesky(ct_leaf(tape, A)))), CT_ALL, false));
    ct_status status = ct_backward(sum);
    if (!status) status = ct_tape_status(tape); /* waits */
    snprintf(message, 512, "%s", ct_tape_message(tape));
    if (!status) assert_close(ct_item(sum), 2 * before + members * log(6) / 2, 1e-14, 0);
    ct_release(A), ct_release(fine);
    ct_tape_free(tape);
    return status;
}

static void failures_are_found_late(void **state)
{
    (void)state;
    ct_device *now = ct_device_open("cpu"), *later = open_late();
    for (int members = 1; members < 4; members += 2)
        for (int bad = -1; bad < members; bad++)
            for (int before = 0; before < 20; before += 19) { /* more suspects than their first array holds */
                char message[2][512];
                const ct_status status[] = { factorise(now, members, bad, before, message[0]),
                                             factorise(later, members, bad, before, message[1]) };
                assert_int_equal(status[0], bad < 0 ? CT_OK : CT_ENUMERIC);
                assert_int_equal(status[1], status[0]);
                assert_string_equal(message[1], message[0]);
            }
    assert_int_equal(ct_memory(later).bytes_now, 0);
    ct_device_close(now);
    ct_device_close(later);
}

static ct_shape two_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void two_forward(ct_call *c)
{
    ct_prim_copy(c, ct_arg(c, 0), ct_result(c));
    ct_prim_flag(c, CT_NONZERO, ct_arg(c, 0), "number %lld", "is zero", ct_result(c));
    ct_prim_flag(c, CT_POSITIVE, ct_arg(c, 0), "number %lld", "is negative", ct_result(c));
}

/* A failure has the words of the primitive that found it, though others of its op came after it. */
static void each_has_its_words(void **state)
{
    (void)state;
    static const ct_op two = { .name = "two", .n_in = 1, .shape = two_shape, .forward = two_forward };
    static const char *const words[] = { "op #1 two(2x1): number 2 is zero",
                                         "op #1 two(2x1): number 2 is negative" };
    for (int negative = 0; negative < 2; negative++)
        for (int is_late = 0; is_late < 2; is_late++) {
            ct_device *device = is_late ? open_late() : ct_device_open("cpu");
            ct_tape *tape = ct_tape_new(device);
            ct_tensor *t = ct_from(device, CT_F64, ct_shape2(2, 1), (double[]){ 1, negative ? -1 : 0 });
            ct_var x = ct_constant(tape, t);
            ct_apply(&two, &x, 1, NULL, 0);
            assert_status(ct_tape_status(tape), CT_ENUMERIC, "");
            assert_string_equal(ct_tape_message(tape), words[negative]);
            ct_release(t);
            ct_tape_free(tape);
            ct_device_close(device);
        }
}

/* -- steps ----------------------------------------------------------------------------------------------- */

typedef struct model {
    ct_tensor *x;
    ct_var loss;
    int calls, fails_at;
} model;

static ct_status square(ct_tape *tape, void *context)
{
    model *m = context;
    if (++m->calls == m->fails_at) return CT_EINVAL;
    m->loss = ct_sum(ct_square(ct_leaf(tape, m->x)), CT_ALL, false);
    return ct_backward(m->loss);
}

static void a_step_is_recorded_once(void **state)
{
    (void)state;
    ct_device *device = open_late();
    model m = { .x = tensor1(device, 3, 1, 2, 3) };
    ct_step *step = ct_step_capture(device, square, &m);
    assert_non_null(step);
    assert_string_equal(ct_step_description(step), "called again at each replay");
    for (int i = 1; i < 4; i++) {
        assert_ok(ct_step_replay(step), ct_message(device));
        assert_string_equal(ct_step_description(step), "a graph of 7 kernels and copies");
        assert_int_equal(m.calls, 2);
        assert_int_equal(begun, 1);
        assert_int_equal(launched, i);
        assert_true(ct_item(m.loss) == 14);
    }
    ct_step_free(step);
    assert_int_equal(freed, 1);
    ct_release(m.x);
    assert_int_equal(ct_memory(device).bytes_now, 0);
    ct_device_close(device);
}

/* The first reason stays, and no replay tries again. */
static void a_step_that_cannot_be_recorded(void **state)
{
    (void)state;
    static const char *const reasons[] = { "no graph can begin", "the graph has no end",
                                           "the step returned CT_EINVAL" };
    for (int k = 0; k < 3; k++) {
        ct_device *device = open_late();
        model m = { .x = tensor1(device, 3, 1, 2, 3), .fails_at = k == 2 ? 2 : 0 };
        ct_step *step = ct_step_capture(device, square, &m);
        cannot_begin = k == 0, cannot_end = k == 1;
        const ct_status first = ct_step_replay(step);
        assert_int_equal(first, k < 2 ? CT_EDEVICE : CT_EINVAL);
        assert_string_equal(ct_message(device), reasons[k]);
        cannot_begin = cannot_end = false;
        assert_int_equal(ct_step_replay(step), first);
        assert_string_equal(ct_message(device), "the step could not be recorded: call its function instead");
        assert_int_equal(launched, 0);
        assert_int_equal(m.calls, k ? 2 : 1);
        ct_step_free(step);
        ct_release(m.x);
        assert_int_equal(ct_memory(device).bytes_now, 0);
        ct_device_close(device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_are_found_late),
        cmocka_unit_test(each_has_its_words),
        cmocka_unit_test(a_step_is_recorded_once),
        cmocka_unit_test(a_step_that_cannot_be_recorded),
    };
    return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
