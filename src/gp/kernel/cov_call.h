/* Shared by the ops of a kernel's program. */
#ifndef CT_GP_COV_CALL_H
#define CT_GP_COV_CALL_H

#include <string.h>

#include <cotangent/gp/kernel.h>
#include <cotangent/op.h>

/* A call of `op` with a kernel's program as attribute; a poisoned handle if the kernel cannot be used. */
ct_var ct__cov_apply(const struct ct_op *op, const ct_kernel *k, const ct_var *in, int n);
/* A call whose attribute is a program followed by further bytes; and a copy of those bytes. */
ct_var ct__cov_apply_with(const struct ct_op *op, const ct_cov_program *p, const void *extra, size_t bytes,
                          const ct_var *in, int n);
static inline void ct__cov_extra(const ct_cov_program *attribute, void *extra, size_t bytes)
{
    memcpy(extra, (const char *)attribute + attribute->bytes, bytes);
}

/* Refuses the call unless its attribute is a program, input 0 fits its theta, inputs 1 to `sets` are points
 * with the number of columns that it is bound to, and all inputs are f64 or f32. All may have batch
 * dimensions. */
bool ct__cov_accepts(ct_call *c, int sets);
/* The dimensions of the batch, followed by those of a member. */
ct_shape ct__in_batch(ct_shape batch, ct_shape member);
/* Up to this number of rows it is faster to give each batch member one thread than to run all threads on one
 * member after the other. */
enum { CT__SMALL = 1000 };

/* The value of an op with a program as attribute, in differentiable ops. A missing input has no tape. */
typedef ct_var ct__composition(const ct_cov_program *program, const ct_var *in);
/* For the rule of such an op in a recorded sweep: bar[i] becomes the cotangent of each requested input i.
 * `compose` gets copies of the inputs, at which its sweep ends. False: the sweep has failed. */
bool ct__recorded_bars(ct_rule *g, ct__composition *compose, ct_var *bar);

/* The tangent of the op's output, one or several, from its inputs': by a forward sweep over the
 * composition. */
ct_var ct__composed_dot(ct_rule *g, ct__composition *compose);

/* Draws theta, X and, in half of the variants if `pairs`, Z for a set of kernels over three columns. */
void ct__cov_sample(ct_sample *s, bool pairs);

#endif
