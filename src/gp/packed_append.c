/* packed_append:  theta (P), X (n + k, d), noise (k), L (n, n) packed -> [ L    ] packed
 *                                                                        [ B  S ]
 *     B = k(X2, X1) L⁻ᵀ,   S Sᵀ = k(X2, X2) + diag(noise) - B Bᵀ,   X = [X1; X2];   without a gradient */
#include <cotangent/covariance.h>

#include "packed.h"

enum { THETA, X, NOISE, FACTOR };
enum { SMALL = 16 }; /* triangles are copied by rows from there on */

static ct_shape shape(ct_call *c)
{
    int64_t all = ct_arg_dim(c, X, 0), k = ct_arg_dim(c, NOISE, 0);
    ct_require(c, ct_attr(c) != NULL, CT_EINVAL, "needs a kernel's program as its attribute");
    ct_require(c,
               ct_arg_ndim(c, NOISE) == 1 && k <= all &&
                   ct_shape_equal(ct_arg_shape(c, FACTOR), ct__packed_shape(all - k)),
               CT_ESHAPE, "the packed factor does not fit %lld of %lld points", (long long)(all - k),
               (long long)all);
    return ct__packed_shape(all);
}

/* -- copies between packed triangles --------------------------------------------------------------------------------- */

/* Rows r0..r1, columns c0..c1, all within one block: c1 <= r0, or the same as the rows. */
static ct_tensor *view(const ct__packed *p, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    bool low = r0 >= p->n1, right = c0 >= p->n1;
    const ct_tensor *block = !low ? p->A11 : right ? p->A22 : p->A21;
    return ct__submatrix(block, r0 - (low ? p->n1 : 0), r1 - r0, c0 - (right ? p->n1 : 0), c1 - c0);
}

static void copy_part(ct_call *c, const ct_tensor *from, ct_tensor *to, int64_t row, int64_t rows,
                      int64_t cols)
{
    ct_tensor *a = ct__submatrix(from, row, rows, 0, cols), *b = ct__submatrix(to, row, rows, 0, cols);
    if (ct_require(c, a && b, CT_ENOMEM, "no memory for views")) ct_prim_copy(c, a, b);
    ct_release(a);
    ct_release(b);
}

/* The lower triangle; the strict upper one of `to` belongs to others. */
static void copy_lower(ct_call *c, const ct_tensor *from, ct_tensor *to)
{
    int64_t n = ct_tensor_dim(to, 0), half = n / 2;
    if (n <= SMALL) {
        for (int64_t i = 0; i < n; i++) copy_part(c, from, to, i, 1, i + 1);
        return;
    }
    copy_part(c, from, to, half, n - half, half);
    for (int64_t at = 0, end = half; at < n; at = end, end = n) {
        ct_tensor *a = ct__submatrix(from, at, end - at, at, end - at);
        ct_tensor *b = ct__submatrix(to, at, end - at, at, end - at);
        if (ct_require(c, a && b, CT_ENOMEM, "no memory for views")) copy_lower(c, a, b);
        ct_release(a);
        ct_release(b);
    }
}

/* L into the first n rows of `to`, piece by piece where neither's blocks end. */
static void copy_factor(ct_call *c, const ct__packed *L, const ct__packed *to)
{
    int64_t n = L->n1 + L->n2, cut[] = { 0, L->n1, to->n1 < n ? to->n1 : n, n };
    for (int a = 0; a < 3; a++)
        for (int b = 0; b <= a; b++) {
            if (cut[a] == cut[a + 1] || cut[b] == cut[b + 1]) continue;
            ct_tensor *from = view(L, cut[a], cut[a + 1], cut[b], cut[b + 1]);
            ct_tensor *target = view(to, cut[a], cut[a + 1], cut[b], cut[b + 1]);
            if (ct_require(c, from && target, CT_ENOMEM, "no memory for views")) {
                if (a == b)
                    copy_lower(c, from, target);
                else
                    ct_prim_copy(c, from, target);
            }
            ct_release(from);
            ct_release(target);
        }
}

/* B (k, n) and the lower triangle of S (k, k) into the last rows of `to`. */
static void copy_rows(ct_call *c, const ct_tensor *B, const ct_tensor *S, const ct__packed *to)
{
    int64_t k = ct_tensor_dim(B, 0), n = ct_tensor_dim(B, 1), split = to->n1;
    int64_t cut[] = { n, split > n && split < n + k ? split : n, n + k }; /* rows, and columns of S */
    for (int a = 0; a < 2; a++) {
        int64_t r0 = cut[a], r1 = cut[a + 1], inside = split < n ? split : n;
        for (int part = 0; part < 2 && r0 < r1; part++) { /* columns of B on either side of the split */
            int64_t c0 = part ? inside : 0, c1 = part ? n : inside;
            if (c0 == c1) continue;
            ct_tensor *from = ct__submatrix(B, r0 - n, r1 - r0, c0, c1 - c0),
                      *target = view(to, r0, r1, c0, c1);
            if (ct_require(c, from && target, CT_ENOMEM, "no memory for views"))
                ct_prim_copy(c, from, target);
            ct_release(from);
            ct_release(target);
        }
        for (int b = 0; b <= a && r0 < r1; b++) {
            int64_t c0 = cut[b], c1 = cut[b + 1];
            if (c0 == c1) continue;
            ct_tensor *from = ct__submatrix(S, r0 - n, r1 - r0, c0 - n, c1 - c0),
                      *target = view(to, r0, r1, c0, c1);
            if (ct_require(c, from && target, CT_ENOMEM, "no memory for views")) {
                if (a == b)
                    copy_lower(c, from, target);
                else
                    ct_prim_copy(c, from, target);
            }
            ct_release(from);
            ct_release(target);
        }
    }
}

/* -- the op ---------------------------------------------------------------------------------------------------------- */

static void add_noise(ct_call *c, ct_tensor *S)
{
    ct_tensor *one = ct_scratch(c, ct_tensor_dtype(S), ct_shape2(1, 1));
    ct_tensor *column = ct_borrow(c, ct_tensor_unsqueeze(ct_arg(c, NOISE), 1));
    ct_tensor *line = ct_borrow(c, ct_tensor_diagonal(S)),
              *target = line ? ct_borrow(c, ct_tensor_unsqueeze(line, 1)) : NULL;
    if (!one || !column || !target) return;
    ct_prim_fill(c, one, 1);
    ct_prim_gemm(c, 1, column, one, 1, target);
}

static void forward(ct_call *c)
{
    int64_t all = ct_arg_dim(c, X, 0), k = ct_arg_dim(c, NOISE, 0), n = all - k;
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, X));
    ct_tensor *out = ct_result(c), *B = ct_scratch(c, dtype, ct_shape2(k, n)),
              *S = ct_scratch(c, dtype, ct_shape2(k, k));
    ct_tensor *old = ct_borrow(c, ct_tensor_slice(ct_arg(c, X), 0, 0, n, 1));
    ct_tensor *new = ct_borrow(c, ct_tensor_slice(ct_arg(c, X), 0, n, all, 1));
    ct__packed L, to;
    if (!out || !B || !S || !old || !new) return;
    if (!ct_require(c, ct__packed_open(ct_arg(c, FACTOR), n, &L), CT_ENOMEM, "no memory for views")) return;
    if (ct_require(c, ct__packed_open(out, all, &to), CT_ENOMEM, "no memory for views")) {
        ct_prim_covariance(c, ct_attr(c), ct_arg(c, THETA), new, old, B);
        ct__packed_solve(c, &L, 0, B);
        ct_prim_covariance_lower(c, ct_attr(c), ct_arg(c, THETA), new, S);
        add_noise(c, S);
        ct_prim_syrk(c, -1, B, 1, S);
        ct_prim_potrf_lower(c, n, S);
        copy_factor(c, &L, &to);
        copy_rows(c, B, S, &to);
        ct__packed_close(&to);
    }
    ct__packed_close(&L);
}

const ct_op ct__op_packed_append = { .name = "packed_append", .n_in = 4, .shape = shape, .forward = forward };
