#include "reference.h"

#include <stdlib.h>
#include <string.h>

const reference *reference_find(const char *op)
{
    const reference *const tables[] = { reference_elementwise,   reference_reductions, reference_shapes,
                                        reference_matrices,      reference_inverses,   reference_losses,
                                        reference_least_squares, reference_layers,     reference_covariances,
                                        reference_eigen };
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const reference *r = tables[t]; r->name; r++)
            if (strcmp(r->name, op) == 0) return r;
    return NULL;
}

long double *ref_out(ref_call *c, ct_shape shape)
{
    c->out.shape = shape;
    c->out.n = ct_shape_count(shape);
    c->out.x = malloc((size_t)(c->out.n > 0 ? c->out.n : 1) * sizeof *c->out.x);
    if (!c->out.x) abort();
    return c->out.x;
}

int64_t ref_dim(const ref_array *a, int d)
{
    if (d < 0) d += a->shape.ndim;
    return d >= 0 && d < a->shape.ndim ? a->shape.dim[d] : 1;
}

ct_shape ref_batch(const ref_array *a, int trailing)
{
    ct_shape s = a->shape;
    s.ndim = s.ndim > trailing ? s.ndim - trailing : 0;
    return s;
}

ct_shape ref_append(ct_shape shape, int n, const int64_t *dim)
{
    for (int i = 0; i < n; i++) shape.dim[shape.ndim++] = dim[i];
    return shape;
}

void ref_unravel(ct_shape shape, int64_t at, int64_t *index)
{
    for (int d = shape.ndim - 1; d >= 0; d--) {
        index[d] = at % shape.dim[d];
        at /= shape.dim[d];
    }
}

int64_t ref_ravel(ct_shape shape, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < shape.ndim; d++) at = at * shape.dim[d] + index[d];
    return at;
}

long double ref_at(const ref_array *a, int ndim, const int64_t *index)
{
    int64_t own[CT_MAX_DIMS];
    int skip = ndim - a->shape.ndim;
    for (int d = 0; d < a->shape.ndim; d++) own[d] = a->shape.dim[d] == 1 ? 0 : index[d + skip];
    return a->x[ref_ravel(a->shape, own)];
}

const long double *ref_member(const ref_array *a, int trailing, ct_shape batch, int64_t member)
{
    int64_t index[CT_MAX_DIMS], own[CT_MAX_DIMS], block = 1;
    ct_shape mine = ref_batch(a, trailing);
    for (int d = mine.ndim; d < a->shape.ndim; d++) block *= a->shape.dim[d];
    ref_unravel(batch, member, index);
    for (int d = 0; d < mine.ndim; d++) own[d] = mine.dim[d] == 1 ? 0 : index[d + batch.ndim - mine.ndim];
    return a->x + ref_ravel(mine, own) * block;
}
