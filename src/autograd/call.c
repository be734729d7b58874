/* One evaluation of an op: check the inputs, ask for the shape, compute, record. */
#include "primitive/primitive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- errors of a call ------------------------------------------------------------------------------------ */

/* "matmul(30x1, 30x1)" */
static void describe(const ct_call *c, char *buffer, size_t size)
{
    if (c->scope) {
        snprintf(buffer, size, "%s", c->scope);
        return;
    }
    size_t at = (size_t)snprintf(buffer, size, "%s(", c->op->name);
    for (int i = 0; i < c->n_in && at < size; i++) {
        char shape[96];
        if (i == 6) {
            at += (size_t)snprintf(buffer + at, size - at, ", ...");
            break;
        }
        at += (size_t)snprintf(buffer + at, size - at, "%s%s", i ? ", " : "",
                               ct__shape_text(ct_tensor_shape(c->arg[i]), shape, sizeof shape));
    }
    if (at < size) snprintf(buffer + at, size - at, ")");
}

static void fail_call(ct_call *c, ct_status status, const char *text)
{
    if (c->status) return;
    c->status = status;
    char name[256];
    describe(c, name, sizeof name);
    if (c->scope)
        ct_tape_fail(c->tape, status, "%s: %s", name, text);
    else
        ct_tape_fail(c->tape, status, "op #%u %s: %s", c->tape->n, name, text);
}

bool ct_require(ct_call *c, bool ok, ct_status status, const char *format, ...)
{
    if (ok || c->status) return ok;
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_call(c, status, text);
    return false;
}

void ct__call_status(ct_call *c, ct_status status)
{
    if (status) fail_call(c, status, c->tape->device->message);
}

ct_failure *ct__call_failure(ct_call *c) { return &c->tape->failure; }

void ct_flag_failure(ct_call *c, int64_t member, int64_t detail, const char *what)
{
    ct_failure *f = &c->tape->failure;
    if (f->set || !ct_require(c, what, CT_EINVAL, "ct_flag_failure: what is NULL")) return;
    f->set = true;
    f->member = member;
    f->detail = detail;
    f->what = what;
    f->why = NULL;
}

bool ct_failure_known(const ct_call *c) { return c->tape && c->tape->failure.set; }

/* "backward of op #1 inverse: op #3 cholesky(5x5): " */
static void place(const ct_call *c, char *buffer, size_t size)
{
    const ct_tape *tape = c->tape;
    char name[256], backward[96] = "";
    describe(c, name, sizeof name);
    if (tape->backward_of >= 0)
        snprintf(backward, sizeof backward, "backward of op #%lld %s: ", (long long)tape->backward_of,
                 tape->node[tape->backward_of].op->name);
    if (c->scope)
        snprintf(buffer, size, "%s%s: ", backward, name);
    else
        snprintf(buffer, size, "%sop #%u %s: ", backward, tape->n, name);
}

/* The tape's message for its failure, in the op at `where`. */
static void say_failure(ct_tape *tape, const char *where, bool batched)
{
    const ct_failure *f = &tape->failure;
    char what[96], batch[48] = "";
    snprintf(what, sizeof what, f->what, (long long)f->detail);
    if (batched) snprintf(batch, sizeof batch, " of batch member %lld", (long long)f->member);
    snprintf(tape->message, sizeof tape->message, "%s%s%s %s", where, what, batch,
             f->why ? f->why
                    : "is not positive: the matrix is indefinite, singular to working precision, or has NaN; "
                      "add to its diagonal");
}

/* Whether a call has batch members to tell apart: those of its first input, or of what the inputs broadcast
 * to. */
static bool is_batched(const ct_call *c)
{
    return (c->n_in && c->arg[0]->view.ndim > 2) || (c->n_out && c->out[0] && c->out[0]->view.ndim > 2);
}

/* A factorisation failed in this call: say which, keep the tape going. */
static void note_failure(ct_call *c)
{
    char where[384];
    place(c, where, sizeof where);
    c->tape->failure.position = c->tape->n;
    say_failure(c->tape, where, is_batched(c));
}

/* A factorisation in this call may fail, later: what would have to be said then. */
static void note_suspect(ct_call *c)
{
    ct_tape *tape = c->tape;
    ct_failure *f = &tape->failure;
    f->suspected = false;
    if (tape->n_suspects == tape->suspect_capacity) {
        uint32_t capacity = tape->suspect_capacity ? tape->suspect_capacity * 2 : 16;
        ct_suspect *grown = ct__host_alloc(tape->device, capacity * sizeof *grown);
        if (!grown) {
            ct__tape_fail_device(tape, "the tape");
            return;
        }
        if (tape->n_suspects) memcpy(grown, tape->suspect, tape->n_suspects * sizeof *grown);
        ct__host_free(tape->device, tape->suspect, tape->suspect_capacity * sizeof *grown);
        tape->suspect = grown;
        tape->suspect_capacity = capacity;
    }
    ct_suspect *s = &tape->suspect[tape->n_suspects++];
    *s = (ct_suspect){ .what = f->what, .why = f->why, .position = tape->n, .batched = is_batched(c) };
    place(c, s->where, sizeof s->where);
    f->call = tape->n_suspects;
}

ct_status ct__settle(ct_tape *tape)
{
    ct_failure *f = &tape->failure;
    if (f->set) return CT_ENUMERIC;
    ct_status status = ct__failure_settle(tape->device, f);
    if (status || !f->set) return status;
    const ct_suspect *s = &tape->suspect[f->position];
    f->position = s->position;
    f->what = s->what;
    f->why = s->why;
    say_failure(tape, s->where, s->batched);
    return CT_ENUMERIC;
}

/* -- what shape and forward may ask ---------------------------------------------------------------------- */

int ct_args(const ct_call *c) { return c->n_in; }
int ct_outs(const ct_call *c) { return c->n_out; }

/* Input i; NULL, with the call refused, where there is none. */
static const ct_tensor *input(const ct_call *c, int i)
{
    if ((unsigned)i < (unsigned)c->n_in) return c->arg[i];
    ct_require((ct_call *)(uintptr_t)c, false, CT_EINVAL, "there is no input %d, the call has %d", i,
               c->n_in);
    return NULL;
}

ct_view ct_arg(const ct_call *c, int i) { return ct_view_of(input(c, i)); }
const void *ct_attr(const ct_call *c) { return c->attr; }
ct_device *ct_call_device(const ct_call *c) { return c->tape ? c->tape->device : NULL; }
bool ct_call_recorded(const ct_call *c) { return c->recorded; }
bool ct_call_wants(const ct_call *c, int i)
{
    return c->recorded && (unsigned)i < (unsigned)c->n_in && c->wanted >> i & 1;
}
bool ct_call_fine(const ct_call *c) { return !c->status; }
int64_t ct_arg_dim(const ct_call *c, int i, int dim) { return ct_tensor_dim(input(c, i), dim); }
int ct_arg_ndim(const ct_call *c, int i) { return ct_tensor_ndim(input(c, i)); }
ct_shape ct_arg_shape(const ct_call *c, int i) { return ct_tensor_shape(input(c, i)); }
void ct_set_dtype(ct_call *c, ct_dtype dtype) { c->dtype[0] = dtype; }

void ct_more_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape)
{
    if (!ct_require(c, k == c->n_out && k < CT_MAX_OUTPUTS, CT_EINVAL,
                    "outputs are declared in order, at most %d", CT_MAX_OUTPUTS))
        return;
    c->dtype[k] = dtype;
    c->more[k] = shape;
    c->out[k] = NULL;
    c->n_out = k + 1;
    c->results = k + 1;
}

void ct_rule_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape)
{
    const int results = c->results;
    ct_more_out(c, k, dtype, shape);
    c->results = results;
}

static bool is_declared(ct_call *c, int k)
{
    return ct_require(c, k >= 0 && k < c->n_out, CT_EINVAL, "output %d was not declared: ct_more_out", k);
}

static ct_tensor *result(ct_call *c, int k)
{
    if (c->status || !is_declared(c, k)) return NULL;
    if (!c->out[k]) {
        c->out[k] = ct__empty(c->tape->device, c->dtype[k], k ? &c->more[k] : c->shape);
        if (!c->out[k]) ct__call_status(c, c->tape->device->last_status);
    }
    return c->out[k];
}

ct_view ct_result_at(ct_call *c, int k) { return ct_view_of(result(c, k)); }
ct_view ct_result(ct_call *c) { return ct_result_at(c, 0); }

/* Whether v may be output k: that has a shape by the rule (inputs that do not fit have none), and v's dtype.
 * Else the call has failed. */
static bool as_declared(ct_call *c, int k, const ct_view *v)
{
    return is_declared(c, k) &&
           ct_require(c, ct__shape_count(k ? &c->more[k] : c->shape) >= 0, CT_ESHAPE,
                      "the shape rule gives output %d no shape: refuse inputs that do not fit by ct_require",
                      k) &&
           ct_require(c, v->dtype == c->dtype[k], CT_EDTYPE, "output %d is %s where %s was declared", k,
                      ct_dtype_name(v->dtype), ct_dtype_name(c->dtype[k]));
}

void ct_set_result(ct_call *c, int k, ct_view v)
{
    if (!ct__usable(c, &v) || !as_declared(c, k, &v)) return;
    ct_tensor *t = ct_tensor_of(c, v);
    if (!t) return;
    ct_release(c->out[k]);
    c->out[k] = t;
}

ct_tensor *ct_tensor_of(ct_call *c, ct_view v)
{
    if (!ct__usable(c, &v)) return NULL;
    ct_tensor *t = ct__share(v);
    if (!t) ct__call_status(c, c->tape->device->last_status);
    return t;
}

ct_view ct_scratch(ct_call *c, ct_dtype dtype, ct_shape shape)
{
    const int room = (int)(sizeof c->scratch / sizeof *c->scratch);
    if (c->status ||
        !ct_require(c, c->n_scratch < room, CT_EINVAL, "more than %d scratch tensors in one call", room))
        return ct_no_view();
    ct_tensor *t = ct__empty(c->tape->device, dtype, &shape);
    if (!t) {
        ct__call_status(c, c->tape->device->last_status ? c->tape->device->last_status : CT_EINVAL);
        return ct_no_view();
    }
    c->scratch[c->n_scratch++] = t;
    return t->view;
}

ct_view ct_contiguous(ct_call *c, ct_view v)
{
    if (!ct__usable(c, &v)) return ct_no_view();
    if (ct__is_contiguous(&v)) return v;
    ct_view copy = ct_scratch(c, v.dtype, ct__shape(&v));
    ct_prim_copy(c, v, copy);
    return copy;
}

double ct_call_item(ct_call *c, ct_view v)
{
    if (!ct__usable(c, &v)) return NAN;
    const double item = ct__item(&v);
    if (ct__count(&v) != 1 || c->tape->device->in_step == CT__STEP_REFUSED)
        ct__call_status(c, c->tape->device->last_status);
    return item;
}

static void release_scratch(ct_call *c)
{
    for (int i = 0; i < c->n_scratch; i++) ct_release(c->scratch[i]);
}

/* -- applying -------------------------------------------------------------------------------------------- */

/* The inputs' tensors, the dtype that the floating ones share, and which of them a gradient flows into. */
static bool take_inputs(ct_call *c, const ct_var *in)
{
    bool floating = false;
    ct_tape *tape = c->tape;
    c->dtype[0] = CT_F64;
    c->wanted = 0;
    for (int i = 0; i < c->n_in; i++) {
        if (in[i].tape != tape) {
            ct_tape_fail(tape, CT_EINVAL, "op #%u %s: input %d is %s", tape->n, c->op->name, i,
                         in[i].tape ? "on another tape" : "a poisoned handle");
            return false;
        }
        const ct_node *node = ct__node(in[i]);
        if (!node) return false;
        const ct_tensor *t = c->arg[i] = node->value;
        if (node->flags & NODE_NEEDS_GRAD) c->wanted |= (uint64_t)1 << i;
        if (t->view.dtype == CT_I64) continue;
        if (ct__is_half(t->view.dtype) && !c->op->half) {
            ct_tape_fail(tape, CT_EDTYPE,
                         "op #%u %s: input %d is %s, which products, elementwise ops, sums and shapes take: "
                         "convert with ct_cast(x, CT_F32)",
                         tape->n, c->op->name, i, ct_dtype_name(t->view.dtype));
            return false;
        }
        if (floating && t->view.dtype != c->dtype[0]) {
            ct_tape_fail(tape, CT_EDTYPE,
                         "op #%u %s: input %d is %s where the others are %s: convert with ct_cast", tape->n,
                         c->op->name, i, ct_dtype_name(t->view.dtype), ct_dtype_name(c->dtype[0]));
            return false;
        }
        c->dtype[0] = t->view.dtype;
        floating = true;
    }
    return true;
}

/* Appends the outputs of a call that has computed. In a sweep that is not recorded they live for one rule
 * only: what they were made from is not noted. */
static ct_var record(ct_call *c, const ct_var *in, size_t attr_size)
{
    ct_tape *tape = c->tape;
    uint32_t *index = NULL;
    void *attr = NULL;
    bool noted = c->recorded || tape->backward_of < 0, ok = true;
    if (noted && c->n_in) ok = (index = ct__arena(tape, (size_t)c->n_in * sizeof *index)) != NULL;
    if (noted && attr_size && ok) ok = (attr = ct__arena(tape, attr_size)) != NULL;
    if (attr) memcpy(attr, c->attr, attr_size);
    for (int i = 0; index && i < c->n_in; i++) index[i] = in[i].index;
    uint32_t first = tape->n;
    for (int k = 0; k < c->n_out; k++) {
        bool flows = c->recorded && c->dtype[k] != CT_I64;
        unsigned flags = k >= c->results ? NODE_RULE : flows ? NODE_NEEDS_GRAD : 0;
        uint32_t at = ok ? ct__push(tape, c->op, c->out[k], flags) : UINT32_MAX;
        if (!ok) ct_release(c->out[k]);
        if (at == UINT32_MAX) {
            ok = false;
            continue;
        }
        ct_node *node = &tape->node[at];
        node->in = index;
        node->n_in = (uint8_t)(noted ? c->n_in : 0);
        node->attr = attr;
        node->part = (uint8_t)k;
        node->n_out = (uint8_t)c->n_out;
    }
    return ok ? ct__handle(tape, first) : ct__poisoned(tape);
}

/* What follows "op #3 name(2x3): " in a message that begins so, else NULL. */
static const char *behind_prefix(const char *message)
{
    const char *end = strncmp(message, "op #", 4) ? NULL : strstr(message, "): ");
    return end ? end + 3 : NULL;
}

/* An op inside a composition failed: the message begins with the composition, as the caller knows it, then
 * comes the op that failed. What stands between is left out. */
static void name_composition(ct_call *c, uint32_t position, char *message, size_t size)
{
    char name[256], prefix[288];
    describe(c, name, sizeof name);
    snprintf(prefix, sizeof prefix, "op #%u %.255s: ", position, name);
    const char *inner = behind_prefix(message), *kept = message,
               *its_name = inner ? strchr(message + 4, ' ') : NULL;
    if (inner && (behind_prefix(inner) || strncmp(its_name + 1, name, strlen(name)) == 0)) kept = inner;
    size_t length = strlen(prefix), rest = strlen(kept);
    if (rest > size - 1 - length) rest = size - 1 - length;
    memmove(message + length, kept, rest);
    memcpy(message, prefix, length);
    message[length + rest] = 0;
}

static ct_var compose(ct_call *c, const ct_var *in)
{
    ct_tape *tape = c->tape;
    const uint32_t position = tape->n, suspects = tape->n_suspects;
    const bool failed_before = tape->failure.set;
    ct_var y = c->op->compose(tape, in, c->n_in, c->attr);
    if (y.tape != tape) ct_tape_fail(tape, CT_EINVAL, "its composition returned no value of this tape");
    if (tape->status || (tape->failure.set && !failed_before))
        name_composition(c, position, tape->message, sizeof tape->message);
    for (uint32_t i = suspects; i < tape->n_suspects; i++)
        name_composition(c, position, tape->suspect[i].where, sizeof tape->suspect[i].where);
    return tape->status ? ct__poisoned(tape) : y;
}

/* Whether the descriptor is one, and takes so many inputs. */
static bool may_call(ct_tape *tape, const ct_op *op, const ct_var *in, int n)
{
    const uint32_t at = tape->n;
    if (!op || !op->name)
        ct_tape_fail(tape, CT_EINVAL, "ct_apply: the op %s", op ? "has no name" : "is NULL");
    else if (!op->compose && (!op->shape || !op->forward))
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: its descriptor has no %s function", at, op->name,
                     op->shape ? "forward" : "shape");
    else if (op->n_in >= 0 && n != op->n_in)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: called with %d inputs, it takes %d", at, op->name, n,
                     op->n_in);
    else if (n < 0 || n > CT_MAX_INPUTS)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: called with %d inputs, at most %d are possible", at,
                     op->name, n, CT_MAX_INPUTS);
    else if (n && !in)
        ct_tape_fail(tape, CT_EINVAL, "op #%u %s: the array of its %d inputs is NULL", at, op->name, n);
    return !tape->status;
}

ct_var ct_apply_on(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                   size_t attr_size)
{
    if (!tape || tape->status) return ct__poisoned(tape);
    if (!may_call(tape, op, in, n)) return ct__poisoned(tape);
    ct_call c;
    c.tape = tape;
    c.op = op;
    c.scope = NULL;
    c.attr = attr;
    c.n_in = n;
    c.n_out = c.results = 1;
    c.n_scratch = 0;
    c.status = CT_OK;
    c.out[0] = NULL;
    c.failed_before = tape->failure.set;
    if (!take_inputs(&c, in)) return ct__poisoned(tape);
    c.recorded = c.wanted && op->vjp && !tape->no_grad;
    if (op->compose) return compose(&c, in);
    const ct_shape shape = op->shape(&c);
    c.shape = &shape;
    if (!c.status) op->forward(&c);
    if (!c.status && tape->device->step_pool)
        ct__call_status(&c, tape->device->backend->capture_status(tape->device));
    for (int k = 0; k < c.n_out && !c.status; k++)
        if (!c.out[k]) result(&c, k);
    release_scratch(&c);
    if (tape->failure.suspected) note_suspect(&c);
    if (c.status || tape->status) {
        for (int k = 0; k < c.n_out; k++) ct_release(c.out[k]);
        return ct__poisoned(tape);
    }
    if (tape->failure.set && !c.failed_before) note_failure(&c);
    return record(&c, in, attr ? attr_size : 0);
}

/* -- primitives without an op ---------------------------------------------------------------------------- */

ct_call *ct_scope_open(ct_tape *tape, const char *name)
{
    static ct_call nowhere = { .status = CT_EINVAL, .scope = "" }; /* never written to */
    if (!tape) return &nowhere;
    ct_call *c = tape->status ? NULL : ct__arena(tape, sizeof *c);
    if (!c) c = &tape->failed_call;
    *c = (ct_call){ .tape = tape, .scope = name ? name : "scope", .status = tape->status };
    c->failed_before = tape->failure.set;
    return c;
}

ct_status ct_scope_close(ct_call *c)
{
    ct_tape *tape = c->tape;
    if (!tape) return CT_EINVAL;
    release_scratch(c);
    if (tape->failure.suspected) note_suspect(c);
    if (!c->status && tape->device->step_pool)
        ct__call_status(c, tape->device->backend->capture_status(tape->device));
    if (!tape->status && tape->failure.set && !c->failed_before) note_failure(c);
    if (c != &tape->failed_call && tape->arena.free == (char *)c + (sizeof *c + 15) / 16 * 16)
        tape->arena.free = (char *)c;
    return tape->status;
}

ct_var ct_apply(const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size)
{
    ct_tape *tape = NULL; /* the first that any input has, so that its error says what is wrong */
    for (int i = 0; in && i < n && !tape; i++) tape = in[i].tape;
    return ct_apply_on(tape, op, in, n, attr, attr_size);
}

ct_var ct_output(ct_var first, int k)
{
    const ct_node *node = ct__node(first);
    if (!node) return ct__poisoned(first.tape);
    if (node->part || k < 0 || k >= node->n_out) {
        ct_tape_fail(first.tape, CT_EINVAL, "#%u %s has %d outputs, number %d was asked for", first.index,
                     node->op ? node->op->name : "value", node->n_out, k);
        return ct__poisoned(first.tape);
    }
    return ct__handle(first.tape, first.index + (uint32_t)k);
}
