/* Applies an op: checks the inputs, asks for the shape, computes, and records. */
#include "internal.h"
#include "push.h"
#include "trace.h"

#include <stdio.h>
#include <string.h>

/* Takes the inputs' tensors, the dtype that the floating ones share (i64 if there are none), and which of
 * them a gradient flows into. */
static bool take_inputs(ct_call *c)
{
    ct_tape *tape = c->tape;
    ct_dtype shared = c->n_in ? CT_I64 : CT_F64;
    c->wanted = 0;
    for (int i = 0; i < c->n_in; i++) {
        const ct_var v = c->in[i];
        const ct_node *node = v.tape == tape ? ct__node(v) : NULL;
        if (!node) {
            ct_tape_fail(tape, CT_EINVAL, "op #%u %s: input %d is %s", tape->n, c->op->name, i,
                         v.tape ? "on another tape" : "a poisoned handle");
            return false;
        }
        c->arg[i] = node->value;
        if (node->flags & NODE_NEEDS_GRAD) c->wanted |= (uint64_t)1 << i;
        const ct_dtype dtype = node->value->view.dtype;
        if (dtype == CT_I64 && c->op->integers >> i & 1) continue;
        if (dtype == CT_I64)
            ct_tape_fail(tape, CT_EDTYPE,
                         "op #%u %s: input %d is i64, it must be f64 or f32: convert with ct_cast", tape->n,
                         c->op->name, i);
        else if (ct__is_half(dtype) && !c->op->half)
            ct_tape_fail(
                tape, CT_EDTYPE,
                "op #%u %s: input %d is %s, which only products, elementwise ops, sums and shapes take: "
                "convert with ct_cast(x, CT_F32)",
                tape->n, c->op->name, i, ct_dtype_name(dtype));
        else if (shared != CT_I64 && dtype != shared)
            ct_tape_fail(tape, CT_EDTYPE, "op #%u %s: input %d is %s where the others are %s: %s", tape->n,
                         c->op->name, i, ct_dtype_name(dtype), ct_dtype_name(shared),
                         c->op->integers >> i & 1 ? "it must be i64: convert with ct_tensor_cast"
                                                  : "convert with ct_cast");
        shared = dtype;
    }
    c->dtype[0] = shared;
    return !tape->status;
}

/* Appends the outputs of a call that has computed. In an unrecorded sweep they live for one rule only, so
 * their inputs are not recorded. */
static ct_var record(ct_call *c, size_t attr_size)
{
    const bool noted = c->recorded || c->tape->backward_of < 0;
    const ct_node call = { .op = c->op,
                           .attr = noted ? c->attr : NULL,
                           .n_in = (uint8_t)(noted ? c->n_in : 0),
                           .n_out = (uint8_t)c->n_out };
    unsigned flags[CT_MAX_OUTPUTS];
    for (int k = 0; k < c->n_out; k++) {
        const bool flows = c->recorded && c->dtype[k] != CT_I64;
        flags[k] = k >= c->results ? NODE_RULE : flows ? NODE_NEEDS_GRAD : 0;
    }
    const uint32_t first = ct__push_call(c->tape, &call, attr_size, c->in, c->out, flags);
    return first == UINT32_MAX ? ct__poisoned(c->tape) : ct__handle(c->tape, first);
}

/* The part of a message after the prefix "op #3 name(2x3): "; NULL if it has no such prefix. */
static const char *behind_prefix(const char *message)
{
    const char *end = strncmp(message, "op #", 4) ? NULL : strstr(message, "): ");
    return end ? end + 3 : NULL;
}

/* Rewrites the message of an op that failed inside a composition: it names the composition that the caller
 * called, then the op that failed, and omits the ops between them. */
static void name_composition(ct_call *c, uint32_t position, char *message, size_t size)
{
    char name[256], prefix[288];
    ct__describe(c, name, sizeof name);
    snprintf(prefix, sizeof prefix, "op #%u %.255s: ", position, name);
    const char *inner = behind_prefix(message), *kept = message,
               *its_name = inner ? strchr(message + 4, ' ') : NULL;
    if (inner && (behind_prefix(inner) || strncmp(its_name + 1, name, strlen(name)) == 0)) kept = inner;
    size_t length = strlen(prefix), rest = strlen(kept);
    if (rest > size - 1 - length) rest = size - 1 - length;
    memmove(message + length, kept, rest);
    memcpy(message, prefix, length);
    message[length + rest] = 0;
}

static ct_var compose(ct_call *c)
{
    ct_tape *tape = c->tape;
    const uint32_t position = tape->n, suspects = tape->n_suspects;
    c->n_out = c->results = 0;
    ct_var y = c->op->compose(c);
    if (c->op->finite) ct__check_finite(tape, "its value", y);
    ct__release_scratch(c);
    if (y.tape != tape) ct_tape_fail(tape, CT_EINVAL, "its composition returned no value of this tape");
    if (!c->status && (tape->status || (tape->failure.set && !c->failed_before)))
        name_composition(c, position, tape->message, sizeof tape->message);
    for (uint32_t i = suspects; i < tape->n_suspects; i++)
        name_composition(c, position, tape->suspect[i].where, sizeof tape->suspect[i].where);
    return tape->status ? ct__poisoned(tape) : y;
}

/* Whether the descriptor is valid and takes this number of inputs. */
static bool may_call(ct_tape *tape, const ct_op *op, const ct_var *in, int n)
{
    const uint32_t at = tape->n;
    if (!op || !op->name)
        ct_tape_fail(tape, CT_EINVAL, "ct_apply: the op %s", op ? "has no name" : "is NULL");
    else if (!op->compose && (!op->shape || !op->forward))
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: its descriptor has no %s function", at, op->name,
                     op->shape ? "forward" : "shape");
    else if (op->n_in >= 0 && n != op->n_in)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: called with %d inputs, it takes %d", at, op->name, n,
                     op->n_in);
    else if (n < 0 || n > CT_MAX_INPUTS)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: called with %d inputs, at most %d are possible", at,
                     op->name, n, CT_MAX_INPUTS);
    else if (n && !in)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: the array of its %d inputs is NULL", at, op->name, n);
    return !tape->status;
}

ct_var ct__apply(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size)
{
    ct_var y;
    if (!tape || tape->status) return ct__poisoned(tape);
    if (ct__apply_number(tape, op, in, n, attr, attr_size, &y)) return y;
    if (!may_call(tape, op, in, n)) return ct__poisoned(tape);
    ct_call c;
    c.tape = tape;
    c.op = op;
    c.scope = NULL;
    c.in = in;
    c.attr = attr;
    c.n_in = n;
    c.n_out = c.results = 1;
    c.n_scratch = 0;
    c.status = CT_OK;
    c.judged = false;
    c.whole = NULL;
    c.out[0] = NULL;
    c.failed_before = tape->failure.set;
    if (!take_inputs(&c)) return ct__poisoned(tape);
    c.recorded = c.wanted && op->vjp && !tape->no_grad;
    if (op->compose) return compose(&c);
    const ct_shape shape = op->shape(&c);
    c.shape = &shape;
    const double start = ct__trace_start(tape);
    if (!c.status) op->forward(&c);
    for (int k = 0; op->finite && !c.judged && k < c.results && !c.status; k++)
        if (c.dtype[k] != CT_I64) ct__flag_infinite(&c, ct_result_at(&c, k));
    ct__trace_call(&c, start);
    if (!c.status && tape->device->step_pool)
        ct__call_status(&c, tape->device->backend->capture_status(tape->device));
    for (int k = 0; k < c.n_out && !c.status; k++)
        if (!c.out[k]) ct__result(&c, k);
    ct__release_scratch(&c);
    if (tape->failure.suspected) ct__note_suspect(&c);
    if (c.status || tape->status) {
        for (int k = 0; k < c.n_out; k++) ct_release(c.out[k]);
        return ct__poisoned(tape);
    }
    if (tape->failure.set && !c.failed_before) ct__note_failure(&c);
    return record(&c, attr_size);
}

ct_var ct_apply_on(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                   size_t attr_size)
{
    return ct__apply(tape, op, in, n, attr_size ? attr : NULL, attr_size);
}

ct_var ct_apply(const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size)
{
    ct_tape *tape = NULL; /* the first tape among the inputs, which keeps the error */
    for (int i = 0; in && i < n && !tape; i++) tape = in[i].tape;
    return ct_apply_on(tape, op, in, n, attr, attr_size);
}

ct_var ct_output(ct_var first, int k)
{
    const ct_node *node = ct__node(first);
    if (!node) return ct__poisoned(first.tape);
    if (node->part || k < 0 || k >= node->n_out) {
        ct_tape_fail(first.tape, CT_EINVAL, "#%u %s has %d outputs, number %d was asked for", first.index,
                     node->op ? node->op->name : "value", node->n_out, k);
        return ct__poisoned(first.tape);
    }
    return ct__handle(first.tape, first.index + (uint32_t)k);
}
