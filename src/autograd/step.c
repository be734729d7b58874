/* Steps that are replayed: as a graph if the device has graphs, else by calling the function again.
 *
 * The first call computes. It allocates its memory, and the device's libraries initialise. The second call,
 * at the first replay, is recorded. Both draw from the step's own pool, so the second call finds the blocks
 * that the first has returned. */
#include <cotangent/step.h>

#include <stdio.h>
#include <string.h>

#include "internal.h"

struct ct_step {
    ct_device *device;
    ct_tape *tape;
    ct_step_fn function;
    void *context;
    ct__pool *pool;   /* the graph's memory; NULL if the device has no graphs    */
    void *graph;      /* NULL before the first replay                            */
    ct_status status; /* of recording; after a failure no graph will exist       */
    uint32_t n;       /* the recording: its number of nodes, and the arena's end */
    ct_arena mark;
    char description[64];
};

/* The first failure, as the device's message. If a call of the step has failed on the device, and its result,
 * NULL, then failed the tape, both are told. */
static ct_status outcome(ct_step *step, ct_status status)
{
    ct_device *dev = step->device;
    const ct_tape *tape = step->tape;
    char why[sizeof dev->message];
    snprintf(why, sizeof why, "%s", dev->message);
    if (tape->status && why[0] && !strstr(tape->message, why))
        return ct__fail(dev, tape->status, "%.400s: %.400s", tape->message, why);
    if (tape->status || (status && tape->message[0]))
        return ct__fail(dev, tape->status ? tape->status : status, "%s", tape->message);
    if (dev->in_step == CT__STEP_REFUSED) return dev->last_status;
    if (status && status != dev->last_status)
        return ct__fail(dev, status, "the step returned %s", ct_status_name(status));
    return status;
}

/* Calls the function on the reset tape, in the memory of its graph. */
static ct_status call(ct_step *step)
{
    ct_device *dev = step->device;
    char before[sizeof dev->message];
    snprintf(before, sizeof before, "%s", dev->message);
    dev->message[0] = '\0'; /* what stands there afterwards is of this step */
    dev->in_step = CT__IN_STEP;
    dev->step_pool = step->pool;
    ct__tape_forget(step->tape);
    ct_status s = step->tape->status ? step->tape->status : step->function(step->tape, step->context);
    s = outcome(step, s);
    dev->step_pool = NULL;
    dev->in_step = CT__NO_STEP;
    if (!dev->message[0]) snprintf(dev->message, sizeof dev->message, "%s", before);
    return s;
}

ct_step *ct_step_capture(ct_device *dev, ct_step_fn function, void *context)
{
    if (!dev || dev->status) return NULL;
    if (!function || dev->in_step) {
        ct__fail(dev, CT_EINVAL,
                 function ? "a step within a step: capture the outer one" : "the step's function is NULL");
        return NULL;
    }
    ct_step *step = ct__host_alloc(dev, sizeof *step);
    if (!step) return NULL;
    *step = (ct_step){ .device = ct_device_retain(dev), .function = function, .context = context };
    snprintf(step->description, sizeof step->description, "called again at each replay");
    step->tape = ct_tape_new(dev);
    if (step->tape && dev->backend->capture_begin) step->pool = ct__pool_new(dev);
    if (!step->tape || (dev->backend->capture_begin && !step->pool)) {
        ct_step_free(step);
        return NULL;
    }
    step->tape->of_step = true;
    if (!call(step)) return step;
    ct_step_free(step);
    return NULL;
}

/* Calls the function to record its graph. */
static ct_status record(ct_step *step)
{
    ct_device *dev = step->device;
    size_t nodes = 0;
    ct_status s = dev->backend->capture_begin(dev);
    if (s) return s;
    s = call(step);
    char why[sizeof dev->message];
    snprintf(why, sizeof why, "%s", dev->message);
    step->graph = dev->backend->capture_end(dev, &nodes);
    if (s) return ct__fail(dev, s, "%s", why);
    if (!step->graph) return dev->last_status;
    step->n = step->tape->n;
    step->mark = step->tape->arena;
    snprintf(step->description, sizeof step->description, "a graph of %zu kernels and copies", nodes);
    return CT_OK;
}

/* Clears the previous call's results: the handles now stand for values that are yet to be computed. */
static void forget_outcome(ct_step *step)
{
    ct_tape *tape = step->tape;
    ct__truncate(tape, step->n, step->mark);
    for (uint32_t i = 0; i < tape->n; i++)
        if (tape->node[i].value) tape->node[i].version = tape->node[i].value->view.storage->version;
    tape->status = CT_OK;
    tape->message[0] = '\0';
    tape->failure.set = false;
}

ct_status ct_step_replay(ct_step *step)
{
    if (!step) return CT_EINVAL;
    ct_device *dev = step->device;
    if (dev->in_step)
        return ct__fail(dev, CT_EINVAL, "a step within a step: replay them one after the other");
    if (step->status)
        return ct__fail(dev, step->status, "the step could not be recorded: call its function instead");
    if (!step->pool) return call(step);
    if (!step->graph && (step->status = record(step))) return step->status;
    forget_outcome(step);
    return dev->backend->graph_launch(dev, step->graph);
}

ct_tape *ct_step_tape(const ct_step *step) { return step ? step->tape : NULL; }
const char *ct_step_description(const ct_step *step) { return step ? step->description : "no step"; }

void ct_step_free(ct_step *step)
{
    if (!step) return;
    ct_device *dev = step->device;
    if (step->graph) dev->backend->graph_free(dev, step->graph);
    ct_tape_free(step->tape);
    ct__pool_free(dev, step->pool);
    ct__host_free(dev, step, sizeof *step);
    ct_device_close(dev);
}
