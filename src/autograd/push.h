/* Calls on the tape: the nodes of an op's outputs. */
#ifndef CT_AUTOGRAD_PUSH_H
#define CT_AUTOGRAD_PUSH_H

#include <string.h>

#include "internal.h"

/* Appends the outputs of a call that is described by `call` (op, attr, n_in, n_out), with these inputs. Takes
 * the values over, also on failure, and copies attr_size bytes of attr; for 0 attr stays where it is. The
 * index of output 0; UINT32_MAX if memory is exhausted. */
static inline uint32_t ct__push_call(ct_tape *tape, const ct_node *call, size_t attr_size, const ct_var *in,
                                     ct_tensor *const *value, const unsigned *flags)
{
    const void *attr = call->attr;
    const uint32_t first = tape->n;
    uint32_t *index = call->n_in ? ct__arena(tape, (size_t)call->n_in * sizeof *index) : NULL;
    bool ok = index || !call->n_in;
    for (int i = 0; index && i < call->n_in; i++) index[i] = in[i].index;
    if (attr && attr_size && ok) {
        void *copy = ct__arena(tape, attr_size);
        attr = copy ? memcpy(copy, attr, attr_size) : NULL;
        ok = copy;
    }
    for (int k = 0; k < call->n_out; k++) {
        const uint32_t at = ok ? ct__push(tape, call->op, value[k], flags[k]) : UINT32_MAX;
        if (!ok) ct_release(value[k]);
        ok = at != UINT32_MAX;
        if (!ok) continue;
        ct_node *node = &tape->node[at];
        node->in = index;
        node->attr = attr;
        node->n_in = call->n_in;
        node->n_out = call->n_out;
        node->part = (uint8_t)k;
    }
    return ok ? first : UINT32_MAX;
}

#endif
