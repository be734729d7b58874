/* Views by value: where the elements of a tensor lie, and in which shape.
 *
 * A view owns nothing and is valid as long as the tensor it was taken from. An op's forward function and all
 * primitives work on views (op.h), so that calls nest:
 *     ct_prim_gemm(c, 1, ct_view_transpose(A), ct_view_block(B, 0, n, 0, k), 0, C);
 * If a view cannot be made (a block lies outside, a reshape would need a copy), the result is a view without
 * elements, and ct_message(device) has the reason. A view of such a view has no elements either. A primitive
 * that is given one fails its call with that reason. A negative dimension counts from the end. */
#ifndef COTANGENT_VIEW_H
#define COTANGENT_VIEW_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

typedef struct ct_view {
    struct ct_storage *storage; /* the memory that holds the elements; NULL: no view */
    void *data;                 /* the first element, in the device's memory */
    ct_dtype dtype;
    int ndim;
    int64_t dim[CT_MAX_DIMS];
    int64_t stride[CT_MAX_DIMS]; /* in elements, 0 or more; 0 where broadcast */
} ct_view;

/* A view of all of t; no view if t is NULL. */
CT_API ct_view ct_view_of(const ct_tensor *t);
/* No view, for an argument that is left out. */
static inline ct_view ct_no_view(void)
{
    ct_view none = { NULL, NULL, CT_F64, 0, { 0 }, { 0 } };
    return none;
}
static inline bool ct_is_view(ct_view v) { return v.storage != NULL; }

/* These work like the ct_tensor_ functions of the same names (tensor.h). */
CT_API ct_shape ct_view_shape(ct_view v);
CT_API int64_t ct_view_dim(ct_view v, int dim);
CT_API int64_t ct_view_count(ct_view v);
CT_API bool ct_view_is_contiguous(ct_view v);

/* On the last two dimensions: exchanged; the diagonal, (..., m, n) -> (..., min(m, n)); the block of rows
 * [row0, row1) and columns [col0, col1). */
CT_API ct_view ct_view_transpose(ct_view v);
CT_API ct_view ct_view_diagonal(ct_view v);
CT_API ct_view ct_view_block(ct_view v, int64_t row0, int64_t row1, int64_t col0, int64_t col1);
/* Dimension i of the result is dimension order[i] of v. */
CT_API ct_view ct_view_permute(ct_view v, const int *order);
/* Elements start, start + step, ... < stop along dim; 0 <= start <= stop <= extent, step >= 1. Negative ones
 * count from the end, and the stop CT_END is the end. */
CT_API ct_view ct_view_slice(ct_view v, int dim, int64_t start, int64_t stop, int64_t step);
/* The same elements in another shape, where the layout allows it. One extent may be -1 (inferred). */
CT_API ct_view ct_view_reshape(ct_view v, ct_shape shape);
/* Removes a dimension of extent 1; inserts one before `dim`. */
CT_API ct_view ct_view_squeeze(ct_view v, int dim);
CT_API ct_view ct_view_unsqueeze(ct_view v, int dim);
/* NumPy's broadcast_to: repeated dimensions have stride 0. */
CT_API ct_view ct_view_broadcast(ct_view v, ct_shape shape);

CT_END_DECLS
#endif
