/* Ops with mistakes in them: every mistake gives an error with a message, in release builds, too. */
#include "one_tape.h"

#include <cotangent/op.h>

static ct_tensor *X;

static int setup(void **state)
{
    if (open_tape(state)) return -1;
    X = ct_from(device, CT_F64, ct_shape2(2, 2), (double[]){ 1, 2, 3, 4 });
    return X ? 0 : -1;
}

static int teardown(void **state)
{
    ct_release(X);
    return close_tape(state);
}

static void says(const char *what)
{
    ct_status s = ct_tape_status(tape);
    if (s == CT_OK || !strstr(ct_tape_message(tape), what))
        fail_msg("%s: \"%s\" lacks \"%s\"", ct_status_name(s), ct_tape_message(tape), what);
    ct_tape_reset(tape);
}

/* -- members of a batch ---------------------------------------------------------------------------------- */

/* y (...) = Σ x, for x (..., n); NaN, and flagged, where x_0 < 0; an error where x_0 > 100. */
static const int own_row[] = { 1 };
static bool shapeless, replacing;

static ct_shape each_shape(ct_call *c) { return shapeless ? ct_shape0() : ct_batch_shape(c, own_row); }

static void each_row(ct_call *c)
{
    ct_view x = ct_arg(c, 0), room = ct_scratch(c, x.dtype, ct_view_shape(x));
    if (replacing) ct_set_result(c, 0, room);
    ct_prim_copy(c, x, room);
    ct_prim_reduce(c, CT_REDUCE_SUM, room, ct_view_unsqueeze(ct_result(c), 0));
    if (ct_device_is_asynchronous(ct_call_device(c))) return;
    const double first = *(const double *)x.data;
    ct_require(c, first <= 100, CT_EINVAL, "a row begins with %g", first);
    if (first >= 0) return;
    ct_flag_failure(c, 0, (int64_t)-first, "minus %lld");
    ct_prim_fill(c, ct_result(c), NAN);
}

static void each_forward(ct_call *c) { ct_each_member(c, own_row, true, each_row); }

static const ct_op each_op = { .name = "each", .n_in = 1, .shape = each_shape, .forward = each_forward };

static void members(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 3 };
    double x[ROWS * COLS], y[ROWS];
    for (int kind = 0; kind < 5; kind++) {
        for (int i = 0; i < ROWS * COLS; i++) x[i] = i % 7;
        if (kind == 1) x[12 * COLS] = -4, x[13 * COLS] = -5, x[39 * COLS] = -6;
        if (kind == 2) x[20 * COLS] = 101;
        shapeless = kind == 3;
        replacing = kind == 4;
        ct_tensor *t = ct_from(device, CT_F64, ct_shape_of(3, (int64_t[]){ 4, ROWS / 4, COLS }), x);
        ct_var v = ct_apply(&each_op, (ct_var[]){ ct_constant(tape, t) }, 1, NULL, 0);
        ct_release(t);
        if (kind == 3) says("output 0 must begin with the batch's dimensions");
        if (kind == 4) says("fill their outputs");
        if (kind > 2) continue;
        const bool late = ct_device_is_asynchronous(device);
        if (kind == 2 && !late) says("op #1 each(4x10x3): a row begins with 101");
        if (kind == 2) continue;
        assert_ok(ct_read(ct_value(v), y, sizeof y), ct_message(device));
        for (int k = 0; k < ROWS; k++)
            if (x[k * COLS] >= 0) assert_true(y[k] == x[k * COLS] + x[k * COLS + 1] + x[k * COLS + 2]);
        if (kind == 1 && !late) assert_true(isnan(y[12]) && isnan(y[13]) && isnan(y[39]));
        if (kind == 1 && !late) says("minus 4 of batch member 12");
    }
    shapeless = replacing = false;
    ct_tape_reset(tape);
}

/* Each thread has memory of its own, and its first call fills it: whoever is late has a member left to do. */
static void after_one_call_every_thread_has_its_memory(void **state)
{
    (void)state;
    const ct_shape two_rows = ct_shape2(2, 3);
    for (int round = 0; round < 300; round++) {
        ct_device *own = ct_device_open_with(check_device(), &(ct_device_options){ .threads = 2 });
        ct_tape *on = ct_tape_new(own);
        ct_tensor *x = ct_full(own, CT_F64, two_rows, 1);
        ct_memory_info before = { 0 }, after = { 0 };
        for (int call = 0; call < 2; call++) {
            before = ct_memory(own);
            ct_var v = ct_apply(&each_op, (ct_var[]){ ct_constant(on, x) }, 1, NULL, 0);
            assert_ok(ct_tape_status(v.tape), ct_tape_message(on));
            ct_tape_reset(on);
            after = ct_memory(own);
        }
        assert_int_equal(after.requests - before.requests, after.from_pool - before.from_pool);
        ct_release(x);
        ct_tape_free(on);
        ct_device_close(own);
    }
}

/* -- descriptors ----------------------------------------------------------------------------------------- */

static ct_shape like_input(ct_call *c) { return ct_arg_shape(c, 0); }
static void copied(ct_call *c) { ct_prim_copy(c, ct_arg(c, 0), ct_result(c)); }
static void passed(ct_rule *g) { ct_in_bar(g, 0, ct_out_bar(g)); }

static void descriptors(void **state)
{
    (void)state;
    const ct_op good = { .name = "good", .n_in = 1, .shape = like_input, .forward = copied, .vjp = passed };
    ct_op op = good;
    ct_var two[2] = { ct_leaf(tape, X), ct_leaf(tape, X) };
    assert_ok(ct_backward(ct_sum(ct_apply(&good, two, 1, NULL, 0), CT_ALL, false)), ct_tape_message(tape));
#define WRONG(call, text)          \
    do {                           \
        two[0] = ct_leaf(tape, X); \
        two[1] = ct_leaf(tape, X); \
        (void)(call);              \
        says(text);                \
    } while (0)
    WRONG(ct_apply(NULL, two, 1, NULL, 0), "ct_apply: the op is NULL");
    op.name = NULL;
    WRONG(ct_apply(&op, two, 1, NULL, 0), "ct_apply: the op has no name");
    op = good;
    op.shape = NULL;
    WRONG(ct_apply(&op, two, 1, NULL, 0), "op #2 good: its descriptor has no shape function");
    op = good;
    op.forward = NULL;
    WRONG(ct_apply(&op, two, 1, NULL, 0), "op #2 good: its descriptor has no forward function");
    WRONG(ct_apply(&good, two, 2, NULL, 0), "op #2 good: called with 2 inputs, it takes 1");
    WRONG(ct_apply_on(tape, &good, NULL, 0, NULL, 0), "op #2 good: called with 0 inputs, it takes 1");
    WRONG(ct_apply_on(tape, &good, NULL, 1, NULL, 0), "op #2 good: the array of its 1 inputs is NULL");
    WRONG(ct_apply_on(tape, &good, two, -1, NULL, 0), "op #2 good: called with -1 inputs, it takes 1");
    op.n_in = -1;
    op.forward = copied;
    WRONG(ct_apply_on(tape, &op, two, CT_MAX_INPUTS + 1, NULL, 0), "called with 65 inputs, at most 64");
    WRONG(ct_apply_on(tape, &op, NULL, 0, NULL, 0), "op #2 good(): there is no input 0, the call has 0");
}

static ct_tape *other;
static ct_var elsewhere(ct_call *c)
{
    (void)c;
    return other ? ct_leaf(other, X) : (ct_var){ NULL, 0, 0 };
}

static ct_var with_more(ct_call *c)
{
    ct_more_out(c, 1, CT_F64, ct_shape0());
    return ct_arg_var(c, 0);
}

static void compositions(void **state)
{
    (void)state;
    const ct_op more = { .name = "more", .n_in = 1, .compose = with_more };
    ct_var in = ct_leaf(tape, X);
    ct_apply(&more, &in, 1, NULL, 0);
    says("more(2x2): a composition declares no outputs");
    const ct_op op = { .name = "elsewhere", .n_in = 1, .compose = elsewhere };
    ct_var x = ct_leaf(tape, X);
    ct_apply(&op, &x, 1, NULL, 0);
    says("elsewhere(2x2): its composition returned no value of this tape");
    other = ct_tape_new(device);
    x = ct_leaf(tape, X);
    ct_apply(&op, &x, 1, NULL, 0);
    says("elsewhere(2x2): its composition returned no value of this tape");
    ct_tape_free(other);
    other = NULL;
}

/* -- places out of range, and what is not there ---------------------------------------------------------- */

static int mistake;
static bool computed; /* whether wrong_forward has run */

static ct_shape wrong_shape(ct_call *c)
{
    switch (mistake) {
    case 0: return ct_arg_shape(c, 5);
    case 1: return ct_shape1(ct_arg_dim(c, -1, 0));
    case 2: return ct_shape1(ct_arg_ndim(c, 64));
    case 3: return ct_view_shape(ct_arg(c, 1 << 30));
    case 4: ct_more_out(c, -1, CT_F64, ct_shape0()); break;
    case 5: ct_set_dtype(c, (ct_dtype)77); break;
    case 6: return (ct_shape){ .ndim = -1 };
    case 7: return (ct_shape){ .ndim = 99 };
    case 8:
        ct_save_for_vjp(c, 1, CT_F64, ct_shape0());
        ct_more_out(c, 2, CT_F64, ct_shape0());
        break;
    case 9: ct_require(c, false, CT_OK, "refused with %s", "CT_OK"); break;
    case 40: return ct_batch_shape(c, NULL);
    case 41: return ct_batch_shape(c, (const int[]){ -1 });
    }
    return ct_arg_shape(c, 0);
}

static void wrong_forward(ct_call *c)
{
    const ct_view none = ct_no_view();
    computed = true;
    ct_view x = ct_arg(c, 0), y = ct_result(c), narrow = ct_scratch(c, CT_F32, ct_shape2(2, 2)),
            whole = ct_scratch(c, CT_I64, ct_shape2(2, 2));
    ct_prim_fill(c, y, 1);
    switch (mistake) {
    case 10: ct_result_at(c, 1); break;
    case 11: ct_result_at(c, -1); break;
    case 12: ct_prim_gemm(c, 1, x, none, 0, y); break;
    case 13: ct_prim_gemm(c, 1, narrow, narrow, 0, y); break;
    case 14: ct_prim_fill(c, none, 0); break;
    case 15: ct_prim_potrf(c, whole); break;
    case 16: ct_prim_map2(c, CT_MAP_mul, x, narrow, y); break;
    case 17: ct_prim_trsm(c, 0, 1, narrow, y); break;
    case 18: ct_prim_trtri(c, whole); break;
    case 19: ct_prim_copy(c, none, y); break;
    case 20: ct_prim_trmm(c, 64, 1, x, y); break;
    case 21: ct_flag_failure(c, 0, 1, NULL); break;
    case 22: ct_prim_getrf(c, x, y, none); break;
    case 23: ct_prim_triangle(c, x, true, 0, none); break;
    case 24: ct_prim_lu_det(c, x, y, y); break;
    case 25: ct_each_member(c, (const int[]){ 1 }, true, NULL); break;
    case 26: ct_each_member(c, (const int[]){ -7 }, true, each_row); break;
    }
}

static void wrong_vjp(ct_rule *g)
{
    ct_var x = ct_in(g, 0);
    switch (mistake) {
    case 30: ct_in_bar(g, 5, x); break;
    case 31: ct_in_bar(g, -1, x); break;
    case 32: ct_in_bar(g, 0, ct_in(g, 1)); break;
    case 33: ct_in_bar(g, 0, ct_out_at(g, 1)); break;
    case 34: ct_in_bar(g, 0, ct_out_bar_at(g, 4)); break;
    case 35: ct_has_out_bar(g, -1); break;
    case 36: ct_give_in_bar(g, 7, x); break;
    case 37: ct_in_bar(g, 0, ct_leaf(other, X)); break;
    case 38: ct_in_bar(g, 0, ((ct_var){ ct_rule_tape(g), 1000, x.epoch })); break;
    }
}

static void places(void **state)
{
    (void)state;
    static const struct {
        int mistake;
        const char *says;
    } list[] = {
        { 0, "wrong(2x2): there is no input 5, the call has 1" },
        { 1, "there is no input -1, the call has 1" },
        { 2, "there is no input 64" },
        { 3, "there is no input 1073741824" },
        { 4, "outputs are declared in order" },
        { 5, "there is no dtype 77" },
        { 6, "cannot have the shape" },
        { 7, "cannot have the shape" },
        { 8, "output 2 is declared after one of ct_save_for_vjp" },
        { 9, "refused with CT_OK" },
        { 10, "output 1 was not declared: ct_more_out" },
        { 11, "output -1 was not declared" },
        { 12, "a primitive's argument is an empty view" },
        { 13, "a primitive was given f32 and f64, it takes one dtype" },
        { 14, "a primitive's argument is an empty view" },
        { 15, "a primitive was given i64, it takes f64 or f32" },
        { 16, "a primitive was given f32 and f64" },
        { 17, "a primitive was given f32 and f64" },
        { 18, "a primitive was given i64" },
        { 19, "a primitive's argument is an empty view" },
        { 20, "unknown flags 0x40" },
        { 21, "ct_flag_failure: what is NULL" },
        { 22, "a primitive's argument is an empty view" },
        { 23, "a primitive's argument is an empty view" },
        { 24, "log_abs and sign must hold one number for each matrix" },
        { 25, "ct_each_member: run is NULL" },
        { 26, "own[0] = -7, it must be 0 or more" },
        { 30, "backward of op #1 wrong: there is no input 5, the op has 1" },
        { 31, "there is no input -1" },
        { 32, "there is no input 1" },
        { 33, "there is no output 1, the op has 1" },
        { 34, "there is no output 4" },
        { 35, "there is no output -1" },
        { 36, "there is no input 7" },
        { 37, "the cotangent of input 0 is on another tape" },
        { 38, "is not on the tape" },
        { 40, "own is NULL" },
        { 41, "own[0] = -1, it must be 0 or more" },
    };
    const ct_op op = {
        .name = "wrong", .n_in = 1, .shape = wrong_shape, .forward = wrong_forward, .vjp = wrong_vjp
    };
    other = ct_tape_new(device);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        mistake = list[i].mistake;
        computed = false;
        ct_var x = ct_leaf(tape, X), y = ct_apply(&op, &x, 1, NULL, 0);
        if (mistake < 10 || mistake >= 40) assert_true(!computed || (mistake >= 5 && mistake <= 7));
        if (mistake >= 30 && mistake < 40) {
            assert_ok(ct_tape_status(tape), ct_tape_message(tape));
            assert_int_not_equal(ct_backward(ct_sum(y, CT_ALL, false)), CT_OK);
        }
        says(list[i].says);
    }
    ct_tape_free(other);
    other = NULL;
}

/* A rule that ends what it has not begun, begins what it does not end, or resets the tape under the sweep. */
static void meddling_vjp(ct_rule *g)
{
    if (mistake == 0) ct_no_grad_end(ct_rule_tape(g));
    if (mistake == 1) ct_no_grad_begin(ct_rule_tape(g));
    if (mistake == 2) ct_tape_reset(ct_rule_tape(g));
    ct_in_bar(g, 0, ct_out_bar(g));
}

static void meddling(void **state)
{
    (void)state;
    const ct_op op = {
        .name = "meddling", .n_in = 1, .shape = like_input, .forward = copied, .vjp = meddling_vjp
    };
    for (mistake = 0; mistake < 3; mistake++)
        for (int recorded = 0; recorded < 2; recorded++) {
            ct_var x = ct_leaf(tape, X), y = ct_sum(ct_apply(&op, &x, 1, NULL, 0), CT_ALL, false), bar;
            (void)ct_grad(y, (ct_var){ NULL, 0, 0 }, &x, &bar, 1, recorded ? CT_GRAD_RECORD : CT_GRAD_FREE);
            if (mistake < 2) assert_true(ct_grad_enabled(tape));
            if (mistake == 2) says("backward of op #1 meddling: a rule cannot reset its tape");
            ct_tape_reset(tape);
        }
}

/* Attributes of 0 bytes are none: shape and forward see what vjp will see. */
static ct_shape without_attr(ct_call *c)
{
    ct_require(c, ct_attr(c), CT_EINVAL, "the attributes are missing");
    return ct_arg_shape(c, 0);
}

static void empty_attributes(void **state)
{
    (void)state;
    const ct_op op = { .name = "bare", .n_in = 1, .shape = without_attr, .forward = copied, .vjp = passed };
    ct_var x = ct_leaf(tape, X);
    ct_apply(&op, &x, 1, "attr", 0);
    says("bare(2x2): the attributes are missing");
}

/* A call that was refused does not reach the members. */
static ct_shape refused_late(ct_call *c) { return ct_arg_shape(c, 0); }
static void no_member(ct_call *c)
{
    (void)c;
    fail_msg("a failed call has members");
}
static void refused_forward(ct_call *c)
{
    ct_require(c, false, CT_EINVAL, "refused in forward");
    ct_each_member(c, own_row, true, no_member);
}

static void no_members_after_a_failure(void **state)
{
    (void)state;
    const ct_op op = { .name = "late", .n_in = 1, .shape = refused_late, .forward = refused_forward };
    ct_var x = ct_leaf(tape, X);
    ct_apply(&op, &x, 1, NULL, 0);
    says("late(2x2): refused in forward");
}

/* An op without inputs may flag a failure. */
static ct_shape none(ct_call *c)
{
    (void)c;
    return ct_shape0();
}
static void flags(ct_call *c)
{
    ct_prim_fill(c, ct_result(c), NAN);
    ct_flag_failure(c, 0, 7, "draw %lld");
}

static void no_inputs(void **state)
{
    (void)state;
    const ct_op op = { .name = "draws", .n_in = 0, .shape = none, .forward = flags };
    ct_apply_on(tape, &op, NULL, 0, NULL, 0);
    says("op #0 draws(): draw 7 is not positive");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(members),
        TEST(after_one_call_every_thread_has_its_memory),
        TEST(descriptors),
        TEST(compositions),
        TEST(places),
        TEST(no_inputs),
        TEST(meddling),
        TEST(empty_attributes),
        TEST(no_members_after_a_failure),
    };
    return cmocka_run_group_tests_name("own op", tests, NULL, NULL);
}
