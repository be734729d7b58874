/* The forward sweep: ct_jvp, and the functions that forward rules call.
 *
 * It walks up the tape from the inputs to the outputs and calls the forward rule of each op on the way once.
 * A slot holds the tangent of its node, as it holds the cotangent in a backward sweep (autograd/sweep.c). The
 * sweep adds tangents by ops, so that it can be recorded. */
#include "jvp.h"

#include "autograd/rule.h"

/* -- what a rule may call -------------------------------------------------------------------------------- */

static uint32_t input_of(const ct_vjp *g, int i) { return g->tape->node[g->index].in[i]; }

bool ct_has_in_dot(const ct_vjp *g, int i)
{
    return (unsigned)i < (unsigned)ct_vjp_args(g) && ct__has_bar(g->s, input_of(g, i));
}

ct_var ct_in_dot(ct_vjp *g, int i)
{
    const ct_var x = ct_in(g, i); /* fails if there is no such input */
    return g->tape->status ? x : ct__bar_of(g->s, input_of(g, i));
}

bool ct_wants_out_dot(const ct_vjp *g, int k)
{
    const uint32_t at = g->index + (uint32_t)k;
    return (unsigned)k < (unsigned)ct_vjp_outs(g) && at <= g->s->hi && ct__slot_of(g->s, at)->wanted;
}

void ct_give_out_dot(ct_vjp *g, int k, ct_var dot)
{
    ct_tape *tape = g->tape;
    const ct_var y = ct_out_at(g, k);
    if (!dot.tape || tape->status || !ct_wants_out_dot(g, k)) return;
    if (dot.tape != tape || ct_var_dtype(dot) != ct_var_dtype(y))
        ct_tape_fail(tape, CT_EINVAL, "the tangent of output %d must be on its tape and %s", k,
                     ct_dtype_name(ct_var_dtype(y)));
    if (!ct_shape_equal(ct_var_shape(dot), ct_var_shape(y))) dot = ct_broadcast_to(dot, ct_var_shape(y));
    if (g->s->record && ct__has_bar(g->s, y.index)) dot = ct_add(ct__bar_of(g->s, y.index), dot);
    if (!tape->status) ct__arrive(g->s, y.index, dot);
}

/* -- the sweep ------------------------------------------------------------------------------------------- */

/* Marks the nodes that lead to an output. */
static void mark_wanted(ct__sweep *s, const ct_var *y, int m)
{
    const ct_node *node = s->tape->node;
    for (int k = 0; k < m; k++) ct__slot_of(s, y[k].index)->wanted = true;
    for (uint32_t i = s->hi; i > s->lo; i--)
        for (int k = 0; k < node[i].n_in && ct__slot_of(s, i)->wanted; k++)
            if (node[i].in[k] >= s->lo) ct__slot_of(s, node[i].in[k])->wanted = true;
}

/* Whether a tangent has arrived at the call whose output 0 is node i, and an output of it is wanted. */
static bool moves(const ct__sweep *s, uint32_t i)
{
    const ct_node *node = &s->tape->node[i];
    bool arrived = false, wanted = false;
    if (!node->op || node->part || !(node->flags & NODE_NEEDS_GRAD)) return false;
    for (int k = 0; k < node->n_in && !arrived; k++) arrived = ct__has_bar(s, node->in[k]);
    for (uint32_t k = i; k < i + node->n_out && k <= s->hi && !wanted; k++)
        wanted = ct__slot_of(s, k)->wanted;
    return arrived && wanted;
}

/* Whether x and its tangent fit. */
static bool check_input(ct_tape *tape, const ct_var *x, const ct_var *x_dot, int i)
{
    char a[96], b[96];
    if (x[i].tape != tape || x_dot[i].tape != tape)
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: %s[%d] is poisoned or on another tape",
                     x[i].tape != tape ? "x" : "x_dot", i);
    const ct_node *value = ct__node(x[i]), *dot = ct__node(x_dot[i]);
    if (!value || !dot || tape->status) return false;
    if (!(value->flags & NODE_NEEDS_GRAD))
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: x[%d] (#%u) is a constant: make it a ct_leaf", i, x[i].index);
    if (!ct__same_shape(&value->value->view, &dot->value->view) ||
        value->value->view.dtype != dot->value->view.dtype)
        ct_tape_fail(tape, CT_ESHAPE, "ct_jvp: x_dot[%d] is %s, it must be %s of x[%d]'s dtype", i,
                     ct__shape_text(ct_var_shape(x_dot[i]), a, sizeof a),
                     ct__shape_text(ct_var_shape(x[i]), b, sizeof b), i);
    for (int j = 0; j < i; j++)
        if (x[j].index == x[i].index)
            ct_tape_fail(tape, CT_EINVAL, "ct_jvp: x[%d] is x[%d]: add their tangents", i, j);
    return !tape->status;
}

static ct_status sweep(ct__sweep *s, const ct_var *y, ct_var *y_dot, int m, const ct_var *x,
                       const ct_var *x_dot, int n)
{
    ct_tape *tape = s->tape;
    for (int k = 0; k < m; k++) {
        if (y[k].tape != tape) ct_tape_fail(tape, CT_EINVAL, "ct_jvp: y[%d] is on another tape", k);
        if (!ct__node(y[k])) return tape->status;
        if (y[k].index < s->lo) s->lo = y[k].index;
        if (y[k].index > s->hi) s->hi = y[k].index;
    }
    for (int i = 0; i < n; i++) {
        if (!check_input(tape, x, x_dot, i)) return tape->status;
        if (x[i].index < s->lo) s->lo = x[i].index;
    }
    if (!ct__sweep_open(s)) return tape->status;
    mark_wanted(s, y, m);
    for (int i = 0; i < n; i++)
        if (x[i].index <= s->hi) ct__arrive(s, x[i].index, x_dot[i]);
    for (uint32_t i = s->lo; i <= s->hi && !tape->status; i++) {
        const ct_op *op = tape->node[i].op;
        if (moves(s, i)) ct__run_rule(s, i, op->jvp ? op->jvp : ct__jvp_transposed);
    }
    for (int k = 0; k < m && !tape->status; k++) y_dot[k] = ct__bar_of(s, y[k].index);
    ct__sweep_close(s);
    return tape->status ? tape->status : tape->failure.set ? CT_ENUMERIC : CT_OK;
}

ct_status ct_jvp(const ct_var *y, ct_var *y_dot, int m, const ct_var *x, const ct_var *x_dot, int n,
                 ct_grad_flags flags)
{
    ct_tape *tape = y && m > 0 ? y[0].tape : NULL;
    ct__sweep s = { .tape = tape, .lo = UINT32_MAX, .record = flags & CT_GRAD_RECORD, .targeted = true };
    ct_status status = CT_EINVAL;
    if (!y || !y_dot || !x || !x_dot || m < 1 || n < 1)
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: it needs arrays of at least one output and one input");
    else if ((unsigned)flags & ~(unsigned)(CT_GRAD_KEEP | CT_GRAD_RECORD))
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: unknown flags %#x: CT_GRAD_RECORD is possible",
                     (unsigned)flags);
    if (tape) status = tape->status ? tape->status : sweep(&s, y, y_dot, m, x, x_dot, n);
    for (int k = 0; y_dot && k < m && (!tape || tape->status); k++) y_dot[k] = ct__poisoned(tape);
    return status;
}
