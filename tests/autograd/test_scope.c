/* Primitives without an op, on views by value: what they compute, what they refuse, and that a failed scope
 * does nothing, keeps the tape's first error and gives its memory back. */
#include "alloc.h"
#include "one_tape.h"

#include <cotangent/gp/kernel.h>
#include <cotangent/op.h>

static ct_tensor *A; /* 3x4: 0 .. 11 */

static int setup(void **state)
{
    if (open_tape(state)) return -1;
    double a[12];
    for (int i = 0; i < 12; i++) a[i] = i;
    A = ct_from(device, CT_F64, ct_shape2(3, 4), a);
    return A ? 0 : -1;
}

static int teardown(void **state)
{
    ct_release(A);
    return close_tape(state);
}

/* -- views ----------------------------------------------------------------------------------------------- */

/* Checks that the elements of v, at most 12, are those of A at the listed places. */
static void holds(ct_view v, ct_shape shape, const double *expected)
{
    double got[12];
    ct_tensor *out = ct_empty(device, CT_F64, shape);
    ct_call *c = ct_scope_open(tape, "holds");
    assert_true(ct_shape_equal(ct_view_shape(v), shape));
    ct_prim_copy(c, v, ct_view_of(out));
    assert_ok(ct_scope_close(c), ct_tape_message(tape));
    assert_ok(ct_read(out, got, (size_t)ct_tensor_count(out) * sizeof *got), ct_message(device));
    for (int64_t i = 0; i < ct_tensor_count(out); i++) assert_true(got[i] == expected[i]);
    ct_release(out);
}

static void views_nest(void **state)
{
    (void)state;
    ct_view a = ct_view_of(A);
    holds(ct_view_block(a, 1, 3, 1, 3), ct_shape2(2, 2), (double[]){ 5, 6, 9, 10 });
    holds(ct_view_transpose(ct_view_block(a, 1, 3, 1, 3)), ct_shape2(2, 2), (double[]){ 5, 9, 6, 10 });
    holds(ct_view_diagonal(a), ct_shape1(3), (double[]){ 0, 5, 10 });
    holds(ct_view_slice(a, -1, 0, 4, 3), ct_shape2(3, 2), (double[]){ 0, 3, 4, 7, 8, 11 });
    holds(ct_view_squeeze(ct_view_slice(a, 0, 2, 3, 1), 0), ct_shape1(4), (double[]){ 8, 9, 10, 11 });
    holds(ct_view_reshape(a, ct_shape2(-1, 6)), ct_shape2(2, 6),
          (double[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 });
    holds(ct_view_permute(ct_view_slice(a, 1, 0, 2, 1), (int[]){ 1, 0 }), ct_shape2(2, 3),
          (double[]){ 0, 4, 8, 1, 5, 9 });
    holds(ct_view_broadcast(ct_view_unsqueeze(ct_view_diagonal(a), -1), ct_shape2(3, 2)), ct_shape2(3, 2),
          (double[]){ 0, 0, 5, 5, 10, 10 });
    assert_int_equal(ct_view_dim(a, -1), 4);
    assert_int_equal(ct_view_count(a), 12);
    assert_true(ct_view_is_contiguous(a) && !ct_view_is_contiguous(ct_view_transpose(a)));
}

/* A view that cannot be made is the empty view, with a message; so is the failure of the call that is given
 * it. */
static void views_that_are_not_there(void **state)
{
    (void)state;
    ct_view a = ct_view_of(A), t = ct_view_transpose(a);
    const struct {
        ct_view v;
        const char *why;
    } list[] = {
        { ct_view_block(a, 0, 4, 0, 1), "slice 0:4:1 does not fit extent 3" },
        { ct_view_block(a, 0, 1, -1, 1), "slice -1:1:1 does not fit extent 4" },
        { ct_view_slice(a, 2, 0, 1, 1), "there is no dimension 2" },
        { ct_view_slice(a, 0, 0, 1, 0), "step >= 1" },
        { ct_view_transpose(ct_view_reshape(a, ct_shape1(12))), "a transpose needs two dimensions" },
        { ct_view_diagonal(ct_view_reshape(a, ct_shape1(12))), "a diagonal needs two dimensions" },
        { ct_view_reshape(a, ct_shape1(11)), "the number of elements differs" },
        { ct_view_reshape(t, ct_shape1(12)), "clone it first" },
        { ct_view_permute(a, (int[]){ 0, 0 }), "must name each of the 2 dimensions once" },
        { ct_view_permute(a, NULL), "order is NULL" },
        { ct_view_squeeze(a, 0), "only an extent of 1 can be removed" },
        { ct_view_unsqueeze(a, 4), "there is no dimension 4" },
        { ct_view_broadcast(a, ct_shape2(2, 4)), "does not broadcast" },
    };
    const size_t n = sizeof list / sizeof *list;
    for (size_t i = 0; i < n; i++) {
        ct_view more = ct_view_unsqueeze(ct_view_transpose(list[i].v), 0);
        assert_true(!ct_is_view(list[i].v) && !ct_is_view(more));
        assert_int_equal(ct_view_count(more), 0);
        assert_int_equal(ct_view_shape(more).ndim, -1);
    }
    for (size_t i = 0; i < n; i++) {
        ct_view v = i == 0   ? ct_view_block(a, 0, 4, 0, 1)
                    : i == 1 ? ct_view_squeeze(a, 0)
                             : ct_view_reshape(a, ct_shape1(11));
        ct_call *c = ct_scope_open(tape, "lookup");
        ct_prim_fill(c, ct_view_transpose(v), 1);
        assert_false(ct_call_ok(c));
        assert_int_not_equal(ct_scope_close(c), CT_OK);
        assert_non_null(strstr(ct_tape_message(tape), "lookup: "));
        assert_non_null(strstr(ct_tape_message(tape), list[i == 0 ? 0 : i == 1 ? 10 : 6].why));
        ct_tape_reset(tape);
    }
    assert_false(ct_is_view(ct_view_of(NULL)));
    assert_false(ct_is_view(ct_view_slice(a, 2, 0, 1, 1)));
    assert_string_equal(ct_message(device), "there is no dimension 2: use 0 to 1, or -2 to -1");
    assert_false(ct_is_view(ct_view_squeeze(ct_view_reshape(ct_view_block(a, 0, 1, 0, 1), ct_shape0()), 0)));
    assert_string_equal(ct_message(device), "there is no dimension 0 in a scalar");
}

/* -- primitives ------------------------------------------------------------------------------------------ */

/* Primitives of covariances with a program, a cotangent or an output that is not there or does not fit. */
static void refuse_covariance(ct_call *c, int which)
{
    ct_view none = ct_no_view(), x = ct_view_slice(ct_view_of(A), 1, 0, 1, 1),
            theta = ct_scratch(c, CT_F64, ct_shape1(1)), K = ct_scratch(c, CT_F64, ct_shape2(3, 3)),
            narrow = ct_scratch(c, CT_F32, ct_shape2(3, 1));
    ct_cov_bar K_bar = { .M = K, .u = none, .v = none, .alpha = 1 };
    ct_kernel *kernel = ct_kernel_parse("rbf");
    ct_kernel_bind(kernel, 1);
    const ct_cov_program *rbf = ct_kernel_program(kernel);
    switch (which) {
    case 0: ct_prim_covariance(c, NULL, theta, x, none, true, K); break;
    case 1: ct_prim_covariance_bar(c, NULL, theta, x, none, &K_bar, false, theta, none); break;
    case 2: ct_prim_covariance_bar(c, rbf, theta, x, none, NULL, false, theta, none); break;
    case 3: ct_prim_covariance_bar(c, rbf, theta, x, none, &K_bar, false, none, narrow); break;
    case 4: ct_prim_covariance_bar(c, rbf, theta, x, none, &K_bar, false, x, none); break;
    case 5: (void)ct_prim_gaussians(c, NULL, theta, x, x, x, 0, x, x, none, none); break;
    }
    ct_kernel_free(kernel);
}

/* Outputs that fit one matrix, given with a batch of 3. */
static void refuse_batch(ct_call *c, int which)
{
    ct_view batch = ct_scratch(c, CT_F64, ct_shape3(3, 2, 2)),
            row = ct_scratch(c, CT_F64, ct_shape3(1, 1, 2)), one = ct_scratch(c, CT_F64, ct_shape3(1, 1, 1)),
            order = ct_scratch(c, CT_I64, ct_shape2(1, 2)), wide = ct_scratch(c, CT_F64, ct_shape3(3, 1, 4));
    ct_prim_fill(c, batch, 1);
    switch (which) {
    case 0: ct_prim_qr(c, -1, batch, row); break;
    case 1: ct_prim_qr_mul(c, true, batch, row, batch); break;
    case 2: ct_prim_tri_rcond(c, batch, one); break;
    case 3: ct_prim_eigen(c, batch, row); break;
    case 4: ct_prim_getrf(c, batch, batch, order); break;
    case 5: ct_prim_qr(c, -1, batch, ct_view_slice(wide, -1, 0, 4, 2)); break;
    case 6: ct_prim_svd(c, batch, row, batch, batch); break;
    }
}

static void refuse(ct_call *c, int which)
{
    ct_view none = ct_no_view(), a = ct_view_of(A), square = ct_view_block(a, 0, 3, 0, 3);
    ct_view f32 = ct_scratch(c, CT_F32, ct_shape2(3, 4)), whole = ct_scratch(c, CT_I64, ct_shape1(3)),
            out = ct_scratch(c, CT_F64, ct_shape2(3, 4)), pile = ct_scratch(c, CT_F64, ct_shape3(3, 1, 2)),
            half = ct_scratch(c, CT_BF16, ct_shape2(3, 4));
    switch (which) {
    case 0: ct_prim_map1(c, CT_MAP_exp, NULL, a, f32); break;
    case 1: ct_prim_map1(c, CT_MAP_exp, NULL, whole, whole); break;
    case 2: ct_prim_map2(c, CT_MAP_add, a, none, out); break;
    case 3: ct_prim_map2(c, CT_MAP_add, a, pile, out); break;
    case 4: ct_prim_where(c, whole, a, f32, out); break;
    case 5: ct_prim_reduce(c, CT_REDUCE_SUM, a, ct_view_block(out, 0, 2, 0, 1)); break;
    case 6: ct_prim_gather(c, a, whole, square); break;
    case 7: ct_prim_gather(c, a, ct_view_slice(a, 1, 0, 1, 1), out); break;
    case 8: ct_prim_scatter_add(c, a, whole, square); break;
    case 9: ct_prim_group_by(c, whole, whole); break;
    case 10: ct_prim_grouped_gemm(c, pile, pile, whole, pile); break;
    case 11: ct_prim_grouped_gemm_bar(c, none, pile, pile, whole, none, none); break;
    case 12: ct_prim_sqdist(c, a, square, out); break;
    case 13: ct_prim_gemm(c, 1, a, a, 0, out); break;
    case 14: ct_prim_trsm(c, CT_LOWER, 1, a, out); break;
    case 15: ct_prim_qr(c, -1, out, square); break;
    case 16: ct_prim_qr_mul(c, true, out, ct_view_block(out, 0, 1, 0, 3), pile); break;
    case 17: ct_prim_tri_rcond(c, square, square); break;
    case 18: ct_prim_flag(c, CT_FINITE, ct_view_transpose(a), "x", "is not", none); break;
    case 19: ct_prim_copy(c, a, ct_view_broadcast(ct_view_block(out, 0, 1, 0, 4), ct_shape2(3, 4))); break;
    case 20: (void)ct_call_item(c, a); break;
    case 21: ct_prim_where(c, half, a, a, out); break;
    case 22: ct_prim_gather(c, half, whole, half); break;
    case 23: ct_prim_eigen(c, square, out); break;
    case 24: ct_prim_affine(c, a, a, out, out); break;
    case 25: ct_prim_affine(c, square, a, pile, out); break;
    case 26: ct_prim_affine(c, square, a, f32, out); break;
    case 27: ct_prim_triangle(c, square, false, 0, out); break;
    case 28: ct_prim_map1(c, CT_MAP1_COUNT, NULL, a, out); break;
    case 29: ct_prim_map2(c, (ct_map2)-1, a, a, out); break;
    case 30: ct_prim_reduce(c, CT_REDUCE_COUNT, a, ct_view_block(out, 0, 1, 0, 1)); break;
    case 31: ct_prim_flag(c, (ct_domain)3, a, "x", "is not", none); break;
    case 32: ct_more_out(c, 0, CT_F64, ct_shape0()); break;
    case 33: assert_false(ct_require(c, false, CT_OK, "a refusal") || ct_call_ok(c)); break;
    case 34: ct_require(c, false, CT_EINVAL, NULL); break;
    default: which < 41 ? refuse_covariance(c, which - 35) : refuse_batch(c, which - 41);
    }
}

static void every_mistake_has_words(void **state)
{
    (void)state;
    static const char *const says[] = {
        "a primitive was given f64 and f32",
        "a primitive was given i64",
        "a primitive's argument is an empty view",
        "does not broadcast to the result's shape",
        "a primitive was given f32 and f64",
        "each extent of a reduction's result must be the input's, or 1",
        "the index must be i64 (k)",
        "the index must be i64 (k)",
        "the index must be i64 (k)",
        "groups of 3 into -1",
        "groups of 3 into 3 are i64 (7), contiguous",
        "both outputs are empty views",
        "the points of distances do not fit",
        "the matrices of a product do not fit",
        "matrices that are not square",
        "tau must hold min(rows, columns) numbers",
        "do not fit",
        "the result must hold one number for each matrix",
        "needs a contiguous x",
        "is broadcast: it cannot be written",
        "an item needs a tensor of one element",
        "a primitive's condition is bf16",
        "a primitive was given bf16, it takes f64 or f32",
        "eigenvalues are (1, n) for each matrix",
        "the matrices of a product do not fit",
        "does not broadcast to the result's shape",
        "a primitive was given f32 and f64",
        "a triangle keeps the shape of its matrix",
        "there is no function",
        "there is no function",
        "there is no function 7",
        "needs a domain",
        "a scope declares no outputs",
        "a refusal",
        "the format is NULL",
        "program is NULL",
        "program is NULL",
        "the cotangent of the covariance matrix is NULL",
        "a primitive was given f32 and f64",
        "the cotangents must have the shapes of theta and X",
        "program is NULL",
        "tau must hold min(rows, columns) numbers",
        "tau must hold min(rows, columns) numbers",
        "the result must hold one number for each matrix",
        "eigenvalues are (1, n) for each matrix",
        "the order of the rows must be contiguous, with the batch of the factors",
        "tau must hold min(rows, columns) numbers",
        "of r singular values, s is (1, r), U (m, r) and Vt (r, n), all contiguous",
    };
    for (int i = 0; i < (int)(sizeof says / sizeof *says); i++) {
        ct_call *c = ct_scope_open(tape, "mistake");
        refuse(c, i);
        const ct_status s = ct_scope_close(c);
        if (!s || !strstr(ct_tape_message(tape), says[i]))
            fail_msg("%d: %s: \"%s\" lacks \"%s\"", i, ct_status_name(s), ct_tape_message(tape), says[i]);
        ct_tape_reset(tape);
    }
}

/* Without A_bar, a C of any shape changes nothing; without C_bar, an A. */
static void factors_that_are_not_needed(void **state)
{
    (void)state;
    ct_tensor *out[2] = { ct_zeros(device, CT_F64, ct_shape3(1, 2, 2)),
                          ct_zeros(device, CT_F64, ct_shape3(2, 1, 2)) };
    ct_call *c = ct_scope_open(tape, "groups");
    ct_view G = ct_view_reshape(ct_view_slice(ct_view_of(A), 0, 0, 1, 1), ct_shape3(2, 1, 2)),
            none = ct_no_view(), q = ct_scratch(c, CT_I64, ct_shape1(2)),
            groups = ct_scratch(c, CT_I64, ct_shape1(4)), far = ct_scratch(c, CT_F64, ct_shape3(7, 9, 5)),
            ones = ct_scratch(c, CT_F64, ct_shape3(1, 2, 2)),
            x_bar = ct_scratch(c, CT_F64, ct_shape3(2, 1, 2));
    ct_prim_fill(c, q, 0);
    ct_prim_fill(c, ones, 1);
    ct_prim_group_by(c, q, groups);
    ct_prim_grouped_gemm_bar(c, G, far, G, groups, none, ct_view_of(out[0])); /* Σ G_iᵀ G_i */
    ct_prim_grouped_gemm_bar(c, far, ones, G, groups, x_bar, none);           /* G_i 1 */
    ct_prim_copy(c, x_bar, ct_view_of(out[1]));
    assert_ok(ct_scope_close(c), ct_tape_message(tape));
    assert_elements(out[0], 0, 0, 4, 6, 6, 10); /* G = (0 1), (2 3) */
    assert_elements(out[1], 0, 0, 1, 1, 5, 5);
    ct_release(out[0]), ct_release(out[1]);
}

/* C = A Aᵀ + 3 I, its factor, and a solution with it: as gp writes it. */
static void a_system(ct_call *c, ct_view C, ct_view x)
{
    ct_view three = ct_scratch(c, CT_F64, ct_shape0()), line = ct_view_diagonal(C), a = ct_view_of(A);
    ct_prim_fill(c, three, 3);
    ct_prim_gemm(c, 1, a, ct_view_transpose(a), 0, C);
    ct_prim_map2(c, CT_MAP_add, line, three, line);
    ct_prim_potrf(c, C);
    ct_prim_fill(c, x, 1);
    ct_prim_trsm(c, CT_LOWER, 1, C, x);
    ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, C, x);
}

static void a_scope_computes(void **state)
{
    (void)state;
    ct_tensor *x = ct_zeros(device, CT_F64, ct_shape2(3, 1));
    double got[3];
    uint64_t held = 0;
    for (int round = 0; round < 1000; round++) {
        ct_call *c = ct_scope_open(tape, "system"), *inner = ct_scope_open(tape, "inside");
        ct_prim_fill(inner, ct_view_of(x), -1);
        assert_ok(ct_scope_close(inner), ct_tape_message(tape));
        a_system(c, ct_scratch(c, CT_F64, ct_shape2(3, 3)), ct_view_of(x));
        assert_ok(ct_scope_close(c), ct_tape_message(tape));
        if (round == 0) held = ct_memory(device).bytes_now; /* with a late device's note of failures */
    }
    assert_int_equal(ct_memory(device).bytes_now, held);
    assert_ok(ct_read(x, got, sizeof got), ct_message(device));
    /* (A Aᵀ + 3 I) x = 1 */
    double gram[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            gram[i][j] = i == j ? 3 : 0;
            for (int k = 0; k < 4; k++) gram[i][j] += (4 * i + k) * (double)(4 * j + k);
        }
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        for (int j = 0; j < 3; j++) sum += gram[i][j] * got[j];
        assert_true(fabs(sum - 1) < 1e-12);
    }
    ct_release(x);
}

/* A failed factorisation is reported by the tape under the scope's name; the next scope computes nothing. */
static void a_scope_fails(void **state)
{
    (void)state;
    ct_tensor *B = ct_full(device, CT_F64, ct_shape2(2, 2), 1), *x = ct_full(device, CT_F64, ct_shape0(), 7);
    ct_call *c = ct_scope_open(tape, "the factor of B");
    ct_prim_potrf(c, ct_view_of(B));
    (void)ct_scope_close(c);
    assert_int_equal(ct_tape_status(tape), CT_ENUMERIC);
    assert_non_null(strstr(ct_tape_message(tape), "the factor of B: leading minor 2 is not positive"));
    ct_tape_reset(tape);

    c = ct_scope_open(tape, "first");
    ct_require(c, false, CT_EINVAL, "refused, with %d words", 3);
    assert_int_equal(ct_scope_close(c), CT_EINVAL);
    c = ct_scope_open(tape, "second");
    assert_false(ct_call_ok(c));
    ct_prim_fill(c, ct_view_of(x), 1);
    assert_false(ct_is_view(ct_scratch(c, CT_F64, ct_shape1(3))));
    assert_true(isnan(ct_call_item(c, ct_view_of(x))));
    assert_int_equal(ct_scope_close(c), CT_EINVAL);
    assert_non_null(strstr(ct_tape_message(tape), "first: refused, with 3 words"));
    assert_true(ct_tensor_item(x) == 7);
    ct_tape_reset(tape);

    assert_int_equal(ct_scope_close(NULL), CT_EINVAL);
    c = ct_scope_open(NULL, "nowhere");
    assert_false(ct_call_ok(c));
    assert_null(ct_call_device(c));
    ct_prim_fill(c, ct_view_of(x), 1);
    ct_prim_sweep_blocks(c, false, 0, ct_view_of(B), ct_view_of(B), ct_view_of(B), ct_view_of(x),
                         ct_view_of(x));
    assert_int_equal(ct_scope_close(c), CT_EINVAL);
    assert_true(ct_tensor_item(x) == 7);
    ct_release(B), ct_release(x);
}

/* Two results of one sum of k products and a start, both within the bound of docs/half.md; the sizes of
 * normal numbers' products add up to less than 2 k + 40. */
static void assert_rounded_alike(const ct_tensor *x, const ct_tensor *y, int64_t k)
{
    const double u = ct_tensor_dtype(x) == CT_BF16 ? 0x1p-8 : 0x1p-11, e = (double)(k + 1) * 0x1p-24;
    ct_tensor *wide[] = { ct_tensor_cast(x, CT_F64), ct_tensor_cast(y, CT_F64) };
    double got[2][120 * 100];
    for (int i = 0; i < 2; i++)
        assert_ok(ct_read(wide[i], got[i], (size_t)ct_tensor_count(x) * sizeof(double)), ct_message(device));
    for (int64_t i = 0; i < ct_tensor_count(x); i++)
        assert_close(got[0][i], got[1][i], 2.1 * u, 2.1 * e * (double)(2 * k + 40));
    for (int i = 0; i < 2; i++) ct_release(wide[i]);
}

/* C = A B + D is a copy of D to which the product is added, for every dtype, for a B with contiguous rows or
 * columns, and for every way to broadcast D: to the bit in f64 and f32, to rounding in bf16 and f16. */
static void affine_starts_from_a_broadcast_matrix(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 3, 5, 0 }, { 0, 5, 4 }, { 3, 5, 4 }, { 40, 100, 96 } };
    static const ct_dtype dtypes[] = { CT_F64, CT_F32, CT_BF16, CT_F16 };
    enum { MEMBERS = 3, SIZES = sizeof sizes / sizeof *sizes };
    for (int point = 0; point < SIZES * 4 * 2 * 8; point++) {
        const int64_t *s = sizes[point / 64], m = s[0], n = s[1], k = s[2];
        const int way = point % 8;
        const bool columns = point / 8 % 2;
        const ct_dtype dtype = dtypes[point / 16 % 4];
        const ct_shape shape = ct_shape3(MEMBERS, m, n),
                       start = ct_shape3(way & 4 ? MEMBERS : 1, way & 1 ? m : 1, way & 2 ? n : 1);
        const ct_shape shapes[] = { ct_shape3(MEMBERS, m, k), columns ? ct_shape2(n, k) : ct_shape2(k, n),
                                    start };
        ct_tensor *in[3], *out[2];
        for (int i = 0; i < 3; i++) {
            ct_tensor *wide = ct_rand_normal(device, CT_F32, shapes[i], 7, (uint64_t)i);
            in[i] = ct_tensor_cast(wide, dtype);
            ct_release(wide);
        }
        for (int i = 0; i < 2; i++) out[i] = ct_empty(device, dtype, shape);
        ct_view a = ct_view_of(in[0]), b = ct_view_of(in[1]), d = ct_view_of(in[2]);
        if (columns) b = ct_view_transpose(b);
        ct_call *c = ct_scope_open(tape, "affine");
        ct_prim_affine(c, a, b, d, ct_view_of(out[0]));
        ct_prim_copy(c, d, ct_view_of(out[1]));
        ct_prim_gemm(c, 1, a, b, 1, ct_view_of(out[1]));
        assert_ok(ct_scope_close(c), ct_tape_message(tape));
        char got[2][MEMBERS * 40 * 100 * 8];
        const size_t bytes = (size_t)(MEMBERS * m * n) * ct_dtype_size(dtype);
        for (int i = 0; i < 2; i++) assert_ok(ct_read(out[i], got[i], bytes), ct_message(device));
        if (dtype == CT_BF16 || dtype == CT_F16)
            assert_rounded_alike(out[0], out[1], k);
        else
            assert_memory_equal(got[0], got[1], bytes);
        for (int i = 0; i < 3; i++) ct_release(in[i]);
        for (int i = 0; i < 2; i++) ct_release(out[i]);
    }
}

static void memory_runs_out(void **state)
{
    (void)state;
    ct_tensor *x = ct_zeros(device, CT_F64, ct_shape2(300, 1));
    bool failed = true;
    for (int64_t k = 1; failed; k++) {
        ct_device *fresh = ct_device_open(check_device());
        ct_tape *t = ct_tape_new(fresh);
        alloc_fail_at(k);
        ct_call *c = ct_scope_open(t, "greedy");
        ct_view last = ct_no_view();
        for (int i = 0; i < 4; i++) ct_prim_fill(c, last = ct_scratch(c, CT_F64, ct_shape2(300, 30 << i)), i);
        ct_tensor *kept = ct_tensor_of(c, last);
        const ct_status s = ct_scope_close(c);
        failed = alloc_refused();
        alloc_unwatch();
        assert_int_equal(s, failed ? CT_ENOMEM : CT_OK);
        assert_true((kept == NULL) == failed);
        if (kept) assert_true(ct_memory(fresh).bytes_now < 2 * 300 * 240 * 8);
        ct_release(kept);
        assert_int_equal(ct_tape_status(t), s);
        ct_tape_free(t);
        assert_int_equal(ct_memory(fresh).bytes_now, 0);
        ct_device_close(fresh);
    }
    ct_release(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_nest),
        cmocka_unit_test(views_that_are_not_there),
        cmocka_unit_test(every_mistake_has_words),
        cmocka_unit_test(factors_that_are_not_needed),
        cmocka_unit_test(a_scope_computes),
        cmocka_unit_test(a_scope_fails),
        cmocka_unit_test(affine_starts_from_a_broadcast_matrix),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
