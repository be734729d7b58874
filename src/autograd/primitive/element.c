/* The primitives on elements, rows and groups, and the checks that all of them share. */
#include "primitive.h"

/* -- checks ---------------------------------------------------------------------------------------------- */

bool ct__refuse_view(ct_call *c, const ct_view *v)
{
    if (c->status) return false;
    ct_device *device = c->tape->device;
    if (!v->storage && v->ndim < 0) ct__call_status(c, device->last_status ? device->last_status : CT_EINVAL);
    return ct_require(c, v->storage, CT_EINVAL, "a primitive's argument is an empty view") &&
           ct_require(c, v->storage->device == device, CT_EDEVICE,
                      "a primitive's argument is on another device");
}

bool ct__refuse_dtypes(ct_call *c, const ct_view *v, const ct_view *out)
{
    return ct_require(c, v->dtype == out->dtype, CT_EDTYPE,
                      "a primitive was given %s and %s, it takes one dtype", ct_dtype_name(v->dtype),
                      ct_dtype_name(out->dtype)) &&
           ct_require(c, v->dtype != CT_I64, CT_EDTYPE, "a primitive was given i64, it takes f64 or f32");
}

bool ct__one_dtype(ct_call *c, const ct_view *v, const ct_view *out)
{
    if (!ct__one_floating(c, v, out)) return false;
    return v->dtype <= CT_F32 ||
           ct_require(c, false, CT_EDTYPE, "a primitive was given %s, it takes f64 or f32",
                      ct_dtype_name(v->dtype));
}

bool ct__spread(ct_call *c, ct_view *v, const ct_view *out)
{
    if (!ct__usable(c, v) || !ct__usable(c, out)) return false;
    if (ct__same_shape(v, out)) return true;
    const ct_shape shape = ct__shape(out);
    return ct_require(c, ct__broadcast(v, &shape), CT_ESHAPE,
                      "an input of a primitive does not broadcast to the result's shape");
}

bool ct__spread_batch(ct_call *c, ct_view *v, const ct_view *out)
{
    if (!ct__usable(c, v) || !ct__usable(c, out)) return false;
    if (v->ndim == 2 && out->ndim == 2) return true;
    if (!ct_require(c, v->ndim >= 2 && out->ndim >= 2, CT_ESHAPE, "a matrix needs two dimensions"))
        return false;
    ct_shape shape = ct__shape(out);
    shape.dim[shape.ndim - 2] = ct__dim(v, -2);
    shape.dim[shape.ndim - 1] = ct__dim(v, -1);
    return ct_require(c, ct__broadcast(v, &shape), CT_ESHAPE,
                      "batch dimensions do not broadcast to the result's");
}

bool ct__square(ct_call *c, const ct_view *v)
{
    return ct_require(c, v->ndim >= 2 && ct__dim(v, -2) == ct__dim(v, -1), CT_ESHAPE,
                      "a primitive was given matrices that are not square");
}

/* f is one of `count` functions; `header` lists them. */
static bool is_function(ct_call *c, unsigned f, unsigned count, const char *header)
{
    return f < count ||
           ct_require(c, false, CT_EINVAL, "there is no function %u, %s has %u", f, header, count);
}

/* -- elements -------------------------------------------------------------------------------------------- */

void ct_prim_copy(ct_call *c, ct_view src, ct_view dst)
{
    if (ct__usable(c, &src) && ct__usable(c, &dst)) ct__call_status(c, ct__copy(&src, &dst));
}

void ct_prim_fill(ct_call *c, ct_view dst, double value)
{
    if (ct__usable(c, &dst)) CT__DO(c, fill, &dst, value);
}

/* v itself or, in *copy, v broadcast to out's shape; NULL if the call has failed. */
static const ct_view *spread_to(ct_call *c, const ct_view *v, const ct_view *out, ct_view *copy)
{
    if (!ct__one_floating(c, v, out)) return NULL;
    ct__assert(ct__are_apart_or_one(v, out));
    if (ct__same_shape(v, out)) return v;
    *copy = *v;
    return ct__spread(c, copy, out) ? copy : NULL;
}

void ct__map1(ct_call *c, ct_map1 f, const double p[2], const ct_view *x, ct_view *out)
{
    static const double none[2] = { 0, 0 };
    ct_view copy;
    x = spread_to(c, x, out, &copy);
    if (x && is_function(c, f, CT_MAP1_COUNT, "maps.h")) CT__DO(c, map1, f, p ? p : none, x, out);
}

void ct__map2(ct_call *c, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out)
{
    ct_view copy[2];
    a = spread_to(c, a, out, &copy[0]);
    b = spread_to(c, b, out, &copy[1]);
    if (a && b && is_function(c, f, CT_MAP2_COUNT, "maps.h")) CT__DO(c, map2, f, a, b, out);
}

void ct_prim_map1(ct_call *c, ct_map1 f, const double p[2], ct_view x, ct_view out)
{
    ct__map1(c, f, p, &x, &out);
}

void ct_prim_map2(ct_call *c, ct_map2 f, ct_view a, ct_view b, ct_view out) { ct__map2(c, f, &a, &b, &out); }

void ct_prim_axpby(ct_call *c, double a, ct_view x, double b, ct_view y, ct_view out)
{
    if (!ct__one_dtype(c, &x, &out) || !ct__one_dtype(c, &y, &out)) return;
    ct__assert(ct__are_apart_or_one(&x, &out) && ct__are_apart_or_one(&y, &out));
    if (ct__spread(c, &x, &out) && ct__spread(c, &y, &out)) CT__DO(c, axpby, a, &x, b, &y, &out);
}

void ct_prim_where(ct_call *c, ct_view cond, ct_view a, ct_view b, ct_view out)
{
    if (ct__one_dtype(c, &a, &out) && ct__one_dtype(c, &b, &out) &&
        ct_require(c, cond.dtype <= CT_I64, CT_EDTYPE,
                   "a primitive's condition is %s, it takes f64, f32 or i64", ct_dtype_name(cond.dtype)) &&
        ct__spread(c, &cond, &out) && ct__spread(c, &a, &out) && ct__spread(c, &b, &out))
        CT__DO(c, where, &cond, &a, &b, &out);
}

/* Whether the dtypes fit: a position is i64, of an x in f64 or f32. */
static bool reduces_to(ct_call *c, ct_reduction f, const ct_view *x, const ct_view *out)
{
    if (f < CT_REDUCE_ARGMAX) return ct__one_floating(c, x, out);
    return ct__one_dtype(c, x, x) && ct__usable(c, out) &&
           ct_require(c, out->dtype == CT_I64, CT_EDTYPE, "a position is i64, the result is %s",
                      ct_dtype_name(out->dtype));
}

void ct_prim_reduce(ct_call *c, ct_reduction f, ct_view x, ct_view out)
{
    if (!is_function(c, f, CT_REDUCE_COUNT, "maps.h") || !reduces_to(c, f, &x, &out)) return;
    ct__assert(ct__are_apart(&x, &out));
    while (out.ndim < x.ndim) out = ct_view_unsqueeze(out, 0);
    bool fits = x.ndim == out.ndim;
    for (int i = 0; i < out.ndim && fits; i++) fits = out.dim[i] == x.dim[i] || out.dim[i] == 1;
    if (!ct_require(c, fits, CT_ESHAPE, "each extent of a reduction's result must be the input's, or 1"))
        return;
    if (ct__count(&out) == 1 && ct__is_contiguous(&x)) { /* as one row */
        const int64_t count = ct__count(&x), one = 1;
        x.ndim = out.ndim = 1;
        ct__lay_out(&x, &count);
        ct__lay_out(&out, &one);
    }
    int reduced = 0;
    for (int i = 0; i < out.ndim; i++) reduced += out.dim[i] != x.dim[i];
    if (f >= CT_REDUCE_ARGMAX &&
        !ct_require(c, reduced <= 1 && (ct__count(&x) || !ct__count(&out)), CT_ESHAPE,
                    "a position needs one dimension, which is not empty, or a contiguous input"))
        return;
    CT__DO(c, reduce, f, &x, &out);
}

/* Views each matrix of a contiguous x, or all of a vector, as one column. */
static bool as_columns(ct_call *c, ct_view *x)
{
    if (!ct_require(c, ct__is_contiguous(x), CT_EINVAL, "ct_prim_flag without an out needs a contiguous x"))
        return false;
    ct_shape shape = ct_view_shape(*x);
    if (shape.ndim < 2) shape.ndim = 2, shape.dim[0] = 1, shape.dim[1] = ct__count(x);
    shape.dim[shape.ndim - 2] *= shape.dim[shape.ndim - 1];
    shape.dim[shape.ndim - 1] = 1;
    x->ndim = shape.ndim;
    ct__lay_out(x, shape.dim);
    return true;
}

void ct_prim_flag(ct_call *c, ct_domain domain, ct_view x, const char *what, const char *why, ct_view out)
{
    const bool kept = out.ndim >= 0 && !out.storage;
    if (!ct__one_dtype(c, &x, kept ? &x : &out)) return;
    if (!(kept ? as_columns(c, &x) : ct__spread_batch(c, &x, &out))) return;
    if (!ct_require(c, what && why && ct__dim(&x, -1) == 1 && (unsigned)domain <= CT_FINITE, CT_EINVAL,
                    "ct_prim_flag needs a domain, a message, and a column for each member"))
        return;
    c->judged |= domain == CT_FINITE;
    CT__DO(c, flag, domain, &x, what, why, ct__wanted(&out), ct__call_failure(c));
}

/* -- rows ------------------------------------------------------------------------------------------------ */

/* index i64 (k) names rows of `whole` (n, ...); `part` has k of them. */
static bool names_rows(ct_call *c, const ct_view *index, const ct_view *whole, const ct_view *part)
{
    if (!ct__usable(c, index) || !ct__one_dtype(c, whole, part)) return false;
    bool fits = index->dtype == CT_I64 && index->ndim == 1 && whole->ndim >= 1 && whole->ndim == part->ndim &&
                part->dim[0] == index->dim[0];
    for (int i = 1; i < whole->ndim && fits; i++) fits = whole->dim[i] == part->dim[i];
    return ct_require(c, fits, CT_ESHAPE, "the index must be i64 (k), and the rows must have one shape");
}

void ct_prim_gather(ct_call *c, ct_view x, ct_view index, ct_view out)
{
    if (names_rows(c, &index, &x, &out)) CT__DO(c, gather, &x, &index, &out);
}

void ct_prim_scatter_add(ct_call *c, ct_view x, ct_view index, ct_view out)
{
    if (names_rows(c, &index, &out, &x)) CT__DO(c, scatter_add, &x, &index, &out);
}

/* -- groups ---------------------------------------------------------------------------------------------- */

/* groups i64 (M + 1 + N) */
static bool are_groups(ct_call *c, const ct_view *groups, int64_t N, int64_t M)
{
    return ct__usable(c, groups) &&
           ct_require(c,
                      M >= 0 && groups->dtype == CT_I64 && groups->ndim == 1 && groups->dim[0] == M + 1 + N &&
                          ct__is_contiguous(groups),
                      CT_ESHAPE, "groups of %lld into %lld are i64 (%lld), contiguous", (long long)N,
                      (long long)M, (long long)(M + 1 + N));
}

void ct_prim_group_by(ct_call *c, ct_view index, ct_view groups)
{
    if (!ct__usable(c, &index) || !ct__usable(c, &groups)) return;
    if (ct_require(c, index.dtype == CT_I64 && index.ndim == 1, CT_ESHAPE,
                   "an index to group by is i64 (N)") &&
        are_groups(c, &groups, index.dim[0], ct__dim(&groups, 0) - 1 - index.dim[0]))
        CT__DO(c, group_by, &index, &groups);
}

/* Whether v is (n0, n1, n2), contiguous, of G's dtype. */
static bool is_pile(ct_call *c, const ct_view *v, const ct_view *G, int64_t n0, int64_t n1, int64_t n2)
{
    return ct__one_floating(c, v, G) &&
           ct_require(c,
                      v->ndim == 3 && v->dim[0] == n0 && v->dim[1] == n1 && v->dim[2] == n2 &&
                          ct__is_contiguous(v),
                      CT_ESHAPE, "the factors of a grouped product do not fit, or are not contiguous");
}

void ct_prim_grouped_gemm(ct_call *c, ct_view A, ct_view C, ct_view groups, ct_view out)
{
    if (!ct__one_floating(c, &A, &out) || !ct__one_floating(c, &C, &out)) return;
    const int64_t N = ct__dim(&A, 0), M = ct__dim(&C, 0), J = ct__dim(&A, 2);
    if (are_groups(c, &groups, N, M) && is_pile(c, &A, &out, N, ct__dim(&A, 1), J) &&
        is_pile(c, &C, &out, M, J, ct__dim(&C, 2)) && is_pile(c, &out, &out, N, A.dim[1], C.dim[2]))
        CT__DO(c, grouped_gemm, &A, &C, &groups, &out);
}

void ct_prim_grouped_gemm_bar(ct_call *c, ct_view A, ct_view C, ct_view G, ct_view groups, ct_view A_bar,
                              ct_view C_bar)
{
    const bool to_A = A_bar.storage, to_C = C_bar.storage;
    if (!ct__usable(c, &G) ||
        !ct_require(c, to_A || to_C, CT_EINVAL, "both outputs are empty views: ask for one"))
        return;
    const ct_view *pile = to_C ? &A : &A_bar, *wall = to_A ? &C : &C_bar;
    const int64_t N = ct__dim(&G, 0), I = ct__dim(&G, 1), K = ct__dim(&G, 2), J = ct__dim(pile, 2),
                  M = ct__dim(wall, 0);
    if (!are_groups(c, &groups, N, M) || !is_pile(c, &G, &G, N, I, K)) return;
    if (to_A && (!is_pile(c, &A_bar, &G, N, I, J) || !is_pile(c, &C, &G, M, J, K))) return;
    if (to_C && (!is_pile(c, &A, &G, N, I, J) || !is_pile(c, &C_bar, &G, M, J, K))) return;
    CT__DO(c, grouped_gemm_bar, to_C ? &A : NULL, to_A ? &C : NULL, &G, &groups, ct__wanted(&A_bar),
           ct__wanted(&C_bar));
}
