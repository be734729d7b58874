/* gather_matmul:  out_i = A_i C_{q_i}      A: (N, I, J)  C: (M, J, K)  q: (N) i64 -> out: (N, I, K)
 * adjoint:        with ḡ the cotangent of out:  Ā_i = ḡ_i C_{q_i}ᵀ,  C̄_m = Σ_{i : q_i = m} A_iᵀ ḡ_i
 *                                                                                   [Giles 2008, §2.2.2]
 *
 * gather_matmul(A, C, q) is grouped_matmul(A, C, group_by(q)). Computing group by group copies no C_{q_i},
 * and sums each C̄_m in one place and a fixed order. The product, its transposed form A_i C_{q_i}ᵀ and the
 * sums A_iᵀ G_i are closed under differentiation: the rule of each is written in the others. */
#include "jvp/jvp.h"
#include "support.h"

static const ct_op grouped_op;

static ct_var times(ct_var A, ct_var C, ct_var groups)
{
    return ct_apply(&grouped_op, (ct_var[]){ A, C, groups }, 3, NULL, 0);
}

/* Whether A and C have three dimensions, and the groups hold N positions in M groups. If not, refuses the
 * call. */
static bool fits(ct_call *c)
{
    ct_view A = ct_arg(c, 0), C = ct_arg(c, 1), groups = ct_arg(c, 2);
    return ct_require(c, groups.dtype == CT_I64, CT_EDTYPE, "the groups must be i64: see ct_group_by") &&
           ct_require(c, A.ndim == 3 && C.ndim == 3 && groups.ndim == 1, CT_ESHAPE,
                      "wanted A (N, I, J), C (M, J, K) and groups (M + 1 + N)") &&
           ct_require(c, groups.dim[0] - 1 - A.dim[0] == C.dim[0], CT_ESHAPE,
                      "the groups do not divide %lld rows into %lld groups: use ct_group_by(q, %lld)",
                      (long long)A.dim[0], (long long)C.dim[0], (long long)C.dim[0]);
}

static bool same_inner(ct_call *c, int64_t a, int64_t b)
{
    return ct_require(c, a == b, CT_ESHAPE, "inner dimensions differ (%lld vs %lld)", (long long)a,
                      (long long)b);
}

static ct_view dense(ct_call *c, int i) { return ct_contiguous(c, ct_arg(c, i)); }

/* grouped_matmul: out_i = A_i C_{q_i} */
static ct_shape shape(ct_call *c)
{
    if (!fits(c) || !same_inner(c, ct_arg_dim(c, 0, 2), ct_arg_dim(c, 1, 1))) return ct_shape0();
    return ct_shape3(ct_arg_dim(c, 0, 0), ct_arg_dim(c, 0, 1), ct_arg_dim(c, 1, 2));
}

static void forward(ct_call *c)
{
    ct_prim_grouped_gemm(c, dense(c, 0), dense(c, 1), dense(c, 2), ct_result(c));
}

/* grouped_times_t:  out_i = G_i C_{q_i}ᵀ     G: (N, I, K)  C: (M, J, K) -> (N, I, J)
 * adjoint:          Ḡ_i = ḡ_i C_{q_i},  C̄_m = Σ_{i : q_i = m} ḡ_iᵀ G_i */
static ct_var times_t(ct_var G, ct_var C, ct_var groups);
/* grouped_sum:  D_m = Σ_{i : q_i = m} A_iᵀ G_i    A: (N, I, J)  G: (N, I, K) -> (M, J, K)
 * adjoint:      Ā_i = G_i D̄_{q_i}ᵀ,  Ḡ_i = A_i D̄_{q_i} */
static ct_var sums(ct_var A, ct_var G, ct_var groups);

static ct_shape times_t_shape(ct_call *c)
{
    return ct_shape3(ct_arg_dim(c, 0, 0), ct_arg_dim(c, 0, 1), ct_arg_dim(c, 1, 1));
}

static void times_t_forward(ct_call *c)
{
    ct_prim_grouped_gemm_bar(c, ct_no_view(), dense(c, 1), dense(c, 0), dense(c, 2), ct_result(c),
                             ct_no_view());
}

static void times_t_vjp(ct_rule *g)
{
    ct_var groups = ct_in(g, 2), out_bar = ct_out_bar(g);
    ct_in_bar(g, 0, times(out_bar, ct_in(g, 1), groups));
    ct_in_bar(g, 1, sums(out_bar, ct_in(g, 0), groups));
}

static void times_t_jvp(ct_rule *g) { ct__jvp_folded(g, (ct__fold[]){ { 1, 1 }, { 1, 2 } }); }

static const ct_op times_t_op = { .name = "grouped_times_t",
                                  .n_in = 3,
                                  .shape = times_t_shape,
                                  .forward = times_t_forward,
                                  .vjp = times_t_vjp,
                                  .jvp = times_t_jvp,
                                  .jvp_stacked = true,
                                  .half = true,
                                  .integers = 1 << 2 };

static ct_var times_t(ct_var G, ct_var C, ct_var groups)
{
    return ct_apply(&times_t_op, (ct_var[]){ G, C, groups }, 3, NULL, 0);
}

static ct_shape sums_shape(ct_call *c)
{
    return ct_shape3(ct_arg_dim(c, 2, 0) - 1 - ct_arg_dim(c, 0, 0), ct_arg_dim(c, 0, 2), ct_arg_dim(c, 1, 2));
}

static void sums_forward(ct_call *c)
{
    ct_prim_grouped_gemm_bar(c, dense(c, 0), ct_no_view(), dense(c, 1), dense(c, 2), ct_no_view(),
                             ct_result(c));
}

static void sums_vjp(ct_rule *g)
{
    ct_var groups = ct_in(g, 2), D_bar = ct_out_bar(g);
    ct_in_bar(g, 0, times_t(ct_in(g, 1), D_bar, groups));
    ct_in_bar(g, 1, times(ct_in(g, 0), D_bar, groups));
}

static void sums_jvp(ct_rule *g) { ct__jvp_folded(g, (ct__fold[]){ { 2, 1 }, { 2, 2 } }); }

static const ct_op sums_op = { .name = "grouped_sum",
                               .n_in = 3,
                               .shape = sums_shape,
                               .forward = sums_forward,
                               .vjp = sums_vjp,
                               .jvp = sums_jvp,
                               .jvp_stacked = true,
                               .half = true,
                               .integers = 1 << 2 };

static ct_var sums(ct_var A, ct_var G, ct_var groups)
{
    return ct_apply(&sums_op, (ct_var[]){ A, G, groups }, 3, NULL, 0);
}

/* grouped_bars: (A, C, ḡ, groups) -> Ā, C̄. Computes both cotangents together, so that each row is read once.
 * Not differentiable. */
static ct_shape bars_shape(ct_call *c)
{
    ct_more_out(c, 1, ct_arg(c, 1).dtype, ct_arg_shape(c, 1));
    return ct_arg_shape(c, 0);
}

static void bars_forward(ct_call *c)
{
    ct_prim_grouped_gemm_bar(c, dense(c, 0), dense(c, 1), dense(c, 2), dense(c, 3), ct_result(c),
                             ct_result_at(c, 1));
}

static const ct_op bars_op = { .name = "grouped_bars",
                               .n_in = 4,
                               .shape = bars_shape,
                               .forward = bars_forward,
                               .half = true,
                               .integers = 1 << 3 };

static void vjp(ct_rule *g)
{
    ct_var A = ct_in(g, 0), C = ct_in(g, 1), groups = ct_in(g, 2), out_bar = ct_out_bar(g);
    if (!ct_recording(g) && ct_wants(g, 0) && ct_wants(g, 1)) {
        ct_var A_bar = ct_apply(&bars_op, (ct_var[]){ A, C, out_bar, groups }, 4, NULL, 0);
        ct_give_in_bar(g, 0, A_bar);
        ct_give_in_bar(g, 1, ct_output(A_bar, 1));
        return;
    }
    ct_in_bar(g, 0, times_t(out_bar, C, groups));
    ct_in_bar(g, 1, sums(A, out_bar, groups));
}

/* Tangents of A_i are further rows of it, those of C_m further columns. */
static void jvp(ct_rule *g) { ct__jvp_folded(g, (ct__fold[]){ { 1, 1 }, { 2, 2 } }); }

static const ct_op grouped_op = { .name = "grouped_matmul",
                                  .n_in = 3,
                                  .shape = shape,
                                  .forward = forward,
                                  .vjp = vjp,
                                  .jvp = jvp,
                                  .jvp_stacked = true,
                                  .half = true,
                                  .integers = 1 << 2 };

ct_var ct_grouped_matmul(ct_var A, ct_var C, ct_var groups) { return times(A, C, groups); }

static ct_var compose(ct_call *c)
{
    ct_view A = ct_arg(c, 0), C = ct_arg(c, 1);
    if (!ct__need_index(c, 2) || !ct_require(c, A.ndim == 3 && C.ndim == 3 && A.dim[0] == ct_arg_dim(c, 2, 0),
                                             CT_ESHAPE, "wanted A (N, I, J), C (M, J, K) and an index (N)"))
        return ct_none();
    return times(ct_arg_var(c, 0), ct_arg_var(c, 1), ct_group_by(ct_arg_var(c, 2), C.dim[0]));
}

static void sample(ct_sample *s)
{
    int64_t n = ct_sample_size(s);
    ct_sample_unbatched(s);
    switch (ct_sample_variant(s, 3)) {
    case 0: /* matrices of C that are used often, or never */
        ct_sample_normal(s, 0, ct_shape3(n, 1, 3));
        ct_sample_normal(s, 1, ct_shape3(4, 3, n));
        ct_sample_index(s, 2, ct_shape1(n), 3);
        break;
    case 1: /* more than one row for each product; many groups */
        ct_sample_normal(s, 0, ct_shape3(n, 2, 2));
        ct_sample_normal(s, 1, ct_shape3(n, 2, 3));
        ct_sample_index(s, 2, ct_shape1(n), n);
        break;
    default: /* a long inner dimension; one group */
        ct_sample_normal(s, 0, ct_shape3(2, 2, n));
        ct_sample_normal(s, 1, ct_shape3(1, n, 2));
        ct_sample_index(s, 2, ct_shape1(2), 1);
    }
}

const ct_op ct_op_gather_matmul = {
    .name = "gather_matmul", .n_in = 3, .compose = compose, .sample = sample, .half = true, .integers = 1 << 2
};

ct_var ct_gather_matmul(ct_var A, ct_var C, ct_var q)
{
    return ct_apply(&ct_op_gather_matmul, (ct_var[]){ A, C, q }, 3, NULL, 0);
}
