/* diag_embed:  A_ii = d_i, zero elsewhere   (..., n) -> (..., n, n), or (..., rows, cols) for diag's rule
 * adjoint:     d̄_i = Ā_ii: a view                                        [the transpose of diag] */
#include "support.h"

typedef struct attr {
    int64_t rows, cols;
} attr;

static ct_shape shape(ct_call *c)
{
    const attr *a = ct_attr(c);
    ct_shape d = ct_arg_shape(c, 0);
    if (!ct_require(c, d.ndim >= 1 && d.ndim < CT_MAX_DIMS, CT_ESHAPE, "wanted 1 to %d dimensions",
                    CT_MAX_DIMS - 1))
        return d;
    int64_t n = d.dim[d.ndim - 1];
    ct_require(c, !a || (a->rows < a->cols ? a->rows : a->cols) == n, CT_ESHAPE,
               "the diagonal of that matrix has another length");
    d.ndim++;
    return ct__matrix_shape(d, a ? a->rows : n, a ? a->cols : n);
}

static void forward(ct_call *c)
{
    ct_view A = ct_result(c);
    ct_view diagonal = ct_view_diagonal(A);
    ct_prim_fill(c, A, 0);
    ct_prim_copy(c, ct_arg(c, 0), diagonal);
}

static void vjp(ct_rule *g) { ct_in_bar(g, 0, ct_diag(ct_out_bar(g))); }

static void sample(ct_sample *s) { ct_sample_normal(s, 0, ct_shape1(ct_sample_size(s))); }

const ct_op ct_op_diag_embed = { .name = "diag_embed",
                                 .n_in = 1,
                                 .shape = shape,
                                 .forward = forward,
                                 .vjp = vjp,
                                 .jvp = ct_jvp_linear,
                                 .jvp_stacked = true,
                                 .sample = sample };

ct_var ct_diag_embed(ct_var d) { return ct_apply(&ct_op_diag_embed, &d, 1, NULL, 0); }

ct_var ct__diag_embed(ct_var d, int64_t rows, int64_t cols)
{
    attr a = { rows, cols };
    return ct_apply(&ct_op_diag_embed, &d, 1, &a, sizeof a);
}
