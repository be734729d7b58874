/* gaussian_nlml:  v = ½ rᵀα + ½ log det C + n/2 log 2π,   C = K + diag(noise),  α = C⁻¹ r
 * adjoint:        C̄ = ½ v̄ (C⁻¹ - ααᵀ),  K̄ = C̄,  noise_bar = diag(C̄),  r̄ = v̄ α     [Rasmussen & Williams 2006, eq. 5.9]
 * One factorisation forward; backward one inverse in place of a copy of its factor: N³/3 and 2N³/3 multiplications and
 * additions, and three N×N arrays in all: K, L and C̄. */
#include <cotangent/op.h>

#include "model.h"

#define LOG_2PI 1.8378770664093454835606594728112

enum { LEAF = 64 };

/* -- the factor: L (n, n) of K + diag(noise), from the lower triangle of K -------------------------------------- */

static ct_shape factor_shape(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 0, -1), m = ct_arg_dim(c, 1, -1);
    ct_require(c, ct_arg_ndim(c, 0) == 2 && ct_arg_dim(c, 0, 0) == n, CT_ESHAPE,
               "the covariance must be square");
    ct_require(c, ct_arg_ndim(c, 1) <= 1 && (m == 1 || m == n), CT_ESHAPE,
               "the noise must have 1 or %lld elements", (long long)n);
    return ct_shape2(n, n);
}

static void factor_forward(ct_call *c)
{
    ct_tensor *L = ct_result(c), *one = ct_scratch(c, ct_tensor_dtype(ct_arg(c, 0)), ct_shape2(1, 1));
    if (!L || !one) return;
    int64_t n = ct_arg_dim(c, 0, 0);
    ct_prim_copy(c, ct_arg(c, 0), L);
    ct_prim_fill(c, one, 1);
    ct_tensor *noise = ct_borrow(c, ct_tensor_broadcast(ct_arg(c, 1), ct_shape1(n)));
    ct_tensor *column = noise ? ct_borrow(c, ct_tensor_unsqueeze(noise, 1)) : NULL;
    ct_tensor *diagonal = ct_borrow(c, ct_tensor_diagonal(L));
    ct_tensor *target = diagonal ? ct_borrow(c, ct_tensor_unsqueeze(diagonal, 1)) : NULL;
    if (!column || !target) return;
    ct_prim_gemm(c, 1, column, one, 1, target);
    ct_prim_potrf(c, L);
}

const ct_op ct__op_gp_factor = {
    .name = "gp_factor", .n_in = 2, .shape = factor_shape, .forward = factor_forward
};

/* -- C̄ = ½ v̄ (C⁻¹ - ααᵀ) from L, α and v̄ ------------------------------------------------------------------------ */

/* Rows and columns of a square matrix, as a view that the caller releases. */
static ct_tensor *block(ct_call *c, ct_tensor *A, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    ct_tensor *strip = ct_tensor_slice(A, 0, row, row + rows, 1);
    ct_tensor *view = strip ? ct_tensor_slice(strip, 1, col, col + cols, 1) : NULL;
    ct_release(strip);
    ct_require(c, view != NULL, CT_ENOMEM, "no memory for a view");
    return view;
}

/* The first half of n, a multiple of the leaves' size. */
static int64_t half(int64_t n) { return (n / 2 + LEAF - 1) / LEAF * LEAF; }

/* L <- L⁻¹ in place:  [L11 0; L21 L22]⁻¹ = [W11 0; -W22 L21 W11, W22]. `identity` is (LEAF, LEAF). */
static void invert_lower(ct_call *c, ct_tensor *L, int64_t n, const ct_tensor *identity, ct_tensor *scratch)
{
    if (n <= LEAF) {
        ct_tensor *unit = block(c, (ct_tensor *)(uintptr_t)identity, 0, n, 0, n),
                  *W = block(c, scratch, 0, n, 0, n);
        if (unit && W) {
            ct_prim_copy(c, unit, W);
            ct_prim_trsm(c, CT_LOWER, 1, L, W);
            ct_prim_copy(c, W, L);
        }
        ct_release(unit);
        ct_release(W);
        return;
    }
    int64_t p = half(n), q = n - p;
    ct_tensor *L11 = block(c, L, 0, p, 0, p), *L21 = block(c, L, p, q, 0, p), *L22 = block(c, L, p, q, p, q);
    if (L11 && L21 && L22) {
        invert_lower(c, L11, p, identity, scratch);
        invert_lower(c, L22, q, identity, scratch);
        ct_prim_trmm(c, CT_LOWER, -1, L22, L21);
        ct_prim_trmm(c, CT_LOWER | CT_RIGHT, 1, L11, L21);
    }
    ct_release(L11);
    ct_release(L21);
    ct_release(L22);
}

/* W <- WᵀW in place, lower blocks; leaves on the diagonal are filled on both sides. */
static void gram_lower(ct_call *c, ct_tensor *W, int64_t n, ct_tensor *scratch)
{
    if (n <= LEAF) {
        ct_tensor *S = block(c, scratch, 0, n, 0, n), *Wt = ct_tensor_transpose(W);
        ct_require(c, Wt != NULL, CT_ENOMEM, "no memory for a view");
        if (S && Wt) {
            ct_prim_gemm(c, 1, Wt, W, 0, S);
            ct_prim_copy(c, S, W);
        }
        ct_release(S);
        ct_release(Wt);
        return;
    }
    int64_t p = half(n), q = n - p;
    ct_tensor *W11 = block(c, W, 0, p, 0, p), *W21 = block(c, W, p, q, 0, p), *W22 = block(c, W, p, q, p, q);
    ct_tensor *W21t = W21 ? ct_tensor_transpose(W21) : NULL;
    ct_require(c, W21t != NULL, CT_ENOMEM, "no memory for a view");
    if (W11 && W22 && W21t) {
        gram_lower(c, W11, p, scratch);
        ct_prim_syrk(c, 1, W21t, 1, W11);
        ct_prim_trmm(c, CT_LOWER | CT_TRANS, 1, W22, W21);
        gram_lower(c, W22, q, scratch);
    }
    ct_release(W11);
    ct_release(W21);
    ct_release(W21t);
    ct_release(W22);
}

/* The strict upper triangle from the lower one. */
static void mirror(ct_call *c, ct_tensor *A, int64_t n, const ct_tensor *identity, ct_tensor *scratch)
{
    if (n <= LEAF) { /* A <- tril(A) + tril(A, -1)ᵀ I */
        ct_tensor *unit = block(c, (ct_tensor *)(uintptr_t)identity, 0, n, 0, n),
                  *S = block(c, scratch, 0, n, 0, n);
        ct_tensor *St = S ? ct_tensor_transpose(S) : NULL;
        ct_require(c, St != NULL, CT_ENOMEM, "no memory for a view");
        if (unit && St) {
            ct_prim_triangle(c, A, false, -1, S);
            ct_prim_triangle(c, A, false, 0, A);
            ct_prim_gemm(c, 1, St, unit, 1, A);
        }
        ct_release(unit);
        ct_release(S);
        ct_release(St);
        return;
    }
    int64_t p = half(n), q = n - p;
    ct_tensor *A11 = block(c, A, 0, p, 0, p), *A21 = block(c, A, p, q, 0, p), *A22 = block(c, A, p, q, p, q);
    ct_tensor *A12 = block(c, A, 0, p, p, q), *A21t = A21 ? ct_tensor_transpose(A21) : NULL;
    ct_require(c, A21t != NULL, CT_ENOMEM, "no memory for a view");
    if (A11 && A12 && A22 && A21t) {
        mirror(c, A11, p, identity, scratch);
        ct_prim_copy(c, A21t, A12);
        mirror(c, A22, q, identity, scratch);
    }
    ct_release(A11);
    ct_release(A12);
    ct_release(A21);
    ct_release(A21t);
    ct_release(A22);
}

static ct_shape bar_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void bar_forward(ct_call *c)
{
    int64_t n = ct_arg_dim(c, 0, 0);
    ct_dtype dtype = ct_tensor_dtype(ct_arg(c, 0));
    ct_tensor *C = ct_result(c), *identity = ct_scratch(c, dtype, ct_shape2(LEAF, LEAF));
    ct_tensor *scratch = ct_scratch(c, dtype, ct_shape2(LEAF, LEAF));
    ct_tensor *diagonal = identity ? ct_borrow(c, ct_tensor_diagonal(identity)) : NULL;
    if (!C || !scratch || !diagonal) return;
    ct_prim_fill(c, identity, 0);
    ct_prim_fill(c, diagonal, 1);
    ct_prim_copy(c, ct_arg(c, 0), C);
    invert_lower(c, C, n, identity, scratch);
    gram_lower(c, C, n, scratch);
    mirror(c, C, n, identity, scratch);

    ct_tensor *transposed = ct_borrow(c, ct_tensor_transpose(ct_arg(c, 1)));
    ct_prim_gemm(c, -0.5, ct_arg(c, 1), transposed, 0.5, C);
    /* times v̄, row by row: a triangular product with a 1×1 matrix works in place */
    ct_tensor *rows = ct_borrow(c, ct_tensor_reshape(C, ct_shape3(n, 1, n)));
    ct_tensor *v_bar = ct_borrow(c, ct_tensor_reshape(ct_arg(c, 2), ct_shape2(1, 1)));
    ct_prim_trmm(c, CT_LOWER, 1, v_bar, rows);
}

static const ct_op bar_op = {
    .name = "gaussian_nlml_bar", .n_in = 3, .shape = bar_shape, .forward = bar_forward
};

/* -- the value with its rule: inputs value, L, alpha (constants), K, noise, r ------------------------------------------ */

static ct_shape value_shape(ct_call *c) { return ct_arg_shape(c, 0); }

static void value_forward(ct_call *c) { ct_prim_copy(c, ct_arg(c, 0), ct_result(c)); }

/* The rule in differentiable ops, where the sweep is recorded. */
static void value_vjp_recorded(ct_vjp *g)
{
    ct_var K = ct_in(g, 3), noise = ct_in(g, 4), r = ct_in(g, 5), v_bar = ct_out_bar(g);
    ct_tape *tape = ct_vjp_tape(g);
    int64_t n = ct_var_shape(K).dim[0];
    ct_tensor *ones = ct_full(ct_tape_device(tape), ct_var_dtype(K), ct_shape1(n), 1);
    ct_var identity = ct_diag_embed(ct_constant(tape, ones));
    ct_release(ones);
    ct_var L = ct_cholesky(ct_add_diag(K, noise));
    ct_var alpha = ct_cholesky_solve(L, r);
    ct_var inverse = ct_cholesky_solve(L, identity);
    ct_var C_bar = ct_scale(ct_mul(v_bar, ct_sub(inverse, ct_matmul(alpha, ct_t(alpha)))), 0.5);
    ct_in_bar(g, 3, C_bar);
    ct_in_bar(g, 4, ct_diag(C_bar));
    ct_in_bar(g, 5, ct_mul(v_bar, alpha));
}

static void value_vjp(ct_vjp *g)
{
    if (ct_recording(g)) {
        value_vjp_recorded(g);
        return;
    }
    ct_var alpha = ct_in(g, 2), v_bar = ct_out_bar(g);
    if (ct_wants(g, 3) || ct_wants(g, 4)) {
        ct_var C_bar = ct_apply(&bar_op, (ct_var[]){ ct_in(g, 1), alpha, v_bar }, 3, NULL, 0);
        ct_in_bar(g, 3, C_bar);
        ct_in_bar(g, 4, ct_diag(C_bar));
    }
    ct_in_bar(g, 5, ct_mul(v_bar, alpha));
}

static const ct_op value_op = {
    .name = "gaussian_nlml", .n_in = 6, .shape = value_shape, .forward = value_forward, .vjp = value_vjp
};

static ct_var nlml_compose(ct_tape *tape, const ct_var *in, int n_in, const void *attr)
{
    (void)n_in;
    (void)attr;
    ct_shape shape = ct_var_shape(in[0]);
    int64_t n = shape.ndim == 2 ? shape.dim[0] : -1;
    int64_t count = ct_shape_count(ct_var_shape(in[2]));
    if (n < 0 || n != count)
        ct_tape_fail(tape, CT_ESHAPE,
                     "gaussian_nlml: a residual of %lld elements for a covariance of %lld rows",
                     (long long)count, (long long)n);
    ct_var r = ct_reshape(in[2], ct_shape2(n, 1));
    ct_no_grad_begin(tape);
    ct_var L = ct_apply(&ct__op_gp_factor, in, 2, NULL, 0);
    ct_var alpha = ct_cholesky_solve(L, r);
    ct_var fit = ct_sum(ct_mul(r, alpha), CT_ALL, false);
    ct_var value = ct_shift(ct_scale(ct_add(fit, ct_cholesky_logdet(L)), 0.5), 0.5 * LOG_2PI * (double)n);
    ct_no_grad_end(tape);
    return ct_apply(&value_op, (ct_var[]){ value, L, alpha, in[0], in[1], r }, 6, NULL, 0);
}

static void nlml_sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    ct_sample_spd(s, 0, n);
    ct_sample_uniform(s, 1, ct_shape1(ct_sample_variant(s, 2) ? n : 1), 0.1, 1);
    ct_sample_normal(s, 2, ct_shape1(n));
}

const ct_op ct__op_gaussian_nlml = {
    .name = "gaussian_nlml", .n_in = 3, .compose = nlml_compose, .sample = nlml_sample
};

ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise)
{
    return ct_apply(&ct__op_gaussian_nlml, (ct_var[]){ ct_cov(kernel, theta, X, X), noise, r }, 3, NULL, 0);
}
