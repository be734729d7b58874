/* The tape: nodes, arena and handles. */
#include "internal.h"
#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES (32 * 1024)

struct ct_chunk {
    ct_chunk *next;
    size_t bytes; /* of `data` */
    _Alignas(16) char data[];
};

/* -- arena ----------------------------------------------------------------------------------------------- */

/* Goes to the next chunk, and makes one if none has enough room. */
void *ct__arena_grow(ct_tape *tape, size_t bytes)
{
    ct_arena *a = &tape->arena;
    ct_chunk **next = a->current ? &a->current->next : &a->first;
    if (!*next || (*next)->bytes < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        ct_chunk *c = ct__host_alloc(tape->device, sizeof *c + size);
        if (!c) {
            ct__tape_fail_device(tape, "the tape");
            return NULL;
        }
        *c = (ct_chunk){ .next = *next, .bytes = size };
        *next = c;
    }
    a->current = *next;
    a->free = a->current->data + bytes;
    a->end = a->current->data + a->current->bytes;
    return a->current->data;
}

static void free_arena(ct_tape *tape)
{
    for (ct_chunk *c = tape->arena.first; c;) {
        ct_chunk *next = c->next;
        ct__host_free(tape->device, c, sizeof *c + c->bytes);
        c = next;
    }
}

/* -- lifetime -------------------------------------------------------------------------------------------- */

ct_tape *ct_tape_new(ct_device *device)
{
    if (!device || device->status) return NULL;
    ct_tape *tape = ct__host_alloc(device, sizeof *tape);
    if (!tape) return NULL;
    memset(tape, 0, sizeof *tape);
    tape->device = ct_device_retain(device);
    tape->backward_of = -1;
    tape->epoch = 1;
    tape->numbers = device->backend->number1 && ct__trace_start(tape) < 0;
    return tape;
}

void ct__truncate(ct_tape *tape, uint32_t n, ct_arena mark)
{
    while (tape->n > n) {
        ct_node *node = &tape->node[--tape->n];
        if (node->value) ct_release(node->value);
        if (node->bar) ct_release(node->bar);
    }
    mark.first = tape->arena.first;
    tape->arena = mark;
}

void ct__tape_forget(ct_tape *tape)
{
    ct__truncate(tape, 0, (ct_arena){ .current = NULL });
    tape->epoch++;
    tape->no_grad = 0;
    tape->status = CT_OK;
    tape->n_suspects = 0;
    tape->backward_of = -1;
    tape->message[0] = '\0';
    if (ct__failure_clear(tape->device, &tape->failure)) ct__tape_fail_device(tape, "ct_tape_reset");
}

void ct_tape_reset(ct_tape *tape)
{
    if (!tape) return;
    if (tape->of_step)
        ct_tape_fail(tape, CT_EINVAL, "the tape of a step cannot be reset: ct_step_replay does that");
    else if (tape->backward_of >= 0)
        ct_tape_fail(tape, CT_EINVAL, "a rule cannot reset its tape");
    else
        ct__tape_forget(tape);
}

void ct_tape_free(ct_tape *tape)
{
    if (!tape) return;
    ct__tape_forget(tape);
    ct_device *device = tape->device;
    ct_release(tape->failure.note);
    ct__host_free(device, tape->suspect, tape->suspect_capacity * sizeof *tape->suspect);
    free_arena(tape);
    ct__host_free(device, tape->node, tape->capacity * sizeof *tape->node);
    ct__host_free(device, tape->slot, tape->slot_capacity * sizeof *tape->slot);
    ct__host_free(device, tape, sizeof *tape);
    ct_device_close(device);
}

ct_device *ct_tape_device(const ct_tape *tape) { return tape ? tape->device : NULL; }
int64_t ct_tape_length(const ct_tape *tape) { return tape ? tape->n : 0; }

/* -- handles --------------------------------------------------------------------------------------------- */

ct_var ct__poisoned(ct_tape *tape) { return (ct_var){ tape, UINT32_MAX, tape ? tape->epoch : 0 }; }

/* The node of a handle, even if its value was freed. */
static ct_node *find_node(ct_var v)
{
    ct_tape *tape = v.tape;
    if (!tape || tape->status) return NULL;
    if (v.epoch != tape->epoch) {
        ct_tape_fail(tape, CT_ESTALE, "a handle from before ct_tape_reset was used: make a new one");
        return NULL;
    }
    if (v.index >= tape->n) {
        ct_tape_fail(tape, CT_EINVAL, "a handle to a value that is not on the tape was used");
        return NULL;
    }
    return &tape->node[v.index];
}

ct_node *ct__node_elsewhere(ct_var v)
{
    ct_node *node = find_node(v);
    if (node && ct__is_number(node)) return ct__make_tensor(v.tape, node) ? node : NULL;
    if (node)
        ct_tape_fail(
            v.tape, CT_ESTALE,
            "the value of #%u %s was freed by a backward sweep: ct_keep it, or sweep with CT_GRAD_KEEP",
            v.index, node->op ? node->op->name : "");
    return NULL;
}

bool ct__more_nodes(ct_tape *tape)
{
    const size_t wanted = tape->capacity ? tape->capacity * 2 : 256;
    ct_node *grown = NULL;
    if (tape->n < UINT32_MAX / 4)
        grown = ct__host_grow(tape->device, tape->node, &tape->capacity, tape->n, wanted, sizeof *grown);
    if (grown)
        tape->node = grown;
    else
        ct_tape_fail(tape, CT_ENOMEM, "out of memory for the %u-th value on the tape", tape->n);
    return grown;
}

ct_var ct__push_value(ct_tape *tape, ct_tensor *value, unsigned flags, const char *what)
{
    if (!value) ct__tape_fail_device(tape, what);
    const uint32_t index = value ? ct__push(tape, NULL, value, flags) : UINT32_MAX;
    return index == UINT32_MAX ? ct__poisoned(tape) : ct__handle(tape, index);
}

uint32_t ct__push_call(ct_tape *tape, const ct_node *call, const ct_var *in, ct_tensor *const *value,
                       const unsigned *flags)
{
    uint32_t *index = ct__arena(tape, (size_t)call->n_in * sizeof *index), first = tape->n;
    for (int i = 0; index && i < call->n_in; i++) index[i] = in[i].index;
    for (int k = 0; k < call->n_out; k++) {
        const uint32_t at = index ? ct__push(tape, call->op, ct_retain(value[k]), flags[k]) : UINT32_MAX;
        if (at == UINT32_MAX) return UINT32_MAX;
        ct_node *node = &tape->node[at];
        node->in = index, node->attr = call->attr;
        node->n_in = call->n_in, node->n_out = call->n_out, node->part = (uint8_t)k;
    }
    return first;
}

/* Whether `call` may put t on the tape. */
static bool may_push(ct_tape *tape, const char *call, const ct_tensor *t)
{
    const ct_device *mine = tape->device, *its = t ? t->view.storage->device : NULL;
    if (!t)
        ct_tape_fail(tape, CT_EINVAL,
                     "%s: the tensor is NULL: ct_message of its device tells why, if a call has returned it",
                     call);
    else if (its != mine && strcmp(its->name, mine->name) == 0)
        ct_tape_fail(
            tape, CT_EDEVICE,
            "%s: the tensor lives on another device than the tape, %s was opened twice: open it once, or "
            "use ct_tensor_to",
            call, mine->name);
    else if (its != mine)
        ct_tape_fail(
            tape, CT_EDEVICE,
            "%s: the tensor lives on another device than the tape, %s instead of %s: use ct_tensor_to", call,
            its->name, mine->name);
    return !tape->status;
}

static ct_var push_tensor(ct_tape *tape, const char *call, ct_tensor *t, unsigned flags)
{
    if (!tape || tape->status || !may_push(tape, call, t)) return ct__poisoned(tape);
    if ((flags & NODE_NEEDS_GRAD) && t->view.dtype == CT_I64) {
        ct_tape_fail(tape, CT_EDTYPE, "%s: integers have no gradient, use ct_constant", call);
        return ct__poisoned(tape);
    }
    return ct__push_value(tape, ct_retain(t), flags, call);
}

ct_var ct_leaf(ct_tape *tape, ct_tensor *t)
{
    return push_tensor(tape, "ct_leaf", t, NODE_LEAF | NODE_NEEDS_GRAD);
}
ct_var ct_constant(ct_tape *tape, ct_tensor *t) { return push_tensor(tape, "ct_constant", t, 0); }

ct_var ct_scalar(ct_tape *tape, ct_dtype dtype, double value)
{
    if (!tape || tape->status) return ct__poisoned(tape);
    return ct__push_value(tape, ct_full(tape->device, dtype, ct_shape0(), value), 0, "ct_scalar");
}

ct_var ct_leaf_scalar(ct_tape *tape, ct_dtype dtype, double value)
{
    if (!tape || tape->status) return ct__poisoned(tape);
    ct_tensor *t = ct_full(tape->device, dtype, ct_shape0(), value);
    ct_var leaf = t ? push_tensor(tape, "ct_leaf_scalar", t, NODE_LEAF | NODE_NEEDS_GRAD)
                    : ct__push_value(tape, NULL, 0, "ct_leaf_scalar");
    ct_release(t);
    return leaf;
}

ct_var ct_stop_gradient(ct_var x)
{
    ct_node *node = ct__node(x);
    return node ? ct_constant(x.tape, node->value) : ct__poisoned(x.tape);
}

ct_tensor *ct_value(ct_var v)
{
    ct_node *node = ct__node(v);
    return node ? node->value : NULL;
}

/* The node of a number of which no tensor has been made; NULL for other handles. */
static const ct_node *number_of(ct_var v)
{
    const ct_node *node = ct__is_here(v.tape, v) ? &v.tape->node[v.index] : NULL;
    return node && ct__is_number(node) ? node : NULL;
}

ct_shape ct_var_shape(ct_var v)
{
    const ct_node *number = number_of(v);
    return number ? ct__number_shape(number) : ct_tensor_shape(ct_value(v));
}

ct_dtype ct_var_dtype(ct_var v) { return number_of(v) ? CT_F64 : ct_tensor_dtype(ct_value(v)); }

double ct_item(ct_var v)
{
    const ct_node *number = number_of(v), *node = number ? number : ct__node(v);
    if (!node) return NAN;
    if (!ct__may_wait(v.tape->device, "ct_item")) {
        char what[64];
        snprintf(what, sizeof what, "value #%u %.40s", v.index, node->op ? node->op->name : "");
        ct__tape_fail_device(v.tape, what);
        return NAN;
    }
    if (number) return number->number;
    if (ct_tensor_count(node->value) == 1) return ct_tensor_item(node->value);
    char text[96];
    ct_tape_fail(v.tape, CT_ESHAPE,
                 "ct_item needs a value of one element, #%u is %s: reduce it with ct_sum or ct_mean", v.index,
                 ct__shape_text(ct_tensor_shape(node->value), text, sizeof text));
    return NAN;
}

bool ct_var_needs_grad(ct_var v)
{
    ct_node *node = find_node(v);
    return node && (node->flags & NODE_NEEDS_GRAD);
}

ct_var ct_keep(ct_var v)
{
    ct_node *node = ct__node(v);
    if (node) node->flags |= NODE_KEEP;
    return v;
}

ct_tensor *ct_cotangent(ct_var v)
{
    ct_node *node = find_node(v);
    return node ? node->bar : NULL;
}

void ct_no_grad_begin(ct_tape *tape)
{
    if (tape) tape->no_grad++;
}

bool ct_grad_enabled(const ct_tape *tape) { return tape && !tape->no_grad; }

void ct_no_grad_end(ct_tape *tape)
{
    if (!tape) return;
    if (tape->no_grad)
        tape->no_grad--;
    else
        ct_tape_fail(tape, CT_EINVAL, "ct_no_grad_end without its ct_no_grad_begin");
}
