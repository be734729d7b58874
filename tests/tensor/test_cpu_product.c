/* Products in which triangles are zero or not wanted, against three nested loops: extents around tiles,
 * panels and the depth of a panel, layouts, signs, and results in place of an operand. */
#include "cpu_support.h"

#include "tensor/cpu/kernel/isa.h"
#include "tensor/cpu/kernel/microkernels.h"

static void put(ct_dtype dtype, void *x, int64_t at, double value)
{
    if (dtype == CT_F64)
        ((double *)x)[at] = value;
    else
        ((float *)x)[at] = (float)value;
}

static double take(ct_dtype dtype, const void *x, int64_t at)
{
    return dtype == CT_F64 ? ((const double *)x)[at] : (double)((const float *)x)[at];
}

static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(float)((double)(*seed >> 11) * 0x1p-53 - 0.5);
}

/* Runs the case for every type and instruction set. */
static const ct__microkernels *kernels_of(unsigned turn)
{
    return ct__microkernels_of((int)(turn / 32 % (ct__best_isa() + 1)), turn & 16 ? CT_F32 : CT_F64);
}

typedef struct shape {
    const ct__microkernels *kernels;
    unsigned parts;
    int64_t m, n, k;
    bool ta, tb, minus, add;
} shape;

static bool left_is_zero(const shape *s, int64_t i, int64_t p)
{
    return (s->parts & CT__LEFT_LOWER && p > i) || (s->parts & CT__LEFT_UPPER && p < i);
}

static bool right_is_zero(const shape *s, int64_t p, int64_t j)
{
    return (s->parts & CT__RIGHT_LOWER && p < j) || (s->parts & CT__RIGHT_UPPER && p > j);
}

/* The part of B that must not be read is NaN, and so is the memory between rows. */
static void check(const shape *s)
{
    const int64_t m = s->m, n = s->n, k = s->k, lda = (s->ta ? m : k) + 5, ldb = (s->tb ? k : n) + 3,
                  ldc = n + 7;
    const size_t a_size = (size_t)((s->ta ? k : m) * lda), b_size = (size_t)((s->tb ? n : k) * ldb),
                 c_size = (size_t)(m * ldc);
    double *a = malloc(a_size * 8 + 64), *b = malloc(b_size * 8 + 64), *c = malloc(c_size * 8 + 64);
    double *A = malloc((size_t)(m * k + 1) * 8), *B = malloc((size_t)(k * n + 1) * 8),
           *C = malloc((size_t)(m * n + 1) * 8);
    uint64_t seed = 11;
    for (size_t i = 0; i < a_size; i++) put(s->kernels->dtype, a, (int64_t)i, NAN);
    for (size_t i = 0; i < b_size; i++) put(s->kernels->dtype, b, (int64_t)i, NAN);
    for (size_t i = 0; i < c_size; i++) put(s->kernels->dtype, c, (int64_t)i, 77);
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) {
            A[i * k + p] = left_is_zero(s, i, p) ? 0 : noise(&seed);
            put(s->kernels->dtype, a, s->ta ? p * lda + i : i * lda + p, A[i * k + p]);
        }
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < n; j++) {
            B[p * n + j] = right_is_zero(s, p, j) ? 0 : noise(&seed);
            put(s->kernels->dtype, b, s->tb ? j * ldb + p : p * ldb + j,
                right_is_zero(s, p, j) ? NAN : B[p * n + j]);
        }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            C[i * n + j] = noise(&seed);
            put(s->kernels->dtype, c, i * ldc + j, C[i * n + j]);
        }
    void *work = aligned_alloc(64, ct__product_work(s->kernels->dtype, m > n   ? (m > k ? m : k)
                                                                       : n > k ? n
                                                                               : k));
    ct__multiply(s->kernels, s->parts, s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', m, n, k, s->minus ? -1 : 1, a,
                 lda, b, ldb, s->add, c, ldc, work);
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            if (s->parts & CT__OUT_LOWER && j > i) continue;
            for (int64_t p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
            double e = fabs(take(s->kernels->dtype, c, i * ldc + j) - (s->add ? C[i * n + j] : 0) -
                            (s->minus ? -sum : sum));
            if (!(e <= worst)) worst = e;
        }
    if (!(worst <= (double)(k + 1) * (s->kernels->dtype == CT_F64 ? 1e-16 : 6e-8)))
        fail_msg("%s %dx%dx%d, parts %u, %c%c, %s%s: error %g", ct_dtype_name(s->kernels->dtype), (int)m,
                 (int)n, (int)k, s->parts, s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', s->minus ? "minus " : "",
                 s->add ? "added" : "", worst);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = n; j < ldc; j++) assert_true(take(s->kernels->dtype, c, i * ldc + j) == 77);
    free(a), free(b), free(c), free(A), free(B), free(C), free(work);
}

static void products_are_sums(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 3, 8, 24, 31, 64, 129, 300 };
    static const unsigned parts[] = { 0,
                                      CT__LEFT_LOWER,
                                      CT__LEFT_UPPER,
                                      CT__RIGHT_LOWER,
                                      CT__RIGHT_UPPER,
                                      CT__OUT_LOWER,
                                      CT__LEFT_LOWER | CT__RIGHT_LOWER,
                                      CT__LEFT_UPPER | CT__RIGHT_LOWER,
                                      CT__LEFT_LOWER | CT__RIGHT_UPPER,
                                      CT__LEFT_UPPER | CT__RIGHT_UPPER,
                                      CT__LEFT_UPPER | CT__RIGHT_LOWER | CT__OUT_LOWER };
    unsigned turn = 0;
    for (int m = 0; m < 8; m++)
        for (int n = 0; n < 8; n++)
            for (int k = 0; k < 8; k++) {
                if (m + n + k > 18) continue;
                for (size_t p = 0; p < sizeof parts / sizeof *parts; p++, turn += 7)
                    check(&(shape){ kernels_of(turn), parts[p], sizes[m], sizes[n], sizes[k], turn & 1,
                                    turn & 2, turn & 4, turn & 8 });
            }
    for (unsigned t = 0; t < 96; t += 5)
        check(&(shape){ kernels_of(t), CT__LEFT_UPPER | CT__RIGHT_LOWER, 290, 560, 530, t & 1, t & 2, t & 4,
                        t & 8 });
}

/* C may take the place of A where n is that of a tile, or of B where k is. */
static void results_may_take_an_operands_place(void **state)
{
    (void)state;
    enum { ROWS = 70, LD = 96 };
    for (unsigned turn = 0; turn < 96; turn += 8) {
        const ct__microkernels *kernels = kernels_of(turn);
        const ct_dtype dtype = kernels->dtype;
        const bool left = turn & 8;
        double x[ROWS * LD], t[CT__TILE * CT__TILE], X[ROWS * LD];
        void *work = aligned_alloc(64, ct__product_work(dtype, LD));
        uint64_t seed = 3;
        const int64_t m = left ? ROWS : CT__TILE, n = left ? CT__TILE : ROWS;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) put(dtype, x, i * LD + j, X[i * LD + j] = noise(&seed));
        for (int64_t i = 0; i < CT__TILE * CT__TILE; i++) put(dtype, t, i, noise(&seed));
        ct__multiply(kernels, 0, 'N', 'N', m, n, CT__TILE, 1, left ? x : t, left ? LD : CT__TILE,
                     left ? t : x, left ? CT__TILE : LD, 0, x, LD, work);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t p = 0; p < CT__TILE; p++)
                    sum += left ? X[i * LD + p] * take(dtype, t, p * CT__TILE + j)
                                : take(dtype, t, i * CT__TILE + p) * X[p * LD + j];
                assert_close(take(dtype, x, i * LD + j), sum, 0, dtype == CT_F64 ? 1e-14 : 4e-6);
            }
        free(work);
    }
}

static void transposes_and_symmetric_parts(void **state)
{
    (void)state;
    enum { LD = 90 };
    static const int64_t sizes[] = { 1, 7, 16, 33, 70 };
    double x[LD * LD], y[LD * LD];
    for (unsigned turn = 0; turn < 96; turn += 16)
        for (int r = 0; r < 5; r++)
            for (int c = 0; c < 5; c++) {
                const ct__microkernels *kernels = kernels_of(turn);
                const ct_dtype dtype = kernels->dtype;
                const int64_t rows = sizes[r], cols = sizes[c];
                for (int64_t i = 0; i < LD * LD; i++) put(dtype, x, i, (double)i), put(dtype, y, i, -1);
                kernels->transpose(rows, cols, x, LD, y, LD);
                for (int64_t j = 0; j < LD; j++)
                    for (int64_t i = 0; i < LD; i++)
                        assert_true(take(dtype, y, j * LD + i) ==
                                    (i < rows && j < cols ? take(dtype, x, i * LD + j) : -1));
                if (r != c) continue;
                for (int lower = 1; lower >= 0; lower--) {
                    kernels->symmetric_part(lower, rows, x, LD, y, LD);
                    for (int64_t i = 0; i < rows; i++)
                        for (int64_t j = 0; j < (lower ? i + 1 : rows); j++)
                            assert_true(take(dtype, y, i * LD + j) == (double)((i + j) * (LD + 1)) / 2);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums),
        cmocka_unit_test(results_may_take_an_operands_place),
        cmocka_unit_test(transposes_and_symmetric_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
