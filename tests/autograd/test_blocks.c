/* The compositions of primitives on a matrix in blocks: the same factor, solution and inverse however the
 * blocks lie, what is flagged, and what is refused. */
#include "one_tape.h"

#include <cotangent/op.h>

typedef struct blocks {
    ct_view B11, B21, B22;
} blocks;

enum { APART, SQUARE, PARTS_OF_SQUARE, PACKED, WAYS };

/* Room for a matrix of n rows, all of it NaN; no blocks where the way has no form for this n. */
static blocks room(ct_call *c, int way, ct_dtype dtype, int64_t n)
{
    const int64_t n1 = n - n / 2, n2 = n / 2, odd = n % 2, even = n ? 1 - odd : 0;
    ct_view all = ct_scratch(c, dtype, ct_shape2(n + 3, n + 3)), far = ct_scratch(c, dtype, ct_shape2(n, n));
    ct_prim_fill(c, all, NAN);
    ct_prim_fill(c, far, NAN);
    ct_view square = ct_view_block(all, 0, n, 0, n);
    if (way == SQUARE)
        return (blocks){ square, ct_view_block(all, 0, 0, 0, n), ct_view_block(all, 0, 0, 0, 0) };
    if (way == PARTS_OF_SQUARE)
        return (blocks){ ct_view_block(square, 0, n1, 0, n1), ct_view_block(square, n1, n, 0, n1),
                         ct_view_block(square, n1, n, n1, n) };
    if (way == APART)
        return (blocks){ ct_view_block(square, 0, n1, 0, n1), ct_view_block(far, 0, n2, 0, n1),
                         ct_view_transpose(ct_view_block(far, n - n2, n, n - n2, n)) };
    return (blocks){ ct_view_transpose(ct_view_block(all, 0, n1, even, even + n1)),
                     ct_view_transpose(ct_view_block(all, 0, n1, even + n1, even + n)),
                     ct_view_block(all, odd, odd + n2, 0, n2) };
}

/* Lower triangles between blocks and a square; the strict upper triangles stay as they are. */
static void move(ct_call *c, const blocks *b, ct_view square, bool out)
{
    const int64_t n1 = ct_view_dim(b->B11, 0), n = ct_view_dim(square, 0);
    for (int64_t i = 0; i < n; i++) {
        const bool low = i >= n1;
        ct_view parts[] = { low ? ct_view_block(b->B21, i - n1, i - n1 + 1, 0, n1)
                                : ct_view_block(b->B11, i, i + 1, 0, i + 1),
                            low ? ct_view_block(b->B22, i - n1, i - n1 + 1, 0, i - n1 + 1)
                                : ct_view_block(b->B22, 0, 0, 0, 0) };
        for (int part = 0, at = 0; part < 1 + low; part++) {
            const int64_t cols = ct_view_dim(parts[part], 1);
            ct_view whole = ct_view_block(square, i, i + 1, at, at + cols);
            ct_prim_copy(c, out ? parts[part] : whole, out ? whole : parts[part]);
            at += (int)cols;
        }
    }
}

/* C_ij = 1/(1 + (i - j)²), and n on the diagonal */
static ct_tensor *matrix(ct_dtype dtype, int64_t n)
{
    double host[40 * 40];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            host[i * n + j] = i == j ? (double)n : 1 / (1 + (double)((i - j) * (i - j)));
    ct_tensor *wide = ct_from(device, CT_F64, ct_shape2(n, n), host), *C = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return C;
}

/* Whether the largest element of |a - b| is at most the tolerance. */
static void near(ct_call *c, ct_view a, ct_view b, double tolerance, const char *what, int way, int64_t n)
{
    ct_view gap = ct_scratch(c, a.dtype, ct_view_shape(a)), most = ct_scratch(c, a.dtype, ct_shape0());
    if (ct_view_count(a) == 0) return;
    ct_prim_map2(c, CT_MAP_sub, a, b, gap);
    ct_prim_map1(c, CT_MAP_abs, NULL, gap, gap);
    ct_prim_reduce(c, CT_REDUCE_MAX, gap, most);
    const double error = ct_call_item(c, most);
    if (!(error <= tolerance)) fail_msg("%s, way %d, n = %d: %g", what, way, (int)n, error);
}

static void check_way(ct_call *c, int way, ct_view C, bool inverse)
{
    const int64_t n = ct_view_dim(C, 0);
    const ct_dtype dtype = C.dtype;
    const double tolerance = dtype == CT_F64 ? 1e-13 : 1e-5;
    blocks b = room(c, way, dtype, n);
    ct_view L = ct_scratch(c, dtype, ct_shape2(n, n)), P = ct_scratch(c, dtype, ct_shape2(n, n)),
            z = ct_view_transpose(ct_scratch(c, dtype, ct_shape2(2, n))),
            expected = ct_scratch(c, dtype, ct_shape2(n, 2)), diagonal = ct_scratch(c, dtype, ct_shape1(n)),
            got = ct_scratch(c, dtype, ct_shape2(n, n));
    ct_prim_fill(c, expected, 1);
    ct_prim_copy(c, ct_view_slice(C, 1, 0, n > 0, 1), ct_view_slice(expected, 1, 1, 1 + (n > 0), 1));
    ct_prim_copy(c, expected, z);
    ct_prim_fill(c, got, 0);
    move(c, &b, C, false);
    ct_prim_copy(c, C, L);
    ct_prim_potrf(c, L);
    ct_prim_trsm(c, CT_LOWER, 1, L, expected);
    if (inverse) ct_prim_trsm(c, CT_LOWER | CT_TRANS, 1, L, expected);
    ct_prim_potri(c, C, P);
    ct_prim_triangle(c, P, false, 0, P);

    ct_prim_sweep_blocks(c, inverse, 1e-7, b.B11, b.B21, b.B22, z, diagonal);
    move(c, &b, got, true);
    near(c, got, inverse ? P : L, tolerance, inverse ? "inverse" : "factor", way, n);
    near(c, z, expected, tolerance, "solution", way, n);
    near(c, diagonal, ct_view_diagonal(L), tolerance, "diagonal", way, n);
    if (inverse) return;
    ct_prim_invert_blocks(c, b.B11, b.B21, b.B22);
    move(c, &b, got, true);
    near(c, got, P, tolerance, "inverse of the factor", way, n);
}

static void blocks_lie_anywhere(void **state)
{
    (void)state;
    static const int64_t rows[] = { 0, 1, 2, 3, 8, 39 };
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < 6; i++)
            for (int kind = 0; kind < 4; kind++) {
                ct_tensor *C = matrix(kind & 1 ? CT_F32 : CT_F64, rows[i]);
                ct_call *c = ct_scope_open(tape, "blocks");
                check_way(c, way, ct_view_of(C), kind & 2);
                assert_ok(ct_scope_close(c), ct_tape_message(tape));
                ct_release(C);
            }
}

/* A matrix of ones: its second pivot is 0, and with 1e-8 on the diagonal it is of rounding size. */
static void pivots_are_flagged(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int kind = 0; kind < 3; kind++) {
            ct_call *c = ct_scope_open(tape, "ones");
            blocks b = room(c, way, CT_F64, 4);
            ct_view C = ct_scratch(c, CT_F64, ct_shape2(4, 4)), z = ct_scratch(c, CT_F64, ct_shape2(4, 1)),
                    diagonal = ct_scratch(c, CT_F64, ct_shape1(4));
            ct_prim_fill(c, z, 1);
            ct_prim_fill(c, C, 1);
            ct_prim_fill(c, ct_view_diagonal(C), kind ? 1 + 1e-8 : 1);
            move(c, &b, C, false);
            ct_prim_sweep_blocks(c, true, kind == 1 ? 1e-6 : 0, b.B11, b.B21, b.B22, z, diagonal);
            assert_ok(ct_scope_close(c), ct_tape_message(tape));
            assert_int_equal(ct_tape_status(tape), kind == 2 ? CT_OK : CT_ENUMERIC);
            if (kind != 2) assert_non_null(strstr(ct_tape_message(tape), "leading minor 2 is not positive"));
            ct_tape_reset(tape);
        }
}

static void shapes_are_checked(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        ct_call *c = ct_scope_open(tape, "misfit");
        blocks b = room(c, PACKED, CT_F64, 4);
        ct_view z = ct_scratch(c, CT_F64, ct_shape2(4, 1)), diagonal = ct_scratch(c, CT_F64, ct_shape1(4));
        if (i == 0) b.B21 = b.B11, b.B11 = ct_view_block(b.B11, 0, 1, 0, 1);
        if (i == 1) z = ct_view_reshape(z, ct_shape2(1, 4));
        if (i == 2) diagonal = ct_scratch(c, CT_F64, ct_shape1(3));
        if (i == 3) b.B22 = ct_view_unsqueeze(b.B22, 0);
        if (i == 4) z = ct_scratch(c, CT_F32, ct_shape2(4, 1));
        if (i == 5) z = ct_scratch(c, CT_F64, ct_shape2(4, 0));
        ct_prim_sweep_blocks(c, false, 0, b.B11, b.B21, b.B22, z, diagonal);
        assert_int_equal(ct_scope_close(c), i == 4 ? CT_EDTYPE : CT_ESHAPE);
        ct_tape_reset(tape);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_lie_anywhere),
        cmocka_unit_test(pivots_are_flagged),
        cmocka_unit_test(shapes_are_checked),
    };
    return cmocka_run_group_tests(tests, open_tape, close_tape);
}
