/* packed_append:  theta (P), X (n + k, d), noise (k), L (n, n) packed -> [ L    ] packed
 *                                                                        [ B  S ]
 *     B = k(X2, X1) L⁻ᵀ,   S Sᵀ = k(X2, X2) + diag(noise) - B Bᵀ,   X = [X1; X2];   without a gradient */
#include <cotangent/covariance.h>

#include "packed.h"

enum { THETA, X, NOISE, FACTOR };

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

/* -- copies ---------------------------------------------------------------------------------------------- */

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
                      *target = ct__packed_view(to, r0, r1, c0, c1);
            if (ct_require(c, from && target, CT_ENOMEM, "no memory for views"))
                ct_prim_copy(c, from, target);
            ct_release(from);
            ct_release(target);
        }
        for (int b = 0; b <= a && r0 < r1; b++) {
            int64_t c0 = cut[b], c1 = cut[b + 1];
            if (c0 == c1) continue;
            ct_tensor *from = ct__submatrix(S, r0 - n, r1 - r0, c0 - n, c1 - c0),
                      *target = ct__packed_view(to, r0, r1, c0, c1);
            if (ct_require(c, from && target, CT_ENOMEM, "no memory for views")) {
                if (a == b)
                    ct__copy_lower(c, from, target);
                else
                    ct_prim_copy(c, from, target);
            }
            ct_release(from);
            ct_release(target);
        }
    }
}

/* -- the op ---------------------------------------------------------------------------------------------- */

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
        ct__packed_copy(c, &L, 0, n, 0, n, &to, 0, 0);
        copy_rows(c, B, S, &to);
        ct__packed_close(&to);
    }
    ct__packed_close(&L);
}

const ct_op ct__op_packed_append = { .name = "packed_append", .n_in = 4, .shape = shape, .forward = forward };
