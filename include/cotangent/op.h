/* Writing an op: the library's own ops and yours use the same header.
 *
 * An op is one descriptor. `shape` says what the op returns and refuses inputs that do not fit. `forward`
 * computes. `vjp` is the backward rule, written in ops on ct_vars. The engine accumulates cotangents, sums
 * broadcast dimensions back, skips cotangents that are not needed, and differentiates the rule itself for
 * higher orders. `sample` draws inputs for ct_gradcheck and the test matrix. See examples/custom_op.c. */
#ifndef COTANGENT_OP_H
#define COTANGENT_OP_H

#include <cotangent/cov_program.h>
#include <cotangent/maps.h>
#include <cotangent/ops.h>
#include <cotangent/tape.h>
#include <cotangent/view.h>

CT_BEGIN_DECLS

typedef struct ct_call ct_call;     /* one evaluation: inputs, attributes, outputs    */
typedef struct ct_rule ct_rule;     /* one step of a sweep: of one recorded call      */
typedef struct ct_sample ct_sample; /* a recipe for inputs, at a given size and dtype */

#define CT_MAX_INPUTS  64
#define CT_MAX_OUTPUTS 6

/* A map of maps.h that an op is on inputs of one f64 element each. */
typedef struct ct_number_map {
    int inputs; /* 1: f is a ct_map1, with the call's attributes as p; 2: a ct_map2; 0: no map */
    int f;
    int ndim; /* the least number of dimensions that the op takes */
} ct_number_map;

typedef struct ct_op {
    const char *name;
    int n_in; /* number of inputs; -1: any number up to CT_MAX_INPUTS */
    /* The shape of output 0. Its dtype is that of the floating inputs, which must agree, or i64 if all inputs
     * are, unless ct_set_dtype says otherwise. ct_more_out declares further outputs; ct_require refuses
     * inputs. */
    ct_shape (*shape)(ct_call *c);
    void (*forward)(ct_call *c);
    /* Sets the inputs' cotangents with ct_in_bar. NULL: no gradient flows (the outputs are constants). */
    void (*vjp)(ct_rule *g);
    /* Draws the inputs with ct_sample_* below. NULL: automatic checks leave the op out. */
    void (*sample)(ct_sample *s);
    /* Instead of shape, forward and vjp: the op as a composition of others, applied to ct_arg_var(c, i). It
     * refuses inputs as shape does; what it then returns is ignored. */
    ct_var (*compose)(ct_call *c);
    /* Whether inputs may be bf16 or f16; otherwise such a call is refused. Of the primitives, copy, fill, the
     * maps, sums and products take them. */
    bool half;
    uint64_t integers; /* bit i: input i may be i64; otherwise such a call is refused */
    /* The forward rule: sets the outputs' tangents with ct_give_out_dot. NULL: the engine transposes vjp,
     * which takes some three times as long. ct_jvp_linear and ct_jvp_multilinear are such rules. */
    void (*jvp)(ct_rule *g);
    /* Whether jvp takes T tangents at a time: (T, 1, ..., 1, own dimensions), one dimension more than the
     * input that has the most. It gives them with T first. Otherwise it is called T times. */
    bool jvp_stacked;
    /* Whether an output, a cotangent or a tangent that is not finite is a numerical failure, which is
     * flagged. Otherwise it is what IEEE arithmetic gives. Outputs are not looked through if `forward` has
     * called ct_prim_flag with CT_FINITE, on less that tells the same. */
    bool finite;
    /* With a map for single elements the tape keeps them in its nodes, if they lie in host memory. It calls
     * neither shape nor forward, and vjp only in a recorded sweep. */
    ct_number_map number;
} ct_op;

/* Computes op on in[0..n) and records it if a gradient is wanted. `attr` (may be NULL) is plain data, which
 * is copied. All inputs must be on one tape. An op without inputs needs ct_apply_on. */
CT_API ct_var ct_apply(const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size);
CT_API ct_var ct_apply_on(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                          size_t attr_size);
/* Output k of a call, given output 0 as ct_apply returned it. */
CT_API ct_var ct_output(ct_var first, int k);

/* -- inside shape, forward and compose ------------------------------------------------------------------- */

CT_API int ct_args(const ct_call *c);
/* The number of outputs declared so far, including those of ct_save_for_vjp. */
CT_API int ct_outs(const ct_call *c);
/* Input i. If there is no such input: no view, and the call is refused. */
CT_API ct_view ct_arg(const ct_call *c, int i);
/* The same as a handle, for compose; poisoned if there is no such input. */
CT_API ct_var ct_arg_var(const ct_call *c, int i);
CT_API const void *ct_attr(const ct_call *c);
CT_API ct_device *ct_call_device(const ct_call *c);
/* Whether vjp may be called for this call. If not, forward need not keep data that only vjp would read. */
CT_API bool ct_call_recorded(const ct_call *c);
/* Whether vjp may be asked for the cotangent of input i. */
CT_API bool ct_call_wants(const ct_call *c, int i);
/* The extent of a dimension of input i; a negative `dim` counts from the end. 1 for a dimension that does not
 * exist. */
CT_API int64_t ct_arg_dim(const ct_call *c, int i, int dim);
CT_API int ct_arg_ndim(const ct_call *c, int i);
CT_API ct_shape ct_arg_shape(const ct_call *c, int i);

/* Refuses the call with a message unless `ok`; the first refusal wins. Returns ok. The tape puts "op #3
 * name(2x3, 4): " before the message. */
CT_API bool ct_require(ct_call *c, bool ok, ct_status status, const char *format, ...) CT_PRINTF(4, 5);
CT_API void ct_set_dtype(ct_call *c, ct_dtype dtype);
CT_API void ct_more_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape);
/* Declares an output that vjp alone reads, as ct_out_at(g, k); it comes after all others. No gradient flows
 * into it, so a rule that is recorded (ct_recording) must not read it. */
CT_API void ct_save_for_vjp(ct_call *c, int k, ct_dtype dtype, ct_shape shape);

/* Output 0 (or k), contiguous and uninitialised, allocated at the first request. No view if memory is
 * exhausted or k was not declared; the call has then failed, and primitives do nothing. */
CT_API ct_view ct_result(ct_call *c);
CT_API ct_view ct_result_at(ct_call *c, int k);
/* Makes output k a view of an input, of scratch or of another output, without a copy. Its dtype must be the
 * declared one. Its shape replaces the declared one. */
CT_API void ct_set_result(ct_call *c, int k, ct_view v);
/* Scratch memory until the call returns. No view if memory is exhausted; the call has then failed. */
CT_API ct_view ct_scratch(ct_call *c, ct_dtype dtype, ct_shape shape);
/* v itself if it is contiguous, else a copy in scratch. No view if memory is exhausted, as above. */
CT_API ct_view ct_contiguous(ct_call *c, ct_view v);
/* The only element of v, as a double; NaN if the call has failed. Waits for the device: see
 * ct_device_is_asynchronous. */
CT_API double ct_call_item(ct_call *c, ct_view v);
/* A tensor that holds v's elements and outlives the call; the caller releases it. NULL if the call has
 * failed. */
CT_API ct_tensor *ct_tensor_of(ct_call *c, ct_view v);
/* Whether the call has not failed: nothing was refused, and memory sufficed. */
CT_API bool ct_call_ok(const ct_call *c);
/* Flags a numerical failure of batch member `member` (counted row-major) without stopping the tape; the
 * caller writes NaN there. `detail` is, for example, the failing minor, counted from 1. `what` describes it
 * with one %lld for `detail`, "leading minor %lld", and must outlive the tape. */
CT_API void ct_flag_failure(ct_call *c, int64_t member, int64_t detail, const char *what);
/* Whether the tape is known to have a flagged failure, without waiting for the device. If true, a call may
 * stop early; false is not a proof that there is none. */
CT_API bool ct_failure_known(const ct_call *c);

/* -- inside shape and forward: a batch, member by member ------------------------------------------------- */
/* For an op whose forward function is written for one member. The last own[i] dimensions of input i are a
 * member's, those before them are the batch's, and broadcast. */

/* The batch's shape. Refuses the call if the batch dimensions do not broadcast. An input of own[i] dimensions
 * or fewer has none. */
CT_API ct_shape ct_batch_shape(ct_call *c, const int *own);
/* Calls run(member) for each member of the batch: a call with the member's inputs and outputs. All outputs
 * have the batch's dimensions before a member's. A numerical failure is flagged with the member's number.
 * With `beside` the CPU's threads share the members, and a member has one thread; otherwise, and on a GPU,
 * the members are computed in sequence. `run` must change nothing but its member's outputs, and must call
 * neither ct_set_result nor ct_tensor_of. */
CT_API void ct_each_member(ct_call *c, const int *own, bool beside, void (*run)(ct_call *member));

/* -- inside vjp ------------------------------------------------------------------------------------------ */

CT_API ct_tape *ct_rule_tape(const ct_rule *g);
CT_API int ct_rule_args(const ct_rule *g);
/* The number of outputs, including those of ct_save_for_vjp. */
CT_API int ct_rule_outs(const ct_rule *g);
CT_API const void *ct_rule_attr(const ct_rule *g);
/* Input i, output 0 (or k), and the cotangent of output 0 (or k), which is zeros if none arrived. Here and
 * below, an i or k that the op does not have fails the sweep and gives a poisoned handle. */
CT_API ct_var ct_in(const ct_rule *g, int i);
CT_API ct_var ct_out(const ct_rule *g);
CT_API ct_var ct_out_at(const ct_rule *g, int k);
CT_API ct_var ct_out_bar(ct_rule *g);
CT_API ct_var ct_out_bar_at(ct_rule *g, int k);
/* Whether a cotangent arrived at output k; whether the cotangent of input i is wanted. */
CT_API bool ct_has_out_bar(const ct_rule *g, int k);
CT_API bool ct_wants(const ct_rule *g, int i);
/* Whether this sweep is itself recorded. If so, the rule must consist of differentiable ops. If not, it may
 * use a fused backward op, one whose own vjp is NULL. */
CT_API bool ct_recording(const ct_rule *g);
CT_API void ct_give_in_bar(ct_rule *g, int i, ct_var bar);
/* Sets the cotangent of input i to `expression`, which is evaluated only if the cotangent is wanted. If the
 * input was broadcast, the engine sums the result to the input's shape. Several calls for one input add
 * up. */
#define ct_in_bar(g, i, expression)                                     \
    do {                                                                \
        if (ct_wants((g), (i))) ct_give_in_bar((g), (i), (expression)); \
    } while (0)

/* -- inside jvp ------------------------------------------------------------------------------------------ */
/* ct_in, ct_out, ct_rule_attr, ct_rule_tape and ct_recording are as inside vjp. */

/* The tangent of input i, zeros if none has arrived, and whether one has. */
CT_API ct_var ct_in_dot(ct_rule *g, int i);
CT_API bool ct_has_in_dot(const ct_rule *g, int i);
/* Whether the tangent of output k is wanted. */
CT_API bool ct_wants_out_dot(const ct_rule *g, int k);
/* Adds `dot`, which broadcasts to the shape of output k, to the output's tangent. A poisoned { NULL, 0, 0 }
 * adds nothing. */
CT_API void ct_give_out_dot(ct_rule *g, int k, ct_var dot);
/* The forward rule of an op that is linear in all floating inputs together: the op itself, at their
 * tangents. */
CT_API void ct_jvp_linear(ct_rule *g);
/* The same for an op that is linear in each floating input alone, such as a product: the sum over the inputs
 * of the op with that input's tangent in its place. */
CT_API void ct_jvp_multilinear(ct_rule *g);

/* -- inside sample --------------------------------------------------------------------------------------- */
/* Each call draws input i: a matrix (rows x cols, after the driver's batch dimensions) or a vector. The
 * driver chooses size, dtype, batch, memory layout and seed. */

/* The size that the driver asks for: 0, 1, 2, 3, 5, 17 or 64. */
CT_API int64_t ct_sample_size(const ct_sample *s);
/* Declares that the op has n variants (flags, axes, ...) and returns the one to draw, 0 <= v < n. */
CT_API int ct_sample_variant(ct_sample *s, int n);
CT_API void ct_sample_attr(ct_sample *s, const void *attr, size_t size);
/* Draws input i with the given trailing shape: standard normal, except that one element in twelve is 0 or -0;
 * uniform in [lo, hi]; symmetric positive definite and well conditioned; lower or upper triangular with a
 * positive diagonal away from zero; integers in [0, below). An op declares a symmetric input by ct_sample_spd
 * alone: the checks then perturb it symmetrically. */
CT_API void ct_sample_normal(ct_sample *s, int i, ct_shape trailing);
CT_API void ct_sample_uniform(ct_sample *s, int i, ct_shape trailing, double lo, double hi);
CT_API void ct_sample_spd(ct_sample *s, int i, int64_t n);
CT_API void ct_sample_lower(ct_sample *s, int i, int64_t n);
/* n×n, well conditioned, neither symmetric nor dominated by its diagonal (so LU must pivot), det > 0. */
CT_API void ct_sample_invertible(ct_sample *s, int i, int64_t n);
CT_API void ct_sample_upper(ct_sample *s, int i, int64_t n);
/* Each element is one of n <= 16 values, so that ties, coincidences and zeros occur. */
CT_API void ct_sample_among(ct_sample *s, int i, ct_shape trailing, const double *values, int n);
/* Declares that the op lacks a first or second derivative at some element. The checks then take no
 * differences there; all other checks are made. */
CT_API void ct_sample_kinks(ct_sample *s);
CT_API void ct_sample_index(ct_sample *s, int i, ct_shape trailing, int64_t below);
/* Reports that the inputs cannot be drawn, for example because there is no memory for an attribute. */
CT_API void ct_sample_fail(ct_sample *s, ct_status status, const char *why);
/* From here on no input gets batch dimensions, for ops whose inputs have a fixed rank. */
CT_API void ct_sample_unbatched(ct_sample *s);

/* -- primitives without an op ---------------------------------------------------------------------------- */

/* Opens a call on a tape's device, for primitives that are not recorded. ct_scratch, ct_require,
 * ct_failure_known and the primitives work in it as in forward; it has no inputs and no outputs. A failure
 * becomes the tape's error; its message begins with `name`, which must outlive the call. Never NULL: on a
 * NULL or failed tape the call has failed from the start. Calls nest. Close each one with ct_scope_close,
 * which frees its scratch. */
CT_API ct_call *ct_scope_open(ct_tape *tape, const char *name);
/* Closes the call. Returns the tape's status. */
CT_API ct_status ct_scope_close(ct_call *c);

/* -- primitives ------------------------------------------------------------------------------------------ */
/* What every device can compute: primitives.inc has the rows, each with its contract, and says how to read
 * them. */
#define CT_PRIMITIVE(name, ...) CT_API void ct_prim_##name(ct_call *c, __VA_ARGS__);
#define CT_FLAGGING             CT_PRIMITIVE
#define CT_IN                   ct_view
#define CT_OUT                  ct_view
#include <cotangent/primitives.inc>

/* C = A B + D, with D broadcast to C's shape; C overlaps none of them. C has the bits of a copy of D to which
 * gemm adds A B; in bf16 and f16 it may be rounded differently (docs/half.md). */
CT_API void ct_prim_affine(ct_call *c, ct_view A, ct_view B, ct_view D, ct_view C);

/* Compositions of primitives on the blocks of C = [C11 ·; C21 C22], symmetric, of n = n1 + n2 rows. Of C11
 * (n1, n1) and C22 (n2, n2) only the lower triangles are read and written; n2 may be 0. */

/* Factorises a positive definite C in place and solves with it for z (n, k). C becomes L and z becomes L⁻¹z;
 * with `inverse`, C becomes C⁻¹ and z becomes C⁻¹z. diagonal (n) gets the diagonal of L. Fails as
 * ct_prim_potrf does, and also at a pivot with L_ii² <= tolerance C_ii (tolerance 0: no such test). After a
 * failure C and z are undefined. On a CPU this is one pass if zᵀ is contiguous and C is in one of two forms:
 * C11 alone (n2 = 0), row-major, or blocks that fill n1 = n - n/2 rows in rectangular full packed format. In
 * that format row j begins with row j of C22 (row j - 1 for odd n) up to the diagonal. Column j of C11
 * follows, from the diagonal on, then column j of C21. [Gustavson et al. 2010, "Rectangular full packed
 * format for Cholesky's algorithm"] */
CT_API void ct_prim_sweep_blocks(ct_call *c, bool inverse, double tolerance, ct_view C11, ct_view C21,
                                 ct_view C22, ct_view z, ct_view diagonal);
/* The bytes that it needs besides its arguments, for n rows and one column of z. UINT64_MAX if the device has
 * failed to open, or dtype is neither f64 nor f32. */
CT_API uint64_t ct_prim_sweep_bytes(const ct_device *device, ct_dtype dtype, int64_t n);
/* For each member of a batch, from theta (..., P), X (..., n, d), r (..., n) and noise (..., n), computes
 *     alpha = C⁻¹ r (..., n),  diagonal (..., n) of L,  with L Lᵀ = C = k(X, X) + diag(noise)
 * and, unless both outputs are no views, the gradients for C_bar = ½ (C⁻¹ - alpha alphaᵀ):
 *     theta_bar_p = Σ_ij C_bar_ij ∂k(x_i, x_j)/∂theta_p (..., P),  noise_bar = diag C_bar (..., n)
 * Returns whether it succeeded. If not, the outputs are undefined: the device does not compute such a batch
 * in one pass, or a member has a pivot L_ii² <= tolerance C_ii, or a number left the dtype's range. A CPU
 * computes small members side by side, one in each lane of its vectors. The members must fill at least half
 * of the lanes, and every profile must be a function of a distance other than rq. */
CT_API bool ct_prim_gaussians(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view r,
                              ct_view noise, double tolerance, ct_view alpha, ct_view diagonal,
                              ct_view theta_bar, ct_view noise_bar);
/* Replaces L by C⁻¹ = (L Lᵀ)⁻¹. L comes from ct_prim_sweep_blocks without `inverse`. */
CT_API void ct_prim_invert_blocks(ct_call *c, ct_view L11, ct_view L21, ct_view L22);
/* Given the diagonals (n) of C and L, flags the first pivot with L_ii² <= tolerance C_ii, if there is one,
 * and fills out (r, c) with NaN: C is then singular to that tolerance although its factorisation succeeded.
 * Overwrites C_diagonal. */
CT_API void ct_prim_flag_pivots(ct_call *c, double tolerance, ct_view C_diagonal, ct_view L_diagonal,
                                ct_view out);

CT_END_DECLS
#endif
