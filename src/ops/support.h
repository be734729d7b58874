/* Helpers of the op files beyond cotangent/op.h: refusals, shapes, parts of forward functions and rules. */
#ifndef CT_OPS_SUPPORT_H
#define CT_OPS_SUPPORT_H

#include <cotangent/op.h>

#include "autograd/internal.h"
#include "tensor/internal.h"

/* -- refusals: each returns whether its condition holds; if not, the call is refused --------------------- */

/* Inputs first, first + 1, ... have at least two dimensions. */
bool ct__need_matrices(ct_call *c, int first);
/* Input i has at least two dimensions, and the last two are equal. */
bool ct__need_square(ct_call *c, int i);
/* Input i is an index: a vector of i64. */
bool ct__need_index(ct_call *c, int i);
/* The call's attributes. NULL, and the call is refused, if there are none (ct_apply on a bare descriptor). */
const void *ct__need_attr(ct_call *c);
/* Dimension dim of ndim, negative from the end, as 0..ndim-1. -1, and the call is refused, if it does not
 * exist. */
int ct__need_dim(ct_call *c, int dim, int ndim);
/* The shape of the broadcast batch dimensions (all but the last two) of inputs i and j, followed by rows and
 * cols. */
ct_shape ct__need_batch(ct_call *c, int i, int j, int64_t rows, int64_t cols);
/* The shape to which all inputs broadcast. */
ct_shape ct__need_broadcast(ct_call *c);
/* Inputs i and j have one shape. */
bool ct__need_same_shape(ct_call *c, int i, int j);

/* -- inverse_bar.c --------------------------------------------------------------------------------------- */

/* What an op keeps of A⁻¹ for its adjoint. */
typedef enum ct__kept { CT__KEPT_INVERSE, CT__KEPT_SYMMETRIC, CT__KEPT_ROOT } ct__kept;
/* Ā from that and P̄ (..., n, n), or its diagonal (..., n, 1). For a sweep that is not recorded. */
ct_var ct__inverse_bar(ct__kept kind, ct_var kept, ct_var P_bar);

/* -- shapes ---------------------------------------------------------------------------------------------- */

/* The shape `batch_of` with its last two extents replaced by rows and cols. */
ct_shape ct__matrix_shape(ct_shape batch_of, int64_t rows, int64_t cols);
/* The shape rule of an op whose result is a view of its input. forward makes the view, whose shape replaces
 * this one; if it cannot be made, the call is refused with the view's own message. */
ct_shape ct__shape_of_view(ct_call *c);
/* The shape rules of ops on squares: that of input 0, and without its last two dimensions. */
ct_shape ct__square_shape(ct_call *c);
ct_shape ct__batch_of_squares(ct_call *c);
/* v (...) as (..., 1) or (..., 1, 1) */
ct_view ct__with_ones(ct_view v, int ones);

/* -- parts of forward functions and of rules ------------------------------------------------------------- */

#define CT__LOG_2PI 1.8378770664093454836

/* The flags that are a call's attributes; 0 if it has none. */
static inline unsigned ct__flags(const void *attr) { return attr ? *(const unsigned *)attr : 0; }

/* A = A + Aᵀ in place for a batch of square matrices, with a panel of workspace. The result is symmetric to
 * the bit. */
void ct__add_transpose(ct_call *c, ct_view A);

/* y (...) or (..., r, c), but NaN and flagged where an element of x (..., n, 1) is not positive and finite;
 * the message is as for ct_prim_flag. */
ct_var ct__where_positive(ct_var y, ct_var x, const char *what, const char *why);

/* A matrix is singular to working precision where 1/κ is at most this: a factorisation of a singular matrix
 * leaves pivots of up to 8 ε of their diagonal elements. */
double ct__rounding(ct_dtype dtype);
/* Flags the members whose `margin` (..., 1) is not positive, as a failure of the last leading minor, of order
 * n. The members of out (..., rows, cols) become NaN. */
void ct__flag_minor(ct_call *c, ct_view margin, int64_t n, ct_view out);
/* Flags the members of a symmetric A that are singular to working precision, given d = diag(A⁻¹) (..., n) as
 * computed: those with A_ii d_i >= 1/ct__rounding. A_ii d_i does not depend on the scale of row and column i,
 * and is at most κ(A). The members of out become NaN. */
void ct__flag_singular(ct_call *c, ct_view A, ct_view d, ct_view out);

/* The message for an x that should be the diagonal of a Cholesky factor. */
#define CT__NO_FACTOR \
    "diagonal element %lld", "is not positive and finite: L is not a Cholesky factor, ct_cholesky makes one"

/* For compositions: v, a view of scratch, as a constant on the tape. Releases the call's scratch. */
ct_var ct__constant(ct_call *c, ct_view v);

/* x (...) as (..., 1, 1) */
ct_var ct__one_by_one(ct_var x);

/* Σ_ij A_ij B_ij of each matrix: (...) */
ct_var ct__inner(ct_var A, ct_var B);

/* √Σ x² of each matrix: (..., 1, 1) */
ct_var ct__norm_of(ct_var x);
/* The same as a constant, or 1 if it is 0. */
ct_var ct__size_of(ct_var x);

/* ½ (A + Aᵀ) */
ct_var ct__symmetric_part(ct_var A);

/* diag_embed into (..., rows, cols): the adjoint of ct_diag. */
ct_var ct__diag_embed(ct_var d, int64_t rows, int64_t cols);

/* Draws inputs 0 and 1, both batched; with variant 1 only input 1 is batched, with 2 only input 0. */
void ct__sample_pair(ct_sample *s, int variant, void (*draw)(ct_sample *s, int i));

#endif
