/* Errors: the tape's sticky error, refused calls, and numerical failures, which do not stop the tape. */
#include "internal.h"

#include "tensor/text.h"

#include <stdio.h>

/* -- the tape's error ------------------------------------------------------------------------------------ */

void ct_tape_fail(ct_tape *tape, ct_status status, const char *format, ...)
{
    if (!tape || tape->status) return;
    tape->status = status ? status : CT_EINVAL;
    int at = 0;
    if (tape->backward_of >= 0)
        at = snprintf(tape->message, sizeof tape->message,
                      "backward of op #%lld %s: ", (long long)tape->backward_of,
                      tape->node[tape->backward_of].op->name);
    va_list args;
    va_start(args, format);
    if (!format) format = "ct_tape_fail: the format is NULL";
    ct__message(tape->message + at, sizeof tape->message - (size_t)at, format, args);
    va_end(args);
}

void ct__tape_fail_device(ct_tape *tape, const char *what)
{
    ct_tape_fail(tape, tape->device->last_status, "%s (%s)", tape->device->message, what);
}

ct_status ct_tape_status(ct_tape *tape)
{
    if (!tape) return CT_EINVAL;
    if (tape->status) return tape->status;
    if (!ct__may_wait(tape->device, "ct_tape_status")) {
        ct__tape_fail_device(tape, "in a step");
        return tape->status;
    }
    ct_status s = tape->device->backend->synchronize(tape->device);
    if (s) {
        ct__tape_fail_device(tape, "waiting for the device");
        return s;
    }
    s = ct__settle(tape);
    if (s && s != CT_ENUMERIC) ct__tape_fail_device(tape, "waiting for the device");
    return s;
}

ct_status ct_check(ct_var v) { return v.tape ? ct_tape_status(v.tape) : CT_EINVAL; }

const char *ct_tape_message(const ct_tape *tape)
{
    return tape ? tape->message : "the tape is NULL: ct_tape_new failed, or the handle is a poisoned one";
}

const char *ct_tape_reason(const ct_tape *tape)
{
    static const char op[] = "op #", backward[] = "backward of op #";
    const char *reason = ct_tape_message(tape), *end;
    while (!strncmp(reason, op, sizeof op - 1) || !strncmp(reason, backward, sizeof backward - 1)) {
        if (!(end = strstr(reason, ": "))) break;
        reason = end + 2;
    }
    return reason;
}

/* -- refusals -------------------------------------------------------------------------------------------- */

void ct__describe(const ct_call *c, char *buffer, size_t size)
{
    enum { SHOWN = 6 };
    ct__text t = ct__text_at(buffer, size);
    if (c->whole) c = c->whole;
    ct__put(&t, "%s", c->scope ? c->scope : c->op->name);
    for (int i = 0; !c->scope && i < c->n_in && i < SHOWN; i++) {
        char shape[96];
        ct__shape_text(ct_tensor_shape(c->arg[i]), shape, sizeof shape);
        ct__put(&t, "%s%s", i ? ", " : "(", shape);
    }
    if (!c->scope) ct__put(&t, c->n_in > SHOWN ? ", ...)" : c->n_in ? ")" : "()");
}

static void fail_call(ct_call *c, ct_status status, const char *text)
{
    if (c->status) return;
    c->status = status;
    char name[256];
    ct__describe(c, name, sizeof name);
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
    if (!format) format = "ct_require: the format is NULL";
    ct__vprint(text, sizeof text, format, args);
    va_end(args);
    fail_call(c, status ? status : CT_EINVAL, text);
    return false;
}

void ct__call_status(ct_call *c, ct_status status)
{
    if (status) fail_call(c, status, c->tape->device->message);
}

/* -- values that changed since they were recorded -------------------------------------------------------- */

static bool refuse_written(ct_tape *tape, uint32_t call, const char *role, int k, uint32_t value)
{
    const ct_node *node = &tape->node[value];
    const char *kind = node->flags & NODE_LEAF ? "leaf" : "constant";
    ct_tape_fail(tape, CT_ESTALE,
                 "op #%u %s: %s %d (#%u %s) was written to after it was recorded: write before ct_leaf and "
                 "ct_constant, or after the sweep",
                 call, tape->node[call].op->name, role, k, value, node->op ? node->op->name : kind);
    return false;
}

bool ct__refuse_values(ct_tape *tape, uint32_t i)
{
    const ct_node *node = &tape->node[i];
    for (int k = 0; k < node->n_out; k++)
        if (tape->node[i + (uint32_t)k].flags & NODE_FREED) {
            ct_tape_fail(tape, CT_ESTALE,
                         "op #%u %s was swept before and its values are freed: sweep once from the sum of "
                         "the outputs, or "
                         "use ct_grad with CT_GRAD_KEEP",
                         i, node->op->name);
            return false;
        }
    for (int k = 0; k < node->n_in; k++)
        if (ct__is_written(&tape->node[node->in[k]])) return refuse_written(tape, i, "input", k, node->in[k]);
    for (int k = 0; k < node->n_out; k++)
        if (ct__is_written(&node[k])) return refuse_written(tape, i, "output", k, i + (uint32_t)k);
    return true;
}

/* -- numerical failures ---------------------------------------------------------------------------------- */

ct_failure *ct__call_failure(ct_call *c)
{
    if (c->tape->failure.suspected) ct__note_suspect(c);
    return &c->tape->failure;
}

void ct_flag_failure(ct_call *c, int64_t member, int64_t detail, const char *what)
{
    ct_failure *f = &c->tape->failure;
    if (f->set || !ct_require(c, what, CT_EINVAL, "ct_flag_failure: what is NULL")) return;
    ct__failure_set(f, member, detail, what, NULL);
}

bool ct_failure_known(const ct_call *c) { return c->tape && c->tape->failure.set; }

/* The place of a call: "backward of op #1 inverse: op #3 cholesky(5x5): ". */
static void place(const ct_call *c, char *buffer, size_t size)
{
    const ct_tape *tape = c->tape;
    char name[256];
    ct__describe(c, name, sizeof name);
    ct__text t = ct__text_at(buffer, size);
    if (tape->backward_of >= 0)
        ct__put(&t, "backward of op #%lld %s: ", (long long)tape->backward_of,
                tape->node[tape->backward_of].op->name);
    if (!c->scope) ct__put(&t, "op #%u ", tape->n);
    ct__put(&t, "%s: ", name);
}

/* Sets the tape's message for its numerical failure in the op at `where`. */
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

/* Whether a call has batch members to distinguish: those of its first input, or of the broadcast inputs. */
static bool is_batched(const ct_call *c)
{
    const int ndim = c->n_out && c->out[0] ? c->out[0]->view.ndim : c->shape ? c->shape->ndim : 0;
    return c->whole || ndim > 2 || (c->n_in && c->arg[0]->view.ndim > 2);
}

void ct__note_failure(ct_call *c)
{
    char where[384];
    place(c, where, sizeof where);
    c->tape->failure.position = c->tape->n;
    say_failure(c->tape, where, is_batched(c));
}

void ct__note_suspect(ct_call *c)
{
    ct_tape *tape = c->tape;
    ct_failure *f = &tape->failure;
    f->suspected = false;
    if (tape->n_suspects == tape->suspect_capacity) {
        const size_t wanted = tape->suspect_capacity ? tape->suspect_capacity * 2 : 16;
        ct_suspect *grown = ct__host_grow(tape->device, tape->suspect, &tape->suspect_capacity,
                                          tape->n_suspects, wanted, sizeof *grown);
        if (!grown) {
            ct__tape_fail_device(tape, "the tape");
            return;
        }
        tape->suspect = grown;
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
