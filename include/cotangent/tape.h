/* The tape: records ops as they compute, and plays them backward.
 *
 *     ct_tape *tape = ct_tape_new(device);
 *     ct_var   x = ct_leaf(tape, tensor);
 *     ct_var   y = ct_sum(ct_square(x), CT_ALL, false);
 *     if (ct_backward(y) == CT_OK) use(ct_item(y), ct_cotangent(x));
 *     ct_tape_reset(tape);
 *
 * A tape owns all that it recorded until ct_tape_reset, which hands every buffer back to the device's pool: a
 * training loop in its steady state allocates nothing.
 *
 * Errors are sticky: the first one stays, later ops do nothing, reading gives NaN or NULL, and ct_backward
 * returns it. One check at the end of a step is enough. The error is cleared by ct_tape_reset.
 *
 * A factorisation that fails is no misuse: the failing batch member becomes NaN, the others are right, and
 * the tape carries on. The failure is reported where the user reads: ct_item, ct_backward, ct_check. */
#ifndef COTANGENT_TAPE_H
#define COTANGENT_TAPE_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

typedef struct ct_tape ct_tape;

/* A handle to a value on a tape, passed by value. Valid until the tape is reset; `epoch` catches a later use.
 * { NULL, 0, 0 } is the poisoned handle: every op on it is poisoned, too. */
typedef struct ct_var {
    ct_tape *tape;
    uint32_t index, epoch;
} ct_var;

/* NULL only when memory is exhausted or the device is NULL or unusable. Keeps the device alive. */
CT_API ct_tape *ct_tape_new(ct_device *device);
CT_API void ct_tape_free(ct_tape *tape);
/* Forgets everything recorded, including the error; handles from before become stale. */
CT_API void ct_tape_reset(ct_tape *tape);
CT_API ct_device *ct_tape_device(const ct_tape *tape);

/* The sticky error, or a factorisation's failure, or CT_OK. Waits for the device. ct_check is its short name
 * for a var's tape; a poisoned handle gives CT_EINVAL. */
CT_API ct_status ct_tape_status(ct_tape *tape);
CT_API ct_status ct_check(ct_var v);
/* "op #3 matmul(30x1, 30x1): inner dimensions differ (1 vs 30)"; "" where there is none. Owned by the
 * tape. */
CT_API const char *ct_tape_message(const ct_tape *tape);
/* The same without the ops it begins with, for a message that says its own place: "inner dimensions differ (1
 * vs 30)". */
CT_API const char *ct_tape_reason(const ct_tape *tape);
/* Records an error of the caller's own, unless there is one already. */
CT_API void ct_tape_fail(ct_tape *tape, ct_status status, const char *format, ...) CT_PRINTF(3, 4);

/* -- values ---------------------------------------------------------------------------------------------- */

/* A leaf whose cotangent is wanted (not i64), and a constant (any dtype). The tape keeps a reference, and a
 * sweep reads the tensor again. So do not write to its memory before the last sweep: a sweep that passes an
 * op on it is refused then (CT_ESTALE). Every write by ct_write and ct_copy counts, also one to a view of the
 * same memory and one to elements that the op has not read. Writes that the library does not do are not seen:
 * through ct_tensor_data, by the owner of wrapped memory (ct_wrap, DLPack), or by a replayed graph. There it
 * is the caller's part. */
CT_API ct_var ct_leaf(ct_tape *tape, ct_tensor *t);
CT_API ct_var ct_constant(ct_tape *tape, ct_tensor *t);
/* A constant scalar. */
CT_API ct_var ct_scalar(ct_tape *tape, ct_dtype dtype, double value);

/* The tensor behind a handle, borrowed: valid until the tape is reset (ct_retain it to keep it longer). NULL
 * where the tape has failed, or where a backward sweep has freed it already: see ct_keep. */
CT_API ct_tensor *ct_value(ct_var v);
CT_API ct_shape ct_var_shape(ct_var v);
CT_API ct_dtype ct_var_dtype(ct_var v);
/* The only element of a value of one element; NaN on any failure. Waits for the device. */
CT_API double ct_item(ct_var v);
/* Whether a gradient flows into v. */
CT_API bool ct_var_needs_grad(ct_var v);

/* Keeps value and cotangent of v through backward sweeps, which otherwise free the intermediates they pass.
 * Returns v. Leaves, constants and the swept output are always kept. */
CT_API ct_var ct_keep(ct_var v);

/* -- gradients ------------------------------------------------------------------------------------------- */

/* Reverse sweep from a y of one element, seeded with 1. The cotangents of leaves (and of ct_keep'ed values)
 * are then at ct_cotangent; a second sweep on the same tape adds to them. Returns the tape's status. */
CT_API ct_status ct_backward(ct_var y);

/* The cotangent of v, borrowed until the next reset; NULL where none arrived. */
CT_API ct_tensor *ct_cotangent(ct_var v);

typedef enum ct_grad_flags {
    CT_GRAD_FREE = 0,   /* free intermediates as the sweep passes them                        */
    CT_GRAD_KEEP = 1,   /* keep them for another sweep                                         */
    CT_GRAD_RECORD = 2, /* record the sweep, so that x_bar can be differentiated; implies KEEP */
} ct_grad_flags;

/* vjp: x_bar[i] = (dy/dx[i])ᵀ y_bar for i < n. y_bar has y's shape, or is {NULL,0,0} for 1 where y has one
 * element. x may be leaves or intermediates. Where y does not depend on x[i], x_bar[i] is zeros. Leaves'
 * ct_cotangent is left alone. On failure every x_bar[i] is poisoned. */
CT_API ct_status ct_grad(ct_var y, ct_var y_bar, const ct_var *x, ct_var *x_bar, int n, ct_grad_flags flags);

/* Hessian-vector product of a y of one element: hv[i] = Σ_j ∂²y/∂x[i]∂x[j] v[j], by two sweeps. v[i] has
 * x[i]'s shape. */
CT_API ct_status ct_hvp(ct_var y, const ct_var *x, const ct_var *v, ct_var *hv, int n);

/* Between these two calls ops compute but are not recorded: their results are constants. They nest. */
CT_API void ct_no_grad_begin(ct_tape *tape);
CT_API void ct_no_grad_end(ct_tape *tape);
/* Whether ops are recorded now. */
CT_API bool ct_grad_enabled(const ct_tape *tape);
/* The same value as a constant. */
CT_API ct_var ct_stop_gradient(ct_var x);

/* -- looking at the tape --------------------------------------------------------------------------------- */

/* Number of values recorded since the last reset. */
CT_API int64_t ct_tape_length(const ct_tape *tape);
/* Writes a listing, one value a line (index, op, inputs, shape, bytes, flags), or a graph for Graphviz's dot,
 * as text into buffer[0..size), always NUL-terminated. Returns the length of the whole text, as snprintf. */
CT_API size_t ct_tape_print(const ct_tape *tape, char *buffer, size_t size);
CT_API size_t ct_tape_dot(const ct_tape *tape, char *buffer, size_t size);

CT_END_DECLS
#endif
