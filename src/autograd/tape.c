/* The tape: arena and nodes. */
#include "internal.h"
#include "trace.h"

#include <string.h>

#define CHUNK_BYTES (32 * 1024)

struct ct_chunk {
    ct_chunk *next;
    size_t bytes; /* of `data` */
    _Alignas(16) char data[];
};

/* -- arena ----------------------------------------------------------------------------------------------- */

/* Goes to the next chunk, and makes one if none has enough room. */
void *ct__arena_grow(ct_tape *tape, size_t bytes)
{
    ct_arena *a = &tape->arena;
    ct_chunk **next = a->current ? &a->current->next : &a->first;
    if (!*next || (*next)->bytes < bytes) {
        size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        ct_chunk *c = ct__host_alloc(tape->device, sizeof *c + size);
        if (!c) {
            ct__tape_fail_device(tape, "the tape");
            return NULL;
        }
        *c = (ct_chunk){ .next = *next, .bytes = size };
        *next = c;
    }
    a->current = *next;
    a->free = a->current->data + bytes;
    a->end = a->current->data + a->current->bytes;
    return a->current->data;
}

static void free_arena(ct_tape *tape)
{
    for (ct_chunk *c = tape->arena.first; c;) {
        ct_chunk *next = c->next;
        ct__host_free(tape->device, c, sizeof *c + c->bytes);
        c = next;
    }
}

/* -- lifetime -------------------------------------------------------------------------------------------- */

ct_tape *ct_tape_new(ct_device *device)
{
    if (!device || device->status) return NULL;
    ct_tape *tape = ct__host_alloc(device, sizeof *tape);
    if (!tape) return NULL;
    memset(tape, 0, sizeof *tape);
    tape->device = ct_device_retain(device);
    tape->backward_of = -1;
    tape->epoch = 1;
    tape->numbers = device->backend->number1 && ct__trace_start(tape) < 0;
    return tape;
}

void ct__truncate(ct_tape *tape, uint32_t n, ct_arena mark)
{
    while (tape->n > n) {
        ct_node *node = &tape->node[--tape->n];
        if (node->value) ct_release(node->value);
        if (node->bar) ct_release(node->bar);
    }
    mark.first = tape->arena.first;
    tape->arena = mark;
}

void ct__tape_forget(ct_tape *tape)
{
    ct__truncate(tape, 0, (ct_arena){ .current = NULL });
    tape->epoch++;
    tape->no_grad = 0;
    tape->status = CT_OK;
    tape->n_suspects = 0;
    tape->backward_of = -1;
    tape->message[0] = '\0';
    if (ct__failure_clear(tape->device, &tape->failure)) ct__tape_fail_device(tape, "ct_tape_reset");
}

void ct_tape_reset(ct_tape *tape)
{
    if (!tape) return;
    if (tape->of_step)
        ct_tape_fail(tape, CT_EINVAL, "the tape of a step cannot be reset: ct_step_replay does that");
    else if (tape->backward_of >= 0)
        ct_tape_fail(tape, CT_EINVAL, "a rule cannot reset its tape");
    else
        ct__tape_forget(tape);
}

void ct_tape_free(ct_tape *tape)
{
    if (!tape) return;
    ct__tape_forget(tape);
    ct_device *device = tape->device;
    ct_release(tape->failure.note);
    ct__host_free(device, tape->suspect, tape->suspect_capacity * sizeof *tape->suspect);
    free_arena(tape);
    ct__host_free(device, tape->node, tape->capacity * sizeof *tape->node);
    ct__host_free(device, tape->slot, tape->slot_capacity * sizeof *tape->slot);
    ct__host_free(device, tape, sizeof *tape);
    ct_device_close(device);
}

ct_device *ct_tape_device(const ct_tape *tape) { return tape ? tape->device : NULL; }
int64_t ct_tape_length(const ct_tape *tape) { return tape ? tape->n : 0; }

/* -- nodes ----------------------------------------------------------------------------------------------- */

bool ct__more_nodes(ct_tape *tape)
{
    const size_t wanted = tape->capacity ? tape->capacity * 2 : 256;
    ct_node *grown = NULL;
    if (tape->n < UINT32_MAX / 4)
        grown = ct__host_grow(tape->device, tape->node, &tape->capacity, tape->n, wanted, sizeof *grown);
    if (grown)
        tape->node = grown;
    else
        ct_tape_fail(tape, CT_ENOMEM, "out of memory for the %u-th value on the tape", tape->n);
    return grown;
}

ct_var ct__push_value(ct_tape *tape, ct_tensor *value, unsigned flags, const char *what)
{
    if (!value) ct__tape_fail_device(tape, what);
    const uint32_t index = value ? ct__push(tape, NULL, value, flags) : UINT32_MAX;
    return index == UINT32_MAX ? ct__poisoned(tape) : ct__handle(tape, index);
}

ct_tensor *ct__number_tensor(ct_tape *tape, double number, int ndim)
{
    const ct_shape shape = ct__ones(ndim);
    ct_tensor *t = ct__empty(tape->device, CT_F64, &shape);
    if (t)
        *(double *)t->view.data = number;
    else
        ct__tape_fail_device(tape, "a value of one element");
    return t;
}

bool ct__make_tensor(ct_tape *tape, ct_node *node)
{
    node->value = ct__number_tensor(tape, node->number, node->ndim);
    if (node->value) node->version = node->value->view.storage->version;
    return node->value;
}
