/* The forward rule of an op without one: its backward rule, transposed.  The backward rule gives x̄ = Jᵀu,
 * which is linear in u. So ⟨Jᵀu, ẋ⟩ has the derivative Jẋ with respect to u, at any u. One sweep over the
 * rule, recorded for u = 0, gives it. A y of one element has a gradient, whose product with ẋ takes one sweep
 * in all. [Townsend 2017, "A new trick for calculating Jacobian vector products"] */
#include "jvp.h"

#include "autograd/push.h"
#include "autograd/rule.h"

/* Pushes the call of g once more, with the same values, for the inputs in[]. Its own inputs may lie far down
 * the tape, and a sweep has a slot for each node that it walks. */
static uint32_t push_again(const ct_rule *g, const ct_var *in)
{
    const ct_node *node = &g->tape->node[g->index], call = *node;
    ct_tensor *value[CT_MAX_OUTPUTS];
    unsigned flags[CT_MAX_OUTPUTS];
    for (int k = 0; k < call.n_out; k++) {
        value[k] = ct_value(ct_out_at(g, k));
        flags[k] = node[k].flags & ~(unsigned)(NODE_KEEP | NODE_NUMBER);
    }
    if (g->tape->status) return UINT32_MAX;
    for (int k = 0; k < call.n_out; k++) ct_retain(value[k]);
    return ct__push_call(g->tape, &call, 0, in, value, flags);
}

ct_var ct__near(ct_rule *g, int i)
{
    const ct_var x = ct_in(g, i);
    return ct_recording(g) ? ct_reshape(x, ct_var_shape(x)) : ct_leaf(g->tape, ct_value(x));
}

int ct__add_pair(ct_var *y, ct_var *y_bar, int n, ct_var value, ct_var bar)
{
    int at = 0;
    while (at < n && y[at].index != value.index) at++;
    y[at] = value;
    y_bar[at] = at < n ? ct_add(y_bar[at], bar) : bar;
    return at < n ? n : n + 1;
}

/* ẏ = Σ_i ⟨x̄_i, ẋ_i⟩ with the gradients x̄_i of a y of one element. */
static void by_gradient(ct_rule *g, ct_var y, int k, const ct_var *x, const ct_var *x_dot, int n)
{
    ct_tape *tape = g->tape;
    const ct_var none = ct_none();
    ct_var x_bar[CT_MAX_INPUTS], sum = ct_none();
    ct__pull_back(tape, &y, &none, 1, x, x_bar, n, ct_recording(g) ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    for (int i = 0; i < n && !tape->status; i++) {
        const ct_var term = ct_sum(ct_mul(x_bar[i], x_dot[i]), CT_ALL, false);
        sum = i ? ct_add(sum, term) : term;
    }
    if (!tape->status) ct_give_out_dot(g, k, sum);
}

void ct__jvp_transposed(ct_rule *g)
{
    ct_tape *tape = g->tape;
    ct_var in[CT_MAX_INPUTS], x[CT_MAX_INPUTS], x_bar[CT_MAX_INPUTS], dot[CT_MAX_INPUTS];
    ct_var y[CT_MAX_OUTPUTS], u[CT_MAX_OUTPUTS], y_dot[CT_MAX_OUTPUTS];
    int of[CT_MAX_INPUTS], out[CT_MAX_OUTPUTS], n = 0, m = 0, pairs = 0;

    tape->no_grad = 0; /* ct__run_rule restores it */
    for (int i = 0; i < ct_rule_args(g); i++) {
        in[i] = ct_in(g, i);
        if (ct_has_in_dot(g, i)) of[n] = i, x[n++] = in[i] = ct__near(g, i);
    }
    const uint32_t first = tape->status ? UINT32_MAX : push_again(g, in);
    if (first == UINT32_MAX) return;
    for (int k = 0; k < ct_rule_outs(g); k++) {
        const ct_node *node = &tape->node[first + (uint32_t)k];
        if (!ct_wants_out_dot(g, k) || !(node->flags & NODE_NEEDS_GRAD)) continue;
        ct_tensor *zeros = ct_zeros(tape->device, node->value->view.dtype, ct_tensor_shape(node->value));
        out[m] = k;
        y[m] = ct__handle(tape, first + (uint32_t)k);
        u[m++] = ct__push_value(tape, zeros, NODE_LEAF | NODE_NEEDS_GRAD, "a cotangent of zeros");
    }
    if (m == 1 && !tape->status && ct_tensor_count(ct_value(y[0])) == 1) {
        for (int i = 0; i < n; i++) dot[i] = ct_in_dot(g, of[i]);
        by_gradient(g, y[0], out[0], x, dot, n);
        return;
    }
    if (!tape->status) ct__pull_back(tape, y, u, m, x, x_bar, n, CT_GRAD_RECORD);
    for (int i = 0; i < n && !tape->status; i++)
        if (ct_var_needs_grad(x_bar[i]))
            pairs = ct__add_pair(x_bar, dot, pairs, x_bar[i], ct_in_dot(g, of[i]));
    if (tape->status || !pairs) return;
    ct__pull_back(tape, x_bar, dot, pairs, u, y_dot, m, ct_recording(g) ? CT_GRAD_RECORD : CT_GRAD_KEEP);
    for (int k = 0; k < m && !tape->status; k++) ct_give_out_dot(g, out[k], y_dot[k]);
}
