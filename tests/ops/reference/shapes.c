#include "reference.h"

#include <string.h>

/* y[to] = x[from] for every element of y: `from` is called with the index of y, changes it to the one of x
 * and returns false where y is 0. */
static void pick(ref_call *c, ct_shape shape, bool (*from)(const ref_call *c, int64_t *at))
{
    const ref_array *x = &c->in[0];
    long double *y = ref_out(c, shape);
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t at[CT_MAX_DIMS] = { 0 };
        ref_unravel(shape, o, at);
        y[o] = from(c, at) ? x->x[ref_ravel(x->shape, at)] : 0;
    }
}

static void reshape_(ref_call *c)
{
    ct_shape shape = *(const ct_shape *)c->attr;
    int64_t known = 1;
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] >= 0) known *= shape.dim[d];
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] < 0) shape.dim[d] = known ? c->in[0].n / known : 0;
    memcpy(ref_out(c, shape), c->in[0].x, (size_t)c->in[0].n * sizeof(long double));
}

static bool from_transpose(const ref_call *c, int64_t *at)
{
    int n = c->in[0].shape.ndim;
    int64_t row = at[n - 2];
    at[n - 2] = at[n - 1];
    at[n - 1] = row;
    return true;
}

static void t_(ref_call *c)
{
    ct_shape shape = c->in[0].shape;
    shape.dim[shape.ndim - 2] = ref_dim(&c->in[0], -1);
    shape.dim[shape.ndim - 1] = ref_dim(&c->in[0], -2);
    pick(c, shape, from_transpose);
}

static bool from_permute(const ref_call *c, int64_t *at)
{
    const int *order = c->attr;
    int64_t y_at[CT_MAX_DIMS];
    memcpy(y_at, at, sizeof y_at);
    for (int d = 0; d < c->in[0].shape.ndim; d++) at[order[d]] = y_at[d];
    return true;
}

static void permute_(ref_call *c)
{
    const int *order = c->attr;
    ct_shape shape = c->in[0].shape;
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = c->in[0].shape.dim[order[d]];
    pick(c, shape, from_permute);
}

typedef struct slice_attr {
    int64_t dim, start, step, end; /* stop of slice, extent of unslice */
} slice_attr;

static bool from_slice(const ref_call *c, int64_t *at)
{
    const slice_attr *a = c->attr;
    int64_t dim = a->dim < 0 ? a->dim + c->in[0].shape.ndim : a->dim, n = c->in[0].shape.dim[dim];
    at[dim] = (a->start < 0 ? a->start + n : a->start) + at[dim] * a->step;
    return true;
}

static void slice_(ref_call *c)
{
    const slice_attr *a = c->attr;
    ct_shape shape = c->in[0].shape;
    int64_t dim = a->dim < 0 ? a->dim + shape.ndim : a->dim, n = shape.dim[dim];
    int64_t start = a->start < 0 ? a->start + n : a->start, end = a->end < 0   ? a->end + n
                                                                  : a->end > n ? n
                                                                               : a->end;
    shape.dim[dim] = 0;
    for (int64_t i = start; i < end; i += a->step) shape.dim[dim]++;
    pick(c, shape, from_slice);
}

static bool from_unslice(const ref_call *c, int64_t *at)
{
    const slice_attr *a = c->attr;
    int64_t dim = a->dim < 0 ? a->dim + c->in[0].shape.ndim : a->dim, offset = at[dim] - a->start;
    at[dim] = offset / a->step;
    return offset >= 0 && offset % a->step == 0 && at[dim] < c->in[0].shape.dim[dim];
}

static void unslice_(ref_call *c)
{
    const slice_attr *a = c->attr;
    ct_shape shape = c->in[0].shape;
    shape.dim[a->dim < 0 ? a->dim + shape.ndim : a->dim] = a->end;
    pick(c, shape, from_unslice);
}

static void concat_(ref_call *c)
{
    int dim = *(const int *)c->attr;
    ct_shape shape = c->in[0].shape;
    if (dim < 0) dim += shape.ndim;
    for (int i = 1; i < c->n_in; i++) shape.dim[dim] += c->in[i].shape.dim[dim];
    long double *y = ref_out(c, shape);
    int64_t before = 0;
    for (int i = 0; i < c->n_in; i++) {
        for (int64_t e = 0; e < c->in[i].n; e++) {
            int64_t at[CT_MAX_DIMS];
            ref_unravel(c->in[i].shape, e, at);
            at[dim] += before;
            y[ref_ravel(shape, at)] = c->in[i].x[e];
        }
        before += c->in[i].shape.dim[dim];
    }
}

static void broadcast_to_(ref_call *c)
{
    ct_shape shape = *(const ct_shape *)c->attr;
    long double *y = ref_out(c, shape);
    for (int64_t o = 0; o < c->out.n; o++) {
        int64_t at[CT_MAX_DIMS];
        ref_unravel(shape, o, at);
        y[o] = ref_at(&c->in[0], shape.ndim, at);
    }
}

static void squeeze_(ref_call *c)
{
    int dim = *(const int *)c->attr;
    ct_shape x = c->in[0].shape, shape = { 0 };
    if (dim < 0) dim += x.ndim;
    for (int d = 0; d < x.ndim; d++)
        if (d != dim) shape.dim[shape.ndim++] = x.dim[d];
    memcpy(ref_out(c, shape), c->in[0].x, (size_t)c->in[0].n * sizeof(long double));
}

static void unsqueeze_(ref_call *c)
{
    int dim = *(const int *)c->attr;
    ct_shape x = c->in[0].shape, shape = { 0 };
    if (dim < 0) dim += x.ndim + 1;
    for (int d = 0; d <= x.ndim; d++) shape.dim[shape.ndim++] = d == dim ? 1 : x.dim[d < dim ? d : d - 1];
    memcpy(ref_out(c, shape), c->in[0].x, (size_t)c->in[0].n * sizeof(long double));
}

/* -- rows by index --------------------------------------------------------------------------------------- */

static void gather_(ref_call *c)
{
    const ref_array *x = &c->in[0], *index = &c->in[1];
    ct_shape shape = x->shape;
    int64_t row = 1;
    for (int d = 1; d < shape.ndim; d++) row *= shape.dim[d];
    shape.dim[0] = index->n;
    long double *y = ref_out(c, shape);
    for (int64_t i = 0; i < index->n; i++)
        for (int64_t e = 0; e < row; e++) y[i * row + e] = x->x[(int64_t)index->x[i] * row + e];
}

static void scatter_add_(ref_call *c)
{
    const ref_array *x = &c->in[0], *index = &c->in[1];
    ct_shape shape = x->shape;
    int64_t row = 1;
    for (int d = 1; d < shape.ndim; d++) row *= shape.dim[d];
    shape.dim[0] = *(const int64_t *)c->attr;
    long double *y = ref_out(c, shape);
    for (int64_t o = 0; o < c->out.n; o++) y[o] = 0;
    for (int64_t i = 0; i < index->n; i++)
        for (int64_t e = 0; e < row; e++) y[(int64_t)index->x[i] * row + e] += x->x[i * row + e];
}

const reference reference_shapes[] = {
    { .name = "reshape", .compute = reshape_ },           { .name = "t", .compute = t_ },
    { .name = "permute", .compute = permute_ },           { .name = "slice", .compute = slice_ },
    { .name = "unslice", .compute = unslice_ },           { .name = "concat", .compute = concat_ },
    { .name = "broadcast_to", .compute = broadcast_to_ }, { .name = "squeeze", .compute = squeeze_ },
    { .name = "unsqueeze", .compute = unsqueeze_ },       { .name = "gather", .compute = gather_ },
    { .name = "scatter_add", .compute = scatter_add_ },   { 0 },
};
