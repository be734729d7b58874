/* Products over groups against naive loops: every instruction set of this CPU, sizes around those of tiles
 * and panels, groups of all kinds, divided among threads at any place. The file under test is included, as
 * its variants are static. */
#include "cpu_support.h"

#include "../../src/tensor/cpu/grouped.c"

#include <math.h>

typedef struct sizes {
    int64_t N, M, I, J, K;
    int skew; /* 0: any group, 1: nearly all in one, 2: one group each, where M = N */
} sizes;

static const sizes all_sizes[] = {
    { 40, 7, 1, 64, 64, 0 },  { 40, 7, 2, 5, 3, 0 },     { 9, 9, 1, 33, 17, 2 },   { 30, 4, 3, 300, 70, 1 },
    { 250, 3, 1, 8, 130, 1 }, { 20, 50, 1, 66, 34, 0 },  { 1, 1, 1, 1, 1, 0 },     { 120, 1, 1, 16, 96, 0 },
    { 12, 5, 1, 0, 4, 0 },    { 12, 5, 1, 4, 0, 0 },     { 0, 3, 1, 4, 4, 0 },     { 12, 5, 0, 4, 4, 0 },
    { 64, 6, 2, 515, 31, 0 }, { 700, 11, 1, 32, 32, 1 }, { 333, 111, 2, 7, 9, 0 }, { 20, 2, 1, 400, 300, 0 }
};

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 3 * ((double)(*state >> 11) * 0x1p-53 - 0.5);
}

/* Inputs, groups, and expected results. */
typedef struct scene {
    ct_device *dev;
    const sizes *s;
    ct_tensor *A, *C, *G, *q, *groups, *out, *A_bar, *C_bar;
    double *wanted[3];
} scene;

static ct_tensor *drawn(ct_device *dev, ct_dtype dtype, ct_shape shape, uint64_t seed)
{
    return sample(dev, dtype, shape, 0, seed);
}

static void naive(scene *c)
{
    const sizes *s = c->s;
    double *A = numbers(c->A), *C = numbers(c->C), *G = numbers(c->G), *q = numbers(c->q);
    for (int64_t i = 0; i < s->N; i++)
        for (int64_t r = i * s->I; r < (i + 1) * s->I; r++)
            for (int64_t j = 0; j < s->J; j++)
                for (int64_t k = 0; k < s->K; k++) {
                    const int64_t m = ((int64_t)q[i] * s->J + j) * s->K + k;
                    const double a = A[r * s->J + j], g = G[r * s->K + k];
                    c->wanted[0][r * s->K + k] += a * C[m];
                    c->wanted[1][r * s->J + j] += g * C[m];
                    c->wanted[2][m] += a * g;
                }
    free(A), free(C), free(G), free(q);
}

static void build(scene *c, ct_device *dev, ct_dtype dtype, const sizes *s)
{
    *c = (scene){ .dev = dev, .s = s };
    c->A = drawn(dev, dtype, ct_shape3(s->N, s->I, s->J), 1);
    c->C = drawn(dev, dtype, ct_shape3(s->M, s->J, s->K), 2);
    c->G = drawn(dev, dtype, ct_shape3(s->N, s->I, s->K), 3);
    int64_t *q = calloc((size_t)s->N + 1, sizeof *q);
    assert_non_null(q);
    uint64_t state = 4;
    for (int64_t i = 0; i < s->N; i++) {
        double u = draw(&state) / 3 + 0.5;
        q[i] = s->skew == 2 ? s->N - 1 - i : s->skew == 1 && u < 0.9 ? s->M / 2 : (int64_t)(u * (double)s->M);
    }
    c->q = ct_from(dev, CT_I64, ct_shape1(s->N), q);
    free(q);
    c->groups = ct_empty(dev, CT_I64, ct_shape1(s->M + 1 + s->N));
    assert_int_equal(ct__cpu_group_by(dev, &c->q->view, &c->groups->view), CT_OK);
    ct_shape shapes[] = { ct_tensor_shape(c->G), ct_tensor_shape(c->A), ct_tensor_shape(c->C) };
    ct_tensor **out[] = { &c->out, &c->A_bar, &c->C_bar };
    for (int k = 0; k < 3; k++) {
        *out[k] = ct_full(dev, dtype, shapes[k], NAN);
        c->wanted[k] = calloc((size_t)ct_shape_count(shapes[k]) + 1, sizeof(double));
        assert_non_null(c->wanted[k]);
    }
    naive(c);
}

static void clear(scene *c)
{
    ct_tensor *t[] = { c->A, c->C, c->G, c->q, c->groups, c->out, c->A_bar, c->C_bar };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) ct_release(t[i]);
    for (int k = 0; k < 3; k++) free(c->wanted[k]);
}

static void assert_wanted(const ct_tensor *t, const double *wanted, const char *what)
{
    double largest = 1;
    for (int64_t i = 0; i < ct_tensor_count(t); i++) largest = fmax(largest, fabs(wanted[i]));
    for (int64_t i = 0; i < ct_tensor_count(t); i++)
        if (!(fabs(element(t, i) - wanted[i]) <= tolerance(t->view.dtype) * largest))
            fail_msg("%s: element %lld is %.17g, not %.17g", what, (long long)i, element(t, i), wanted[i]);
}

static void test_instruction_sets(void **state)
{
    (void)state;
    const size_t variants = 2 * (size_t)(ct__best_isa() + 1);
    ct_device *dev = open_cpu(1);
    for (size_t twice = 0; twice < 2 * variants; twice++)
        for (size_t k = 0, v = twice / 2; k < sizeof all_sizes / sizeof *all_sizes; k++) {
            scene c;
            const sizes *s = &all_sizes[k];
            const int isa = (int)(v / 2);
            const ct_dtype dtype = v % 2 ? CT_F32 : CT_F64;
            ct__run_rows *run = kernel_of(isa, dtype);
            char name[32];
            snprintf(name, sizeof name, "instruction set %d, %s", isa, ct_dtype_name(dtype));
            build(&c, dev, dtype, s);
            char *panel = ct__host_alloc(dev, CT__GROUP_SCRATCH);
            assert_non_null(panel);
            ct__grouped q = { s->N,
                              s->M,
                              s->I,
                              s->J,
                              s->K,
                              .A = c.A->view.data,
                              .C = c.C->view.data,
                              .out = c.out->view.data };
            q.dtype = dtype, q.offset = c.groups->view.data, q.order = q.offset + s->M + 1;
            q.stream_out = q.stream_D = twice % 2;
            const place from[] = { { 0, 0 }, { s->M, 0 } };
            run_piece(&q, run, from, 0, NULL, panel);
            q.G = c.G->view.data, q.out = c.A_bar->view.data, q.D = c.C_bar->view.data;
            run_piece(&q, run, from, 0, NULL, panel);
            assert_wanted(c.out, c.wanted[0], name);
            assert_wanted(c.A_bar, c.wanted[1], name);
            assert_wanted(c.C_bar, c.wanted[2], name);
            ct__host_free(dev, panel, CT__GROUP_SCRATCH);
            clear(&c);
        }
    ct_device_close(dev);
}

static const ct_dtype dtypes[] = { CT_F64, CT_F32, CT_BF16, CT_F16 };
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Any division of the work gives every row and every sum once. */
static void test_pieces(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    for (size_t k = 0; k < DTYPES * (sizeof all_sizes / sizeof *all_sizes); k++)
        for (int pieces = 1; pieces <= 13; pieces += 4) {
            scene c;
            const sizes *s = &all_sizes[k / DTYPES];
            const ct_dtype dtype = dtypes[k % DTYPES];
            build(&c, dev, dtype, s);
            ct__grouped q = {
                s->N, s->M, s->I, s->J, s->K, .A = c.A->view.data, .C = c.C->view.data, .G = c.G->view.data
            };
            q.offset = c.groups->view.data, q.order = q.offset + s->M + 1, q.dtype = dtype, q.isa = dev->isa;
            q.out = c.A_bar->view.data, q.D = c.C_bar->view.data;
            sums room = { .bytes = ct__aligned((size_t)(s->J * s->K) * sizeof(double)) };
            size_t scratch_bytes = scratch_of(&q), room_bytes = 26 * room.bytes + 64;
            char *scratch = ct__host_alloc(dev, scratch_bytes);
            room.data = ct__host_alloc(dev, room_bytes);
            place from[14];
            int64_t total = cost_before(&q, s->M);
            for (int p = 0; p <= pieces; p++) from[p] = cut(&q, total * p / pieces);
            for (int p = pieces - 1; p >= 0; p--)
                run_piece(&q, kernel_of(dev->isa, dtype), from, p, &room, scratch);
            add_heads(&q, from, pieces, &room);
            assert_wanted(c.A_bar, c.wanted[1], "rows");
            assert_wanted(c.C_bar, c.wanted[2], "sums");
            ct__host_free(dev, scratch, scratch_bytes);
            ct__host_free(dev, room.data, room_bytes);
            clear(&c);
        }
    ct_device_close(dev);
}

/* The device's own functions, with threads: right numbers, the same bits every time, also for each cotangent
 * alone. */
static void test_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        ct_device *dev = open_cpu(threads);
        for (size_t k = 0; k < DTYPES * (sizeof all_sizes / sizeof *all_sizes); k++) {
            scene c, again;
            const ct_dtype dtype = dtypes[k % DTYPES];
            build(&c, dev, dtype, &all_sizes[k / DTYPES]);
            build(&again, dev, dtype, &all_sizes[k / DTYPES]);
            assert_int_equal(ct__cpu_grouped_gemm(dev, &c.A->view, &c.C->view, &c.groups->view, &c.out->view),
                             CT_OK);
            assert_int_equal(ct__cpu_grouped_gemm_bar(dev, &c.A->view, &c.C->view, &c.G->view,
                                                      &c.groups->view, &c.A_bar->view, &c.C_bar->view),
                             CT_OK);
            assert_wanted(c.out, c.wanted[0], "out");
            assert_wanted(c.A_bar, c.wanted[1], "A_bar");
            assert_wanted(c.C_bar, c.wanted[2], "C_bar");
            assert_int_equal(ct__cpu_grouped_gemm_bar(dev, NULL, &again.C->view, &again.G->view,
                                                      &again.groups->view, &again.A_bar->view, NULL),
                             CT_OK);
            assert_int_equal(ct__cpu_grouped_gemm_bar(dev, &again.A->view, NULL, &again.G->view,
                                                      &again.groups->view, NULL, &again.C_bar->view),
                             CT_OK);
            for (int64_t i = 0; i < ct_tensor_count(c.A); i++)
                assert_true(element(c.A_bar, i) == element(again.A_bar, i));
            for (int64_t i = 0; i < ct_tensor_count(c.C); i++)
                assert_true(element(c.C_bar, i) == element(again.C_bar, i));
            clear(&c);
            clear(&again);
        }
        ct_device_close(dev);
    }
}

static void test_group_by(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    const int64_t q[] = { 2, 0, 2, 4, 0, 2 }, wanted[] = { 0, 2, 2, 5, 5, 6, 1, 4, 0, 2, 5, 3 };
    ct_tensor *index = ct_from(dev, CT_I64, ct_shape1(6), q), *groups = ct_empty(dev, CT_I64, ct_shape1(12));
    assert_int_equal(ct__cpu_group_by(dev, &index->view, &groups->view), CT_OK);
    assert_memory_equal(groups->view.data, wanted, sizeof wanted);
    ct_release(groups);
    groups = ct_empty(dev, CT_I64, ct_shape1(4 + 1 + 6));
    assert_int_equal(ct__cpu_group_by(dev, &index->view, &groups->view), CT_EINDEX);
    assert_non_null(strstr(ct_message(dev), "index[3] = 4 is outside [0, 4)"));
    ((int64_t *)index->view.data)[1] = -7;
    assert_int_equal(ct__cpu_group_by(dev, &index->view, &groups->view), CT_EINDEX);
    assert_non_null(strstr(ct_message(dev), "index[1] = -7 is outside [0, 4)"));
    ct_release(index);
    ct_release(groups);
    ct_device_close(dev);
}

/* Groups that group_by did not make are refused before anything is read or written out of bounds. */
static void test_bad_groups(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    scene c;
    const sizes s = { 6, 5, 1, 2, 2, 0 };
    build(&c, dev, CT_F64, &s);
    int64_t *x = c.groups->view.data, good[12];
    memcpy(good, x, sizeof good);
    const struct {
        int at;
        int64_t value;
    } bad[] = { { 0, 1 },   { 0, -1 }, { 5, 5 },  { 5, 1000 },     { 2, -3 },
                { 3, 100 }, { 6, -1 }, { 11, 6 }, { 8, INT64_MAX } };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        memcpy(x, good, sizeof good);
        x[bad[k].at] = bad[k].value;
        assert_int_equal(ct__cpu_grouped_gemm(dev, &c.A->view, &c.C->view, &c.groups->view, &c.out->view),
                         CT_EINDEX);
        assert_int_equal(ct__cpu_grouped_gemm_bar(dev, &c.A->view, &c.C->view, &c.G->view, &c.groups->view,
                                                  &c.A_bar->view, &c.C_bar->view),
                         CT_EINDEX);
        assert_non_null(strstr(ct_message(dev), "ct_group_by"));
    }
    clear(&c);
    ct_device_close(dev);
}

/* Memory (rows, members, cols + 1) as members of rows x cols: the blocks of columns of a wide matrix, with a
 * gap each. */
static ct_tensor blocks_of(const ct_tensor *memory)
{
    ct_tensor blocks = *memory;
    blocks.view = ct_view_permute(memory->view, (int[]){ 1, 0, 2 });
    blocks.view.dim[2]--;
    return blocks;
}

/* gemm's path for few rows: odd sizes, blocks of columns, B transposed or not, C = A B and C += A B, the same
 * bits for any number of threads. */
static void test_few_rows(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = { /* members, rows, depth, columns */
                                         { 1, 128, 64, 64 }, { 3, 16, 33, 500 },  { 5, 131, 300, 65 },
                                         { 2, 256, 40, 97 }, { 1, 37, 4096, 32 }, { 4, 64, 257, 130 },
                                         { 1, 70, 131, 577 }
    };
    for (size_t k = 0; k < 8 * (sizeof shapes / sizeof *shapes); k++) {
        const int64_t *z = shapes[k / 8], members = z[0], rows = z[1], depth = z[2], columns = z[3];
        const ct_dtype dtype = k % 2 ? CT_F32 : CT_F64;
        const bool turned = k / 2 % 2, add = k / 4 % 2;
        char *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            ct_device *dev = open_cpu(threads);
            ct_tensor *a_memory = drawn(dev, dtype, ct_shape3(rows, members, depth + 1), 1),
                      *b_memory =
                          drawn(dev, dtype,
                                ct_shape3(members, turned ? columns : depth, turned ? depth : columns), 2),
                      *c_memory = drawn(dev, dtype, ct_shape3(rows, members, columns + 1), 3),
                      *before = ct_tensor_clone(c_memory);
            ct_tensor A = blocks_of(a_memory), B = *b_memory, C = blocks_of(c_memory),
                      C_before = blocks_of(before);
            if (turned) B.view = ct_view_transpose(B.view);
            assert_int_equal(ct__cpu_gemm(dev, 1, &A.view, &B.view, add, &C.view), CT_OK);
            const size_t bytes = (size_t)ct_tensor_count(c_memory) * ct_dtype_size(dtype);
            if (first) {
                assert_memory_equal(first, c_memory->view.data, bytes);
            } else {
                first = malloc(bytes);
                assert_non_null(first);
                memcpy(first, c_memory->view.data, bytes);
                double *a = numbers(&A), *b = numbers(&B);
                for (int64_t i = 0; i < members * rows * columns; i++) {
                    const int64_t m = i / (rows * columns), r = i / columns % rows, c = i % columns;
                    double wanted = add ? element(&C_before, i) : 0, size = fabs(wanted);
                    for (int64_t l = 0; l < depth; l++) {
                        double p = a[(m * rows + r) * depth + l] * b[(m * depth + l) * columns + c];
                        wanted += p, size += fabs(p);
                    }
                    const double eps = dtype == CT_F64 ? 0x1p-52 : 0x1p-23;
                    assert_true(fabs(element(&C, i) - wanted) <= (double)(depth + 4) * eps * size);
                }
                free(a), free(b);
                for (int64_t i = columns; i < ct_tensor_count(c_memory); i += columns + 1)
                    assert_true(element(c_memory, i) == element(before, i));
            }
            ct_release(a_memory), ct_release(b_memory), ct_release(c_memory), ct_release(before);
            ct_device_close(dev);
        }
        free(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instruction_sets), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_threads),          cmocka_unit_test(test_group_by),
        cmocka_unit_test(test_bad_groups),       cmocka_unit_test(test_few_rows)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
