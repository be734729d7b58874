/* What trace.h declares. */
#include "trace.h"

#include "tensor/debug.h"

#include <stdlib.h>
#include <time.h>

/* The time in seconds, after the device has finished its work. */
static double finished(ct_tape *tape)
{
    struct timespec now;
    if (!tape->device->step_pool) tape->device->backend->synchronize(tape->device);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double ct__trace_start(ct_tape *tape)
{
    const char *wish = getenv("CT_TRACE");
    return wish && *wish && *wish != '0' ? finished(tape) : -1;
}

void ct__trace_call(const ct_call *c, double start)
{
    char call[256], shape[96];
    if (start < 0) return;
    const double ms = 1e3 * (finished(c->tape) - start);
    ct__describe(c, call, sizeof call);
    ct__debug_line("#%u %s -> %s: %.3f ms%s", c->tape->n, call,
                   ct__shape_text(*c->shape, shape, sizeof shape), ms, c->status ? ", failed" : "");
}

void ct__trace_rule(ct_tape *tape, const ct_op *op, uint32_t index, double start)
{
    if (start < 0) return;
    const double ms = 1e3 * (finished(tape) - start);
    ct__debug_line("backward of #%u %s: %.3f ms%s", index, op->name, ms, tape->status ? ", failed" : "");
}
