/* Cholesky factor and inverse of a packed matrix by calls on its three blocks, for devices without a sweep of
 * their own and for a factor that is kept until it is inverted. */
#include "packed.h"

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
