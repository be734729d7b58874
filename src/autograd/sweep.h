/* A reverse sweep, shared by the walk (sweep.c) and the rules that it calls (rule.c). */
#ifndef CT_AUTOGRAD_SWEEP_H
#define CT_AUTOGRAD_SWEEP_H

#include "internal.h"

typedef struct ct__sweep {
    ct_tape *tape;
    size_t base;     /* where its slots begin on the tape's stack */
    uint32_t lo, hi; /* the nodes it walks: lo..hi */
    bool record, keep, targeted;
} ct__sweep;

struct ct_vjp {
    ct__sweep *s;
    ct_tape *tape;
    uint32_t index; /* of output 0 */
    ct_var out_bar[CT_MAX_OUTPUTS];
};

static inline ct_slot *ct__slot_of(const ct__sweep *s, uint32_t index)
{
    return &s->tape->slot[s->base + (index - s->lo)];
}

/* Outputs of the same call after the swept one lie outside the walk: no cotangent arrives there. */
static inline bool ct__has_bar(const ct__sweep *s, uint32_t index)
{
    if (index > s->hi) return false;
    const ct_slot *slot = ct__slot_of(s, index);
    return s->record ? slot->var != 0 : slot->bar != NULL;
}

/* *sum += bar: in place where nobody else holds its memory. An error is the tape's. */
void ct__add_bar(ct_tape *tape, ct_tensor **sum, const ct_tensor *bar);
/* The cotangent of node `index` += bar. */
void ct__accumulate(ct__sweep *s, uint32_t index, ct_var bar);
/* The cotangent that has arrived at node `index` as a handle: zeros where none has. */
ct_var ct__bar_of(ct__sweep *s, uint32_t index);

#endif
