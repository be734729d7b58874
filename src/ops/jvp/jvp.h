/* Forward rules that ops share. */
#ifndef CT_OPS_JVP_H
#define CT_OPS_JVP_H

#include <cotangent/op.h>

/* The forward rule of an op that has none of its own (transposed.c). */
void ct__jvp_transposed(ct_vjp *g);

#endif
