/* The tape records ops as they are computed, and differentiates them by a backward sweep.
 *
 *     ct_tape *tape = ct_tape_new(device);
 *     ct_var   x = ct_leaf(tape, tensor);
 *     ct_var   y = ct_sum(ct_square(x), CT_ALL, false);
 *     if (ct_backward(y) == CT_OK) use(ct_item(y), ct_cotangent(x));
 *     ct_tape_reset(tape);
 *
 * A tape owns everything it recorded until ct_tape_reset, which returns every buffer to the device's pool. A
 * training loop in its steady state therefore allocates nothing.
 *
 * Errors are sticky. The first error stays, later ops do nothing, reading gives NaN or NULL, and ct_backward
 * returns the error. One check at the end of a step is enough. ct_tape_reset clears the error.
 *
 * A failed factorisation is not a misuse. The failing batch member becomes NaN, the others are right, and the
 * tape stays usable. The failure is reported where the user reads: ct_item, ct_backward, ct_check. */
#ifndef COTANGENT_TAPE_H
#define COTANGENT_TAPE_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

typedef struct ct_tape ct_tape;

/* A handle to a value on a tape, passed by value and valid until the tape is reset; `epoch` detects a later
 * use. */
typedef struct ct_var {
    ct_tape *tape;
    uint32_t index, epoch;
} ct_var;
/* The empty handle, for an argument that is left out. To an op it is poisoned, and so is the result. */
static inline ct_var ct_none(void)
{
    const ct_var none = { NULL, 0, 0 };
    return none;
}

/* A new tape, which keeps the device alive. NULL only if memory is exhausted or the device is NULL or
 * unusable. */
CT_API ct_tape *ct_tape_new(ct_device *device);
CT_API void ct_tape_free(ct_tape *tape);
/* Forgets everything recorded, including the error. Handles made before become stale. */
CT_API void ct_tape_reset(ct_tape *tape);
CT_API ct_device *ct_tape_device(const ct_tape *tape);

/* The sticky error, else a factorisation's failure, else CT_OK. Waits for the device. ct_check does the same
 * for the tape of v; a poisoned handle gives CT_EINVAL. */
CT_API ct_status ct_tape_status(ct_tape *tape);
CT_API ct_status ct_check(ct_var v);
/* The message of that error: "op #3 matmul(30x1, 30x1): inner dimensions differ (1 vs 30)"; "" if there is
 * none. Owned by the tape. */
CT_API const char *ct_tape_message(const ct_tape *tape);
/* The same without the op's name in front: "inner dimensions differ (1 vs 30)". For callers whose message
 * names a place of its own. */
CT_API const char *ct_tape_reason(const ct_tape *tape);
/* Records the caller's error, unless the tape has one already. */
CT_API void ct_tape_fail(ct_tape *tape, ct_status status, const char *format, ...) CT_PRINTF(3, 4);

/* -- values ---------------------------------------------------------------------------------------------- */

/* A leaf, whose cotangent is wanted (any dtype but i64), and a constant (any dtype). The tape keeps a
 * reference to t, and a sweep reads t again. Do not write to t's memory before the last sweep: a sweep that
 * reaches an op on t then fails with CT_ESTALE. Every ct_write and ct_copy counts, even to another view of
 * the same memory or to elements that the op did not read. The library cannot see writes through
 * ct_tensor_data, by the owner of wrapped memory (ct_wrap, DLPack), or by a replayed graph: the caller must
 * avoid them. */
CT_API ct_var ct_leaf(ct_tape *tape, ct_tensor *t);
CT_API ct_var ct_constant(ct_tape *tape, ct_tensor *t);
/* A scalar: a constant; a leaf (any dtype but i64), whose cotangent ct_cotangent gives. */
CT_API ct_var ct_scalar(ct_tape *tape, ct_dtype dtype, double value);
CT_API ct_var ct_leaf_scalar(ct_tape *tape, ct_dtype dtype, double value);

/* The tensor behind a handle, borrowed until the tape is reset; ct_retain keeps it longer. NULL if the tape
 * has failed, or if a backward sweep has freed the tensor: see ct_keep. */
CT_API ct_tensor *ct_value(ct_var v);
CT_API ct_shape ct_var_shape(ct_var v);
CT_API ct_dtype ct_var_dtype(ct_var v);
/* The only element of a one-element value; NaN on any failure. Waits for the device. */
CT_API double ct_item(ct_var v);
/* Whether a gradient flows into v. */
CT_API bool ct_var_needs_grad(ct_var v);

/* Keeps the value and cotangent of v through backward sweeps, which otherwise free the intermediates that
 * they pass. Returns v. Leaves, constants and the output of the sweep are always kept. */
CT_API ct_var ct_keep(ct_var v);

/* -- gradients ------------------------------------------------------------------------------------------- */

/* Sweeps backward from a one-element y, seeded with 1. Afterwards ct_cotangent gives the cotangents of leaves
 * and of values kept by ct_keep; a second sweep on the same tape adds to them. Returns the tape's status. */
CT_API ct_status ct_backward(ct_var y);

/* The cotangent of v, borrowed until the next reset; NULL if none arrived. */
CT_API ct_tensor *ct_cotangent(ct_var v);

/* May be combined; other bits are CT_EINVAL. */
typedef enum ct_grad_flags {
    CT_GRAD_FREE = 0,   /* free intermediates as the sweep passes them                         */
    CT_GRAD_KEEP = 1,   /* keep them for another sweep                                         */
    CT_GRAD_RECORD = 2, /* record the sweep, so that x_bar can be differentiated; implies KEEP */
} ct_grad_flags;

/* The vector-Jacobian products x_bar[i] = (dy/dx[i])ᵀ y_bar for i < n. y_bar has y's shape; ct_none() stands
 * for 1 if y has one element. x may be leaves or intermediates that depend on one; a constant is CT_EINVAL.
 * If y does not depend on x[i], x_bar[i] is zeros. The ct_cotangent of leaves is unchanged. On failure every
 * x_bar[i] is poisoned. x_bar may be x. */
CT_API ct_status ct_grad(ct_var y, ct_var y_bar, const ct_var *x, ct_var *x_bar, int n, ct_grad_flags flags);

/* The Jacobian-vector products y_dot[k] = Σ_i (dy[k]/dx[i]) x_dot[i] for m outputs and n inputs, by a forward
 * sweep over what was recorded. x are different leaves or intermediates; x_dot[i] has x[i]'s shape and dtype,
 * or for T tangents at a time each x_dot[i] has one more dimension, T, before those of x[i], and each
 * y_dot[k] before those of y[k]. Of a symmetric input only the tangent's symmetric part counts. With
 * CT_GRAD_RECORD the sweep is recorded, so that y_dot can be differentiated, by ct_grad as by ct_jvp;
 * otherwise y_dot are constants. No value is freed. A sweep that freed the values of the ops between x and y
 * must not have come before. On failure every y_dot[k] is poisoned. y_dot may be x or x_dot. */
CT_API ct_status ct_jvp(const ct_var *y, ct_var *y_dot, int m, const ct_var *x, const ct_var *x_dot, int n,
                        ct_grad_flags flags);

/* Hessian-vector product of a one-element y, by two sweeps: hv[i] = Σ_j ∂²y/∂x[i]∂x[j] v[j]. v[i] has x[i]'s
 * shape. On failure every hv[i] is poisoned. hv may be x or v. */
CT_API ct_status ct_hvp(ct_var y, const ct_var *x, const ct_var *v, ct_var *hv, int n);

/* The Jacobian of y with respect to x, and the Hessian of a one-element y, as constants (M, N) and (N, N) of
 * the elements in row-major order, for M elements of y and N of x. A Jacobian takes N tangents, 32 at a time,
 * or M backward sweeps, whichever are fewer; a Hessian a recorded sweep and N tangents. Nothing is freed. */
CT_API ct_var ct_jacobian(ct_var y, ct_var x);
CT_API ct_var ct_hessian(ct_var y, ct_var x);

/* The elements (row[i], col[i]), i < nnz, of that Jacobian, as a constant (nnz), if all others are zero.
 * Columns that share no row are computed as one, so that it takes as many tangents as the greedy colouring of
 * the columns has colours; or, if a column has fewer elements at most than a row, as many backward sweeps as
 * that of the rows has.
 * [Curtis, Powell & Reid 1974, "On the estimation of sparse Jacobian matrices"] */
CT_API ct_var ct_jacobian_sparse(ct_var y, ct_var x, const int64_t *row, const int64_t *col, int64_t nnz);

/* out[0..m) = f(in[0..n)), of which the tape keeps the inputs and outputs alone: a sweep calls f again and
 * sweeps through what it records. So a loop of n steps in blocks of √n holds 2√n steps in place of n, and
 * computes each twice. Blocks nest. f sets each output from its inputs and from constants, and must do so
 * alike each time; to read another value into which a gradient flows is refused. f and its context must last
 * as long as the tape's sweeps. On failure every output is poisoned. At most 64 inputs and 6 outputs; out may
 * be in. */
typedef void ct_checkpoint_fn(ct_tape *tape, const ct_var *in, ct_var *out, void *context);
CT_API ct_status ct_checkpoint(const ct_var *in, int n, ct_var *out, int m, ct_checkpoint_fn *f,
                               void *context);

/* out[0..m) = the carried values in[0..m) after `steps` calls of f, each of which sets them anew from
 * in[0..n) and the step's number, from 0. Shared values, such as weights or a sequence, are in[m..n). Blocks
 * of √steps steps are checkpoints: the tape holds √steps blocks, a sweep the steps of one, and each step is
 * computed twice. What ct_checkpoint asks of f holds. On failure every output is poisoned. out may be in. */
typedef void ct_scan_fn(ct_tape *tape, int64_t step, const ct_var *in, ct_var *out, void *context);
CT_API ct_status ct_scan(const ct_var *in, int n, ct_var *out, int m, int64_t steps, ct_scan_fn *f,
                         void *context);

/* Between these two calls ops compute but are not recorded, so their results are constants. The calls
 * nest. */
CT_API void ct_no_grad_begin(ct_tape *tape);
CT_API void ct_no_grad_end(ct_tape *tape);
/* Whether ops are recorded now. */
CT_API bool ct_grad_enabled(const ct_tape *tape);
/* The same value as a constant. */
CT_API ct_var ct_stop_gradient(ct_var x);

/* -- looking at the tape --------------------------------------------------------------------------------- */

/* Number of values recorded since the last reset. */
CT_API int64_t ct_tape_length(const ct_tape *tape);
/* Writes a listing with one line for each value (index, op, inputs, shape, bytes, flags), or a graph for
 * Graphviz's dot, as text into buffer[0..size), always NUL-terminated. Returns the length of the complete
 * text, as snprintf does. */
CT_API size_t ct_tape_print(const ct_tape *tape, char *buffer, size_t size);
CT_API size_t ct_tape_dot(const ct_tape *tape, char *buffer, size_t size);

CT_END_DECLS
#endif
