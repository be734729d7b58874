/* checkpoint:  y = f(x), of which the tape keeps x and y alone                  [Griewank & Walther 2000]
 * adjoint:     x̄ = (∂f/∂x)ᵀ ȳ, by recording f(x) again and sweeping back through it
 * tangent:     ẏ = (∂f/∂x) ẋ, likewise */
#include "support.h"

#include "autograd/push.h"
#include "autograd/rule.h"
#include "jvp/jvp.h"

typedef struct attr {
    ct_checkpoint_fn *f;
    void *context;
} attr;

/* Calls f on in[0..n), and says whether it has set all m outputs. */
static bool call(const attr *a, ct_tape *tape, const ct_var *in, ct_var *out, int m)
{
    for (int k = 0; k < m; k++) out[k] = ct_none();
    a->f(tape, in, out, a->context);
    for (int k = 0; k < m; k++)
        if (out[k].tape != tape) ct_tape_fail(tape, CT_EINVAL, "ct_checkpoint: f has not set output %d", k);
    return !tape->status;
}

/* -- the rules ------------------------------------------------------------------------------------------- */

/* Records f again, with copies of the inputs of[0..n) in place of these. */
static bool again(ct_rule *g, const int *of, int n, ct_var *copy, ct_var *y)
{
    ct_tape *tape = ct_rule_tape(g);
    ct_var x[CT_MAX_INPUTS];
    tape->no_grad = 0; /* ct__run_rule restores it */
    for (int i = 0; i < ct_rule_args(g); i++) x[i] = ct_in(g, i);
    for (int i = 0; i < n; i++) x[of[i]] = copy[i] = ct__near(g, of[i]);
    return !tape->status && call(ct_rule_attr(g), tape, x, y, ct_rule_outs(g));
}

static void vjp(ct_rule *g)
{
    ct_var x[CT_MAX_INPUTS], x_bar[CT_MAX_INPUTS], out[CT_MAX_OUTPUTS], y[CT_MAX_OUTPUTS],
        y_bar[CT_MAX_OUTPUTS];
    int of[CT_MAX_INPUTS], n = 0, m = 0;
    for (int i = 0; i < ct_rule_args(g); i++)
        if (ct_wants(g, i)) of[n++] = i;
    if (!again(g, of, n, x, out)) return;
    for (int k = 0; k < ct_rule_outs(g); k++)
        if (ct_has_out_bar(g, k)) m = ct__add_pair(y, y_bar, m, out[k], ct_out_bar_at(g, k));
    ct__pull_back(ct_rule_tape(g), y, y_bar, m, x, x_bar, n, ct_recording(g) ? CT_GRAD_RECORD : CT_GRAD_FREE);
    for (int i = 0; i < n && !ct_rule_tape(g)->status; i++) ct_give_in_bar(g, of[i], x_bar[i]);
}

static void jvp(ct_rule *g)
{
    ct_var x[CT_MAX_INPUTS], x_dot[CT_MAX_INPUTS], y[CT_MAX_OUTPUTS];
    int of[CT_MAX_INPUTS], n = 0;
    for (int i = 0; i < ct_rule_args(g); i++)
        if (ct_has_in_dot(g, i))
            x_dot[n] = ct_reshape(ct_in_dot(g, i), ct__dot_shape(g, ct_in(g, i))), of[n++] = i;
    if (!again(g, of, n, x, y)) return;
    ct_jvp(y, y, ct_rule_outs(g), x, x_dot, n, ct_recording(g) ? CT_GRAD_RECORD : CT_GRAD_FREE);
    for (int k = 0; k < ct_rule_outs(g); k++) ct_give_out_dot(g, k, y[k]);
}

static const ct_op checkpoint = { .name = "checkpoint", .vjp = vjp, .jvp = jvp, .jvp_stacked = true };

/* -- recording ------------------------------------------------------------------------------------------- */

static bool check(ct_tape *tape, const ct_var *in, int n, const ct_var *out, int m, ct_checkpoint_fn *f)
{
    if (n < 1 || n > CT_MAX_INPUTS || m < 1 || m > CT_MAX_OUTPUTS)
        ct_tape_fail(tape, CT_EINVAL, "ct_checkpoint: %d inputs and %d outputs, of at most %d and %d", n, m,
                     CT_MAX_INPUTS, CT_MAX_OUTPUTS);
    else if (!in || !out || !f)
        ct_tape_fail(tape, CT_EINVAL, "ct_checkpoint: %s is NULL", !f ? "f" : in ? "out" : "in");
    for (int i = 0; i < n && !tape->status; i++) {
        if (in[i].tape != tape)
            ct_tape_fail(tape, CT_EINVAL, "ct_checkpoint: input %d is on another tape", i);
        ct__node(in[i]);
    }
    return !tape->status;
}

/* Refuses an f that reads, besides its inputs, a value into which a gradient flows: it would be lost. */
static void check_read(ct_tape *tape, const ct_var *in, int n, uint32_t before, uint32_t read)
{
    bool given = read >= before || !(tape->node[read].flags & NODE_NEEDS_GRAD);
    for (int k = 0; k < n && !given; k++) given = in[k].index == read;
    if (!given)
        ct_tape_fail(tape, CT_EINVAL, "ct_checkpoint: f reads #%u, which is not among its inputs", read);
}

static void check_reads(ct_tape *tape, const ct_var *in, int n, const ct_var *out, int m, uint32_t before)
{
    for (uint32_t at = before; at < tape->n; at++)
        for (int i = 0; i < tape->node[at].n_in; i++) check_read(tape, in, n, before, tape->node[at].in[i]);
    for (int k = 0; k < m && ct__node(out[k]); k++) check_read(tape, in, n, before, out[k].index);
}

/* Keeps the outputs, and forgets what f has put on the tape. */
static void keep(ct_tape *tape, const attr *a, const ct_var *in, int n, ct_var *out, int m, uint32_t before,
                 ct_arena mark)
{
    ct_tensor *value[CT_MAX_OUTPUTS] = { NULL };
    unsigned flags[CT_MAX_OUTPUTS];
    bool flows = false;
    for (int i = 0; i < n; i++) flows |= ct_var_needs_grad(in[i]);
    for (int k = 0; k < m && !tape->status; k++) {
        value[k] = ct_retain(ct_value(out[k]));
        flags[k] = flows && ct_grad_enabled(tape) && ct_var_dtype(out[k]) != CT_I64 ? NODE_NEEDS_GRAD : 0;
    }
    ct__truncate(tape, before, mark);
    const ct_node node = { .op = &checkpoint, .attr = a, .n_in = (uint8_t)n, .n_out = (uint8_t)m };
    const bool failed = tape->status;
    const uint32_t first = failed ? UINT32_MAX : ct__push_call(tape, &node, sizeof *a, in, value, flags);
    for (int k = 0; k < m; k++) {
        if (failed) ct_release(value[k]);
        out[k] = first == UINT32_MAX ? ct__poisoned(tape) : ct__handle(tape, first + (uint32_t)k);
    }
}

ct_status ct_checkpoint(const ct_var *in, int n, ct_var *out, int m, ct_checkpoint_fn *f, void *context)
{
    ct_tape *tape = in && n > 0 ? in[0].tape : NULL;
    const attr a = { f, context };
    ct_var y[CT_MAX_OUTPUTS];
    if (tape && check(tape, in, n, out, m, f)) {
        const uint32_t before = tape->n;
        const ct_arena mark = tape->arena;
        ct_no_grad_begin(tape);
        if (call(&a, tape, in, y, m)) check_reads(tape, in, n, y, m, before);
        ct_no_grad_end(tape);
        keep(tape, &a, in, n, y, m, before, mark);
    }
    for (int k = 0; out && k < m && k < CT_MAX_OUTPUTS; k++)
        out[k] = tape && !tape->status ? y[k] : ct__poisoned(tape);
    return !tape ? CT_EINVAL : tape->status ? tape->status : tape->failure.set ? CT_ENUMERIC : CT_OK;
}
