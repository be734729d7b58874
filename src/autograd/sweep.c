/* The reverse sweep. It walks from an output down the tape, calls each rule once, and accumulates the
 * cotangents.
 *
 * A sweep has a slot for the cotangent of each node that it walks. Slots form a stack on the tape, because a
 * rule may itself run a sweep. */
#include "rule.h"

#include <string.h>

/* -- the sweep ------------------------------------------------------------------------------------------- */

bool ct__sweep_open(ct__sweep *s)
{
    ct_tape *tape = s->tape;
    size_t count = (size_t)(s->hi - s->lo) + 1;
    s->base = tape->slots;
    if (tape->slots + count > tape->slot_capacity) {
        ct_slot *grown = ct__host_grow(tape->device, tape->slot, &tape->slot_capacity, tape->slots,
                                       (tape->slots + count) * 2, sizeof *grown);
        if (!grown) {
            ct__tape_fail_device(tape, "a backward sweep");
            return false;
        }
        tape->slot = grown;
    }
    memset(tape->slot + s->base, 0, count * sizeof *tape->slot);
    tape->slots += count;
    return true;
}

void ct__sweep_close(ct__sweep *s)
{
    for (uint32_t i = s->lo; i <= s->hi; i++)
        if (ct__slot_of(s, i)->bar) ct_release(ct__slot_of(s, i)->bar);
    s->tape->slots = s->base;
}

/* In a targeted sweep, marks the nodes that lead to a target. */
static void mark_wanted(ct__sweep *s)
{
    for (uint32_t i = s->lo; i <= s->hi; i++) {
        const ct_node *node = &s->tape->node[i];
        ct_slot *slot = ct__slot_of(s, i);
        for (int k = 0; node->flags & NODE_NEEDS_GRAD && k < node->n_in && !slot->leads; k++)
            slot->leads = node->in[k] >= s->lo && ct__slot_of(s, node->in[k])->wanted;
        slot->wanted = slot->target || slot->leads;
    }
}

/* Releases a node's value and cotangent after its rule, unless they are kept. */
static void pass_node(ct__sweep *s, uint32_t i)
{
    ct_node *node = &s->tape->node[i];
    ct_slot *slot = ct__slot_of(s, i);
    bool kept = node->flags & (NODE_KEEP | NODE_LEAF);
    if (!slot->target && !kept && slot->bar) {
        ct_release(slot->bar);
        slot->bar = NULL;
    }
    if (s->keep || kept || slot->target || i == s->hi) return;
    if (node->value) ct_release(node->value);
    node->value = NULL;
    node->flags |= NODE_FREED;
}

/* Runs the backward rule of the call whose output 0 is node i. */
static void run(ct__sweep *s, uint32_t i)
{
    const ct_node *node = &s->tape->node[i];
    if (node->flags & NODE_NUMBER && !s->record) {
        ct__run_number_rule(s, i);
        return;
    }
    for (int k = 0; k < node->n_out; k++) ct__settle_bar(s, i + (uint32_t)k);
    if (!s->tape->status) ct__run_rule(s, i, node->op->vjp);
}

/* The values of a long tape have left the cache. Asks for that of a node which the walk reaches soon, with
 * two lines of its elements if it is small. */
static void prefetch_value(const ct__sweep *s, uint32_t i)
{
    enum { AHEAD = 6 };
    const ct_tensor *value = i >= s->lo + AHEAD ? s->tape->node[i - AHEAD].value : NULL;
    if (value)
        ct__prefetch((uintptr_t)value - offsetof(ct__small, tensor), sizeof(ct__small) + 2 * CT__ALIGNMENT);
}

static void walk(ct__sweep *s)
{
    ct_tape *tape = s->tape;
    for (uint32_t i = s->hi;; i--) {
        const ct_node *node = &tape->node[i];
        bool arrived = false;
        prefetch_value(s, i);
        if (!node->part)
            for (int k = 0; k < node->n_out && i + (uint32_t)k <= s->hi; k++)
                arrived |= ct__has_bar(s, i + (uint32_t)k);
        if (arrived && node->op && (node->flags & NODE_NEEDS_GRAD) &&
            (!s->targeted || ct__slot_of(s, i)->leads)) {
            int n_out = node->n_out;
            run(s, i);
            for (int k = 0; k < n_out && i + (uint32_t)k <= s->hi; k++) pass_node(s, i + (uint32_t)k);
        }
        if (tape->status || i == s->lo) return;
    }
}

/* Seeds y with y_bar, or with 1. */
static void seed(ct__sweep *s, ct_var y, ct_var y_bar)
{
    ct_tape *tape = s->tape;
    uint32_t n = tape->n;
    ct_arena mark = tape->arena;
    if (!y_bar.tape) {
        const ct_tensor *value = tape->node[y.index].value;
        ct_tensor *one = ct_full(tape->device, value->view.dtype, ct_tensor_shape(value), 1);
        y_bar = ct__push_value(tape, one, 0, "the seed of a sweep");
    }
    if (!tape->status) ct__arrive(s, y.index, y_bar);
    if (!s->record) ct__truncate(tape, n, mark);
}

/* Whether y and y_bar fit. If y_bar is left out, y must have one element. */
static bool check_seed(ct_var y, ct_var y_bar)
{
    ct_node *node = ct__node(y);
    if (!node) return false;
    char a[96], b[96];
    ct_shape shape = ct_tensor_shape(node->value);
    if (node->value->view.dtype == CT_I64) {
        ct_tape_fail(y.tape, CT_EDTYPE, "#%u is i64: integers have no gradient", y.index);
        return false;
    }
    if (!y_bar.tape) {
        if (ct_shape_count(shape) == 1) return true;
        ct_tape_fail(y.tape, CT_ESHAPE,
                     "a sweep starts from a value of one element, #%u is %s: reduce it with ct_sum, or "
                     "give ct_grad its cotangent",
                     y.index, ct__shape_text(shape, a, sizeof a));
        return false;
    }
    const ct_node *bar = y_bar.tape == y.tape ? ct__node(y_bar) : NULL;
    if (bar && ct_shape_equal(ct_tensor_shape(bar->value), shape) &&
        bar->value->view.dtype == node->value->view.dtype)
        return true;
    ct_tape_fail(y.tape, CT_ESHAPE,
                 "the cotangent given for #%u must be %s of the same dtype and tape, it is %s", y.index,
                 ct__shape_text(shape, a, sizeof a),
                 bar ? ct__shape_text(ct_tensor_shape(bar->value), b, sizeof b) : "not");
    return false;
}

/* Stores the leaves' cotangents, or adds them to those of an earlier sweep. */
static void deliver(ct__sweep *s)
{
    ct_tape *tape = s->tape;
    for (uint32_t i = s->lo; i <= s->hi && !tape->status; i++) {
        ct_node *node = &tape->node[i];
        if (!(node->flags & (NODE_LEAF | NODE_KEEP))) continue;
        ct__settle_bar(s, i);
        ct_tensor *bar = ct__slot_of(s, i)->bar;
        if (!bar) continue;
        if (node->bar)
            ct__add_bar(tape, &node->bar, bar);
        else
            node->bar = ct_retain(bar);
    }
}

/* Whether x, the i-th, is on the tape and a gradient can flow into it. */
static bool check_target(ct_tape *tape, ct_var x, int i)
{
    if (x.tape != tape) ct_tape_fail(tape, CT_EINVAL, "ct_grad: x[%d] is poisoned or on another tape", i);
    const ct_node *node = x.tape == tape ? ct__node(x) : NULL;
    if (!node || node->flags & NODE_NEEDS_GRAD) return node;
    if (node->value->view.dtype == CT_I64)
        ct_tape_fail(tape, CT_EDTYPE, "ct_grad: x[%d], #%u, is i64: integers have no gradient", i, x.index);
    else if (node->op)
        ct_tape_fail(tape, CT_EINVAL,
                     "ct_grad: x[%d], #%u %s, depends on no leaf: make what it is computed from a ct_leaf", i,
                     x.index, node->op->name);
    else
        ct_tape_fail(tape, CT_EINVAL, "ct_grad: x[%d], #%u, is a constant: make it a ct_leaf", i, x.index);
    return false;
}

/* x_bar[i] = Σ_k (dy[k]/dx[i])ᵀ y_bar[k] for n inputs and m outputs. A sweep without targets delivers the
 * cotangents of the leaves. */
static ct_status sweep(ct__sweep *s, const ct_var *y, const ct_var *y_bar, int m, const ct_var *x,
                       ct_var *x_bar, int n)
{
    ct_tape *tape = s->tape;
    for (int k = 0; k < m; k++) {
        if (!check_seed(y[k], y_bar[k])) return tape->status;
        if (y[k].index < s->lo) s->lo = y[k].index;
        if (y[k].index > s->hi) s->hi = y[k].index;
    }
    if (!s->targeted && !(tape->node[s->hi].flags & NODE_NEEDS_GRAD))
        ct_tape_fail(tape, CT_EINVAL, "nothing to differentiate: #%u does not depend on a leaf (ct_leaf)",
                     s->hi);
    for (int i = 0; i < n; i++) {
        if (!check_target(tape, x[i], i)) return tape->status;
        if (x[i].index < s->lo) s->lo = x[i].index;
    }
    if (tape->status || !ct__sweep_open(s)) return tape->status;
    for (int i = 0; i < n; i++)
        if (x[i].index <= s->hi) ct__slot_of(s, x[i].index)->target = true;
    if (s->targeted) mark_wanted(s);
    for (int k = 0; k < m && !tape->status; k++) seed(s, y[k], y_bar[k]);
    if (!tape->status) walk(s);
    if (!s->targeted) deliver(s);
    for (int i = 0; i < n && !tape->status; i++) x_bar[i] = ct__bar_of(s, x[i].index);
    ct__sweep_close(s);
    return tape->status ? tape->status : tape->failure.set ? CT_ENUMERIC : CT_OK;
}

ct_status ct_backward(ct_var y)
{
    const ct_var one = ct_none();
    ct__sweep s = { .tape = y.tape };
    return y.tape ? sweep(&s, &y, &one, 1, NULL, NULL, 0) : CT_EINVAL;
}

ct_status ct__pull_back(ct_tape *tape, const ct_var *y, const ct_var *y_bar, int m, const ct_var *x,
                        ct_var *x_bar, int n, ct_grad_flags flags)
{
    ct__sweep s = { .tape = tape,
                    .lo = UINT32_MAX,
                    .record = flags & CT_GRAD_RECORD,
                    .keep = flags & (CT_GRAD_KEEP | CT_GRAD_RECORD),
                    .targeted = true };
    return sweep(&s, y, y_bar, m, x, x_bar, n);
}

/* x_bar is written last, so that it may be the array x. */
static ct_status poison_on_failure(ct_tape *tape, ct_status status, ct_var *x_bar, int n)
{
    for (int i = 0; x_bar && i < n && (!tape || tape->status); i++) x_bar[i] = ct__poisoned(tape);
    return status;
}

/* A poisoned y has no tape that could keep the error; x has one. */
static void refuse_y(const char *call, const ct_var *x, int n)
{
    if (x && n > 0)
        ct_tape_fail(x->tape, CT_EINVAL, "%s: y is a poisoned handle: the call that returned it failed",
                     call);
}

ct_status ct_grad(ct_var y, ct_var y_bar, const ct_var *x, ct_var *x_bar, int n, ct_grad_flags flags)
{
    ct_tape *tape = y.tape;
    ct_status s = CT_EINVAL;
    if (!tape) refuse_y("ct_grad", x, n);
    if (n < 0)
        ct_tape_fail(tape, CT_EINVAL, "ct_grad: n = %d, it must be 0 or more", n);
    else if ((unsigned)flags & ~(unsigned)(CT_GRAD_KEEP | CT_GRAD_RECORD))
        ct_tape_fail(tape, CT_EINVAL, "ct_grad: unknown flags %#x: CT_GRAD_KEEP, CT_GRAD_RECORD or both",
                     (unsigned)flags);
    else if (n && (!x || !x_bar))
        ct_tape_fail(tape, CT_EINVAL, "ct_grad: %s is NULL, it must be an array of %d handles",
                     x ? "x_bar" : "x", n);
    if (tape) s = tape->status ? tape->status : ct__pull_back(tape, &y, &y_bar, 1, x, x_bar, n, flags);
    return poison_on_failure(tape, s, x_bar, n);
}

/* Hv = (∂g/∂x)ᵀ v with g = ∂y/∂x recorded. */
static ct_status second(ct_var y, const ct_var *x, const ct_var *v, ct_var *hv, int n)
{
    ct_tape *tape = y.tape;
    ct_var g[CT_MAX_INPUTS];
    if (n < 1 || n > CT_MAX_INPUTS)
        ct_tape_fail(tape, CT_EINVAL, "ct_hvp: n = %d, it must be 1 to %d", n, CT_MAX_INPUTS);
    else if (!x || !v || !hv)
        ct_tape_fail(tape, CT_EINVAL, "ct_hvp: %s is NULL, it must be an array of %d handles",
                     !x   ? "x"
                     : !v ? "v"
                          : "hv",
                     n);
    if (tape->status) return tape->status;
    ct_status s = ct_grad(y, ct_none(), x, g, n, CT_GRAD_RECORD);
    for (int i = 0; i < n && !s; i++)
        if (v[i].tape != tape || !ct_shape_equal(ct_var_shape(v[i]), ct_var_shape(x[i])))
            ct_tape_fail(tape, CT_ESHAPE, "ct_hvp: v[%d] must have the shape of x[%d]", i, i);
    return s ? s : tape->status ? tape->status : ct__pull_back(tape, g, v, n, x, hv, n, CT_GRAD_KEEP);
}

ct_status ct_hvp(ct_var y, const ct_var *x, const ct_var *v, ct_var *hv, int n)
{
    if (!y.tape) refuse_y("ct_hvp", x, n);
    const ct_status s = y.tape ? second(y, x, v, hv, n) : CT_EINVAL;
    return n > CT_MAX_INPUTS ? s : poison_on_failure(y.tape, s, hv, n);
}
