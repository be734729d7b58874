/* matmul:   C = A B                 A: (..., m, k)  B: (..., k, n) -> C: (..., m, n), batches broadcast
 * adjoint:  Ā = C̄ Bᵀ,  B̄ = Aᵀ C̄                                                     [Giles 2008, §2.2.2]
 *
 * From dC = dA B + A dB and ⟨C̄, dA B⟩ = ⟨C̄ Bᵀ, dA⟩. The transposes are views. Where one B serves a whole batch
 * of A, the batch is one tall matrix: a single product forward and for B̄. */
#include "support.h"

static int64_t rows_of(ct_shape shape)
{
    int64_t rows = 1;
    for (int i = 0; i < shape.ndim - 1; i++) rows *= shape.dim[i];
    return rows;
}

static ct_shape shape(ct_call *c)
{
    if (!ct__need_floating(c, 0) || !ct__need_matrices(c, 0)) return ct_shape0();
    int64_t k = ct_arg_dim(c, 0, -1), l = ct_arg_dim(c, 1, -2);
    ct_require(c, k == l, CT_ESHAPE,
               "inner dimensions differ (%lld vs %lld): the columns of the first must be the rows "
               "of the second",
               (long long)k, (long long)l);
    return ct__need_batch(c, 0, 1, ct_arg_dim(c, 0, -2), ct_arg_dim(c, 1, -1));
}

static void forward(ct_call *c)
{
    const ct_tensor *A = ct_arg(c, 0), *B = ct_arg(c, 1);
    ct_tensor *C = ct_result(c);
    if (!C) return;
    if (A->ndim > 2 && B->ndim == 2 && ct_tensor_is_contiguous(A)) {
        int64_t rows = rows_of(ct_tensor_shape(A));
        ct_tensor tall_A = ct__reshaped(A, ct_shape2(rows, ct_tensor_dim(A, -1)));
        ct_tensor tall_C = ct__reshaped(C, ct_shape2(rows, ct_tensor_dim(C, -1)));
        ct_prim_gemm(c, 1, &tall_A, B, 0, &tall_C);
    } else
        ct_prim_gemm(c, 1, A, B, 0, C);
}

static ct_var tall(ct_var x)
{
    ct_shape shape = ct_var_shape(x);
    return shape.ndim > 2 ? ct_reshape(x, ct_shape2(rows_of(shape), shape.dim[shape.ndim - 1])) : x;
}

static void vjp(ct_vjp *g)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), C_bar = ct_out_bar(g);
    ct_in_bar(g, 0, ct_matmul(C_bar, ct_t(B))); /* Ā = C̄ Bᵀ */
    if (ct_var_shape(B).ndim == 2)
        ct_in_bar(g, 1, ct_matmul(ct_t(tall(A)), tall(C_bar))); /* B̄ = Aᵀ C̄ over all rows at once */
    else
        ct_in_bar(g, 1, ct_matmul(ct_t(A), C_bar));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    int v = ct_sample_variant(s, 3);
    if (v == 1) { /* one matrix against a batch */
        ct_sample_normal(s, 1, ct_shape2(n + 1, n));
        ct_sample_unbatched(s);
        ct_sample_normal(s, 0, ct_shape2(2, n + 1));
        return;
    }
    ct_sample_normal(s, 0, ct_shape2(2, n + 1));
    if (v == 2) ct_sample_unbatched(s); /* a batch against one matrix */
    ct_sample_normal(s, 1, ct_shape2(n + 1, n));
}

const ct_op ct_op_matmul = {
    .name = "matmul", .n_in = 2, .shape = shape, .forward = forward, .vjp = vjp, .sample = sample
};

ct_var ct_matmul(ct_var a, ct_var b) { return ct_apply(&ct_op_matmul, (ct_var[]){ a, b }, 2, NULL, 0); }
