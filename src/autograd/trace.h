/* CT_TRACE=1 in a build with -Dasserts=true: a line to stderr for each op and each backward rule, with shapes
 * and time. The device finishes its work before and after each, so that the time is the op's. */
#ifndef CT_AUTOGRAD_TRACE_H
#define CT_AUTOGRAD_TRACE_H

#include "internal.h"

#ifdef CT__ASSERTS

/* The time in seconds; negative if nothing is to be traced. */
double ct__trace_start(ct_tape *tape);
void ct__trace_call(const ct_call *c, double start);
/* The rule of the call at node `index`. */
void ct__trace_rule(ct_tape *tape, const ct_op *op, uint32_t index, double start);

#else

static inline double ct__trace_start(ct_tape *tape) { return (void)tape, -1; }
static inline void ct__trace_call(const ct_call *c, double start) { (void)c, (void)start; }
static inline void ct__trace_rule(ct_tape *tape, const ct_op *op, uint32_t index, double start)
{
    (void)tape, (void)op, (void)index, (void)start;
}

#endif
#endif
