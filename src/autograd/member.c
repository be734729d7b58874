/* The members of a batch, each as a call of its own, in sequence or in parallel. */
#include "internal.h"

#include <stdatomic.h>

typedef struct crew {
    ct_call *call;
    const int *own;
    ct_shape batch;
    int64_t members;
    void (*run)(ct_call *member);
    int lanes;           /* 0: the call's own device computes them in sequence */
    atomic_llong next;   /* the next member to take */
    atomic_flag telling; /* set by the thread that writes to the call */
} crew;

ct_shape ct_batch_shape(ct_call *c, const int *own)
{
    ct_shape batch = ct_shape0();
    int most = 0;
    ct_require(c, own, CT_EINVAL,
               "ct_batch_shape: own is NULL, it has a number of dimensions for each input");
    for (int i = 0; i < c->n_in && !c->status; i++) {
        const ct_view *x = ct__arg_view(c, i);
        if (!ct_require(c, own[i] >= 0, CT_EINVAL, "ct_batch_shape: own[%d] = %d, it must be 0 or more", i,
                        own[i]))
            break;
        if (x->ndim <= own[i]) continue;
        batch = ct_shape_broadcast(batch, ct_shape_of(x->ndim - own[i], x->dim));
        ct_require(c, batch.ndim >= 0, CT_ESHAPE,
                   "the batch dimensions of input %d do not broadcast with those before it: from the right, "
                   "extents must be equal or 1",
                   i);
        most = own[i] > most ? own[i] : most;
    }
    ct_require(c, batch.ndim + most <= CT_MAX_DIMS, CT_ESHAPE,
               "more than %d dimensions: ct_reshape the batch", CT_MAX_DIMS);
    return c->status ? ct_shape0() : batch;
}

/* -- one member ------------------------------------------------------------------------------------------ */

/* x without its batch dimensions, as a tensor in the storage `home`. */
static ct_tensor without_batch(const ct_view *x, int own, ct_storage *home)
{
    if (own > x->ndim) own = x->ndim;
    const size_t bytes = (size_t)own * sizeof *x->dim;
    ct_tensor t = { .view = { .storage = home, .data = x->data, .dtype = x->dtype, .ndim = own }, .refs = 1 };
    memcpy(t.view.dim, x->dim + x->ndim - own, bytes);
    memcpy(t.view.stride, x->stride + x->ndim - own, bytes);
    return t;
}

/* Where member k begins in x. */
static void *member_data(const ct_view *x, int own, const ct_shape *batch, int64_t k)
{
    int64_t at = 0;
    for (int d = x->ndim - own - 1, b = batch->ndim - 1; d >= 0; k /= batch->dim[b--], d--)
        if (x->dim[d] > 1) at += k % batch->dim[b] * x->stride[d];
    return (char *)x->data + at * (int64_t)ct__size(x->dtype);
}

/* Reports a thread's results to the call: its error, and the first of its members that failed. */
static void tell(crew *w, const ct_call *c, const ct_failure *first)
{
    ct_call *all = w->call;
    ct_failure *f = &all->tape->failure;
    while (atomic_flag_test_and_set(&w->telling)) {
    }
    if (first->set && !all->failed_before && (!f->set || first->member < f->member))
        ct__failure_set(f, first->member, first->detail, first->what, first->why);
    ct_require(all, !c->status, c->status, "%s", ct_tape_reason(c->tape));
    atomic_flag_clear(&w->telling);
}

/* Calls `run` for member `own`, then takes members until none is left. No member sees that another has
 * failed. Each lane computes at least its own member, and after one call has the memory for others. */
static void run_members(crew *w, ct_call *c, int64_t own, ct_tensor *in, ct_tensor *out)
{
    const ct_call *all = w->call;
    ct_failure *f = &c->tape->failure, before = *f, first = { .set = false };
    for (int64_t m = own; !c->status && m < w->members; m = atomic_fetch_add(&w->next, 1)) {
        for (int i = 0; i < c->n_in; i++)
            in[i].view.data = member_data(&all->arg[i]->view, in[i].view.ndim, &w->batch, m);
        for (int k = 0; k < c->n_out; k++)
            out[k].view.data = member_data(&all->out[k]->view, out[k].view.ndim, &w->batch, m);
        f->set = false;
        f->from = m;
        w->run(c);
        ct__release_scratch(c);
        if (f->suspected) ct__note_suspect(c);
        if (!f->set || first.set) continue;
        first = *f;
        first.member = m;
    }
    before.note = f->note;
    before.call = f->call;
    if (before.set) *f = before;
    f->set = before.set;
    f->from = 0;
    tell(w, c, &first);
}

/* One thread's share. */
static void take_members(void *context, int64_t lane)
{
    crew *w = context;
    const ct_call *all = w->call;
    ct_call c = *all;
    ct_tape tape = { .device = w->lanes ? ct__lane(all->tape->device, lane) : all->tape->device,
                     .n = all->tape->n,
                     .backward_of = -1 };
    ct_storage home = { .device = tape.device, .refs = 1 };
    ct_tensor in[CT_MAX_INPUTS], out[CT_MAX_OUTPUTS];
    if (w->lanes) c.tape = &tape;
    c.n_scratch = 0;
    for (int i = 0; i < c.n_in; i++) {
        in[i] = without_batch(&all->arg[i]->view, w->own[i], &home);
        c.arg[i] = &in[i];
    }
    for (int k = 0; k < c.n_out; k++) {
        out[k] = without_batch(&all->out[k]->view, all->out[k]->view.ndim - w->batch.ndim, &home);
        c.out[k] = &out[k];
    }
    run_members(w, &c, lane, in, out);
}

/* -- all members ----------------------------------------------------------------------------------------- */

void ct_each_member(ct_call *c, const int *own, bool beside, void (*run)(ct_call *member))
{
    crew w = {
        .call = c, .own = own, .run = run, .telling = ATOMIC_FLAG_INIT, .batch = ct_batch_shape(c, own)
    };
    ct_require(c, run, CT_EINVAL, "ct_each_member: run is NULL");
    if (c->status) return;
    if (!w.batch.ndim) {
        run(c);
        return;
    }
    for (int k = 0; k < c->n_out; k++) {
        const ct_shape y = ct_tensor_shape(ct__result(c, k));
        ct_require(c, y.ndim >= w.batch.ndim && ct_shape_equal(w.batch, ct_shape_of(w.batch.ndim, y.dim)),
                   CT_ESHAPE, "output %d must begin with the batch's dimensions: see ct_batch_shape", k);
    }
    if (c->status) return;
    c->whole = c;
    w.members = ct_shape_count(w.batch);
    w.lanes = beside ? ct__lanes(c->tape->device, w.members) : 0;
    w.next = w.lanes ? w.lanes : 1;
    if (w.lanes)
        ct_device_parallel_for(c->tape->device, w.lanes, take_members, &w);
    else
        take_members(&w, 0);
    ct__lanes_end(c->tape->device);
}
