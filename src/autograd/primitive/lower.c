/* The primitives that work on a triangle in place. */
#include "primitive.h"

static bool is_square(ct_call *c, const ct_view *A) { return ct__one_dtype(c, A, A) && ct__square(c, A); }

void ct_prim_potrf_lower(ct_call *c, int64_t first, ct_view A)
{
    if (is_square(c, &A)) CT__DO(c, potrf_lower, first, &A, ct__call_failure(c));
}

void ct_prim_trtri(ct_call *c, ct_view L)
{
    if (is_square(c, &L)) CT__DO(c, trtri, &L);
}

void ct_prim_lauum(ct_call *c, ct_view L)
{
    if (is_square(c, &L)) CT__DO(c, lauum, &L);
}
