/* Receives the cotangents that a rule gives to its op's inputs. Sums those of broadcast inputs by ct_sum_to.
 * In a recorded sweep, adds them by ct_add. */
#include "support.h"

#include "autograd/rule.h"

void ct_give_in_bar(ct_rule *g, int i, ct_var bar)
{
    ct_tape *tape = g->tape;
    if (!bar.tape || tape->status || !ct_wants(g, i)) return;
    if (bar.tape != tape) ct_tape_fail(tape, CT_EINVAL, "the cotangent of input %d is on another tape", i);
    const uint32_t in = tape->node[g->index].in[i];
    if (tape->node[g->index].op->finite) ct__check_finite(tape, "a cotangent", bar);
    const ct_node *given = ct__node(bar), *input = ct__node(ct__handle(tape, in));
    if (!given || !input || tape->status) return;
    const ct_view *x_bar = &given->value->view, *x = &input->value->view;
    if (x_bar->dtype != x->dtype)
        ct_tape_fail(tape, CT_EDTYPE, "the cotangent of input %d is %s, the input %s", i,
                     ct_dtype_name(x_bar->dtype), ct_dtype_name(x->dtype));
    if (!ct__same_shape(x_bar, x)) {
        const ct_shape shape = ct__shape(x), got = ct__shape(x_bar);
        char a[96], b[96];
        if (!ct_shape_equal(ct_shape_broadcast(got, shape), got))
            ct_tape_fail(tape, CT_ESHAPE, "the cotangent of input %d is %s, the input %s", i,
                         ct__shape_text(got, a, sizeof a), ct__shape_text(shape, b, sizeof b));
        bar = ct_sum_to(bar, shape);
    }
    if (g->s->record && ct__has_bar(g->s, in)) bar = ct_add(ct__bar_of(g->s, in), bar);
    if (!tape->status) ct__arrive(g->s, in, bar);
}
