/* Cholesky factor, inverse and diagonal of a packed matrix by calls on its three blocks, for devices without
 * a sweep of their own and for a factor that is kept until it is inverted. */
#include "packed.h"

void ct__packed_diagonal(ct_call *c, const ct__packed *C, const ct_tensor *vector, const ct_tensor *add_with)
{
    ct_tensor *const block[] = { C->A11, C->A22 };
    int64_t at = 0;
    for (int i = 0; i < (C->n2 ? 2 : 1); i++) {
        int64_t size = i ? C->n2 : C->n1;
        ct_tensor *part = ct_tensor_slice(vector, 0, at, at + size, 1);
        ct_tensor *column = part ? ct_tensor_unsqueeze(part, 1) : NULL;
        ct_tensor *line = ct_tensor_diagonal(block[i]);
        ct_tensor *target = line ? ct_tensor_unsqueeze(line, 1) : NULL;
        if (ct_require(c, column && target, CT_ENOMEM, "no memory for views")) {
            if (add_with)
                ct_prim_gemm(c, 1, column, add_with, 1, target);
            else
                ct_prim_copy(c, target, column);
        }
        ct_release(part);
        ct_release(column);
        ct_release(line);
        ct_release(target);
        at += size;
    }
}

void ct__packed_factor(ct_call *c, const ct__packed *C)
{
    ct_prim_potrf_lower(c, 0, C->A11);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS | CT_RIGHT, 1, C->A11, C->A21);
    ct_prim_syrk(c, -1, C->A21, 1, C->A22);
    ct_prim_potrf_lower(c, C->n1, C->A22);
}

void ct__packed_invert(ct_call *c, const ct__packed *L)
{
    ct_prim_trtri(c, L->A11);
    ct_prim_trtri(c, L->A22);
    ct_prim_trmm(c, CT_LOWER | CT_RIGHT, -1, L->A11, L->A21);
    ct_prim_trmm(c, CT_LOWER, 1, L->A22, L->A21);
    ct_prim_lauum(c, L->A11);
    ct_prim_syrk(c, 1, L->A21t, 1, L->A11);
    ct_prim_trmm(c, CT_LOWER | CT_TRANS, 1, L->A22, L->A21);
    ct_prim_lauum(c, L->A22);
}
