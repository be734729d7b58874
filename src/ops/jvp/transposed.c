/* The forward rule of an op without one: its backward rule, transposed.
 *
 * The backward rule gives x̄ = Jᵀu, which is linear in u. So ⟨Jᵀu, ẋ⟩ has the derivative Jẋ with respect to
 * u, at any u. One sweep over the rule, recorded for u = 0, gives it.
 * [Townsend 2017, "A new trick for calculating Jacobian vector products"] */
#include "jvp.h"

#include "autograd/rule.h"

/* Pushes the call of g once more, with the same values, for the inputs in[]. Its own inputs may lie far down
 * the tape, and a sweep has a slot for each node that it walks. */
static bool push_call(const ct_vjp *g, const ct_var *in, uint32_t *first)
{
    ct_tape *tape = g->tape;
    const ct_node call = tape->node[g->index];
    uint32_t *index = ct__arena(tape, (size_t)call.n_in * sizeof *index);
    *first = tape->n;
    for (int i = 0; index && i < call.n_in; i++) index[i] = in[i].index;
    for (int k = 0; index && k < call.n_out; k++) {
        const ct_node *node = &tape->node[g->index + (uint32_t)k];
        const uint32_t at = ct__push(tape, call.op, ct_retain(node->value), node->flags & ~NODE_KEEP);
        if (at == UINT32_MAX) return false;
        tape->node[at].in = index;
        tape->node[at].attr = call.attr;
        tape->node[at].n_in = call.n_in;
        tape->node[at].n_out = call.n_out;
        tape->node[at].part = (uint8_t)k;
    }
    return index;
}

/* A copy of input i at the end of the tape, through which a gradient flows: to the input itself if the sweep
 * is recorded. */
static ct_var near(ct_vjp *g, int i)
{
    const ct_var x = ct_in(g, i);
    return ct_recording(g) ? ct_reshape(x, ct_var_shape(x)) : ct_leaf(g->tape, ct_value(x));
}

/* Adds the pair (x̄, ẋ) to n pairs; rules may give several inputs one cotangent. */
static int add_pair(ct_var *x_bar, ct_var *x_dot, int n, ct_var bar, ct_var dot)
{
    int at = 0;
    while (at < n && x_bar[at].index != bar.index) at++;
    x_bar[at] = bar;
    x_dot[at] = at < n ? ct_add(x_dot[at], dot) : dot;
    return at < n ? n : n + 1;
}

void ct__jvp_transposed(ct_vjp *g)
{
    ct_tape *tape = g->tape;
    ct_var in[CT_MAX_INPUTS], x[CT_MAX_INPUTS], x_bar[CT_MAX_INPUTS], dot[CT_MAX_INPUTS];
    ct_var y[CT_MAX_OUTPUTS], u[CT_MAX_OUTPUTS], y_dot[CT_MAX_OUTPUTS];
    int of[CT_MAX_INPUTS], out[CT_MAX_OUTPUTS], n = 0, m = 0, pairs = 0;
    uint32_t first;

    tape->no_grad = 0; /* ct__run_rule restores it */
    for (int i = 0; i < ct_vjp_args(g); i++) {
        in[i] = ct_in(g, i);
        if (ct_has_in_dot(g, i)) of[n] = i, x[n++] = in[i] = near(g, i);
    }
    if (tape->status || !push_call(g, in, &first)) return;
    for (int k = 0; k < ct_vjp_outs(g); k++) {
        const ct_node *node = &tape->node[first + (uint32_t)k];
        if (!ct_wants_out_dot(g, k) || !(node->flags & NODE_NEEDS_GRAD)) continue;
        ct_tensor *zeros = ct_zeros(tape->device, node->value->view.dtype, ct_tensor_shape(node->value));
        out[m] = k;
        y[m] = ct__handle(tape, first + (uint32_t)k);
        u[m++] = ct__push_value(tape, zeros, NODE_LEAF | NODE_NEEDS_GRAD, "a cotangent of zeros");
    }
    if (!tape->status) ct__pull_back(tape, y, u, m, x, x_bar, n, CT_GRAD_RECORD);
    for (int i = 0; i < n && !tape->status; i++)
        if (ct_var_needs_grad(x_bar[i])) pairs = add_pair(x_bar, dot, pairs, x_bar[i], ct_in_dot(g, of[i]));
    if (tape->status || !pairs) return;
    ct__pull_back(tape, x_bar, dot, pairs, u, y_dot, m, ct_recording(g) ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    for (int k = 0; k < m && !tape->status; k++) ct_give_out_dot(g, out[k], y_dot[k]);
}
