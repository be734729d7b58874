#include "packed.h"

/* -- the rectangle ------------------------------------------------------------------------------------------------- */

ct_shape ct__packed_shape(int64_t n)
{
    int64_t rows = n - n / 2, ld = (n + 1 - n % 2 + 7) / 8 * 8;
    if (ld % 512 == 0) ld += 8; /* rows that are powers of two apart would meet in the cache */
    return ct_shape2(rows, n ? ld : 0);
}

static ct_tensor *block(const ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor *strip = ct_tensor_slice(A, 0, row, row + rows, 1);
    ct_tensor *view = strip ? ct_tensor_slice(strip, 1, col, col + cols, 1) : NULL;
    ct_release(strip);
    return view;
}

static ct_tensor *transposed_block(const ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor *view = block(A, row, rows, col, cols), *transposed = view ? ct_tensor_transpose(view) : NULL;
    ct_release(view);
    return transposed;
}

bool ct__packed_open(const ct_tensor *rectangle, int64_t n, ct__packed *p)
{
    *p = (ct__packed){ .n1 = n - n / 2, .n2 = n / 2 };
    if (!rectangle) return false;
    int64_t odd = n % 2, even = n ? 1 - odd : 0;
    p->A11 = transposed_block(rectangle, 0, p->n1, even, p->n1);
    p->A22 = block(rectangle, odd, p->n2, 0, p->n2);
    p->A21t = block(rectangle, 0, p->n1, even + p->n1, p->n2);
    p->A21 = p->A21t ? ct_tensor_transpose(p->A21t) : NULL;
    if (p->A11 && p->A22 && p->A21) return true;
    ct__packed_close(p);
    return false;
}

void ct__packed_close(ct__packed *p)
{
    ct_release(p->A11);
    ct_release(p->A22);
    ct_release(p->A21);
    ct_release(p->A21t);
}

bool ct__packed_row(const ct__packed *p, int64_t i, ct_tensor *part[2])
{
    int64_t k = i - p->n1;
    part[0] = k < 0 ? block(p->A11, i, 1, 0, i + 1) : block(p->A21, k, 1, 0, p->n1);
    part[1] = k < 0 ? NULL : block(p->A22, k, 1, 0, k + 1);
    if (part[0] && (part[1] || k < 0)) return true;
    ct_release(part[0]);
    ct_release(part[1]);
    return false;
}

/* -- solution with a packed factor --------------------------------------------------------------------------------- */

static ct_shape solve_shape(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 1, 0);
    ct_require(c, ct_arg_ndim(c, 1) == 2 && ct_shape_equal(ct_arg_shape(c, 0), ct__packed_shape(n)),
               CT_ESHAPE, "the packed factor does not fit the right-hand side");
    return ct_arg_shape(c, 1);
}

/* X1 = L11⁻¹B1,  X2 = L22⁻¹(B2 - L21 X1) */
static void solve_forward(ct_call *c)
{
    ct_tensor *X = ct_result(c);
    if (!X) return;
    ct__packed L;
    int64_t n = ct_arg_dim(c, 1, 0);
    ct_tensor *X1 = ct_borrow(c, ct_tensor_slice(X, 0, 0, n - n / 2, 1));
    ct_tensor *X2 = ct_borrow(c, ct_tensor_slice(X, 0, n - n / 2, n, 1));
    ct_prim_copy(c, ct_arg(c, 1), X);
    if (!ct_require(c, ct__packed_open(ct_arg(c, 0), n, &L), CT_ENOMEM, "no memory for views")) return;
    ct_prim_trsm(c, CT_LOWER, 1, L.A11, X1);
    ct_prim_gemm(c, -1, L.A21, X1, 1, X2);
    ct_prim_trsm(c, CT_LOWER, 1, L.A22, X2);
    ct__packed_close(&L);
}

const ct_op ct__op_packed_solve = {
    .name = "packed_solve", .n_in = 2, .shape = solve_shape, .forward = solve_forward
};
