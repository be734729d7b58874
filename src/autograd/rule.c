/* What a rule may ask, and the cotangents of a sweep. What a rule gives is in ops/give.c. */
#include "sweep.h"

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

ct_var ct__bar_of(ct__sweep *s, uint32_t index)
{
    const ct_tensor *value = s->tape->node[index].value;
    const bool arrived = ct__has_bar(s, index);
    if (arrived && s->record) return ct__handle(s->tape, ct__slot_of(s, index)->var - 1);
    ct_tensor *bar = arrived ? ct_retain(ct__slot_of(s, index)->bar)
                             : ct_zeros(s->tape->device, value->view.dtype, ct_tensor_shape(value));
    return ct__push_value(s->tape, bar, 0, "a cotangent of zeros");
}

/* -- what a rule may ask --------------------------------------------------------------------------------- */

ct_tape *ct_vjp_tape(const ct_vjp *g) { return g->tape; }
int ct_vjp_args(const ct_vjp *g) { return g->tape->node[g->index].n_in; }
int ct_vjp_outs(const ct_vjp *g) { return g->tape->node[g->index].n_out; }
const void *ct_vjp_attr(const ct_vjp *g) { return g->tape->node[g->index].attr; }
ct_var ct_out(const ct_vjp *g) { return ct__handle(g->tape, g->index); }
bool ct_recording(const ct_vjp *g) { return g->s->record; }
ct_var ct_out_bar(ct_vjp *g) { return ct_out_bar_at(g, 0); }

/* Whether 0 <= i < n; else the sweep has failed. */
static bool is_there(const ct_vjp *g, const char *what, int i, int n)
{
    if ((unsigned)i < (unsigned)n) return true;
    ct_tape_fail(g->tape, CT_EINVAL, "there is no %s %d, the op has %d", what, i, n);
    return false;
}
static bool has_input(const ct_vjp *g, int i) { return is_there(g, "input", i, ct_vjp_args(g)); }
static bool has_output(const ct_vjp *g, int k) { return is_there(g, "output", k, ct_vjp_outs(g)); }

ct_var ct_in(const ct_vjp *g, int i)
{
    return has_input(g, i) ? ct__handle(g->tape, g->tape->node[g->index].in[i]) : ct__poisoned(g->tape);
}

ct_var ct_out_at(const ct_vjp *g, int k)
{
    return has_output(g, k) ? ct__handle(g->tape, g->index + (uint32_t)k) : ct__poisoned(g->tape);
}

bool ct_has_out_bar(const ct_vjp *g, int k)
{
    return has_output(g, k) && ct__has_bar(g->s, g->index + (uint32_t)k);
}

bool ct_wants(const ct_vjp *g, int i)
{
    if (!has_input(g, i)) return false;
    uint32_t in = g->tape->node[g->index].in[i];
    if (g->s->targeted) return in >= g->s->lo && ct__slot_of(g->s, in)->wanted;
    return g->tape->node[in].flags & NODE_NEEDS_GRAD;
}

ct_var ct_out_bar_at(ct_vjp *g, int k)
{
    if (!has_output(g, k)) return ct__poisoned(g->tape);
    if (!g->out_bar[k].tape) g->out_bar[k] = ct__bar_of(g->s, g->index + (uint32_t)k);
    return g->out_bar[k];
}
