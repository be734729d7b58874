/* Every primitive with each of its views replaced in turn: by none, by one of another dtype, size, number of
 * dimensions or stride. What its contract does not allow is refused with one line. */
#include "one_tape.h"

#include <cotangent/gp/kernel.h>
#include <cotangent/op.h>

enum { VIEWS = 8 };

static ct_kernel *kernel;
static const ct_cov_program *program;

/* -- the calls ------------------------------------------------------------------------------------------- */

#define CALL(name, ...) \
    static void call_##name(ct_call *c, const ct_view *v) { __VA_ARGS__; }
CALL(copy, ct_prim_copy(c, v[0], v[1]))
CALL(fill, ct_prim_fill(c, v[0], 1))
CALL(map1, ct_prim_map1(c, CT_MAP_exp, NULL, v[0], v[1]))
CALL(map2, ct_prim_map2(c, CT_MAP_mul, v[0], v[1], v[2]))
CALL(axpby, ct_prim_axpby(c, 2, v[0], 3, v[1], v[2]))
CALL(where, ct_prim_where(c, v[0], v[1], v[2], v[3]))
CALL(reduce, ct_prim_reduce(c, CT_REDUCE_SUM, v[0], v[1]))
CALL(position, ct_prim_reduce(c, CT_REDUCE_ARGMAX, v[0], v[1]))
CALL(gather, ct_prim_gather(c, v[0], v[1], v[2]))
CALL(scatter_add, ct_prim_scatter_add(c, v[0], v[1], v[2]))
CALL(group_by, ct_prim_group_by(c, v[0], v[1]))
CALL(grouped_gemm, ct_prim_grouped_gemm(c, v[0], v[1], v[2], v[3]))
CALL(grouped_gemm_bar, ct_prim_grouped_gemm_bar(c, v[0], v[1], v[2], v[3], v[4], v[5]))
CALL(sqdist, ct_prim_sqdist(c, v[0], v[1], v[2]))
CALL(gemm, ct_prim_gemm(c, 1, v[0], v[1], 0, v[2]))
CALL(affine, ct_prim_affine(c, v[0], v[1], v[2], v[3]))
CALL(syrk, ct_prim_syrk(c, 1, v[0], 0, v[1]))
CALL(trsm, ct_prim_trsm(c, CT_LOWER, 1, v[0], v[1]))
CALL(trmm, ct_prim_trmm(c, CT_RIGHT, 1, v[0], v[1]))
CALL(triangle, ct_prim_triangle(c, v[0], true, 0, v[1]))
CALL(recurrence, ct_prim_recurrence(c, false, v[0], v[1], v[2]))
CALL(pack_lower, ct_prim_pack_lower(c, v[0], v[1]))
CALL(unpack_lower, ct_prim_unpack_lower(c, v[0], v[1]))
CALL(potrf, ct_prim_potrf(c, v[0]))
CALL(potrf_lower, ct_prim_potrf_lower(c, 0, v[0]))
CALL(trtri, ct_prim_trtri(c, v[0]))
CALL(lauum, ct_prim_lauum(c, v[0]))
CALL(potri, ct_prim_potri(c, v[0], v[1]))
CALL(getrf, ct_prim_getrf(c, v[0], v[1], v[2]))
CALL(lu_det, ct_prim_lu_det(c, v[0], v[1], v[2]))
CALL(getri, ct_prim_getri(c, v[0], v[1]))
CALL(inverse_bar, ct_prim_inverse_bar(c, false, v[0], v[1], v[2]))
CALL(permute_rows, ct_prim_permute_rows(c, v[0], v[1], false, v[2]))
CALL(qr, ct_prim_qr(c, 0, v[0], v[1]))
CALL(qr_mul, ct_prim_qr_mul(c, false, v[0], v[1], v[2]))
CALL(tri_rcond, ct_prim_tri_rcond(c, v[0], v[1]))
CALL(eigen, ct_prim_eigen(c, v[0], v[1]))
CALL(svd, ct_prim_svd(c, v[0], v[1], v[2], v[3]))
CALL(flag, ct_prim_flag(c, CT_FINITE, v[0], "element %lld", "is not finite", v[1]))
CALL(covariance, ct_prim_covariance(c, program, v[0], v[1], v[2], false, v[3]))
CALL(covariance_bar,
     ct_prim_covariance_bar(c, program, v[0], v[1], v[2],
                            &(ct_cov_bar){ .M = v[3], .u = v[4], .v = v[5], .alpha = 1 }, false, v[6], v[7]))
CALL(gaussians, ct_prim_gaussians(c, program, v[0], v[1], v[2], v[3], 1e-9, v[4], v[5], v[6], v[7]))
CALL(sweep_blocks, ct_prim_sweep_blocks(c, false, 1e-9, v[0], v[1], v[2], v[3], v[4]))
CALL(invert_blocks, ct_prim_invert_blocks(c, v[0], v[1], v[2]))
CALL(flag_pivots, ct_prim_flag_pivots(c, 1e-9, v[0], v[1], v[2]))

/* A view that is right has the shape of these digits; i: of i64. Replaced by
 *     n none   d another dtype   r another row   c another column   m two members   f no first dimension
 *     s every second column
 * it is refused, but for the letters after the blank. */
typedef struct prim {
    const char *name;
    void (*run)(ct_call *c, const ct_view *v);
    const char *views[VIEWS];
} prim;

static const prim prims[] = {
#define ROW(name, ...)                      \
    {                                       \
#        name, call_##name, { __VA_ARGS__ } \
    }
    ROW(copy, "33 dsf", "33 dsm"),
    ROW(fill, "33 drcmfs"),
    ROW(map1, "33 sf", "33 sm"),
    ROW(map2, "33 sf", "33 sf", "33 sm"),
    ROW(axpby, "33 sf", "33 sf", "33 sm"),
    ROW(where, "33 dsf", "33 sf", "33 sf", "33 sm"),
    ROW(reduce, "33 rsm", "13 sf"),
    ROW(position, "33 drs", "i13 sf"),
    ROW(gather, "32 rs", "i4 s", "42 s"),
    ROW(scatter_add, "42 s", "i4 s", "32 rs"),
    ROW(group_by, "i4 s", "i7 c"),
    ROW(grouped_gemm, "423", "234", "i7", "424"),
    ROW(grouped_gemm_bar, "423", "234", "424", "i7", "423 n", "234 n"),
    ROW(sqdist, "32 s", "42 s", "34 sm"),
    ROW(gemm, "32 s", "23 s", "33 sm"),
    ROW(affine, "32 s", "23 s", "33 sf", "33 sm"),
    ROW(syrk, "32 cs", "33 sm"),
    ROW(trsm, "33 s", "32 csm"),
    ROW(trmm, "33 s", "23 rsm"),
    ROW(triangle, "33 s", "33 sm"),
    ROW(recurrence, "23 s", "33 s", "33 sm"),
    ROW(pack_lower, "33 s", "61 sm"),
    ROW(unpack_lower, "61 s", "33 sm"),
    ROW(potrf, "33 dsm"),
    ROW(potrf_lower, "33 dsm"),
    ROW(trtri, "33 dsm"),
    ROW(lauum, "33 dsm"),
    ROW(potri, "33 s", "33 sm"),
    ROW(getrf, "33 s", "33 s", "i3"),
    ROW(lu_det, "233 s", "2", "2"),
    ROW(getri, "33 s", "33 sm"),
    ROW(inverse_bar, "33 s", "33 s", "33 sm"),
    ROW(permute_rows, "32 s", "i3 s", "32 sm"),
    ROW(qr, "32 rs", "12"),
    ROW(qr_mul, "32 s", "12", "34 csm"),
    ROW(tri_rcond, "33 s", "11 s"),
    ROW(eigen, "33", "13"),
    ROW(svd, "32", "12", "32", "22"),
    ROW(flag, "31 rs", "33 nrcsm"),
    ROW(covariance, "2 s", "32 s", "42 s", "34 s"),
    ROW(covariance_bar, "2 s", "32 s", "42 s", "34 s", "3 s", "4 s", "2 ns", "32 ns"),
    ROW(gaussians, "52 s", "532 s", "53 s", "53 s", "53 s", "53 s", "52 s", "53 s"),
    ROW(sweep_blocks, "22 s", "12 s", "11 s", "32 cs", "3 s"),
    ROW(invert_blocks, "22 s", "12 s", "11 s"),
    ROW(flag_pivots, "3 s", "3 sf", "32 nrcsm"),
};

/* -- their views ----------------------------------------------------------------------------------------- */

static ct_shape shape_of(const char *text)
{
    ct_shape s = { 0 };
    for (text += *text == 'i'; *text && *text != ' '; text++) s.dim[s.ndim++] = *text - '0';
    return s;
}

/* 4 on the diagonal of the last two dimensions, else 1. Of i64, `step` times each: three positions, a
 * grouping in two, or the indices of one. */
static ct_tensor *tensor_of(ct_dtype dtype, ct_shape shape, int step)
{
    double x[256];
    int64_t index[256];
    static const int64_t groups[] = { 0, 2, 4, 0, 3, 1, 2 };
    const int64_t n = ct_shape_count(shape), cols = shape.ndim ? shape.dim[shape.ndim - 1] : 1;
    const int64_t rows = shape.ndim > 1 ? shape.dim[shape.ndim - 2] : 1;
    assert_true(n <= 256);
    for (int64_t i = 0; i < n; i++) {
        x[i] = i % cols == i / cols % rows ? 4 : 1;
        index[i] = n / step >= 7 ? groups[i / step % 7] : n / step == 3 ? i / step : i / step % 2;
    }
    if (dtype == CT_I64) return ct_from(device, CT_I64, shape, index);
    ct_tensor *wide = ct_from(device, CT_F64, shape, x), *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return t;
}

/* The view of that text, replaced as the letter says. False if it cannot be. */
static bool replaced(const char *text, char letter, ct_tensor **t, ct_view *v)
{
    ct_shape s = shape_of(text);
    ct_dtype dtype = *text == 'i' ? CT_I64 : CT_F64;
    *t = NULL;
    *v = ct_no_view();
    if (letter == 'n') return true;
    if (letter == 'd') dtype = dtype == CT_I64 ? CT_F64 : CT_F32;
    if (letter == 'r' && s.ndim < 2) return false;
    if (letter == 'r') s.dim[s.ndim - 2]++;
    if (letter == 'c') s.dim[s.ndim - 1]++;
    if (letter == 's') s.dim[s.ndim - 1] *= 2;
    if (letter == 'f' || letter == 'm') {
        const int by = letter == 'f' ? -1 : 1;
        if (by < 0)
            for (int i = 0; i + 1 < s.ndim; i++) s.dim[i] = s.dim[i + 1];
        else
            for (int i = s.ndim; i > 0; i--) s.dim[i] = s.dim[i - 1];
        s.ndim += by;
        if (by > 0) s.dim[0] = 2;
    }
    *t = tensor_of(dtype, s, letter == 's' ? 2 : 1);
    assert_tensor(*t, device);
    *v = ct_view_of(*t);
    if (letter == 's') *v = ct_view_slice(*v, s.ndim - 1, 0, s.dim[s.ndim - 1], 2);
    return true;
}

/* The status of the call with view `which` replaced; CT_OK if it cannot be. Its message must be one line that
 * names the call. */
static ct_status call_with(const prim *p, int which, char letter, bool *tried)
{
    ct_tensor *t[VIEWS] = { NULL };
    ct_view v[VIEWS];
    *tried = true;
    for (int i = 0; i < VIEWS && p->views[i]; i++)
        *tried &= replaced(p->views[i], i == which ? letter : ' ', &t[i], &v[i]);
    ct_status status = CT_OK;
    if (*tried) {
        ct_call *c = ct_scope_open(tape, p->name);
        p->run(c, v);
        status = ct_scope_close(c);
        const char *message = ct_tape_message(tape);
        if (status && (strncmp(message, p->name, strlen(p->name)) || strchr(message, '\n')))
            fail_msg("%s: message: %s", p->name, message);
    }
    for (int i = 0; i < VIEWS; i++) ct_release(t[i]);
    return status;
}

static bool allowed(const char *text, char letter)
{
    const char *may = strchr(text, ' ');
    return may && strchr(may, letter);
}

static void every_view_is_checked(void **state)
{
    (void)state;
    static const char letters[] = "ndrcmfs";
    for (size_t k = 0; k < sizeof prims / sizeof *prims; k++) {
        const prim *p = &prims[k];
        bool tried;
        if (call_with(p, -1, ' ', &tried)) fail_msg("%s is refused: %s", p->name, ct_tape_message(tape));
        for (int i = 0; i < VIEWS && p->views[i]; i++)
            for (const char *letter = letters; *letter; letter++) {
                const ct_status status = call_with(p, i, *letter, &tried);
                if (!tried) continue;
                if (!status != allowed(p->views[i], *letter))
                    print_error("%s, view %d replaced by %c: %d %s\n", p->name, i, *letter, status,
                                status ? ct_tape_message(tape) : "was taken");
                assert_true(!status == allowed(p->views[i], *letter));
                assert_true(!status || status == CT_EINVAL || status == CT_EDTYPE || status == CT_ESHAPE ||
                            status == CT_EINDEX);
                ct_tape_reset(tape);
            }
    }
}

static void no_program(void **state)
{
    (void)state;
    ct_tensor *t = ct_zeros(device, CT_F64, ct_shape2(2, 2));
    const ct_view v = ct_view_of(t);
    for (int k = 0; k < 3; k++) {
        ct_call *c = ct_scope_open(tape, "none");
        if (k == 0) ct_prim_covariance(c, NULL, v, v, v, false, v);
        if (k == 1) ct_prim_covariance_bar(c, program, v, v, v, NULL, false, v, v);
        if (k == 2) assert_false(ct_prim_gaussians(c, NULL, v, v, v, v, 0, v, v, v, v));
        assert_int_equal(ct_scope_close(c), CT_EINVAL);
        assert_non_null(strstr(ct_tape_message(tape), "is NULL"));
        ct_tape_reset(tape);
    }
    ct_release(t);
}

static int open_all(void **state)
{
    kernel = ct_kernel_parse("scale * rbf");
    if (ct_kernel_bind(kernel, 2)) return 1;
    program = ct_kernel_program(kernel);
    return !program || program->n_params != 2 || open_tape(state);
}

static int close_all(void **state)
{
    ct_kernel_free(kernel);
    return close_tape(state);
}

int main(void)
{
    /* The checks are the same for all devices, but a GPU lacks some primitives, and tells of indices late. */
    const struct CMUnitTest tests[] = {
        check_test_if(!getenv("CT_TEST_DEVICE"), cmocka_unit_test(every_view_is_checked)),
        cmocka_unit_test(no_program),
    };
    return cmocka_run_group_tests_name("refusals", tests, open_all, close_all);
}
