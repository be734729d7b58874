/* A call: one evaluation of an op, as its shape rule and forward function see it. A scope is a call without
 * an op. */
#include "primitive/primitive.h"

#include <math.h>

/* -- for shape and forward ------------------------------------------------------------------------------- */

int ct_args(const ct_call *c) { return c->n_in; }
int ct_outs(const ct_call *c) { return c->n_out; }

/* Input i. Without such an input, refuses the call and returns NULL. */
static const ct_tensor *input(const ct_call *c, int i)
{
    if ((unsigned)i < (unsigned)c->n_in) return c->arg[i];
    ct_require((ct_call *)(uintptr_t)c, false, CT_EINVAL, "there is no input %d, the call has %d", i,
               c->n_in);
    return NULL;
}

ct_view ct_arg(const ct_call *c, int i) { return ct_view_of(input(c, i)); }
ct_var ct_arg_var(const ct_call *c, int i) { return input(c, i) ? c->in[i] : ct__poisoned(c->tape); }
const void *ct_attr(const ct_call *c) { return c->attr; }
ct_device *ct_call_device(const ct_call *c) { return c->tape ? c->tape->device : NULL; }
bool ct_call_recorded(const ct_call *c) { return c->recorded; }
bool ct_call_wants(const ct_call *c, int i)
{
    return c->recorded && (unsigned)i < (unsigned)c->n_in && c->wanted >> i & 1;
}
bool ct_call_ok(const ct_call *c) { return !c->status; }
int64_t ct_arg_dim(const ct_call *c, int i, int dim) { return ct_tensor_dim(input(c, i), dim); }
int ct_arg_ndim(const ct_call *c, int i) { return ct_tensor_ndim(input(c, i)); }
ct_shape ct_arg_shape(const ct_call *c, int i) { return ct_tensor_shape(input(c, i)); }
void ct_set_dtype(ct_call *c, ct_dtype dtype) { c->dtype[0] = dtype; }

/* Declares output k, which comes after those declared before. */
static bool declare(ct_call *c, int k, ct_dtype dtype, ct_shape shape)
{
    if (!ct_require(c, c->op && !c->op->compose, CT_EINVAL, "a %s declares no outputs",
                    c->op ? "composition" : "scope") ||
        !ct_require(c, k == c->n_out && k < CT_MAX_OUTPUTS, CT_EINVAL,
                    "outputs are declared in order, at most %d", CT_MAX_OUTPUTS))
        return false;
    c->dtype[k] = dtype;
    c->more[k] = shape;
    c->out[k] = NULL;
    c->n_out = k + 1;
    return true;
}

void ct_more_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape)
{
    if (ct_require(c, c->results == c->n_out, CT_EINVAL,
                   "output %d is declared after one of ct_save_for_vjp, which come after all others", k) &&
        declare(c, k, dtype, shape))
        c->results = c->n_out;
}

void ct_save_for_vjp(ct_call *c, int k, ct_dtype dtype, ct_shape shape) { declare(c, k, dtype, shape); }

static bool is_declared(ct_call *c, int k)
{
    return (unsigned)k < (unsigned)c->n_out ||
           ct_require(c, false, CT_EINVAL, "output %d was not declared: ct_more_out", k);
}

ct_tensor *ct__result(ct_call *c, int k)
{
    if (c->status || !is_declared(c, k)) return NULL;
    if (!c->out[k]) {
        c->out[k] = ct__empty(c->tape->device, c->dtype[k], k ? &c->more[k] : c->shape);
        if (!c->out[k]) ct__call_status(c, c->tape->device->last_status);
    }
    return c->out[k];
}

ct_view *ct__result_view(ct_call *c)
{
    ct_tensor *y = ct__result(c, 0);
    return y ? &y->view : NULL;
}

ct_view ct_result_at(ct_call *c, int k) { return ct_view_of(ct__result(c, k)); }
ct_view ct_result(ct_call *c) { return ct_result_at(c, 0); }

/* Whether v may be output k: the shape rule has given the output a shape (it gives none if inputs do not
 * fit), and the dtypes agree. If not, the call has failed. */
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
    if (!ct__usable(c, &v) ||
        !ct_require(c, !c->whole, CT_EINVAL, "ct_each_member's members fill their outputs and keep nothing"))
        return NULL;
    ct_tensor *t = ct__share(v);
    if (!t) ct__call_status(c, c->tape->device->last_status);
    return t;
}

ct_view ct_scratch(ct_call *c, ct_dtype dtype, ct_shape shape)
{
    const int most = (int)(sizeof c->scratch / sizeof *c->scratch);
    if (c->status ||
        !ct_require(c, c->n_scratch < most, CT_EINVAL, "more than %d scratch tensors in one call", most))
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
    double item = NAN;
    if (!ct__usable(c, &v)) return item;
    ct_device *dev = v.storage->device;
    const bool there = !ct_device_is_asynchronous(dev) || ct__may_wait(dev, "ct_call_item");
    ct__call_status(c, there ? ct__item(&v, &item) : dev->last_status);
    return item;
}

void ct__release_scratch(ct_call *c)
{
    while (c->n_scratch > 0) ct_release(c->scratch[--c->n_scratch]);
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
    ct_tape *tape = c ? c->tape : NULL;
    if (!tape) return CT_EINVAL;
    ct__release_scratch(c);
    if (tape->failure.suspected) ct__note_suspect(c);
    if (!c->status && tape->device->step_pool)
        ct__call_status(c, tape->device->backend->capture_status(tape->device));
    if (!tape->status && tape->failure.set && !c->failed_before) ct__note_failure(c);
    if (c != &tape->failed_call && tape->arena.free == (char *)c + (sizeof *c + 15) / 16 * 16)
        tape->arena.free = (char *)c;
    return tape->status;
}
