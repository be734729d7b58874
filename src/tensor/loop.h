/* Loops over operands of one shape: merges their dimensions and chooses the order. */
#ifndef CT_TENSOR_LOOP_H
#define CT_TENSOR_LOOP_H

#include "internal.h"

enum { CT__OPERANDS = 4 };

/* A dimension: its extent, and each operand's stride in elements; 0 for unused operands. */
typedef struct ct__axis {
    int64_t dim, stride[CT__OPERANDS];
} ct__axis;

/* Inserts an axis, so that the strides of operand 0 fall; after those with an equal stride. */
static inline void ct__axis_insert(ct__axis *list, int64_t *n, ct__axis axis)
{
    int64_t at = (*n)++;
    for (; at > 0 && list[at - 1].stride[0] < axis.stride[0]; at--) list[at] = list[at - 1];
    list[at] = axis;
}

/* Merges neighbouring dimensions that every operand traverses as one. */
static inline void ct__axis_merge(ct__axis *list, int64_t *n)
{
    int64_t kept = 0;
    for (int64_t d = 1; d < *n; d++) {
        ct__axis next = list[d];
        bool merge = true;
        for (int k = 0; k < CT__OPERANDS; k++)
            merge = merge && list[kept].stride[k] == next.stride[k] * next.dim;
        if (merge)
            next.dim *= list[kept].dim;
        else
            kept++;
        list[kept] = next;
    }
    if (*n) *n = kept + 1;
}

/* Lists dimensions [first, last) of n operands with t[0]'s extents, merged and, if `sorted`, ordered by the
 * strides of t[0]. Returns their number. */
static inline int64_t ct__axis_list(int n, const ct_view *const *t, int first, int last, bool sorted,
                                    ct__axis *list)
{
    int64_t ndim = 0;
    for (int d = first; d < last; d++) {
        ct__axis axis = { t[0]->dim[d], { 0 } };
        for (int k = 0; k < n; k++) axis.stride[k] = t[k]->stride[d];
        if (axis.dim == 1) continue;
        if (sorted)
            ct__axis_insert(list, &ndim, axis);
        else
            list[ndim++] = axis;
    }
    ct__axis_merge(list, &ndim);
    return ndim;
}

/* The offset of operand k's element i, counted row-major over n dimensions. */
static inline int64_t ct__axis_offset(const ct__axis *list, int64_t n, int k, int64_t i)
{
    int64_t offset = 0;
    while (n-- > 0) {
        offset += i % list[n].dim * list[n].stride[k];
        i /= list[n].dim;
    }
    return offset;
}

#endif
