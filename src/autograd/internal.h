/* The tape's internals, shared by the files of this folder and the fused rules of src/ops.
 *
 * A tape is an array of nodes in the order of recording. A node is one value: a leaf, a constant, or one
 * output of an op. The outputs of one call are consecutive nodes, with `part` 0, 1, ... The arena holds
 * inputs and attributes. */
#ifndef CT_AUTOGRAD_INTERNAL_H
#define CT_AUTOGRAD_INTERNAL_H

#include <cotangent/op.h>

#include "tensor/internal.h"

enum {
    NODE_NEEDS_GRAD = 1, /* a gradient flows into it       */
    NODE_LEAF = 2,       /* its cotangent is kept          */
    NODE_KEEP = 4,       /* ct_keep: survives sweeps       */
    NODE_FREED = 8,      /* a sweep has released its value */
    NODE_RULE = 16,      /* an output of ct_save_for_vjp  */
    NODE_NUMBER = 32,    /* its value is `number`          */
};

typedef struct ct_node {
    const ct_op *op;  /* NULL: leaf or constant                     */
    ct_tensor *value; /* owned; of a number, NULL until it is asked for */
    ct_tensor *bar;   /* owned: the cotangent; NULL if none arrived */
    double number;
    const uint32_t *in;
    const void *attr;
    uint8_t n_in, n_out, part, flags;
    uint32_t version; /* version of the value's memory at recording */
    int ndim;         /* of a number's tensor                       */
} ct_node;

typedef struct ct_chunk ct_chunk; /* a block of the arena */

typedef struct ct_arena {
    ct_chunk *first, *current;
    char *free, *end; /* what is left of the current chunk */
} ct_arena;

/* One node's cotangent during a sweep: a tensor, a number or their sum; or the handle of a recorded value. */
typedef struct ct_slot {
    ct_tensor *bar;
    double number;
    uint32_t var; /* index + 1 on the tape; 0: none                 */
    bool target;  /* a target of the sweep                          */
    bool leads;   /* an input of its op leads to a target or is one */
    bool wanted;  /* a target, or leads to one                      */
    bool counted; /* a number has arrived                           */
} ct_slot;

/* A call whose factorisation an asynchronous device may report as failed later. */
typedef struct ct_suspect {
    const char *what, *why; /* as in ct_failure */
    int64_t position;
    bool batched;
    char where[384]; /* "op #3 cholesky(5x5): " */
} ct_suspect;

struct ct_call {
    ct_tape *tape;
    const ct_op *op;   /* NULL in a scope */
    const char *scope; /* the scope's name; NULL in an op */
    const ct_var *in;
    const void *attr;
    int n_in, n_out, n_scratch;
    int results;     /* outputs without those of ct_save_for_vjp */
    uint64_t wanted; /* bit i: a gradient flows into input i */
    bool recorded;   /* vjp may be called for it             */
    bool failed_before;
    bool judged; /* it has called ct_prim_flag with CT_FINITE */
    ct_status status;
    const struct ct_call *whole; /* in a member's call: the call of the whole batch */
    const ct_tensor *arg[CT_MAX_INPUTS];
    ct_tensor *out[CT_MAX_OUTPUTS];
    ct_dtype dtype[CT_MAX_OUTPUTS];
    const ct_shape *shape;         /* of output 0 */
    ct_shape more[CT_MAX_OUTPUTS]; /* of outputs 1, 2, ... */
    ct_tensor *scratch[32];
};

struct ct_tape {
    ct_device *device;
    ct_node *node;
    uint32_t n, epoch;
    size_t capacity; /* of node */
    bool numbers;    /* ops on single elements run in their nodes (number.c) */
    int no_grad;
    ct_arena arena;
    ct_slot *slot; /* a stack: nested sweeps use the slots above */
    size_t slots, slot_capacity;
    ct_status status; /* sticky */
    ct_failure failure;
    ct_suspect *suspect;
    uint32_t n_suspects;
    size_t suspect_capacity;
    int64_t backward_of; /* node whose rule is running; -1: none */
    bool of_step;        /* ct_step owns it */
    ct_call failed_call; /* what ct_scope_open returns if the tape has failed */
    char message[768];
};

/* -- tape.c ---------------------------------------------------------------------------------------------- */

/* The handle without a value. As an input it is poisoned; as the result of a rule it means "no cotangent". */
static inline ct_var ct__handle(ct_tape *tape, uint32_t index)
{
    return (ct_var){ tape, index, tape->epoch };
}
static inline ct_var ct__poisoned(ct_tape *tape)
{
    return (ct_var){ tape, UINT32_MAX, tape ? tape->epoch : 0 };
}
/* Whether v is a handle of this tape, which has not failed. */
static inline bool ct__is_here(const ct_tape *tape, ct_var v)
{
    return tape && v.tape == tape && !tape->status && v.epoch == tape->epoch && v.index < tape->n;
}
/* The node of a handle that has a value, as a tensor; NULL, with the tape's error set, if it has none. */
ct_node *ct__node_elsewhere(ct_var v);
static inline ct_node *ct__node(ct_var v)
{
    ct_node *node = ct__is_here(v.tape, v) ? &v.tape->node[v.index] : NULL;
    return node && node->value ? node : ct__node_elsewhere(v);
}
/* Appends a node. Takes `value` over, also on failure. Returns the node's index; UINT32_MAX if memory is
 * exhausted. */
bool ct__more_nodes(ct_tape *tape);
static inline uint32_t ct__push(ct_tape *tape, const ct_op *op, ct_tensor *value, unsigned flags)
{
    if (tape->n == tape->capacity && !ct__more_nodes(tape)) {
        ct_release(value);
        return UINT32_MAX;
    }
    tape->node[tape->n] = (ct_node){
        .op = op, .value = value, .n_out = 1, .flags = (uint8_t)flags, .version = value->view.storage->version
    };
    return tape->n++;
}
/* Appends a node that no op computed; returns its handle. Takes the value over. A NULL value fails the tape
 * with the device's message and `what`. */
ct_var ct__push_value(ct_tape *tape, ct_tensor *value, unsigned flags, const char *what);
/* Whether the node's value is a number of which no tensor has been made. */
static inline bool ct__is_number(const ct_node *node)
{
    return !node->value && (node->flags & (NODE_NUMBER | NODE_FREED)) == NODE_NUMBER;
}
/* The shape of a number's tensor: (), (1), (1, 1), ... */
static inline ct_shape ct__ones(int ndim)
{
    ct_shape shape = { .ndim = ndim };
    for (int i = 0; i < ndim; i++) shape.dim[i] = 1;
    return shape;
}
/* A number as a tensor of ndim dimensions, and that of a node. NULL or false, with the tape's error set, if
 * memory is exhausted. */
ct_tensor *ct__number_tensor(ct_tape *tape, double number, int ndim);
bool ct__make_tensor(ct_tape *tape, ct_node *node);
/* ct_tape_reset, also for a step's tape. */
void ct__tape_forget(ct_tape *tape);
/* Removes the nodes from index n on, and what the arena has received since `mark`. */
void ct__truncate(ct_tape *tape, uint32_t n, ct_arena mark);
/* Memory in the arena until the next reset; NULL with the tape's error set. */
void *ct__arena_grow(ct_tape *tape, size_t bytes);
static inline void *ct__arena(ct_tape *tape, size_t bytes)
{
    ct_arena *a = &tape->arena;
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > (size_t)(a->end - a->free)) return ct__arena_grow(tape, bytes);
    void *p = a->free;
    a->free += bytes;
    return p;
}
/* Makes the device's last failure the tape's error. */
void ct__tape_fail_device(ct_tape *tape, const char *what);

/* -- print.c --------------------------------------------------------------------------------------------- */

/* Text in a buffer of `size` bytes (NULL: no buffer). Text that does not fit is dropped, but counted in
 * `length`. */
typedef struct ct__text {
    char *buffer;
    size_t size, length;
} ct__text;

ct__text ct__text_at(char *buffer, size_t size);
void ct__put(ct__text *t, const char *format, ...) CT_PRINTF(2, 3);

/* -- primitive/: by pointers, for ops on so few elements that copying a view costs time ------------------ */

static inline const ct_view *ct__arg_view(const ct_call *c, int i) { return &c->arg[i]->view; }
/* Output 0; NULL if the call has failed. */
ct_view *ct__result_view(ct_call *c);
void ct__map1(ct_call *c, ct_map1 f, const double p[2], const ct_view *x, ct_view *out);
void ct__map2(ct_call *c, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out);
void ct__gemm(ct_call *c, double alpha, const ct_view *A, const ct_view *B, double beta, ct_view *C);

/* -- primitive/inverse.c: primitives of some devices only ------------------------------------------------ */

/* potri and the symmetric inverse_bar, which keep a root between them (backend.h). ct__keeps_root: whether
 * the device has them and they pay for `members` matrices of extent n. */
bool ct__keeps_root(const ct_call *c, int64_t members, int64_t n);
void ct__potri_root(ct_call *c, ct_view A, ct_view root, ct_view A_inv);
void ct__inverse_root_bar(ct_call *c, ct_view root, ct_view G, ct_view A_bar);

/* -- apply.c --------------------------------------------------------------------------------------------- */

/* ct_apply_on, and with attr_size = 0 and attributes that live as long as the tape: they are not copied. */
ct_var ct__apply(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size);

/* -- number.c: values of one element that live in their nodes ------------------------------------------- */

/* Applies op to numbers, if it has a rule for them and the inputs are such; else returns false. */
bool ct__apply_number(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                      size_t attr_size, ct_var *y);

/* -- call.c ---------------------------------------------------------------------------------------------- */

/* Output k, allocated at the first request; NULL if the call has failed. Owned by the call. */
ct_tensor *ct__result(ct_call *c, int k);
/* Releases the call's scratch, at the end of the call or when no view of it is used any more. */
void ct__release_scratch(ct_call *c);

/* -- rule.c: fused rules, for sweeps that are not recorded ----------------------------------------------- */

/* The value of input i; NULL, with the tape's error set, if a sweep has freed it. */
const ct_view *ct__in_value(const ct_rule *g, int i);
/* The cotangent of output 0. */
const ct_view *ct__out_bar(const ct_rule *g);
/* Give x̄ = ȳ f'(x) for y = f(x); ā = ȳ ∂f/∂a and b̄ = ȳ ∂f/∂b for y = f(a, b); the matrix product X Y as
 * input i's cotangent, which gemm adds to what has arrived. */
void ct__give_map1_bar(ct_rule *g, ct_map1 f, const double p[2]);
void ct__give_map2_bars(ct_rule *g, ct_map2 f);
void ct__give_product(ct_rule *g, int i, const ct_view *X, const ct_view *Y);
/* Gives a ȳ as input i's cotangent, added to what has arrived in one pass. */
void ct__give_scaled(ct_rule *g, int i, double a);
/* Adds the cotangent of output 0 to that of a slice of input 0. Many slices of one value share one tensor. */
void ct__give_slice(ct_rule *g, int dim, int64_t start, int64_t stop, int64_t step);

/* -- failure.c ------------------------------------------------------------------------------------------- */

/* Writes "matmul(30x1, 30x1)", or a scope's name. */
void ct__describe(const ct_call *c, char *buffer, size_t size);
/* Takes a backend's status: anything but CT_OK fails the call with the device's message. */
void ct__call_status(ct_call *c, ct_status status);
/* Whether the values that the rule of the call at node i may read are still those that were recorded; if not,
 * the tape fails. */
bool ct__refuse_values(ct_tape *tape, uint32_t i);
static inline bool ct__is_written(const ct_node *node)
{
    return node->value && node->version != node->value->view.storage->version;
}
static inline bool ct__values_stand(ct_tape *tape, uint32_t i)
{
    const ct_node *node = &tape->node[i];
    bool stand = true;
    for (int k = 0; k < node->n_out; k++) stand &= !(node[k].flags & NODE_FREED || ct__is_written(&node[k]));
    for (int k = 0; k < node->n_in; k++) stand &= !ct__is_written(&tape->node[node->in[k]]);
    return stand || ct__refuse_values(tape, i);
}
/* Where the next primitive of the call notes its failure. What an asynchronous device may yet report of an
 * earlier one keeps its own words. */
ct_failure *ct__call_failure(ct_call *c);
#define CT__NOT_FINITE "is not finite: an input is not, or a number left the dtype's range; scale the problem"
/* finite.c: flags elements of x that are not finite, unless a failure is known. */
void ct__flag_infinite(ct_call *c, ct_view x);
/* The same for a value outside a call; `what` is a static text that names it. */
void ct__check_finite(ct_tape *tape, const char *what, ct_var v);
/* Sets the message if a factorisation has failed in this call, because the tape outlives the call. If an
 * asynchronous device may report a failure later, keeps what the message will need. */
void ct__note_failure(ct_call *c);
void ct__note_suspect(ct_call *c);
/* Asks the device for failures. CT_ENUMERIC, with the message set, if there is one. Waits for an asynchronous
 * device if a factorisation was queued. */
ct_status ct__settle(ct_tape *tape);

#endif
