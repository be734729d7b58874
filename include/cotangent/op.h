/* Writing an op: the same header serves the library's own ops and yours.
 *
 * An op is one descriptor. `shape` says what comes out and refuses what does not fit; `forward` computes;
 * `vjp` is the backward rule, written in ops on ct_vars: the engine accumulates, sums broadcast dimensions
 * back, skips what nobody needs, and differentiates the rule itself for higher orders. `sample` draws inputs
 * for ct_gradcheck and the test matrix. See examples/custom_op.c. */
#ifndef COTANGENT_OP_H
#define COTANGENT_OP_H

#include <cotangent/maps.h>
#include <cotangent/ops.h>
#include <cotangent/tape.h>
#include <cotangent/view.h>

CT_BEGIN_DECLS

typedef struct ct_call ct_call;     /* one evaluation: inputs, attributes, outputs   */
typedef struct ct_vjp ct_vjp;       /* one backward step of one recorded call         */
typedef struct ct_sample ct_sample; /* a recipe for inputs, at a given size and dtype */

#define CT_MAX_INPUTS  64
#define CT_MAX_OUTPUTS 6

typedef struct ct_op {
    const char *name;
    int n_in; /* number of inputs; -1: any number up to CT_MAX_INPUTS */
    /* The shape of output 0; its dtype is the floating inputs' (they must agree), unless ct_set_dtype says
     * otherwise. Further outputs are declared with ct_more_out. Refusals: ct_require. */
    ct_shape (*shape)(ct_call *c);
    void (*forward)(ct_call *c);
    /* Sets the inputs' cotangents with ct_in_bar. NULL: no gradient flows (the outputs are constants). */
    void (*vjp)(ct_vjp *g);
    /* Draws the inputs: see ct_sample_* below. NULL: the op is left out of automatic checks. */
    void (*sample)(ct_sample *s);
    /* Instead of shape, forward and vjp: the op as a composition of others. */
    ct_var (*compose)(ct_tape *tape, const ct_var *in, int n_in, const void *attr);
    /* Whether inputs may be bf16 or f16; else the call is refused. ct_prim_copy, fill and gemm take them. */
    bool half;
} ct_op;

/* Computes op on in[0..n) and records it where a gradient is wanted. `attr` (may be NULL) is copied, plain
 * data. All inputs must be on one tape; for an op without inputs use ct_apply_on. */
CT_API ct_var ct_apply(const ct_op *op, const ct_var *in, int n, const void *attr, size_t attr_size);
CT_API ct_var ct_apply_on(ct_tape *tape, const ct_op *op, const ct_var *in, int n, const void *attr,
                          size_t attr_size);
/* Output k of a call, given output 0 as ct_apply returned it. */
CT_API ct_var ct_output(ct_var first, int k);

/* -- inside shape and forward ---------------------------------------------------------------------------- */

CT_API int ct_args(const ct_call *c);
/* The number of outputs declared so far, those for the rule included. */
CT_API int ct_outs(const ct_call *c);
/* Input i; no view, with the call refused, where there is none of that number. */
CT_API ct_view ct_arg(const ct_call *c, int i);
CT_API const void *ct_attr(const ct_call *c);
CT_API ct_device *ct_call_device(const ct_call *c);
/* Whether vjp may be asked for this call; where not, what it alone would read need not be kept. */
CT_API bool ct_call_recorded(const ct_call *c);
/* Whether it may be asked for the cotangent of input i. */
CT_API bool ct_call_wants(const ct_call *c, int i);
/* Extent of a dimension of input i, negative from the end; 1 where there is no such dimension. */
CT_API int64_t ct_arg_dim(const ct_call *c, int i, int dim);
CT_API int ct_arg_ndim(const ct_call *c, int i);
CT_API ct_shape ct_arg_shape(const ct_call *c, int i);

/* Refuses the call with a message unless `ok`; the first refusal wins. Returns ok. The message is prefixed
 * "op #3 name(2x3, 4): " by the tape. */
CT_API bool ct_require(ct_call *c, bool ok, ct_status status, const char *format, ...) CT_PRINTF(4, 5);
CT_API void ct_set_dtype(ct_call *c, ct_dtype dtype);
CT_API void ct_more_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape);
/* An output, after all others, that vjp alone reads, as ct_out_at(g, k): no gradient flows into it. */
CT_API void ct_rule_out(ct_call *c, int k, ct_dtype dtype, ct_shape shape);

/* Output 0 (k), allocated contiguous and uninitialised at the first request. No view where memory is
 * exhausted or k was not declared: the call has failed then, and primitives do nothing. */
CT_API ct_view ct_result(ct_call *c);
CT_API ct_view ct_result_at(ct_call *c, int k);
/* Makes a view of an input, of scratch or of another output output k, without a copy: of the dtype that was
 * declared; its own shape counts. */
CT_API void ct_set_result(ct_call *c, int k, ct_view v);
/* Scratch memory until the call returns; no view when memory is exhausted (the call has failed then). */
CT_API ct_view ct_scratch(ct_call *c, ct_dtype dtype, ct_shape shape);
/* v itself where it is contiguous, else a scratch copy. No view as above. */
CT_API ct_view ct_contiguous(ct_call *c, ct_view v);
/* The only element of v, as a double; NaN in a call that has failed. Waits for the device: see
 * ct_device_computes_late. */
CT_API double ct_call_item(ct_call *c, ct_view v);
/* A tensor of v's elements that outlives the call, released by the caller. NULL where the call has failed. */
CT_API ct_tensor *ct_tensor_of(ct_call *c, ct_view v);
/* Whether the call goes on: nothing has been refused, and memory has sufficed. */
CT_API bool ct_call_fine(const ct_call *c);
/* Flags a numerical failure of batch member `member` (counted row-major) without stopping the tape: the
 * caller writes NaN there. `detail` is e.g. the failing minor, from 1; `what`, which must outlive the tape,
 * says so, with one %lld for it: "leading minor %lld". */
CT_API void ct_flag_failure(ct_call *c, int64_t member, int64_t detail, const char *what);
/* Whether a failure is flagged on the tape as far as is known without waiting: true lets a call stop early,
 * false says nothing. */
CT_API bool ct_failure_known(const ct_call *c);

/* -- inside vjp ------------------------------------------------------------------------------------------ */

CT_API ct_tape *ct_vjp_tape(const ct_vjp *g);
CT_API int ct_vjp_args(const ct_vjp *g);
/* The number of outputs, those for the rule included. */
CT_API int ct_vjp_outs(const ct_vjp *g);
CT_API const void *ct_vjp_attr(const ct_vjp *g);
/* Input i, output 0 (k), and the cotangent of output 0 (k; zeros where none arrived). An i or k that the op
 * does not have, here and below, fails the sweep; the handle is poisoned. */
CT_API ct_var ct_in(const ct_vjp *g, int i);
CT_API ct_var ct_out(const ct_vjp *g);
CT_API ct_var ct_out_at(const ct_vjp *g, int k);
CT_API ct_var ct_out_bar(ct_vjp *g);
CT_API ct_var ct_out_bar_at(ct_vjp *g, int k);
/* Whether a cotangent arrived at output k; whether anybody needs input i's. */
CT_API bool ct_has_out_bar(const ct_vjp *g, int k);
CT_API bool ct_wants(const ct_vjp *g, int i);
/* Whether this sweep is itself recorded: then the rule must be made of differentiable ops. Otherwise it may
 * use a fused backward op (one whose own vjp is NULL). */
CT_API bool ct_recording(const ct_vjp *g);
CT_API void ct_give_in_bar(ct_vjp *g, int i, ct_var bar);
/* The cotangent of input i is `expression`: evaluated only where somebody wants it. A result that is larger
 * than the input by broadcasting is summed to the input's shape by the engine. May be given in several
 * parts. */
#define ct_in_bar(g, i, expression)                                     \
    do {                                                                \
        if (ct_wants((g), (i))) ct_give_in_bar((g), (i), (expression)); \
    } while (0)

/* -- inside sample --------------------------------------------------------------------------------------- */
/* Each call draws input i as a matrix (rows x cols, after the driver's batch dimensions) or a vector. The
 * driver chooses size, dtype, batch, memory layout and seed. */

/* The size that the driver asks for: 0, 1, 2, 3, 5, 17, 64. */
CT_API int64_t ct_sample_size(const ct_sample *s);
/* Declares that the op has n variants (flags, axes, ...) and returns the one to draw, 0 <= v < n. */
CT_API int ct_sample_variant(ct_sample *s, int n);
CT_API void ct_sample_attr(ct_sample *s, const void *attr, size_t size);
/* Input i with the given trailing shape: standard normal, but that one in twelve is 0 or -0; uniform in [lo,
 * hi]; symmetric positive definite (well conditioned); lower, upper triangular with a positive diagonal away
 * from zero; integers in [0, below). `symmetric inputs` are declared with ct_sample_spd alone: the checks
 * perturb them symmetrically. */
CT_API void ct_sample_normal(ct_sample *s, int i, ct_shape trailing);
CT_API void ct_sample_uniform(ct_sample *s, int i, ct_shape trailing, double lo, double hi);
CT_API void ct_sample_spd(ct_sample *s, int i, int64_t n);
CT_API void ct_sample_lower(ct_sample *s, int i, int64_t n);
/* n×n, well conditioned, neither symmetric nor dominated by its diagonal (LU must pivot), det > 0. */
CT_API void ct_sample_invertible(ct_sample *s, int i, int64_t n);
CT_API void ct_sample_upper(ct_sample *s, int i, int64_t n);
/* Each element one of n <= 16 values: where ties, coincidences and zeros are to meet. */
CT_API void ct_sample_among(ct_sample *s, int i, ct_shape trailing, const double *values, int n);
/* Declares that the op has no derivative, first or second, at some element: differences are not taken there,
 * all other checks are made. */
CT_API void ct_sample_kinks(ct_sample *s);
CT_API void ct_sample_index(ct_sample *s, int i, ct_shape trailing, int64_t below);
/* The inputs cannot be drawn: no memory for an attribute, say. */
CT_API void ct_sample_fail(ct_sample *s, ct_status status, const char *why);
/* No batch dimensions are put before any input from here on (for ops whose inputs have a fixed rank). */
CT_API void ct_sample_unbatched(ct_sample *s);

/* -- primitives without an op ---------------------------------------------------------------------------- */

/* A call of primitives on a tape's device that records nothing: ct_scratch, ct_require, the primitives and
 * ct_failure_known work in it as in forward; there are no inputs and no outputs. A failure is the tape's, and
 * its message begins with `name`, which must outlive the call. Never NULL; on a NULL or failed tape the call
 * has failed from the start. Calls nest; each is closed, which gives its scratch back. */
CT_API ct_call *ct_scope_open(ct_tape *tape, const char *name);
/* The tape's status. */
CT_API ct_status ct_scope_close(ct_call *c);

/* -- primitives ------------------------------------------------------------------------------------------ */
/* What a device can do, on views of any strides. Elementwise ones broadcast to the output; those of matrices
 * go over leading dimensions, which broadcast where the output's do. dtype f64 or f32, the same for all,
 * unless said; bf16 and f16 in copy, fill, the maps, sums and products. A primitive that fails, or is given no
 * view or another dtype, fails the call; in a call that has failed it does nothing. An output shares no memory
 * with an input unless said. On a GPU none waits. */

/* dst = src (converted, from any dtype to any) */
CT_API void ct_prim_copy(ct_call *c, ct_view src, ct_view dst);
/* dst = value */
CT_API void ct_prim_fill(ct_call *c, ct_view dst, double value);
/* out = f(x), with the parameters p of maps.h (NULL: 0, 0); out may be x */
CT_API void ct_prim_map1(ct_call *c, ct_map1 f, const double p[2], ct_view x, ct_view out);
/* out = f(a, b); out may be a or b */
CT_API void ct_prim_map2(ct_call *c, ct_map2 f, ct_view a, ct_view b, ct_view out);
/* out_i = a_i where cond_i is not 0, else b_i; cond of any dtype */
CT_API void ct_prim_where(ct_call *c, ct_view cond, ct_view a, ct_view b, ct_view out);
/* out has x's number of dimensions, extent 1 where reduced; or it is one number, of all of x. The sum of f32 is accumulated in f64. NaN in
 * gives NaN out. Of nothing: 0, -inf, -inf. */
CT_API void ct_prim_reduce(ct_call *c, ct_reduction f, ct_view x, ct_view out);

/* Rows of x (n, ...) by index i64 (k): out (k, ...). scatter_add: out (n, ...) += x (k, ...), in order. An
 * index outside [0, n) is CT_EINDEX and names position and value. */
CT_API void ct_prim_gather(ct_call *c, ct_view x, ct_view index, ct_view out);
CT_API void ct_prim_scatter_add(ct_call *c, ct_view x, ct_view index, ct_view out);
/* index i64 (N) in [0, M) -> groups i64 (M + 1 + N), contiguous: offsets, then positions sorted by index,
 * stable. An index outside is CT_EINDEX. */
CT_API void ct_prim_group_by(ct_call *c, ct_view index, ct_view groups);
/* out_i = A_i C_m for each i of group m, over such groups of N into M; A (N, I, J), C (M, J, K), out (N, I, K),
 * everything contiguous. Groups that are none are CT_EINDEX. */
CT_API void ct_prim_grouped_gemm(ct_call *c, ct_view A, ct_view C, ct_view groups, ct_view out);
/* A_bar_i = G_i C_mᵀ (N, I, J) and C_bar_m = Σ_i A_iᵀ G_i (M, J, K). Either may be no view, then so may C or
 * A. */
CT_API void ct_prim_grouped_gemm_bar(ct_call *c, ct_view A, ct_view C, ct_view G, ct_view groups,
                                     ct_view A_bar, ct_view C_bar);
/* out (..., n, m) = |x_i - y_j|², x (..., n, d), y (..., m, d) */
CT_API void ct_prim_sqdist(ct_call *c, ct_view x, ct_view y, ct_view out);

/* C = alpha A B + beta C;  A: ...,m,k  B: ...,k,n  C: ...,m,n */
CT_API void ct_prim_gemm(ct_call *c, double alpha, ct_view A, ct_view B, double beta, ct_view C);
/* lower triangle of C = alpha A Aᵀ + beta C;  A: ...,n,k  C: ...,n,n; the strict upper triangle is untouched */
CT_API void ct_prim_syrk(ct_call *c, double alpha, ct_view A, double beta, ct_view C);
/* B = alpha op(T)⁻¹ B, or alpha B op(T)⁻¹ with CT_RIGHT;  T: ...,n,n  B: ...,n,m (...,m,n) */
CT_API void ct_prim_trsm(ct_call *c, unsigned flags, double alpha, ct_view T, ct_view B);
/* B = alpha op(T) B, or alpha B op(T) with CT_RIGHT */
CT_API void ct_prim_trmm(ct_call *c, unsigned flags, double alpha, ct_view T, ct_view B);
/* dst = the part of src with col - row <= k (lower) or >= k (upper), zero elsewhere; src may be dst */
CT_API void ct_prim_triangle(ct_call *c, ct_view src, bool upper, int64_t k, ct_view dst);

/* A = L Lᵀ in place in the lower triangle; the strict upper triangle becomes zero. A member that is not
 * positive definite becomes NaN and is flagged. */
CT_API void ct_prim_potrf(ct_call *c, ct_view A);
/* Triangles in place: of a square A the lower triangle alone is read and written, so that two of them can
 * share a rectangle. A transposed view serves for an upper one. */
/* A = L Lᵀ; failures as above, the failing minor counted from row `first` of a larger matrix. */
CT_API void ct_prim_potrf_lower(ct_call *c, int64_t first, ct_view A);
/* L is replaced by its inverse; its diagonal has no zeros. */
CT_API void ct_prim_trtri(ct_call *c, ct_view L);
/* L is replaced by the lower triangle of LᵀL; after trtri of a Cholesky factor this is the inverse. */
CT_API void ct_prim_lauum(ct_call *c, ct_view L);
/* A symmetric positive definite C (n, n), z (n, 1) and diagonal (n), in one go: C becomes L, z = L⁻¹z; with
 * `inverse` C becomes C⁻¹, z = C⁻¹z. diagonal = that of L. Failures as above, what C and z hold then is
 * undefined; L_ii² <= tolerance C_ii is one, too (0: none). C is packed: with n1 = n - n/2, of A = [A11; A21
 * A22] (n1 and n/2 rows and columns) row j of the rectangle C (n1 rows) holds the first j + 1 elements of row
 * j of A22 (of row j - 1 where n is odd: j of them), column j of A11 from the diagonal on, and column j of
 * A21. The rectangle's further columns are not touched. C may also be (n, n): its lower triangle. Returns
 * false, and does nothing, where the device has no such routine; then the blocks are views for the other
 * primitives. */
CT_API bool ct_prim_packed_sweep(ct_call *c, int64_t n, bool inverse, double tolerance, ct_view C, ct_view z,
                                 ct_view diagonal);
/* A_inv = A⁻¹ for a symmetric positive definite A, whose lower triangle is read; symmetric to the bit.
 * Failures as above. */
CT_API void ct_prim_potri(ct_call *c, ct_view A, ct_view A_inv);
/* A[order] = L U with partial pivoting: row i of L U is row order[i] of A. L unit lower and U upper
 * triangular, both in LU; fastest where LU's columns are contiguous. order: i64 (..., n), contiguous. A
 * member with a pivot that is zero or with elements that are not finite becomes NaN, in natural order, and is
 * flagged. */
CT_API void ct_prim_getrf(ct_call *c, ct_view A, ct_view LU, ct_view order);
/* log |det A| and the sign of det A by LU; -inf and 0 where a pivot is zero. A member with elements that are
 * not finite, or factors that overflow, gives NaN and is flagged. */
CT_API void ct_prim_lu_det(ct_call *c, ct_view A, ct_view log_abs, ct_view sign);
/* A_inv = A⁻¹ by LU. Failures as above. */
CT_API void ct_prim_getri(ct_call *c, ct_view A, ct_view A_inv);
/* A_bar = -A_invᵀ G A_invᵀ, the adjoint of the inverse; with `symmetric`, where A_inv is, (G + Gᵀ)/2 stands
 * for G and A_bar is symmetric to the bit. */
CT_API void ct_prim_inverse_bar(ct_call *c, bool symmetric, ct_view A_inv, ct_view G, ct_view A_bar);
/* ct_prim_potri and the symmetric ct_prim_inverse_bar, with M = L⁻¹ of A = L Lᵀ kept between them, which
 * saves the adjoint a third of its work. root (..., 1, n (n + 1) / 2), of A_inv's (A_bar's) batch,
 * contiguous: the rows of M's triangle one after the other. ct_prim_keeps_root: whether the device has the
 * two, and so many members of extent n are worth them. */
CT_API bool ct_prim_keeps_root(const ct_call *c, int64_t members, int64_t n);
CT_API void ct_prim_potri_root(ct_call *c, ct_view A, ct_view root, ct_view A_inv);
CT_API void ct_prim_inverse_root_bar(ct_call *c, ct_view root, ct_view G, ct_view A_bar);
/* Row i of dst is row order[i] of src, or, with `back`, row order[i] of dst is row i of src; src (..., n, m),
 * order i64 (..., n), a permutation, else CT_EINDEX. */
CT_API void ct_prim_permute_rows(ct_call *c, ct_view src, ct_view order, bool back, ct_view dst);

/* A = Q R in place for A (..., m, n): R in the upper triangle, below it and in tau (..., 1, min(m, n),
 * contiguous) the reflectors of Q. With rank_tolerance >= 0 a member with some |R_jj| <= rank_tolerance
 * max_i |R_ii| becomes NaN and is flagged with j, from 1. */
CT_API void ct_prim_qr(ct_call *c, double rank_tolerance, ct_view A, ct_view tau);
/* C = Q C or Qᵀ C, given A and tau of ct_prim_qr; C (..., m, k) */
CT_API void ct_prim_qr_mul(ct_call *c, bool trans, ct_view A, ct_view tau, ct_view C);
/* out (..., 1, 1) = 1 / (|R| |R⁻¹|), estimated, for the upper triangle R (..., n, n); 0 where that is singular
 * or not finite. In the 1-norm or the infinity norm. */
CT_API void ct_prim_tri_rcond(ct_call *c, ct_view R, ct_view out);

/* Flags the members of x (..., n, 1) that have an element outside `domain`, or NaN, and makes those members
 * of out (..., r, c) NaN. The failure tells the first such element's place in its member, from 1. The tape
 * goes on. With no view for out x has any shape, is contiguous, and counts as one member. `what`, with one
 * %lld for the place, and `why`, which ends with the remedy, are the message and must outlive the tape:
 * "variance %lld", "is not positive: take its exponential". */
CT_API void ct_prim_flag(ct_call *c, ct_domain domain, ct_view x, const char *what, const char *why,
                         ct_view out);

CT_END_DECLS
#endif
