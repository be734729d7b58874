/* Random fills, gather and scatter_add, squared distances, and the device's description. */
#include "cpu_support.h"

#include <omp.h>

static const ct_backend *const cpu = &ct__cpu_backend;

/* Known answers of Philox4x32-10 at counter 0, key 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8 [Random123's
 * kat_vectors] */
static void the_first_block_is_philox(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    ct_tensor *x = ct_zeros(dev, CT_F64, ct_shape1(2)), *y = ct_zeros(dev, CT_F32, ct_shape1(4));
    assert_ok(cpu->random(dev, false, 0, 0, &x->view), "");
    assert_ok(cpu->random(dev, false, 0, 0, &y->view), "");
    assert_true(element(x, 0) == (double)(0xe169c58d6627e8d5u >> 11) * 0x1p-53);
    assert_true(element(x, 1) == (double)(0x9b00dbd8bc57ac4cu >> 11) * 0x1p-53);
    assert_true(element(y, 0) == 0x6627e8 * 0x1p-24 && element(y, 3) == 0x9b00db * 0x1p-24);
    assert_ok(cpu->random(dev, true, 0, 0, &x->view), "");
    double u = (double)(0xe169c58d6627e8d5u >> 11) * 0x1p-53,
           v = (double)(0x9b00dbd8bc57ac4cu >> 11) * 0x1p-53;
    assert_close(element(x, 0), sqrt(-2 * log(u)) * cos(2 * acos(-1) * v), 1e-14, 0);
    assert_close(element(x, 1), sqrt(-2 * log(u)) * sin(2 * acos(-1) * v), 1e-14, 0);
    ct_release(x);
    ct_release(y);
    ct_device_close(dev);
}

static void element_i_is_a_function_of_seed_stream_and_i(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        ct_device *dev = open_cpu(1), *dev3 = open_cpu(3);
        ct_dtype dtype = kind % 2 ? CT_F32 : CT_F64;
        bool normal = kind / 2;
        ct_tensor *all = ct_zeros(dev, dtype, ct_shape1(30011)),
                  *again = ct_zeros(dev3, dtype, ct_shape1(30011));
        assert_ok(cpu->random(dev, normal, 1u << 31, 5, &all->view), "");
        assert_ok(cpu->random(dev3, normal, 1u << 31, 5, &again->view), "");
        for (int64_t i = 0; i < 30011; i++) assert_true(element(all, i) == element(again, i));
        for (int layout = 0; layout < OUT_LAYOUTS; layout++) {
            ct_tensor *x = blank(dev, dtype, ct_shape3(7, 33, 65), layout);
            assert_ok(cpu->random(dev, normal, 1u << 31, 5, &x->view), "");
            for (int64_t i = 0; i < ct_tensor_count(x); i++) assert_true(element(x, i) == element(all, i));
            if (layout == SLICED) assert_contained(x);
            ct_release(x);
        }
        for (int other = 0; other < 2; other++) {
            assert_ok(
                cpu->random(dev, normal, other ? 1ull << 63 : 1u << 31, other ? 5 : 1ull << 40, &again->view),
                "");
            int same = 0;
            for (int64_t i = 0; i < 1000; i++) same += element(all, i) == element(again, i);
            assert_true(same < 3);
        }
        ct_release(all);
        ct_release(again);
        ct_device_close(dev);
        ct_device_close(dev3);
    }
}

static void moments_of_the_draws(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    const int64_t n = 1000000;
    for (int kind = 0; kind < 4; kind++) {
        bool normal = kind / 2;
        ct_tensor *x = ct_zeros(dev, kind % 2 ? CT_F32 : CT_F64, ct_shape1(n));
        assert_ok(cpu->random(dev, normal, 42, 0, &x->view), "");
        double sum = 0, square = 0, fourth = 0, neighbours = 0, low = 1, high = 0, before = 0;
        for (int64_t i = 0; i < n; i++) {
            double v = element(x, i), c = normal ? v : (v - 0.5) * sqrt(12);
            sum += c, square += c * c, fourth += c * c * c * c, neighbours += c * before;
            before = c;
            low = fmin(low, v), high = fmax(high, v);
        }
        assert_close(sum / (double)n, 0, 0, 4e-3);
        assert_close(square / (double)n, 1, 0, 6e-3);
        assert_close(fourth / (double)n, normal ? 3 : 1.8, 0, 5e-2);
        assert_close(neighbours / (double)n, 0, 0, 4e-3);
        if (!normal) assert_true(low > 0 && high < 1);
        ct_release(x);
    }
    ct_device_close(dev);
}

static ct_shape rows_of(int s, int64_t rows)
{
    const ct_shape trailing[] = { ct_shape1(rows), ct_shape2(rows, 5), ct_shape3(rows, 2, 3),
                                  ct_shape2(rows, 0), ct_shape_of(4, (int64_t[]){ rows, 2, 1, 40 }) };
    return trailing[s];
}

static void rows_are_gathered_and_added_back(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        ct_device *dev = open_cpu(threads);
        for (int s = 0; s < 5; s++)
            for (int layout = 0; layout < LAYOUTS; layout++)
                for (int dtype = 0; dtype < 3; dtype++)
                    for (int64_t k = 0; k <= 2000; k = k * 20 + 5) {
                        ct_tensor *x = sample(dev, (ct_dtype)dtype, rows_of(s, 7), layout, 1);
                        ct_tensor *index =
                            sample(dev, CT_I64, ct_shape1(k), layout == SLICED ? SLICED : CONTIGUOUS, 2);
                        ct_tensor *y = blank(dev, (ct_dtype)dtype, rows_of(s, k), layout % OUT_LAYOUTS);
                        assert_ok(cpu->gather(dev, &x->view, &index->view, &y->view), ct_message(dev));
                        int64_t width = ct_tensor_count(x) / 7;
                        for (int64_t i = 0; i < k * width; i++) {
                            int64_t row = (int64_t)element(index, i / width);
                            assert_true(element(y, i) == element(x, row * width + i % width));
                        }
                        ct_tensor *sum =
                            blank(dev, (ct_dtype)dtype, rows_of(s, 7), (layout + 1) % OUT_LAYOUTS);
                        assert_ok(cpu->fill(dev, &sum->view, 1), "");
                        assert_ok(cpu->scatter_add(dev, &y->view, &index->view, &sum->view), ct_message(dev));
                        double wanted[7] = { 1, 1, 1, 1, 1, 1, 1 };
                        for (int64_t i = 0; i < k && width; i++) {
                            double *w = &wanted[(int64_t)element(index, i)];
                            *w = dtype == CT_F32 ? (double)((float)*w + (float)element(y, i * width))
                                                 : *w + element(y, i * width);
                        }
                        for (int64_t i = 0; i < 7 && width; i++)
                            assert_true(element(sum, i * width) == wanted[i]);
                        ct_release(x);
                        ct_release(index);
                        ct_release(y);
                        ct_release(sum);
                    }
        ct_device_close(dev);
    }
}

static void a_wrong_index_is_named(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(1);
    const int64_t wrong[2][3] = { { 0, 2, 3 }, { 1, -1, 0 } };
    for (int i = 0; i < 2; i++) {
        ct_tensor *index = ct_from(dev, CT_I64, ct_shape1(3), wrong[i]);
        ct_tensor *x = ct_zeros(dev, CT_F64, ct_shape2(3, 2)), *y = ct_full(dev, CT_F64, ct_shape2(3, 2), 5);
        const char *text = i ? "index[1] = -1 is outside [0, 3)" : "index[2] = 3 is outside [0, 3)";
        assert_status(cpu->gather(dev, &x->view, &index->view, &y->view), CT_EINDEX, "");
        assert_non_null(strstr(ct_message(dev), text));
        assert_status(cpu->scatter_add(dev, &x->view, &index->view, &y->view), CT_EINDEX, "");
        assert_non_null(strstr(ct_message(dev), text));
        for (int j = 0; j < 6; j++) assert_true(element(y, j) == 5);
        ct_release(index);
        ct_release(x);
        ct_release(y);
    }
    ct_device_close(dev);
}

static void squared_distances(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 5, 3, 2 }, { 70, 130, 20 },
                                        { 3, 4, 0 }, { 0, 3, 2 }, { 200, 150, 3 } };
    ct_device *dev = open_cpu(2);
    for (int s = 0; s < 6; s++)
        for (int batch = 0; batch < 3; batch++)
            for (int lx = 0; lx < LAYOUTS; lx++)
                for (int ly = 0; ly < LAYOUTS; ly++) {
                    ct_dtype dtype = (lx + ly) % 2 ? CT_F32 : CT_F64;
                    int64_t n = sizes[s][0], m = sizes[s][1], d = sizes[s][2], dim[4] = { 2, batch, n, d };
                    int ndim = batch ? 4 : 2;
                    ct_tensor *x = sample(dev, dtype, ct_shape_of(ndim, dim + 4 - ndim), lx, 1);
                    dim[2] = m;
                    ct_tensor *y = sample(dev, dtype, ct_shape_of(ndim, dim + 4 - ndim), ly, 2);
                    dim[2] = n, dim[3] = m;
                    ct_tensor *out =
                        blank(dev, dtype, ct_shape_of(ndim, dim + 4 - ndim), (lx + ly) % OUT_LAYOUTS);
                    assert_ok(cpu->sqdist(dev, &x->view, &y->view, &out->view), "");
                    for (int64_t i = 0; i < ct_tensor_count(out); i++) {
                        int64_t b = i / (n * m), row = i / m % n, col = i % m;
                        double sum = 0;
                        for (int64_t k = 0; k < d; k++) {
                            double difference = entry(x, b, row, k) - entry(y, b, col, k);
                            sum += difference * difference;
                        }
                        assert_close(element(out, i), sum, tolerance(dtype), tolerance(dtype));
                    }
                    if ((lx + ly) % OUT_LAYOUTS == SLICED) assert_contained(out);
                    ct_release(x);
                    ct_release(y);
                    ct_release(out);
                }
    ct_tensor *x = sample(dev, CT_F32, ct_shape2(60, 5), SLICED, 8),
              *out = ct_zeros(dev, CT_F32, ct_shape2(60, 60));
    assert_ok(cpu->sqdist(dev, &x->view, &x->view, &out->view), "");
    for (int64_t i = 0; i < 60; i++)
        for (int64_t j = 0; j < 60; j++) {
            assert_true(i != j || entry(out, 0, i, j) == 0);
            assert_true(entry(out, 0, i, j) == entry(out, 0, j, i));
        }
    ct_release(x);
    ct_release(out);
    ct_device_close(dev);
}

static void the_device_describes_itself(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    const char *text = ct_device_description(dev);
    assert_string_equal(ct_device_name(dev), "cpu");
    assert_non_null(strstr(text, "cpu: "));
    assert_non_null(strstr(text, ", 2 threads, tuned for "));
    assert_non_null(strstr(text, " GiB"));
    assert_true(ct_memory(dev).limit > 1 << 20);
    ct_device_close(dev);
}

/* OpenBLAS waits for ever in a region with fewer threads than OpenMP had said. */
static void assert_next_team_is_whole(const char *after)
{
    const int limit = omp_get_thread_limit(), most = omp_get_max_threads(),
              wanted = most < limit ? most : limit;
    int got = 0;
#pragma omp parallel
#pragma omp master
    got = omp_get_num_threads();
    if (got != wanted) fail_msg("after %s a team has %d of %d threads", after, got, wanted);
}

static void a_team_of_one_leaves_the_next_whole(void **state)
{
    (void)state;
    ct_device *dev = open_cpu(2);
    ct_tensor *x = ct_full(dev, CT_F64, ct_shape2(3, 3), 1), *y = ct_zeros(dev, CT_F64, ct_shape2(3, 3)),
              *packed = ct_zeros(dev, CT_F64, ct_shape2(6, 1)), *index = ct_zeros(dev, CT_I64, ct_shape1(3));
    assert_ok(cpu->gather(dev, &x->view, &index->view, &y->view), "");
    assert_next_team_is_whole("gather");
    assert_ok(cpu->scatter_add(dev, &x->view, &index->view, &y->view), "");
    assert_next_team_is_whole("scatter_add");
    assert_ok(cpu->sqdist(dev, &x->view, &x->view, &y->view), "");
    assert_next_team_is_whole("sqdist");
    assert_ok(cpu->recurrence(dev, false, &x->view, &x->view, &y->view), "");
    assert_next_team_is_whole("recurrence");
    assert_ok(cpu->pack_lower(dev, &x->view, &packed->view), "");
    assert_next_team_is_whole("pack_lower");
    for (int k = 0; k < 4; k++) ct_release((ct_tensor *[]){ x, y, packed, index }[k]);
    ct_device_close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_block_is_philox),
        cmocka_unit_test(element_i_is_a_function_of_seed_stream_and_i),
        cmocka_unit_test(moments_of_the_draws),
        cmocka_unit_test(rows_are_gathered_and_added_back),
        cmocka_unit_test(a_team_of_one_leaves_the_next_whole),
        cmocka_unit_test(a_wrong_index_is_named),
        cmocka_unit_test(squared_distances),
        cmocka_unit_test(the_device_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
