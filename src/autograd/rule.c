/* The functions that a rule may call, the cotangents of a sweep, and the fused rules, which give their
 * cotangents as tensors. ops/give.c receives those of the other rules. */
#include "rule.h"

/* -- cotangents ------------------------------------------------------------------------------------------ */

void ct__add_bar(ct_tape *tape, ct_tensor **sum, const ct_tensor *bar)
{
    ct_device *dev = tape->device;
    ct_tensor *before = *sum, *after = ct__can_grow(before) ? ct_retain(before) : ct__empty_like(&bar->view);
    if (!after || dev->backend->map2(dev, CT_MAP_add, &before->view, &bar->view, &after->view)) {
        ct_release(after);
        ct__tape_fail_device(tape, "adding cotangents");
        return;
    }
    ct_release(before);
    *sum = after;
}

void ct__make_bar(ct__sweep *s, uint32_t i)
{
    ct_tape *tape = s->tape;
    const ct_node *node = &tape->node[i];
    ct_slot *slot = ct__slot_of(s, i);
    ct_tensor *bar = ct__number_tensor(tape, slot->number, node->value ? node->value->view.ndim : node->ndim);
    slot->number = 0;
    slot->counted = false;
    if (bar) ct__accumulate(s, i, bar);
}

ct_var ct__bar_of(ct__sweep *s, uint32_t index)
{
    const ct_var v = ct__handle(s->tape, index);
    const bool arrived = ct__has_bar(s, index);
    if (arrived && s->record) return ct__handle(s->tape, ct__slot_of(s, index)->var - 1);
    if (arrived) ct__settle_bar(s, index);
    ct_tensor *bar = arrived ? ct_retain(ct__slot_of(s, index)->bar)
                             : ct_zeros(s->tape->device, ct_var_dtype(v), ct_var_shape(v));
    return ct__push_value(s->tape, bar, 0, "a cotangent of zeros");
}

/* -- what a rule may call -------------------------------------------------------------------------------- */

ct_tape *ct_rule_tape(const ct_rule *g) { return g->tape; }
int ct_rule_args(const ct_rule *g) { return g->tape->node[g->index].n_in; }
int ct_rule_outs(const ct_rule *g) { return g->tape->node[g->index].n_out; }
const void *ct_rule_attr(const ct_rule *g) { return g->tape->node[g->index].attr; }
ct_var ct_out(const ct_rule *g) { return ct__handle(g->tape, g->index); }
bool ct_recording(const ct_rule *g) { return g->s->record; }
ct_var ct_out_bar(ct_rule *g) { return ct_out_bar_at(g, 0); }

/* Whether 0 <= i < n; else the sweep has failed. */
static bool is_there(const ct_rule *g, const char *what, int i, int n)
{
    if ((unsigned)i < (unsigned)n) return true;
    ct_tape_fail(g->tape, CT_EINVAL, "there is no %s %d, the op has %d", what, i, n);
    return false;
}
static bool has_input(const ct_rule *g, int i) { return is_there(g, "input", i, ct_rule_args(g)); }
static bool has_output(const ct_rule *g, int k) { return is_there(g, "output", k, ct_rule_outs(g)); }

ct_var ct_in(const ct_rule *g, int i)
{
    return has_input(g, i) ? ct__handle(g->tape, g->tape->node[g->index].in[i]) : ct__poisoned(g->tape);
}

ct_var ct_out_at(const ct_rule *g, int k)
{
    return has_output(g, k) ? ct__handle(g->tape, g->index + (uint32_t)k) : ct__poisoned(g->tape);
}

bool ct_has_out_bar(const ct_rule *g, int k)
{
    return has_output(g, k) && ct__has_bar(g->s, g->index + (uint32_t)k);
}

bool ct_wants(const ct_rule *g, int i)
{
    if (!has_input(g, i)) return false;
    return ct__wants_bar(g->s, g->tape->node[g->index].in[i]);
}

ct_var ct_out_bar_at(ct_rule *g, int k)
{
    if (!has_output(g, k)) return ct__poisoned(g->tape);
    if (!g->out_bar[k].tape) g->out_bar[k] = ct__bar_of(g->s, g->index + (uint32_t)k);
    return g->out_bar[k];
}

/* -- fused rules ----------------------------------------------------------------------------------------- */

const ct_view *ct__in_value(const ct_rule *g, int i)
{
    const ct_node *node = ct__node(ct__handle(g->tape, g->tape->node[g->index].in[i]));
    return node ? &node->value->view : NULL;
}

const ct_view *ct__out_bar(const ct_rule *g) { return &ct__slot_of(g->s, g->index)->bar->view; }

/* Sums bar over the dimensions that broadcasting repeats, to x's shape. Takes bar over. */
static ct_tensor *summed(ct_tape *tape, ct_tensor *bar, const ct_view *x)
{
    ct_tensor *sum = ct__empty_like(x);
    ct_call *c = ct_scope_open(tape, "a cotangent");
    if (sum) ct_prim_reduce(c, CT_REDUCE_SUM, bar->view, sum->view);
    ct_release(bar);
    return ct__tensor_if(ct_scope_close(c), sum);
}

/* Adds bar, which is taken over, to the cotangent of input i. If bar is NULL or `status` is a failure, the
 * sweep fails with the device's message. */
static void give(ct_rule *g, int i, ct_tensor *bar, ct_status status)
{
    ct_tape *tape = g->tape;
    const uint32_t in = tape->node[g->index].in[i];
    const ct_view *x = ct__in_value(g, i);
    if (bar && !status && x && !ct__same_shape(&bar->view, x)) bar = summed(tape, bar, x);
    if (bar && !status) {
        ct__accumulate(g->s, in, bar);
    } else {
        ct_release(bar);
        ct__tape_fail_device(tape, "a cotangent");
    }
}

void ct__give_map1_bar(ct_rule *g, ct_map1 f, const double p[2])
{
    ct_device *dev = g->tape->device;
    const ct_view *x = ct__in_value(g, 0);
    const ct_tensor *y = ct_value(ct_out(g));
    if (!x || !y || !ct_wants(g, 0)) return;
    ct_tensor *bar = ct__empty_like(&y->view);
    give(g, 0, bar,
         bar ? dev->backend->map1_bar(dev, f, p, x, &y->view, ct__out_bar(g), &bar->view) : CT_ENOMEM);
}

/* ā = ȳ ∂f/∂a (side 0), b̄ = ȳ ∂f/∂b (side 1); for a sum they are ȳ itself. */
void ct__give_map2_bars(ct_rule *g, ct_map2 f)
{
    ct_device *dev = g->tape->device;
    const ct_view *in[2] = { ct__in_value(g, 0), ct__in_value(g, 1) }, *y_bar = ct__out_bar(g);
    ct_view spread[2];
    if (!in[0] || !in[1]) return;
    for (int k = 0; k < 2; k++) {
        if (ct__same_shape(in[k], y_bar)) continue;
        const ct_shape shape = ct__shape(y_bar);
        spread[k] = *in[k];
        ct__broadcast(&spread[k], &shape);
        in[k] = &spread[k];
    }
    for (int side = 0; side < 2; side++) {
        if (!ct_wants(g, side)) continue;
        if (f == CT_MAP_add || (f == CT_MAP_sub && side == 0)) {
            give(g, side, ct_retain(ct__slot_of(g->s, g->index)->bar), CT_OK);
            continue;
        }
        ct_tensor *bar = ct__empty_like(y_bar);
        give(g, side, bar,
             bar ? dev->backend->map2_bar(dev, f, side, in[0], in[1], y_bar, &bar->view) : CT_ENOMEM);
    }
}

void ct__give_product(ct_rule *g, int i, const ct_view *X, const ct_view *Y)
{
    if (!ct_wants(g, i)) return;
    ct_device *dev = g->tape->device;
    ct_tensor *sum = ct__slot_of(g->s, g->tape->node[g->index].in[i])->bar;
    if (sum && ct__can_grow(sum)) {
        if (dev->backend->gemm(dev, 1, X, Y, 1, &sum->view)) give(g, i, NULL, CT_OK);
        return;
    }
    const ct_shape shape = { .dim = { X->dim[0], Y->dim[1] }, .ndim = 2 };
    ct_tensor *bar = ct__empty(dev, X->dtype, &shape);
    give(g, i, bar, bar ? dev->backend->gemm(dev, 1, X, Y, 0, &bar->view) : CT_ENOMEM);
}

void ct__give_scaled(ct_rule *g, int i, double a)
{
    if (!ct_wants(g, i)) return;
    ct_device *dev = g->tape->device;
    const ct_view *x = ct__in_value(g, i), *y_bar = ct__out_bar(g);
    ct_tensor *sum = ct__slot_of(g->s, g->tape->node[g->index].in[i])->bar;
    if (x && sum && ct__can_grow(sum) && ct__same_shape(x, y_bar)) {
        if (dev->backend->axpby(dev, a, y_bar, 1, &sum->view, &sum->view)) give(g, i, NULL, CT_OK);
    } else if (a == 1) {
        give(g, i, ct_retain(ct__slot_of(g->s, g->index)->bar), CT_OK);
    } else {
        ct_tensor *bar = ct__empty_like(y_bar);
        give(g, i, bar,
             bar ? dev->backend->map1(dev, CT_MAP_scale, (double[]){ a, 0 }, y_bar, &bar->view) : CT_ENOMEM);
    }
}

/* Makes *sum, which may be NULL for zeros like x, a tensor that may be added to in place. */
static bool make_own(ct_tape *tape, ct_tensor **sum, const ct_view *x)
{
    if (*sum && ct__can_grow(*sum)) return true;
    ct_device *dev = tape->device;
    ct_tensor *own = ct__empty_like(x);
    if (!own || (*sum ? ct__copy(&(*sum)->view, &own->view) : dev->backend->fill(dev, &own->view, 0))) {
        ct_release(own);
        ct__tape_fail_device(tape, "a cotangent");
        return false;
    }
    ct_release(*sum);
    *sum = own;
    return true;
}

void ct__give_slice(ct_rule *g, int dim, int64_t start, int64_t stop, int64_t step)
{
    ct_device *dev = g->tape->device;
    const ct_view *x = ct__in_value(g, 0);
    if (!x || !ct_wants(g, 0)) return;
    ct_tensor **sum = &ct__slot_of(g->s, g->tape->node[g->index].in[0])->bar;
    if (!make_own(g->tape, sum, x)) return;
    ct_view part = ct_view_slice((*sum)->view, dim, start, stop, step);
    if (dev->backend->map2(dev, CT_MAP_add, &part, ct__out_bar(g), &part))
        ct__tape_fail_device(g->tape, "a cotangent");
}
