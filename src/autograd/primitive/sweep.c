/* A symmetric positive definite C in three blocks. Uses the device's own sweep if it has one that takes the
 * blocks' layout; else works block by block.
 *
 *     C = [ C11     ]    L11 L11ᵀ = C11,  L21 = C21 L11⁻ᵀ,  L22 L22ᵀ = C22 - L21 L21ᵀ
 *         [ C21 C22 ]    M11 = L11⁻¹,     M22 = L22⁻¹,      M21 = -M22 L21 M11
 *                        C⁻¹: M11ᵀM11 + M21ᵀM21,  M22ᵀM21,  M22ᵀM22
 *
 * The factor takes n³/3 operations, the inverse 2n³/3 more. */
#include "primitive.h"

/* -- block by block -------------------------------------------------------------------------------------- */

typedef struct blocks {
    ct_view B11, B21, B22;
} blocks;

static void factor(ct_call *c, const blocks *C)
{
    ct_prim_potrf_lower(c, 0, C->B11);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, C->B11, C->B21);
    ct_prim_syrk(c, -1, C->B21, 1, C->B22);
    ct_prim_potrf_lower(c, ct_view_dim(C->B11, 0), C->B22);
}

/* z = L⁻¹z, or with `trans` L⁻ᵀz */
static void solve(ct_call *c, const blocks *L, bool trans, ct_view z)
{
    const int64_t n1 = ct_view_dim(L->B11, 0), n = ct_view_dim(z, 0);
    ct_view z1 = ct_view_slice(z, 0, 0, n1, 1), z2 = ct_view_slice(z, 0, n1, n, 1);
    if (!trans) ct_prim_trsm(c, CT_LOWER, 1, L->B11, z1);
    if (!trans) ct_prim_gemm(c, -1, L->B21, z1, 1, z2);
    ct_prim_trsm(c, trans ? CT_LOWER | CT_TRANS : CT_LOWER, 1, L->B22, z2);
    if (trans) ct_prim_gemm(c, -1, ct_view_transpose(L->B21), z2, 1, z1);
    if (trans) ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L->B11, z1);
}

static void diagonal_of(ct_call *c, const blocks *C, ct_view out)
{
    const int64_t n1 = ct_view_dim(C->B11, 0), n = ct_view_dim(out, 0);
    ct_prim_copy(c, ct_view_diagonal(C->B11), ct_view_slice(out, 0, 0, n1, 1));
    ct_prim_copy(c, ct_view_diagonal(C->B22), ct_view_slice(out, 0, n1, n, 1));
}

void ct_prim_invert_blocks(ct_call *c, ct_view L11, ct_view L21, ct_view L22)
{
    ct_prim_trtri(c, L11);
    ct_prim_trtri(c, L22);
    ct_prim_trmm(c, CT_LOWER | CT_RIGHT, -1, L11, L21);
    ct_prim_trmm(c, CT_LOWER, 1, L22, L21);
    ct_prim_lauum(c, L11);
    ct_prim_syrk(c, 1, ct_view_transpose(L21), 1, L11);
    ct_prim_trmm(c, CT_LOWER | CT_TRANS, 1, L22, L21);
    ct_prim_lauum(c, L22);
}

void ct_prim_flag_pivots(ct_call *c, double tolerance, ct_view C_diagonal, ct_view L_diagonal, ct_view out)
{
    ct_view pivot = ct_scratch(c, L_diagonal.dtype, ct_view_shape(L_diagonal)), excess = C_diagonal;
    ct_prim_map1(c, CT_MAP_square, NULL, L_diagonal, pivot);
    ct_prim_map1(c, CT_MAP_scale, (double[]){ tolerance, 0 }, C_diagonal, excess);
    ct_prim_map2(c, CT_MAP_sub, pivot, excess, excess);
    ct_prim_flag(c, CT_POSITIVE, ct_view_unsqueeze(excess, -1), "leading minor %lld",
                 "is not positive to working precision: add to the diagonal", out);
}

/* -- in one pass ----------------------------------------------------------------------------------------- */

/* The blocks as the rectangle that packed_sweep (backend.h) takes; no view if they do not form one. */
static ct_view rectangle_of(const blocks *C)
{
    const ct_view *B11 = &C->B11, *B21 = &C->B21, *B22 = &C->B22;
    const int64_t n1 = B11->dim[0], n2 = B22->dim[0], odd = n1 - n2, even = 1 - odd, ld = B22->stride[0],
                  size = (int64_t)ct__size(B11->dtype);
    if (!n2) return n1 <= 1 || B11->stride[1] == 1 ? *B11 : ct_no_view();
    ct_view whole = *B22;
    whole.data = (char *)B22->data - odd * ld * size;
    whole.dim[0] = n1;
    whole.dim[1] = even + n1 + n2;
    const char *first = (char *)whole.data + even * size;
    const bool transposed = B11->stride[0] == 1 && B21->stride[0] == 1 && B22->stride[1] == 1 &&
                            B11->stride[1] == ld && B21->stride[1] == ld;
    return transposed && (odd == 0 || odd == 1) && B11->data == first && B21->data == first + n1 * size
               ? whole
               : ct_no_view();
}

static bool fit(ct_call *c, const blocks *C, const ct_view *z, const ct_view *diagonal)
{
    const ct_view *all[] = { &C->B11, &C->B21, &C->B22, z, diagonal };
    for (int i = 0; i < 5; i++)
        if (!ct__one_dtype(c, all[i], z)) return false;
    const int64_t n1 = ct__dim(all[0], 0), n2 = ct__dim(all[2], 0), n = n1 + n2;
    return ct__square(c, all[0]) && ct__square(c, all[2]) &&
           ct_require(c,
                      all[0]->ndim == 2 && all[1]->ndim == 2 && all[2]->ndim == 2 && z->ndim == 2 &&
                          diagonal->ndim == 1 && ct__dim(all[1], 0) == n2 && ct__dim(all[1], 1) == n1 &&
                          z->dim[0] == n && z->dim[1] > 0 && diagonal->dim[0] == n,
                      CT_ESHAPE, "the blocks of a matrix of %lld rows do not fit each other, or its vectors",
                      (long long)n);
}

uint64_t ct_prim_sweep_bytes(const ct_device *device, ct_dtype dtype, int64_t n)
{
    if (!device || device->status || n < 0 || (unsigned)dtype > CT_F32) return UINT64_MAX;
    return device->backend->sweep_bytes(device, dtype, n);
}

void ct_prim_sweep_blocks(ct_call *c, bool inverse, double tolerance, ct_view C11, ct_view C21, ct_view C22,
                          ct_view z, ct_view diagonal)
{
    const blocks C = { C11, C21, C22 };
    if (!fit(c, &C, &z, &diagonal)) return;
    ct_view whole = rectangle_of(&C), columns = ct_view_transpose(z);
    if (c->tape->device->backend->packed_sweep && whole.storage && ct__is_contiguous(&columns) &&
        ct__is_contiguous(&diagonal)) {
        CT__DO(c, packed_sweep, z.dim[0], inverse, tolerance, &whole, &z, &diagonal, ct__call_failure(c));
        return;
    }
    ct_view before = ct_scratch(c, z.dtype, ct_shape1(z.dim[0]));
    diagonal_of(c, &C, before);
    factor(c, &C);
    diagonal_of(c, &C, diagonal);
    solve(c, &C, false, z);
    if (inverse) solve(c, &C, true, z);
    if (tolerance > 0) ct_prim_flag_pivots(c, tolerance, before, diagonal, z);
    if (inverse) ct_prim_invert_blocks(c, C11, C21, C22);
}
