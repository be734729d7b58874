/* What debug.h declares. */
#include "debug.h"

#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

void ct__assert_failed(const char *condition, const char *file, int line)
{
    ct__debug_line("%s:%d: does not hold: %s", file, line, condition);
    abort();
}

void ct__debug_line(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    ct__vprint(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "cotangent: %s\n", text);
}

/* -- layouts --------------------------------------------------------------------------------------------- */

/* The bytes [from, to) in which v's elements lie; none if it has no elements. */
static void reach(const ct_view *v, const char **from, const char **to)
{
    int64_t last = 0;
    for (int i = 0; i < v->ndim; i++) last += (v->dim[i] - 1) * v->stride[i];
    *from = v->data;
    *to = ct__count(v) ? *from + (size_t)(last + 1) * ct__size(v->dtype) : *from;
}

bool ct__is_laid_out(const ct_view *v)
{
    if (v->ndim < 0 || v->ndim > CT_MAX_DIMS || (unsigned)v->dtype > CT_F16) return false;
    for (int i = 0; i < v->ndim; i++)
        if (v->dim[i] < 0 || v->stride[i] < 0) return false;
    const ct_storage *s = v->storage;
    const size_t bytes = s->small ? s->small : s->bytes;
    const char *from, *to, *first = s->data;
    reach(v, &from, &to);
    return from == to || !bytes || (from >= first && to <= first + bytes);
}

/* -- overlaps -------------------------------------------------------------------------------------------- */

/* Whether v's elements fill their range. */
static bool is_dense(const ct_view *v)
{
    const char *from, *to;
    reach(v, &from, &to);
    return to - from == ct__count(v) * (int64_t)ct__size(v->dtype);
}

static bool same_strides(const ct_view *a, const ct_view *b)
{
    bool same = a->ndim == b->ndim && a->dtype == b->dtype;
    for (int i = 0; i < a->ndim && same; i++) same = a->stride[i] == b->stride[i];
    return same;
}

/* Whether an element of a is an element of b, which has a's strides and begins `distance` elements later:
 * Σ_i δ_i stride_i = distance for the differences δ of two indices. Finds all solutions for blocks of one
 * array, whose inner dimensions reach less far than a stride. */
static bool share_element(const ct_view *a, const ct_view *b, int dim, int64_t distance)
{
    if (dim == a->ndim) return distance == 0;
    const int64_t stride = a->stride[dim];
    if (!stride) return share_element(a, b, dim + 1, distance);
    const int64_t least = distance / stride - (distance % stride < 0);
    for (int64_t delta = least; delta <= least + 1; delta++)
        if (delta > -b->dim[dim] && delta < a->dim[dim] &&
            share_element(a, b, dim + 1, distance - delta * stride))
            return true;
    return false;
}

bool ct__are_apart(const ct_view *a, const ct_view *b)
{
    const char *a_from, *a_to, *b_from, *b_to;
    reach(a, &a_from, &a_to);
    reach(b, &b_from, &b_to);
    if (a_from == a_to || b_from == b_to || a_to <= b_from || b_to <= a_from) return true;
    if (a_from == b_from) return false;
    if (same_strides(a, b)) return !share_element(a, b, 0, (b_from - a_from) / (int64_t)ct__size(a->dtype));
    return !is_dense(a) || !is_dense(b);
}

bool ct__are_apart_or_one(const ct_view *a, const ct_view *b)
{
    return (a->data == b->data && same_strides(a, b) && ct__same_shape(a, b)) || ct__are_apart(a, b);
}
