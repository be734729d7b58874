/* Handles: what the user puts on a tape, and asks of a value on it. */
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    return number ? ct__ones(number->ndim) : ct_tensor_shape(ct_value(v));
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
