/* A sweep, shared by the backward walk (sweep.c), the functions that rules call (rule.c, ops/give.c) and the
 * forward walk (ops/jvp/sweep.c). */
#ifndef CT_AUTOGRAD_RULE_H
#define CT_AUTOGRAD_RULE_H

#include "internal.h"
#include "trace.h"

typedef struct ct__sweep {
    ct_tape *tape;
    size_t base;     /* the beginning of its slots on the tape's stack */
    uint32_t lo, hi; /* the nodes it walks: lo..hi */
    bool record, keep, targeted;
    int64_t tangents; /* at a time in a forward sweep; 0: one, without a dimension of its own */
} ct__sweep;

struct ct_rule {
    ct__sweep *s;
    ct_tape *tape;
    uint32_t index; /* of output 0 */
    ct_var out_bar[CT_MAX_OUTPUTS];
    /* In a forward sweep with T tangents, if the rule takes one at a time: its number, else -1; and the
     * tangents of output k that the rule has given, given[k T + t]. */
    int64_t at;
    ct_var *given;
};

static inline ct_slot *ct__slot_of(const ct__sweep *s, uint32_t index)
{
    return &s->tape->slot[s->base + (index - s->lo)];
}

/* Outputs of the same call after the swept one, and inputs before all that is swept, lie outside the walk:
 * nothing arrives there. */
static inline bool ct__has_bar(const ct__sweep *s, uint32_t index)
{
    if (index < s->lo || index > s->hi) return false;
    const ct_slot *slot = ct__slot_of(s, index);
    return s->record ? slot->var != 0 : slot->bar != NULL || slot->counted;
}

/* Whether the sweep needs the cotangent of node `index`, an input of an op that it walks. */
static inline bool ct__wants_bar(const ct__sweep *s, uint32_t index)
{
    if (s->targeted) return index >= s->lo && ct__slot_of(s, index)->wanted;
    return s->tape->node[index].flags & NODE_NEEDS_GRAD;
}

/* -- cotangents ------------------------------------------------------------------------------------------ */

/* Whether a cotangent may be added to in place, because nobody else holds its memory. */
static inline bool ct__can_grow(const ct_tensor *sum)
{
    return ct__sole_owner(sum) && ct__is_contiguous(&sum->view);
}

/* *sum += bar, in place if possible. An error becomes the tape's. */
void ct__add_bar(ct_tape *tape, ct_tensor **sum, const ct_tensor *bar);
/* Adds bar, which is taken over, to the cotangent of node `index`. The first one that arrives is adopted
 * without a copy. */
static inline void ct__accumulate(ct__sweep *s, uint32_t index, ct_tensor *bar)
{
    ct_slot *slot = ct__slot_of(s, index);
    if (slot->bar) {
        ct__add_bar(s->tape, &slot->bar, bar);
        ct_release(bar);
    } else {
        slot->bar = bar;
    }
}
/* In a recorded sweep, sets the cotangent of node `index` to bar; else adds bar to it. */
static inline void ct__arrive(ct__sweep *s, uint32_t index, ct_var bar)
{
    if (s->record)
        ct__slot_of(s, index)->var = bar.index + 1;
    else
        ct__accumulate(s, index, ct_retain(ct_value(bar)));
}
/* Makes the number that has arrived at node i part of its cotangent as a tensor. */
void ct__make_bar(ct__sweep *s, uint32_t i);
static inline void ct__settle_bar(ct__sweep *s, uint32_t i)
{
    if (i <= s->hi && ct__slot_of(s, i)->counted) ct__make_bar(s, i);
}
/* The cotangent of node `index` as a handle; zeros if none has arrived. */
ct_var ct__bar_of(ct__sweep *s, uint32_t index);

/* The slots of s, from its lo to its hi. False, with the tape's error set, if memory is exhausted. */
bool ct__sweep_open(ct__sweep *s);
void ct__sweep_close(ct__sweep *s);
/* Runs a rule of the call whose output 0 is node i. Unless the sweep is recorded, the tape then forgets what
 * the rule pushed. */
static inline void ct__run_rule(ct__sweep *s, uint32_t i, void (*rule)(ct_rule *))
{
    ct_tape *tape = s->tape;
    const ct_node *node = &tape->node[i];
    if (!ct__values_stand(tape, i)) return;
    ct_rule g;
    g.s = s;
    g.tape = tape;
    g.index = i;
    g.at = -1;
    for (int k = 0; k < node->n_out; k++) g.out_bar[k] = ct_none();
    const int64_t outer = tape->backward_of;
    const int no_grad = tape->no_grad;
    uint32_t n = tape->n;
    ct_arena mark = tape->arena;
    tape->backward_of = i;
    if (!s->record) tape->no_grad++;
    const ct_op *op = node->op; /* node may move */
    const double start = ct__trace_start(tape);
    rule(&g);
    ct__trace_rule(tape, op, i, start);
    if (!s->record) ct__truncate(tape, n, mark);
    tape->no_grad = no_grad;
    tape->backward_of = outer;
}
/* number.c: runs the backward rule of node i, whose value is a number. */
void ct__run_number_rule(ct__sweep *s, uint32_t i);
/* x_bar[i] = Σ_k (dy[k]/dx[i])ᵀ y_bar[k], as ct_grad, for distinct y. */
ct_status ct__pull_back(ct_tape *tape, const ct_var *y, const ct_var *y_bar, int m, const ct_var *x,
                        ct_var *x_bar, int n, ct_grad_flags flags);

#endif
