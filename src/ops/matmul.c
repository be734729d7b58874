/* matmul:   C = A B                 A: (..., m, k)  B: (..., k, n) -> C: (..., m, n), batches broadcast
 * adjoint:  Ā = C̄ Bᵀ,  B̄ = Aᵀ C̄                                                [Giles 2008, §2.2.2]
 *
 * From dC = dA B + A dB: ⟨C̄, dA B⟩ = ⟨C̄ Bᵀ, dA⟩. With flags the same op is C = op(A) op(B), where op
 * transposes. With these flags, the rule consists of the same op, and no transpose is recorded or stored.
 * If a batch of A shares one B, it is treated as one tall matrix: a single product, forward and for B̄. */
#include "support.h"

enum { TRANS_A = 1, TRANS_B = 2 };

extern const ct_op ct_op_matmul;

static ct_var product(ct_var a, ct_var b, unsigned flags)
{
    return ct_apply(&ct_op_matmul, (ct_var[]){ a, b }, 2, flags ? &flags : NULL, sizeof flags);
}

static ct_shape shape(ct_call *c)
{
    if (!ct__need_matrices(c, 0)) return ct_shape0();
    unsigned flags = ct__flags(ct_attr(c));
    const ct_view *A = ct__arg_view(c, 0), *B = ct__arg_view(c, 1);
    const int64_t *a = A->dim + A->ndim - 2, *b = B->dim + B->ndim - 2;
    int row_a = flags & TRANS_A ? 1 : 0, row_b = flags & TRANS_B ? 1 : 0;
    if (a[1 - row_a] != b[row_b])
        ct_require(
            c, false, CT_ESHAPE,
            "inner dimensions differ (%lld vs %lld): the columns of the first must be the rows of the second",
            (long long)a[1 - row_a], (long long)b[row_b]);
    return ct__need_batch(c, 0, 1, a[row_a], b[1 - row_b]);
}

/* The shape of a batch as one tall matrix */
static ct_shape tall_shape(ct_shape s)
{
    int64_t rows = 1;
    for (int i = 0; i < s.ndim - 1; i++) rows *= s.dim[i];
    return ct_shape2(rows, s.dim[s.ndim - 1]);
}

static ct_var tall(ct_var x)
{
    ct_shape shape = ct_var_shape(x);
    return shape.ndim > 2 ? ct_reshape(x, tall_shape(shape)) : x;
}

/* op(v): v or, in *copy, its transpose. Only the existing dimensions are copied, because copying the whole
 * struct slows a small product measurably. */
static const ct_view *op_of(const ct_view *v, bool transpose, ct_view *copy)
{
    if (!transpose) return v;
    int row = v->ndim - 2, col = v->ndim - 1;
    copy->storage = v->storage, copy->data = v->data, copy->dtype = v->dtype, copy->ndim = v->ndim;
    for (int i = 0; i < row; i++) copy->dim[i] = v->dim[i], copy->stride[i] = v->stride[i];
    copy->dim[row] = v->dim[col], copy->stride[row] = v->stride[col];
    copy->dim[col] = v->dim[row], copy->stride[col] = v->stride[row];
    return copy;
}

static void forward(ct_call *c)
{
    unsigned flags = ct__flags(ct_attr(c));
    const ct_view *A = ct__arg_view(c, 0), *B = ct__arg_view(c, 1);
    ct_view *C = ct__result_view(c), A_room, B_room, C_room;
    if (!C) return;
    if (B->ndim == 2 && A->ndim > 2 && !(flags & TRANS_A) && ct__is_contiguous(A)) {
        A_room = ct_view_reshape(*A, tall_shape(ct__shape(A))), A = &A_room;
        C_room = ct_view_reshape(*C, tall_shape(ct__shape(C))), C = &C_room;
    }
    ct__gemm(c, 1, op_of(A, flags & TRANS_A, &A_room), op_of(B, flags & TRANS_B, &B_room), 0, C);
}

/* The rule:
 *     Ā = C̄ op(B)ᵀ, or its transpose op(B) C̄ᵀ if A was transposed,
 *     B̄ = op(A)ᵀ C̄, or its transpose C̄ᵀ op(A) if B was. */
static void rule(ct_rule *g, unsigned ta, unsigned tb)
{
    ct_var A = ct_in(g, 0), B = ct_in(g, 1), C_bar = ct_out_bar(g);
    ct_in_bar(g, 0,
              ta ? product(B, C_bar, (tb ? TRANS_A : 0) | TRANS_B) : product(C_bar, B, tb ? 0 : TRANS_B));
    if (!ct_wants(g, 1)) return;
    if (!ta && ct_tensor_ndim(ct_value(B)) == 2) A = tall(A), C_bar = tall(C_bar);
    ct_in_bar(g, 1,
              tb ? product(C_bar, A, TRANS_A | (ta ? TRANS_B : 0)) : product(A, C_bar, ta ? 0 : TRANS_A));
}

/* x̄_i += op(X) op(Y) for two matrices, without recording an op: gemm itself adds to the cotangent that has
 * arrived. */
static void give(ct_rule *g, int i, const ct_view *x, const ct_view *y, unsigned flags)
{
    ct_view x_room, y_room;
    ct__give_product(g, i, op_of(x, flags & TRANS_A, &x_room), op_of(y, flags & TRANS_B, &y_room));
}

static void vjp(ct_rule *g)
{
    unsigned flags = ct__flags(ct_rule_attr(g)), ta = flags & TRANS_A, tb = flags & TRANS_B;
    const ct_view *A = ct__in_value(g, 0), *B = ct__in_value(g, 1);
    if (!A || !B) return;
    if (ct_recording(g) || A->ndim > 2 || B->ndim > 2) {
        rule(g, ta, tb);
        return;
    }
    const ct_view *C_bar = ct__out_bar(g);
    if (ta)
        give(g, 0, B, C_bar, (tb ? TRANS_A : 0) | TRANS_B);
    else
        give(g, 0, C_bar, B, tb ? 0 : TRANS_B);
    if (tb)
        give(g, 1, C_bar, A, TRANS_A | (ta ? TRANS_B : 0));
    else
        give(g, 1, A, C_bar, ta ? 0 : TRANS_A);
}

static void draw(ct_sample *s, int i)
{
    int64_t n = ct_sample_size(s);
    ct_sample_normal(s, i, i == 0 ? ct_shape2(2, n + 1) : ct_shape2(n + 1, n));
}

static void sample(ct_sample *s) { ct__sample_pair(s, ct_sample_variant(s, 3), draw); }

const ct_op ct_op_matmul = { .name = "matmul",
                             .n_in = 2,
                             .shape = shape,
                             .forward = forward,
                             .vjp = vjp,
                             .jvp = ct_jvp_multilinear,
                             .jvp_stacked = true,
                             .sample = sample,
                             .half = true,
                             .number = { 2, CT_MAP_mul, .ndim = 2 } };

ct_var ct_matmul(ct_var a, ct_var b) { return product(a, b, 0); }
