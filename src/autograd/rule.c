/* Inside a rule: the functions that a rule calls, and the accumulation of the cotangents that it gives. The
 * first cotangent that arrives at a node is adopted. Later ones are added, in place if nobody else holds the
 * memory. */
#include "sweep.h"

/* -- accumulation ---------------------------------------------------------------------------------------- */

/* Whether a cotangent may be added to in place. */
static bool can_grow(const ct_tensor *sum) { return ct__sole_owner(sum) && ct__is_contiguous(&sum->view); }

void ct__add_bar(ct_tape *tape, ct_tensor **sum, const ct_tensor *bar)
{
    ct_device *dev = tape->device;
    ct_tensor *before = *sum, *after = can_grow(before) ? ct_retain(before) : ct__empty_like(&bar->view);
    if (!after || dev->backend->map2(dev, CT_MAP_add, &before->view, &bar->view, &after->view)) {
        ct_release(after);
        ct__tape_fail_device(tape, "adding cotangents");
        return;
    }
    ct_release(before);
    *sum = after;
}

/* slot += bar; takes bar over. */
static inline void add_tensor(ct__sweep *s, uint32_t index, ct_tensor *bar)
{
    ct_slot *slot = ct__slot_of(s, index);
    if (slot->bar) {
        ct__add_bar(s->tape, &slot->bar, bar);
        ct_release(bar);
    } else {
        slot->bar = bar;
    }
}

void ct__accumulate(ct__sweep *s, uint32_t index, ct_var bar)
{
    if (!s->record) {
        add_tensor(s, index, ct_retain(s->tape->node[bar.index].value));
        return;
    }
    uint32_t present = ct__slot_of(s, index)->var;
    if (present) bar = ct_add(ct__handle(s->tape, present - 1), bar);
    if (!s->tape->status) ct__slot_of(s, index)->var = bar.index + 1;
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

void ct_give_in_bar(ct_vjp *g, int i, ct_var bar)
{
    ct_tape *tape = g->tape;
    if (!bar.tape || tape->status || !ct_wants(g, i)) return;
    if (bar.tape != tape) ct_tape_fail(tape, CT_EINVAL, "the cotangent of input %d is on another tape", i);
    const ct_node *node = ct__node(bar);
    if (!node || tape->status) return;
    uint32_t in = tape->node[g->index].in[i];
    const ct_node *input = ct__node(ct__handle(tape, in));
    if (!input) return;
    const ct_tensor *x = input->value;
    if (node->value->view.dtype != x->view.dtype) {
        ct_tape_fail(tape, CT_EDTYPE, "the cotangent of input %d is %s, the input %s", i,
                     ct_dtype_name(node->value->view.dtype), ct_dtype_name(x->view.dtype));
        return;
    }
    if (!ct__same_shape(&node->value->view, &x->view)) {
        ct_shape shape = ct_tensor_shape(x), got = ct_tensor_shape(node->value);
        char a[96], b[96];
        if (!ct_shape_equal(ct_shape_broadcast(got, shape), got)) {
            ct_tape_fail(tape, CT_ESHAPE, "the cotangent of input %d is %s, the input %s", i,
                         ct__shape_text(got, a, sizeof a), ct__shape_text(shape, b, sizeof b));
            return;
        }
        bar = ct_sum_to(bar, shape);
    }
    if (!tape->status) ct__accumulate(g->s, in, bar);
}

/* -- fused rules ----------------------------------------------------------------------------------------- */

const ct_view *ct__in_value(const ct_vjp *g, int i)
{
    const ct_node *node = ct__node(ct_in(g, i));
    return node ? &node->value->view : NULL;
}

const ct_view *ct__out_bar(const ct_vjp *g) { return &ct__slot_of(g->s, g->index)->bar->view; }

/* The cotangent of input i += bar, which is taken over. NULL fails the sweep with the device's message. */
static void give(ct_vjp *g, int i, ct_tensor *bar)
{
    ct_tape *tape = g->tape;
    uint32_t in = tape->node[g->index].in[i];
    const ct_tensor *value = tape->node[in].value;
    if (!bar) {
        ct__tape_fail_device(tape, "a cotangent");
    } else if (value && ct__same_shape(&bar->view, &value->view)) {
        add_tensor(g->s, in, bar);
    } else {
        ct_give_in_bar(g, i, ct__push_value(tape, bar, 0, NULL));
    }
}

/* The same for the result of a primitive, which may have failed. */
static void give_computed(ct_vjp *g, int i, ct_tensor *bar, ct_status status)
{
    if (bar && status) {
        ct_release(bar);
        bar = NULL;
    }
    give(g, i, bar);
}

void ct__give_map1_bar(ct_vjp *g, ct_map1 f, const double p[2])
{
    ct_device *dev = g->tape->device;
    const ct_view *x = ct__in_value(g, 0);
    const ct_tensor *y = ct_value(ct_out(g));
    if (!x || !y || !ct_wants(g, 0)) return;
    ct_tensor *bar = ct__empty_like(&y->view);
    give_computed(g, 0, bar,
                  bar ? dev->backend->map1_bar(dev, f, p, x, &y->view, ct__out_bar(g), &bar->view)
                      : CT_ENOMEM);
}

/* ā = ȳ ∂f/∂a (side 0), b̄ = ȳ ∂f/∂b (side 1); of a sum it is ȳ itself. */
void ct__give_map2_bars(ct_vjp *g, ct_map2 f)
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
            give(g, side, ct_retain(ct__slot_of(g->s, g->index)->bar));
            continue;
        }
        ct_tensor *bar = ct__empty_like(y_bar);
        give_computed(g, side, bar,
                      bar ? dev->backend->map2_bar(dev, f, side, in[0], in[1], y_bar, &bar->view)
                          : CT_ENOMEM);
    }
}

void ct__give_product(ct_vjp *g, int i, const ct_view *X, const ct_view *Y)
{
    if (!ct_wants(g, i)) return;
    ct_device *dev = g->tape->device;
    ct_tensor *sum = ct__slot_of(g->s, g->tape->node[g->index].in[i])->bar;
    if (sum && can_grow(sum)) {
        if (dev->backend->gemm(dev, 1, X, Y, 1, &sum->view)) give(g, i, NULL);
        return;
    }
    const ct_shape shape = { .dim = { X->dim[0], Y->dim[1] }, .ndim = 2 };
    ct_tensor *bar = ct__empty(dev, X->dtype, &shape);
    give_computed(g, i, bar, bar ? dev->backend->gemm(dev, 1, X, Y, 0, &bar->view) : CT_ENOMEM);
}
