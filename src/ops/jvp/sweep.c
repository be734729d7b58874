/* The forward sweep: ct_jvp, and the functions that forward rules call.
 *
 * It walks up the tape from the inputs to the outputs and calls the forward rule of each op on the way once.
 * A slot holds the tangent of its node, as it holds the cotangent in a backward sweep (autograd/sweep.c). The
 * sweep adds tangents by ops, so that it can be recorded. */
#include "jvp.h"

#include "autograd/rule.h"

/* -- what a rule may call -------------------------------------------------------------------------------- */

static uint32_t input_of(const ct_rule *g, int i) { return g->tape->node[g->index].in[i]; }

bool ct_has_in_dot(const ct_rule *g, int i)
{
    return (unsigned)i < (unsigned)ct_rule_args(g) && ct__has_bar(g->s, input_of(g, i));
}

/* The shape of v's tangents, T at a time. */
static ct_shape shape_of_dots(ct_var v, int64_t T)
{
    ct_shape shape = ct_var_shape(v);
    if (T) memmove(shape.dim + 1, shape.dim, sizeof shape.dim - sizeof *shape.dim);
    if (T) shape.dim[0] = T, shape.ndim++;
    return shape;
}

int64_t ct__tangents(const ct_rule *g) { return g->at < 0 ? g->s->tangents : 0; }
ct_shape ct__dot_shape(const ct_rule *g, ct_var v) { return shape_of_dots(v, ct__tangents(g)); }
int ct__from_end(const ct_rule *g, int dim) { return dim < 0 ? dim : dim - ct_var_shape(ct_in(g, 0)).ndim; }

/* Tangents (T, ...) with ones after T: ndim dimensions, of which the last stay the last. */
static ct_var with_ones(ct_var dot, int ndim)
{
    const ct_shape own = ct_var_shape(dot);
    const int ones = ndim - own.ndim;
    ct_shape shape = { .dim = { own.dim[0] }, .ndim = ndim };
    for (int i = 1; i < ndim; i++) shape.dim[i] = i > ones ? own.dim[i - ones] : 1;
    return ones > 0 ? ct_reshape(dot, shape) : dot;
}

ct_var ct__sum_terms(const ct_rule *g, ct_var terms, int dim, bool keep)
{
    const int64_t T = ct__tangents(g);
    if (dim != CT_ALL || !T) return ct_sum(terms, dim == CT_ALL ? dim : ct__from_end(g, dim), keep);
    const ct_var sums = ct_sum(ct_reshape(terms, ct_shape2(T, -1)), -1, false);
    return keep ? with_ones(sums, ct_var_shape(terms).ndim) : sums;
}

ct_var ct_in_dot(ct_rule *g, int i)
{
    const ct_var x = ct_in(g, i); /* fails if there is no such input */
    if (g->tape->status) return x;
    const ct_var dot = ct__bar_of(g->s, input_of(g, i));
    const bool arrived = ct_has_in_dot(g, i);
    if (!g->s->tangents || (!arrived && g->at >= 0)) return dot;
    if (g->at >= 0) return ct_row(dot, g->at);
    int ndim = 0;
    for (int k = 0; k < ct_rule_args(g); k++) ndim = (int)ct__max(ndim, ct_var_shape(ct_in(g, k)).ndim);
    return with_ones(arrived ? dot : ct_broadcast_to(dot, ct__dot_shape(g, x)), ndim + 1);
}

bool ct_wants_out_dot(const ct_rule *g, int k)
{
    const uint32_t at = g->index + (uint32_t)k;
    return (unsigned)k < (unsigned)ct_rule_outs(g) && at <= g->s->hi && ct__slot_of(g->s, at)->wanted;
}

void ct_give_out_dot(ct_rule *g, int k, ct_var dot)
{
    ct_tape *tape = g->tape;
    const ct_var y = ct_out_at(g, k);
    if (!dot.tape || tape->status || !ct_wants_out_dot(g, k)) return;
    if (dot.tape != tape || ct_var_dtype(dot) != ct_var_dtype(y))
        ct_tape_fail(tape, CT_EINVAL, "the tangent of output %d must be on its tape and %s", k,
                     ct_dtype_name(ct_var_dtype(y)));
    if (tape->node[g->index].op->finite) ct__check_finite(tape, "a tangent", dot);
    const ct_shape shape = ct__dot_shape(g, y);
    if (ct__tangents(g)) dot = with_ones(dot, shape.ndim);
    if (!ct_shape_equal(ct_var_shape(dot), shape)) dot = ct_broadcast_to(dot, shape);
    if (g->at >= 0) {
        ct_var *given = &g->given[k * g->s->tangents + g->at];
        *given = given->tape ? ct_add(*given, dot) : dot;
        return;
    }
    if (g->s->record && ct__has_bar(g->s, y.index)) dot = ct_add(ct__bar_of(g->s, y.index), dot);
    if (!tape->status) ct__arrive(g->s, y.index, dot);
}

/* The rule of an op, for one tangent after the other. */
static void one_by_one(ct_rule *g)
{
    ct_tape *tape = g->tape;
    const ct_op *op = tape->node[g->index].op;
    const int64_t T = g->s->tangents;
    const int n_out = ct_rule_outs(g);
    g->given = ct__arena(tape, (size_t)(n_out * T) * sizeof *g->given);
    if (!g->given) return;
    memset(g->given, 0, (size_t)(n_out * T) * sizeof *g->given);
    for (g->at = 0; g->at < T && !tape->status; g->at++) (op->jvp ? op->jvp : ct__jvp_transposed)(g);
    g->at = -1;
    for (int k = 0; k < n_out && !tape->status; k++) {
        ct_var *given = g->given + k * T, zeros = ct_none();
        int64_t some = 0;
        for (int64_t t = 0; t < T; t++) some += given[t].tape != NULL;
        if (some && some < T)
            zeros = ct_broadcast_to(ct_scalar(tape, ct_var_dtype(ct_out_at(g, k)), 0),
                                    ct_var_shape(ct_out_at(g, k)));
        for (int64_t t = 0; t < T; t++) given[t] = given[t].tape ? given[t] : zeros;
        if (some) ct_give_out_dot(g, k, ct_stack(given, (int)T, 0));
    }
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

/* The number of tangents at a time: 0 for one that has its input's dimensions. */
static int64_t tangents_of(ct_var x, ct_var x_dot)
{
    const ct_shape shape = ct_var_shape(x), dot = ct_var_shape(x_dot);
    return shape.ndim >= 0 && shape.ndim < CT_MAX_DIMS && dot.ndim == shape.ndim + 1 ? dot.dim[0] : 0;
}

/* Whether x and its tangent fit. */
static bool check_input(ct_tape *tape, const ct_var *x, const ct_var *x_dot, int i, int64_t tangents)
{
    char a[96], b[96];
    if (x[i].tape != tape || x_dot[i].tape != tape)
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: %s[%d] is poisoned or on another tape",
                     x[i].tape != tape ? "x" : "x_dot", i);
    const ct_node *value = ct__node(x[i]), *dot = ct__node(x_dot[i]);
    if (!value || !dot || tape->status) return false;
    if (!(value->flags & NODE_NEEDS_GRAD))
        ct_tape_fail(tape, CT_EINVAL, "ct_jvp: x[%d] (#%u) is a constant: make it a ct_leaf", i, x[i].index);
    const ct_shape shape = shape_of_dots(x[i], tangents), got = ct_var_shape(x_dot[i]);
    if (!ct_shape_equal(got, shape) || value->value->view.dtype != dot->value->view.dtype)
        ct_tape_fail(tape, CT_ESHAPE, "ct_jvp: x_dot[%d] is %s, it must be %s of x[%d]'s dtype", i,
                     ct__shape_text(got, a, sizeof a), ct__shape_text(shape, b, sizeof b), i);
    for (int j = 0; j < i; j++)
        if (x[j].index == x[i].index)
            ct_tape_fail(tape, CT_EINVAL, "ct_jvp: x[%d] is x[%d]: add their tangents", i, j);
    return !tape->status;
}

/* Several tangents need a dimension of their own beside those of the call's values. */
static bool has_room(ct_tape *tape, uint32_t i)
{
    const ct_node *node = &tape->node[i];
    int ndim = 0;
    for (int k = 0; k < node->n_in; k++)
        ndim = (int)ct__max(ndim, ct_var_shape(ct__handle(tape, node->in[k])).ndim);
    for (uint32_t k = i; k < i + node->n_out; k++)
        ndim = (int)ct__max(ndim, ct_var_shape(ct__handle(tape, k)).ndim);
    if (ndim == CT_MAX_DIMS)
        ct_tape_fail(
            tape, CT_ESHAPE,
            "ct_jvp: #%u %s has %d dimensions, which leaves none for several tangents: take one at a time", i,
            node->op->name, ndim);
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
        if (!i) s->tangents = tangents_of(x[0], x_dot[0]);
        if (!check_input(tape, x, x_dot, i, s->tangents)) return tape->status;
        if (x[i].index < s->lo) s->lo = x[i].index;
    }
    if (!ct__sweep_open(s)) return tape->status;
    mark_wanted(s, y, m);
    for (int i = 0; i < n; i++)
        if (x[i].index <= s->hi) ct__arrive(s, x[i].index, x_dot[i]);
    for (uint32_t i = s->lo; i <= s->hi && !tape->status; i++) {
        const ct_op *op = tape->node[i].op;
        if (!moves(s, i) || (s->tangents && !has_room(tape, i))) continue;
        const bool whole = !s->tangents || (op->jvp && op->jvp_stacked);
        ct__run_rule(s, i, !whole ? one_by_one : op->jvp ? op->jvp : ct__jvp_transposed);
    }
    for (int k = 0; k < m && !tape->status; k++) {
        const ct_var dot = ct__bar_of(s, y[k].index);
        const ct_shape shape = shape_of_dots(y[k], s->tangents);
        y_dot[k] = ct__has_bar(s, y[k].index) ? dot : ct_broadcast_to(dot, shape); /* may be y[k] itself */
    }
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
