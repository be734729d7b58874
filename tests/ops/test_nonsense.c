/* Every public function of tape.h and ops.h is given NULL, a poisoned handle or a value out of range for each
 * of its arguments. It returns a status and one whole line that names the argument. */
#include "one_tape.h"

#include <cotangent/gradcheck.h>
#include <cotangent/ops.h>
#include <cotangent/step.h>

static ct_tensor *square, *whole;
static ct_var A, q, poisoned;
static int checked;

static void begin(void)
{
    ct_tape_reset(tape);
    A = ct_leaf(tape, square);
    q = ct_constant(tape, whole);
}

/* The message is one whole line about what is wrong; it names only the op that was called and the one that
 * failed. */
static void whole_message(const char *call, const char *message, const char *words)
{
    const size_t n = strlen(message);
    int ops = 0;
    for (const char *at = message; (at = strstr(at, "op #")) != NULL; at++) ops++;
    if (ops > 2) fail_msg("%s: \"%s\" names %d ops", call, message, ops);
    if (!n || strchr(":, (", message[n - 1]) || strchr(message, '\n') || strstr(message, "(null)") ||
        strstr(message, ": :") || !strstr(message, words))
        fail_msg("%s: \"%s\" (wanted: %s)", call, message, words);
    checked++;
}

static void tape_says(const char *call, const char *words)
{
    if (ct_tape_status(tape) == CT_OK) fail_msg("%s: CT_OK", call);
    whole_message(call, ct_tape_message(tape), words);
    begin();
}

static void device_says(const char *call, const char *words)
{
    whole_message(call, ct_message(device), words);
    begin();
}

#define TAPE(call, words)   ((void)(call), tape_says(#call, words))
#define DEVICE(call, words) (assert_false(!!(call)), device_says(#call, words))
#define STATUS(call, words) (assert_int_not_equal((call), CT_OK), device_says(#call, words))

static ct_shape extents(int ndim, int64_t extent)
{
    ct_shape s = { .ndim = ndim };
    for (int i = 0; i < CT_MAX_DIMS; i++) s.dim[i] = extent;
    return s;
}

/* -- tape.h ---------------------------------------------------------------------------------------------- */

static void tapes(void **state)
{
    (void)state;
    ct_var bar, none = poisoned;
    char text[64];
    assert_null(ct_tape_new(NULL));
    ct_tape_free(NULL);
    ct_tape_reset(NULL);
    assert_null(ct_tape_device(NULL));
    assert_status(ct_tape_status(NULL), CT_EINVAL, "");
    whole_message("ct_tape_message(NULL)", ct_tape_message(NULL), "NULL");
    ct_tape_fail(NULL, CT_EINVAL, "nobody hears");
    TAPE(ct_tape_fail(tape, CT_EINVAL, NULL), "ct_tape_fail");
    assert_int_equal(ct_tape_length(NULL), 0);
    assert_int_equal(ct_tape_print(NULL, NULL, 0), 0);
    assert_true(ct_tape_print(tape, NULL, 100) > 0 && ct_tape_dot(tape, NULL, 100) > 0);
    assert_true(ct_tape_print(tape, text, 0) > 0 && ct_tape_dot(NULL, text, sizeof text) > 0);
    ct_no_grad_begin(NULL);
    ct_no_grad_end(NULL);
    assert_false(ct_grad_enabled(NULL));
    assert_null(ct_leaf(NULL, square).tape);
    assert_null(ct_constant(NULL, square).tape);
    assert_null(ct_scalar(NULL, CT_F64, 1).tape);
    assert_null(ct_leaf_scalar(NULL, CT_F64, 1).tape);
    assert_null(ct_zeros(device, CT_F64, ct_shape1(-1))); /* a failure of the past, which nobody quotes */
    ct_constant(tape, NULL);
    assert_null(strstr(ct_tape_message(tape), ct_message(device)));
    begin();
    TAPE(ct_leaf(tape, NULL), "ct_leaf: the tensor is NULL");
    TAPE(ct_constant(tape, NULL), "ct_constant: the tensor is NULL");
    TAPE(ct_leaf(tape, whole), "ct_leaf: integers have no gradient");
    TAPE(ct_scalar(tape, (ct_dtype)77, 1), "no dtype 77");
    TAPE(ct_leaf_scalar(tape, (ct_dtype)77, 1), "no dtype 77");
    TAPE(ct_leaf_scalar(tape, CT_I64, 1), "ct_leaf_scalar: integers have no gradient");
    TAPE(ct_no_grad_end(tape), "ct_no_grad_begin");
    assert_null(ct_value(none));
    assert_null(ct_cotangent(none));
    assert_true(isnan(ct_item(none)));
    assert_int_equal(ct_var_shape(none).ndim, -1);
    assert_false(ct_var_needs_grad(none));
    assert_null(ct_keep(none).tape);
    assert_null(ct_stop_gradient(none).tape);
    assert_status(ct_check(none), CT_EINVAL, "");
    assert_status(ct_backward(none), CT_EINVAL, "");
    assert_status(ct_grad(none, none, &A, &bar, 1, CT_GRAD_KEEP), CT_EINVAL, "");
    assert_status(ct_hvp(none, &A, &A, &bar, 1), CT_EINVAL, "");
    begin();
    ct_var y = ct_sum(A, CT_ALL, false);
#define AGAIN(call, words) (y = ct_sum(A, CT_ALL, false), TAPE(call, words))
    AGAIN(ct_item(A), "one element");
    AGAIN(ct_grad(y, none, NULL, &bar, 1, CT_GRAD_KEEP), "ct_grad: x is NULL");
    AGAIN(ct_grad(y, none, &A, NULL, 1, CT_GRAD_KEEP), "ct_grad: x_bar is NULL");
    AGAIN(ct_grad(y, none, &A, &bar, -1, CT_GRAD_KEEP), "ct_grad: n = -1");
    AGAIN(ct_grad(y, none, &none, &bar, 1, CT_GRAD_KEEP), "ct_grad: x[0] is poisoned");
    ct_var still; /* no gradient flows into it */
#define STILL(v, call, words) (still = (v), AGAIN(call, words))
    STILL(ct_stop_gradient(A), ct_grad(y, none, &still, &bar, 1, CT_GRAD_KEEP),
          "constant: make it a ct_leaf");
    STILL(ct_stop_gradient(A), ct_hvp(y, &still, &A, &bar, 1), "is a constant: make it a ct_leaf");
    STILL(ct_sign(A), ct_grad(y, none, &still, &bar, 1, CT_GRAD_KEEP), "sign, depends on no leaf: make");
    AGAIN(ct_grad(y, none, &q, &bar, 1, CT_GRAD_KEEP), "integers have no gradient");
    AGAIN(ct_grad(none, none, &A, &bar, 1, CT_GRAD_KEEP), "ct_grad: y is a poisoned handle");
    AGAIN(ct_hvp(none, &A, &A, &bar, 1), "ct_hvp: y is a poisoned handle");
    AGAIN(ct_grad(y, none, &A, &bar, 1, (ct_grad_flags)4), "ct_grad: unknown flags 0x4: CT_GRAD_KEEP, ");
    AGAIN(ct_grad(y, A, &A, &bar, 1, CT_GRAD_KEEP), "must be scalar");
    AGAIN(ct_grad(A, none, &A, &bar, 1, CT_GRAD_KEEP), "give ct_grad its cotangent");
    AGAIN(ct_hvp(y, NULL, &A, &bar, 1), "ct_hvp: x is NULL");
    AGAIN(ct_hvp(y, &A, NULL, &bar, 1), "ct_hvp: v is NULL");
    AGAIN(ct_hvp(y, &A, &A, NULL, 1), "ct_hvp: hv is NULL");
    AGAIN(ct_hvp(y, &A, &A, &bar, 0), "ct_hvp: n = 0");
    AGAIN(ct_hvp(y, &A, &A, &bar, INT32_MAX), "ct_hvp: n = 2147483647"); /* writes nothing */
    AGAIN(ct_hvp(y, &A, &none, &bar, 1), "ct_hvp: v[0] ");
    AGAIN(ct_hvp(y, &none, &A, &bar, 1), "x[0] is poisoned");
    for (int k = 0; k < 3; k++) { /* the results are poisoned, not left as they were */
        bar = A;
        y = ct_sum(A, CT_ALL, false);
        (void)(k == 0   ? ct_hvp(none, &A, &A, &bar, 1)
               : k == 1 ? ct_hvp(y, &A, NULL, &bar, 1)
                        : ct_grad(none, none, &A, &bar, 1, CT_GRAD_KEEP));
        assert_null(ct_value(bar));
        begin();
    }
    AGAIN(ct_backward(q), "i64"), AGAIN(ct_backward(ct_sum(q, CT_ALL, false)), "i64");
}

static void devices(void **state)
{
    (void)state;
    ct_device *other = ct_device_open("cpu");
    ct_tensor *t = ct_zeros(other, CT_F64, ct_shape0());
    ct_leaf(tape, t);
    const char *m = ct_tape_message(tape);
    whole_message("another device", m, "ct_leaf: the tensor lives on another device");
    whole_message("another device", m, strcmp(check_device(), "cpu") ? "cpu" : "cpu was opened twice");
    begin();
    ct_release(t);
    ct_device_close(other);
}

static void steps(void **state)
{
    (void)state;
    assert_null(ct_step_capture(NULL, NULL, NULL));
    DEVICE(ct_step_capture(device, NULL, NULL), "function is NULL");
    assert_status(ct_step_replay(NULL), CT_EINVAL, "");
    assert_null(ct_step_tape(NULL));
    assert_non_null(ct_step_description(NULL));
    ct_step_free(NULL);
}

/* -- ops.h ----------------------------------------------------------------------------------------------- */

static void handles(void **state)
{
    (void)state;
    ct_var second, none = poisoned;
    const int order[2] = { 1, 0 };
    const ct_shape four = ct_shape1(4);
    assert_null(ct_op_find(NULL));
    assert_null(ct_op_find("no such op"));
    assert_non_null(ct_op_list(NULL));
#define ONE(call) assert_null((call).tape), checked++
    ct_var (*const one[])(ct_var) = { ct_neg,
                                      ct_abs,
                                      ct_sign,
                                      ct_exp,
                                      ct_expm1,
                                      ct_log,
                                      ct_log1p,
                                      ct_sqrt,
                                      ct_square,
                                      ct_reciprocal,
                                      ct_sin,
                                      ct_cos,
                                      ct_tanh,
                                      ct_sech2,
                                      ct_sigmoid,
                                      ct_softplus,
                                      ct_gaussian,
                                      ct_relu,
                                      ct_erf,
                                      ct_lgamma,
                                      ct_t,
                                      ct_diag,
                                      ct_diag_embed,
                                      ct_trace,
                                      ct_cholesky,
                                      ct_cholesky_logdet,
                                      ct_inverse,
                                      ct_det,
                                      ct_expm,
                                      ct_inverse_spd,
                                      ct_logdet,
                                      ct_inverse_diag,
                                      ct_inverse_diag_spd };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) ONE(one[i](none));
    ONE(ct_polygamma(none, 0)), ONE(ct_pow(none, 2)), ONE(ct_scale(none, 2)), ONE(ct_shift(none, 2));
    ONE(ct_clamp(none, 0, 1)), ONE(ct_cast(none, CT_F32)), ONE(ct_sum(none, 0, 0)), ONE(ct_mean(none, 0, 0));
    ONE(ct_softmax(none, 0)), ONE(ct_log_softmax(none, 0));
    ONE(ct_max(none, 0, 0)), ONE(ct_logsumexp(none, 0, 0)), ONE(ct_sum_to(none, four)),
        ONE(ct_reshape(none, four));
    ONE(ct_permute(none, order)), ONE(ct_permute(none, NULL)), ONE(ct_slice(none, 0, 0, 1, 1));
    ONE(ct_unslice(none, 0, 1, 0, 1)), ONE(ct_broadcast_to(none, four)), ONE(ct_squeeze(none, 0));
    ONE(ct_unsqueeze(none, 0)), ONE(ct_tril(none, 0)), ONE(ct_triu(none, 0)), ONE(ct_group_by(none, 1));
    ONE(ct_slogdet(none, NULL)), ONE(ct_slogdet(none, &second)), ONE(second), ONE(ct_lu(none, NULL));
    ONE(ct_svd(none, NULL, NULL)), ONE(ct_svd(none, &second, NULL)), ONE(second);
    ONE(ct_qr(none, NULL)), ONE(ct_qr(none, &second)), ONE(second);
    ONE(ct_eigh(none, NULL)), ONE(ct_eigh(none, &second)), ONE(second);
    ONE(ct_lu(none, &second)), ONE(second), ONE(ct_concat(NULL, 0, 0)), ONE(ct_concat(NULL, 2, 0));
    ONE(ct_concat(&none, -1, 0)), ONE(ct_factor_solve(NULL, none));
    assert_int_equal(ct_ridge_form_of(none), CT_RIDGE_AUTO);
    ct_var (*const two[])(ct_var, ct_var) = { ct_add,
                                              ct_sub,
                                              ct_mul,
                                              ct_div,
                                              ct_maximum,
                                              ct_minimum,
                                              ct_less,
                                              ct_equal,
                                              ct_gather,
                                              ct_matmul,
                                              ct_add_diag,
                                              ct_cholesky_solve,
                                              ct_lstsq,
                                              ct_inverse_cols,
                                              ct_inverse_rows,
                                              ct_solve,
                                              ct_sqdist,
                                              ct_mse,
                                              ct_softmax_cross_entropy };
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        ONE(two[i](none, none));
        TAPE(two[i](none, A), "input 0 is a poisoned handle");
        TAPE(two[i](A, none), "input 1 is a poisoned handle");
    }
    TAPE(ct_tri_solve(none, A, 0), "input 0 is a poisoned handle");
    TAPE(ct_tri_solve(A, none, 0), "input 1 is a poisoned handle");
    TAPE(ct_scatter_add(A, none, 2), "input 1 is a poisoned handle");
    TAPE(ct_huber(A, none, 1), "input 1 is a poisoned handle");
    TAPE(ct_inv_quad_logdet(A, none, NULL), "input 1 is a poisoned handle");
    TAPE(ct_inv_quad_logdet(none, A, &second), "input 0 is a poisoned handle");
#define THREE(call) (v[0] = v[1] = v[2] = A, v[i] = none, TAPE(call, words))
    for (int i = 0; i < 3; i++) {
        ct_var v[3];
        char words[64];
        snprintf(words, sizeof words, "input %d is a poisoned handle", i);
        THREE(ct_where(v[0], v[1], v[2]));
        THREE(ct_inverse_block(v[0], v[1], v[2]));
        THREE(ct_gather_matmul(v[0], v[1], v[2]));
        THREE(ct_grouped_matmul(v[0], v[1], v[2]));
        THREE(ct_ridge_solve(v[0], v[1], v[2]));
        THREE(ct_gaussian_nll(v[0], v[1], v[2]));
        THREE(ct_mvn_logpdf(v[0], v[1], v[2]));
        THREE(ct_concat(v, 3, 0));
        if (i < 2) THREE(ct_blockdiag_linear(v[0], v[1], none));
        THREE(ct_lu_solve(v[0], v[1], v[2], A, 0));
    }
}

static void values(void **state)
{
    (void)state;
    const int order[2] = { 1, 1 }, far[2] = { 0, 1 << 30 };
    TAPE(ct_permute(A, NULL), "ct_permute: order is NULL");
    TAPE(ct_permute(A, order), "each of the 2 dimensions");
    TAPE(ct_permute(A, far), "each of the 2 dimensions");
    TAPE(ct_concat(&A, 1, 9), "no dimension 9"), ONE(ct_concat(&A, 0, 0));
    TAPE(ct_sum(A, 9, false), "no dimension 9"), TAPE(ct_mean(A, -3, false), "no dimension -3");
    TAPE(ct_max(A, 2, true), "no dimension 2"), TAPE(ct_logsumexp(A, INT32_MAX, true), "no dimension");
    TAPE(ct_mse(A, ct_reshape(A, ct_shape1(-1))), "must have one shape: ct_reshape one of them");
    TAPE(ct_mse(A, ct_scalar(tape, CT_F64, 0)), "must have one shape: ct_broadcast_to the smaller one");
    TAPE(ct_huber(ct_slice(A, 0, 0, 1, 1), A, 1), "ct_broadcast_to");
    TAPE(ct_softmax(A, 2), "no dimension 2"), TAPE(ct_log_softmax(A, -3), "no dimension -3");
    TAPE(ct_squeeze(A, 7), "7"), TAPE(ct_unsqueeze(A, 9), "9"),
        TAPE(ct_slice(A, 5, 0, 1, 1), "no dimension 5");
    TAPE(ct_slice(A, 0, 2, 1, 1), "slice"), TAPE(ct_slice(A, 0, 0, 1, 0), "slice"),
        TAPE(ct_slice(A, 0, -9, 1, 1), "slice");
    TAPE(ct_unslice(A, 0, -1, 0, 1), "unslice"), TAPE(ct_unslice(A, 0, 1, 0, INT64_MAX), "unslice");
    TAPE(ct_clamp(A, 1, 0), "lo <= hi"), TAPE(ct_clamp(A, NAN, 0), "lo <= hi"),
        TAPE(ct_polygamma(A, -1), "order"), TAPE(ct_polygamma(A, INT32_MAX), "order");
    TAPE(ct_cast(A, (ct_dtype)77), "dtype"), TAPE(ct_cast(A, CT_I64), "dtype"),
        TAPE(ct_huber(A, A, 0), "delta");
    TAPE(ct_huber(A, A, NAN), "delta"), TAPE(ct_tri_solve(A, A, 999), "flags"),
        TAPE(ct_lu_solve(A, A, q, A, 999), "flags");
    TAPE(ct_scatter_add(A, q, -1), "scatter_add"), TAPE(ct_group_by(q, -1), "group_by");
    ct_tensor *none = ct_zeros(device, CT_F64, ct_shape2(0, 3));
    ct_mean(ct_leaf(tape, none), CT_ALL, false);
    assert_status(ct_tape_status(tape), CT_ESHAPE, ct_tape_message(tape));
    begin();
    TAPE(ct_mean(ct_leaf(tape, none), CT_ALL, false), "op #3 mean(0x3): nothing to reduce");
    ct_var empty = ct_leaf(tape, none);
    TAPE(ct_huber(empty, empty, 1), "op #3 huber(0x3, 0x3): op #");
    empty = ct_leaf(tape, none);
    TAPE(ct_gaussian_nll(empty, empty, empty), "mean(0x3): nothing to reduce");
    ct_release(none);
    TAPE(ct_factor_solve(NULL, A), "ct_factor_solve: the factor is NULL");
    const ct_shape shapes[] = { extents(-1, 1), extents(99, 1), extents(2, -1), extents(INT32_MAX, 4),
                                extents(INT32_MIN, 4) };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        TAPE(ct_reshape(A, shapes[i]), "reshape"), TAPE(ct_broadcast_to(A, shapes[i]), "broadcast_to");
        TAPE(ct_sum_to(A, shapes[i]), "sum_to");
        DEVICE(ct_tensor_reshape(square, shapes[i]), ""), DEVICE(ct_tensor_broadcast(square, shapes[i]), "");
        DEVICE(ct_zeros(device, CT_F64, shapes[i]), "shape"),
            DEVICE(ct_from(device, CT_F64, shapes[i], NULL), "shape");
    }
    const ct_shape too_many = ct_shape3(0, INT64_MAX, 2); /* no elements, but no shape either */
    DEVICE(ct_zeros(device, CT_F64, too_many), "shape");
    ct_tensor *nothing = ct_zeros(device, CT_F64, ct_shape1(0));
    TAPE(ct_reshape(ct_leaf(tape, nothing), too_many), "reshape");
    DEVICE(ct_tensor_reshape(nothing, too_many), "reshape");
    DEVICE(ct_tensor_reshape(nothing, ct_shape2(0, -1)), "reshape");
    assert_true(
        ct_shape_equal(ct_var_shape(ct_reshape(ct_leaf(tape, nothing), ct_shape2(-1, 3))), ct_shape2(0, 3)));
    ct_release(nothing);
    assert_null(ct_factor_new(NULL, true));
    ct_factor_free(NULL);
}

/* -- indices --------------------------------------------------------------------------------------------- */

static ct_var three(ct_var x) { return ct_reshape(x, ct_shape3(2, 2, 1)); }
static ct_var two_of(void) { return ct_slice(q, 0, 0, 2, 1); }
static ct_var by_gather(ct_var index) { return ct_gather(A, index); }
static ct_var by_scatter(ct_var index) { return ct_scatter_add(A, index, 2); }
static ct_var by_cols(ct_var index) { return ct_inverse_cols(A, index); }
static ct_var by_rows(ct_var index) { return ct_inverse_rows(A, index); }
static ct_var by_block_rows(ct_var index) { return ct_inverse_block(A, index, two_of()); }
static ct_var by_block_cols(ct_var index) { return ct_inverse_block(A, two_of(), index); }
static ct_var by_few_rows(ct_var index) { return ct_inverse_block(A, ct_slice(q, 0, 0, 1, 1), index); }
static ct_var by_few_cols(ct_var index) { return ct_inverse_block(A, index, ct_slice(q, 0, 0, 1, 1)); }
static ct_var by_group(ct_var index) { return ct_group_by(index, 2); }
static ct_var by_product(ct_var index) { return ct_gather_matmul(three(A), ct_t(three(A)), index); }
static ct_var by_groups(ct_var index) { return ct_grouped_matmul(three(A), ct_t(three(A)), index); }
static ct_var by_label(ct_var index) { return ct_softmax_cross_entropy(A, index); }
static ct_var by_order(ct_var index)
{
    ct_var order, LU = ct_lu(A, &order);
    return ct_lu_solve(A, LU, index, A, 0);
}

/* One mistake has one status in all ops with an index: another dtype is CT_EDTYPE, another rank CT_ESHAPE, an
 * element out of range CT_EINDEX. */
static void indices(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        ct_var (*apply)(ct_var index);
        bool vector; /* the message names the input; the index is a vector of positions */
        int input;
    } ops[] = { { "gather", by_gather, true, 1 },
                { "scatter_add", by_scatter, true, 1 },
                { "inverse_cols", by_cols, true, 1 },
                { "inverse_rows", by_rows, true, 1 },
                { "inverse_block", by_block_rows, true, 1 },
                { "inverse_block", by_block_cols, true, 2 },
                { "inverse_block", by_few_rows, true, 2 },
                { "inverse_block", by_few_cols, true, 1 },
                { "group_by", by_group, true, 0 },
                { "gather_matmul", by_product, true, 2 },
                { "grouped_matmul", by_groups, false, 2 },
                { "softmax_cross_entropy", by_label, false, 1 },
                { "lu_solve", by_order, false, 2 } };
    ct_tensor *real = ct_zeros(device, CT_F64, ct_shape1(2)),
              *single = ct_zeros(device, CT_F32, ct_shape1(2)),
              *table = ct_zeros(device, CT_I64, ct_shape2(2, 1)),
              *scalar = ct_zeros(device, CT_I64, ct_shape0()),
              *far = ct_from(device, CT_I64, ct_shape1(2), (int64_t[]){ 0, 2 });
    const struct {
        ct_tensor *index;
        ct_status status;
        const char *words;
    } bad[] = { { real, CT_EDTYPE, "must be i64, it is f64" },
                { single, CT_EDTYPE, "f32" },
                { table, CT_ESHAPE, "must be a vector, it is 2x1" },
                { scalar, CT_ESHAPE, "must be a vector, it is scalar" },
                { far, CT_EINDEX, "[1] = 2" } };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            if (bad[k].index == far && ops[i].apply == by_groups) continue; /* two numbers are no groups */
            char of[32];
            begin();
            snprintf(of, sizeof of, "input %d", ops[i].input);
            ops[i].apply(ct_constant(tape, bad[k].index));
            const char *m = ct_tape_message(tape);
            if (ct_tape_status(tape) != bad[k].status)
                fail_msg("%s: %s, wanted %s: %s", ops[i].op, ct_status_name(ct_tape_status(tape)),
                         ct_status_name(bad[k].status), m);
            /* a GPU finds an index out of range after the op */
            whole_message(ops[i].op, m, bad[k].index == far ? bad[k].words : ops[i].op);
            if (ops[i].vector && bad[k].index != far && !(strstr(m, of) && strstr(m, bad[k].words)))
                fail_msg("%s: %s (wanted: %s, %s)", ops[i].op, m, of, bad[k].words);
            if (bad[k].index == single && strstr(m, "ct_cast")) fail_msg("%s: ct_cast makes no i64", m);
        }
    begin();
    ct_release(real), ct_release(single), ct_release(table), ct_release(scalar), ct_release(far);
}

/* The CPU finds an index out of range in the op that was called, not in a part of it. */
static void far_indices(void **state)
{
    (void)state;
    if (ct_device_is_asynchronous(device)) return;
    ct_tensor *far = ct_from(device, CT_I64, ct_shape1(2), (int64_t[]){ 0, 2 });
#define FAR(by, op) TAPE(by(ct_constant(tape, far)), "op #3 " op "(2x2, 2): index[1] = 2 is outside [0, 2)")
    FAR(by_gather, "gather"), FAR(by_scatter, "scatter_add");
    FAR(by_cols, "inverse_cols"), FAR(by_rows, "inverse_rows");
    FAR(by_label, "softmax_cross_entropy");
#undef FAR
#define FAR(by, shapes, input)       \
    TAPE(by(ct_constant(tape, far)), \
         "inverse_block(2x2, " shapes "): " input ": index[1] = 2 is outside [0, 2)")
    FAR(by_block_rows, "2, 2", "rows"), FAR(by_block_cols, "2, 2", "cols");
    ct_release(far);
}

/* -- tensor.h, gradcheck.h ------------------------------------------------------------------------------- */

static void tensors(void **state)
{
    (void)state;
    double x[4];
    DEVICE(ct_tensor_permute(square, NULL), "order is NULL");
    DEVICE(ct_from(device, CT_F64, ct_shape1(2), NULL), "the buffer is NULL");
    DEVICE(ct_from(device, (ct_dtype)77, ct_shape1(2), x), "no dtype 77");
    STATUS(ct_read(square, NULL, 4 * sizeof *x), "the buffer is NULL");
    STATUS(ct_write(square, NULL, 4 * sizeof *x), "the buffer is NULL");
    STATUS(ct_copy(NULL, square), "ct_copy: src is NULL");
    STATUS(ct_copy(square, NULL), "ct_copy: dst is NULL");
    STATUS(ct_gradcheck(NULL, &square, 1, NULL, 0, 0, NULL, NULL, 0), "gradcheck: the op is NULL");
    STATUS(ct_gradcheck(ct_op_find("exp"), (ct_tensor *[]){ square, NULL }, 2, NULL, 0, 0, NULL, NULL, 0),
           "input 1 is NULL");
    STATUS(ct_gradcheck(ct_op_find("exp"), &square, 65, NULL, 0, 0, NULL, NULL, 0), "1 to 64 inputs, got 65");
    STATUS(ct_gradcheck_op(device, NULL, NULL, NULL, 0), "gradcheck: the op is NULL");
    assert_status(ct_copy(NULL, NULL), CT_EINVAL, "");
    assert_status(ct_read(NULL, x, 0), CT_EINVAL, "");
    assert_status(ct_write(NULL, x, 0), CT_EINVAL, "");
    assert_true(isnan(ct_tensor_item(NULL)));
    ct_tensor *(*const view[])(const ct_tensor *) = { ct_tensor_clone, ct_tensor_transpose,
                                                      ct_tensor_diagonal };
    for (int i = 0; i < 3; i++) assert_null(view[i](NULL));
    assert_null(ct_tensor_cast(NULL, CT_F32));
    assert_null(ct_tensor_to(NULL, device));
    assert_null(ct_tensor_to(square, NULL));
    assert_null(ct_tensor_permute(NULL, NULL));
    assert_null(ct_tensor_slice(NULL, 0, 0, 1, 1));
    assert_null(ct_tensor_squeeze(NULL, 0));
    assert_null(ct_tensor_unsqueeze(NULL, 0));
    assert_null(ct_tensor_reshape(NULL, ct_shape0()));
    assert_null(ct_tensor_broadcast(NULL, ct_shape0()));
    ct_release(NULL);
    assert_null(ct_retain(NULL));
    STATUS(ct_device_fail(device, CT_EINVAL, NULL), "the format is NULL");
}

static int setup(void **state)
{
    if (open_tape(state)) return -1;
    square = ct_from(device, CT_F64, ct_shape2(2, 2), (double[]){ 2, 1, 1, 3 });
    whole = ct_zeros(device, CT_I64, ct_shape1(2));
    if (!square || !whole) return -1;
    begin();
    return 0;
}

static int teardown(void **state)
{
    ct_release(square);
    ct_release(whole);
    return close_tape(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = { TEST(tapes),  TEST(devices), TEST(steps),       TEST(handles),
                                        TEST(values), TEST(indices), TEST(far_indices), TEST(tensors) };
    return cmocka_run_group_tests_name("nonsense", tests, NULL, NULL);
}
