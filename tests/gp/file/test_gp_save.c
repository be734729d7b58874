/* The model's file: the same bits come back, and every damage is detected. */
#define _XOPEN_SOURCE 700
#include "gp_device.h"

#include <cotangent/gp/outputs.h>
#include <cotangent/io.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void assert_same_predictions(ct_gp *a, ct_gp *b, const ct_tensor *Xs)
{
    int64_t m = ct_tensor_dim(Xs, 0);
    double *out[2][2];
    for (int i = 0; i < 2; i++) {
        ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(m)),
                  *variance = ct_empty(device, CT_F64, ct_shape1(m));
        assert_ok(ct_gp_predict_noisy(i ? b : a, Xs, mean, variance), ct_message(device));
        out[i][0] = gp_host(mean);
        out[i][1] = gp_host(variance);
        ct_release(mean);
        ct_release(variance);
    }
    for (int j = 0; j < 2; j++) {
        assert_memory_equal(out[0][j], out[1][j], (size_t)m * sizeof(double));
        free(out[0][j]);
        free(out[1][j]);
    }
}

static void the_same_bits_come_back(void **state)
{
    (void)state;
    const ct_dtype dtypes[] = { CT_F64, CT_F32 };
    for (int t = 0; t < 2; t++) {
        gp_data s = gp_data_new(device, dtypes[t], 30, 4);
        ct_tensor *given = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape1(30), 3, 0), device);
        const char *const levels[] = { "", "a level, quoted" };
        const ct_column inputs[] = {
            { .name = "a column, quoted", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 2 },
            { .name = "b", .kind = CT_COLUMN_TIME, .form = CT_TIME_MONTH_FIRST },
            { .name = "c", .kind = CT_COLUMN_FILLED, .fill = 0.1 },
            { .name = "c (missing)", .kind = CT_COLUMN_ABSENT }
        };
        ct_gp_options options = { .mean = CT_MEAN_LINEAR,
                                  .noise = CT_NOISE_GIVEN_PLUS,
                                  .noise_variances = given,
                                  .inputs = inputs,
                                  .output = &(ct_column){ .name = "yield" } };
        ct_gp *gp = gp_of(&s, "scale * rbf(ard) + scale * periodic(dims=0, period=1.5!) * matern32(dims=1)",
                          &options);
        ct_param p = *ct_gp_param(gp, 1);
        p.prior = (ct_prior){ CT_PRIOR_GAMMA, 2, 3 };
        p.upper = 50;
        assert_ok(ct_gp_set_param(gp, 1, &p), ct_message(device));
        ct_fit_options how = { .max_iterations = 5,
                               .objective = t ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD };
        assert_ok(ct_gp_fit(gp, &how), ct_message(device));
        assert_ok(ct_gp_save(gp, path), ct_message(device));
        ct_gp *back = ct_gp_load(device, path);
        assert_gp(back, device);
        assert_same_predictions(gp, back, s.X);
        assert_int_equal(ct_gp_report(back).objective_of, how.objective);
        assert_int_equal(ct_gp_points(back), 30);
        assert_int_equal(ct_gp_dims(back), 4);
        assert_int_equal(ct_gp_dtype(back), dtypes[t]);
        assert_int_equal(ct_gp_params(back), ct_gp_params(gp));
        assert_string_equal(ct_gp_input(back, 0)->name, "a column, quoted");
        assert_int_equal(ct_gp_input(back, 0)->n_levels, 2);
        assert_string_equal(ct_gp_input(back, 0)->levels[0], "");
        assert_string_equal(ct_gp_input(back, 0)->levels[1], "a level, quoted");
        assert_int_equal(ct_gp_input(back, 1)->kind, CT_COLUMN_TIME);
        assert_int_equal(ct_gp_input(back, 1)->form, CT_TIME_MONTH_FIRST);
        assert_int_equal(ct_gp_input(back, 2)->kind, CT_COLUMN_FILLED);
        assert_true(ct_gp_input(back, 2)->fill == 0.1);
        assert_int_equal(ct_gp_input(back, 3)->kind, CT_COLUMN_ABSENT);
        assert_string_equal(ct_gp_output(back)->name, "yield");
        assert_int_equal(ct_gp_output(back)->kind, CT_COLUMN_NUMBER);
        assert_true(ct_gp_nlml_value(back) == ct_gp_nlml_value(gp));
        assert_int_equal(ct_gp_report(back).evaluations, ct_gp_report(gp).evaluations);
        assert_int_equal(ct_gp_report(back).end, CT_FIT_ITERATIONS);
        assert_null(ct_gp_report(back).start);
        for (int64_t i = 0; i < ct_gp_params(gp); i++) {
            const ct_param *a = ct_gp_param(gp, i), *b = ct_gp_param(back, i);
            assert_string_equal(a->name, b->name);
            assert_true(a->value == b->value && a->lower == b->lower && a->upper == b->upper);
            assert_true(a->fixed == b->fixed && a->prior.kind == b->prior.kind && a->prior.a == b->prior.a &&
                        a->prior.b == b->prior.b);
        }
        /* fitting goes on from there */
        assert_ok(ct_gp_fit(gp, NULL), ct_message(device));
        assert_ok(ct_gp_fit(back, NULL), ct_message(device));
        assert_same_predictions(gp, back, s.X);
        ct_gp_free(gp);
        ct_gp_free(back);
        ct_release(given);
        gp_data_free(&s);
    }
}

static void all_damage_is_seen(bool no_factor)
{
    gp_data s = gp_data_new(device, CT_F64, 3, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    const ct_gp_save_options how = { .no_factor = no_factor };
    assert_ok(ct_gp_save_with(gp, path, &how), ct_message(device));
    ct_bytes file;
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    unsigned char *b = file.data;
    for (size_t bit = 0; bit < 8 * file.size; bit++) {
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
        overwrite(path, b, file.size);
        assert_null(ct_gp_load(device, path));
        assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
        b[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (size_t length = 0; length < file.size; length++) {
        overwrite(path, b, length);
        assert_null(ct_gp_load(device, path));
        assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
    }
    ct_bytes_free(device, &file);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void every_flipped_bit_is_seen(void **state)
{
    (void)state;
    all_damage_is_seen(false);
    all_damage_is_seen(true);
}

/* The checksum of the format, bit by bit, to sign forged files with. */
static void sign(unsigned char *data, size_t size)
{
    uint64_t crc = ~(uint64_t)0;
    for (size_t i = 0; i + 8 < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xc96c5795d7870f42u : 0);
    }
    crc = ~crc;
    for (int k = 0; k < 8; k++) data[size - 8 + (size_t)k] = (unsigned char)(crc >> 8 * k);
}

/* Any byte may be wrong under a right checksum: no crash, no huge allocation, and no NaN with CT_OK. */
static void forge_all(bool no_factor)
{
    const ct_gp_save_options how = { .no_factor = no_factor };
    gp_data s = gp_data_new(device, CT_F64, 3, 1);
    const char *const levels[] = { "a", "b" };
    const ct_column input = { .name = "s", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 2 };
    ct_gp *gp = gp_of(&s, "scale * category", &(ct_gp_options){ .inputs = &input });
    assert_ok(ct_gp_save_with(gp, path, &how), ct_message(device));
    ct_bytes file;
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    unsigned char *b = file.data;
    const unsigned char values[] = { 0x00, 0x7f, 0x80, 0xff };
    ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(3)), *v = ct_empty(device, CT_F64, ct_shape1(3));
    for (size_t i = 0; i + 8 < file.size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            unsigned char keep = b[i];
            b[i] = values[k];
            sign(b, file.size);
            overwrite(path, b, file.size);
            ct_gp *back = ct_gp_load(device, path);
            if (back && ct_gp_dims(back) == 1 && !ct_gp_predict(back, s.X, m, v)) {
                double *mean = gp_host(m), *variance = gp_host(v);
                for (int j = 0; j < 3; j++) assert_true(isfinite(mean[j]) && variance[j] >= 0);
                free(mean);
                free(variance);
            }
            ct_gp_free(back);
            b[i] = keep;
        }
    ct_release(m);
    ct_release(v);
    ct_bytes_free(device, &file);
    ct_gp_free(gp);
    gp_data_free(&s);
}

static void forged_files_do_no_harm(void **state)
{
    (void)state;
    forge_all(false);
    forge_all(true);
}

/* The contents of the record of this name. */
static unsigned char *record(const ct_bytes *file, const char *name)
{
    const size_t length = strlen(name);
    const unsigned char *first = file->data;
    for (unsigned char *b = (unsigned char *)file->data + file->size - length - 4; b > first;
         b--) /* the last */
        if (b[0] == length && !b[1] && !b[2] && !b[3] && !memcmp(b + 4, name, length)) return b + 4 + length;
    fail_msg("no record %s", name);
    return NULL;
}

/* X, y, alpha and the factor hold finite numbers, whatever the checksum says. */
static void forged_numbers_are_refused(void **state)
{
    (void)state;
    enum { N = 3, OF_FACTOR = 2 + N + N * (N + 1) / 2 };
    static const struct {
        const char *name;
        int numbers;
    } records[] = { { "X", N }, { "y", N }, { "factor", OF_FACTOR } };
    gp_data s = gp_data_new(device, CT_F64, N, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    ct_bytes file;
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    unsigned char *b = file.data;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 2 * records[r].numbers; i++) {
            const uint64_t bits = 0x7ff0000000000000u + (uint64_t)(i % 2); /* infinite, or NaN */
            unsigned char *at = record(&file, records[r].name) + 8 * (i / 2), keep[8];
            memcpy(keep, at, 8);
            for (int k = 0; k < 8; k++) at[k] = (unsigned char)(bits >> 8 * k);
            sign(b, file.size);
            assert_ok(ct_bytes_save(device, path, b, file.size), ct_message(device));
            memcpy(at, keep, 8);
            assert_null(ct_gp_load(device, path));
            assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
        }
    ct_bytes_free(device, &file);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* Records that a model needs may not be missing, and each comes once, in its order. */
static void records_out_of_place_are_refused(void **state)
{
    (void)state;
    static const char *const swapped[][2] = {
        { "kernel", "kernal" }, { "y", "X" }, { "factor", "report" }, { "X", "y" }, { "target", "inputs" }
    };
    gp_data s = gp_data_new(device, CT_F64, 3, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    for (size_t k = 0; k < sizeof swapped / sizeof *swapped; k++) {
        ct_bytes file;
        assert_ok(ct_gp_save(gp, path), ct_message(device));
        assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
        const size_t length = strlen(swapped[k][0]);
        assert_int_equal(length, strlen(swapped[k][1]));
        memcpy(record(&file, swapped[k][0]) - length, swapped[k][1], length);
        sign(file.data, file.size);
        assert_ok(ct_bytes_save(device, path, file.data, file.size), ct_message(device));
        assert_refused(ct_gp_load(device, path), device, CT_EFORMAT, "make no sense");
        ct_bytes_free(device, &file);
    }
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* The first bytes of what development versions wrote: of models, versions 2 to 10, and of several outputs. */
static void files_of_development_versions_are_refused(void **state)
{
    (void)state;
    for (int version = 1; version <= 10; version++) {
        unsigned char old[64] = "\211CTGP\r\n\032";
        if (version == 1) old[4] = 'O';
        old[8] = (unsigned char)version;
        sign(old, sizeof old);
        assert_ok(ct_bytes_save(device, path, old, sizeof old), ct_message(device));
        assert_refused(
            ct_gp_load(device, path), device, CT_EFORMAT,
            "written by another version of this library, which this one does not read: fit it again");
        assert_refused(ct_outputs_load(device, path), device, CT_EFORMAT, "another version of this library");
        assert_null(strchr(ct_message(device), '\n'));
    }
}

/* The file has one record less: its name, jitter and likelihood, alpha and L. */
static void a_file_without_its_factor(void **state)
{
    (void)state;
    enum { N = 30 };
    for (int t = 0; t < 2; t++) {
        const ct_dtype dtype = t ? CT_F32 : CT_F64;
        gp_data s = gp_data_new(device, dtype, N, 2);
        ct_tensor *given = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape1(N), 3, 0), device);
        const ct_gp_options options = { .noise = CT_NOISE_GIVEN_PLUS, .noise_variances = given };
        ct_gp *gp = gp_of(&s, "scale * rbf(ard)", &options);
        assert_false(ct_gp_has_factor(gp) || ct_gp_has_factor(NULL));
        assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = true }), ct_message(device));
        assert_false(ct_gp_has_factor(gp)); /* it was not needed */
        ct_bytes bare, whole;
        assert_ok(ct_bytes_load(device, path, &bare), ct_message(device));
        ct_gp *back = ct_gp_load(device, path);
        assert_gp(back, device);
        assert_false(ct_gp_has_factor(back));
        assert_same_predictions(gp, back, s.X); /* both compute it here */
        assert_true(ct_gp_has_factor(gp) && ct_gp_has_factor(back));
        assert_ok(ct_gp_save_with(gp, path, NULL), ct_message(device));
        assert_ok(ct_bytes_load(device, path, &whole), ct_message(device));
        assert_int_equal(whole.size - bare.size, 4 + 6 + 16 + (N + N * (N + 1) / 2) * (t ? 4 : 8));
        /* a model that has its factor may leave it out, too */
        assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = true }), ct_message(device));
        assert_true(ct_gp_has_factor(gp));
        ct_gp *again = ct_gp_load(device, path);
        assert_gp(again, device);
        assert_false(ct_gp_has_factor(again));
        assert_ok(ct_gp_append(again, s.X, s.y, given), ct_message(device));
        assert_int_equal(ct_gp_points(again), 2 * N);
        ct_tensor *m = ct_empty(device, CT_F64, ct_shape1(2 * N));
        assert_ok(ct_gp_loo(again, m, NULL, NULL), ct_message(device));
        ct_release(m);
        ct_bytes_free(device, &bare);
        ct_bytes_free(device, &whole);
        ct_gp_free(again);
        ct_gp_free(back);
        ct_gp_free(gp);
        ct_release(given);
        gp_data_free(&s);
    }
}

/* Two equal rows without noise need a jitter, which the ladder finds again. */
static void the_ladder_finds_the_jitter_again(void **state)
{
    (void)state;
    ct_tensor *X = tensor2(device, 4, 1, 0, 0, 1, 2), *y = tensor1(device, 4, 1, 1, 2, 0);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf"), &(ct_gp_options){ .noise = CT_NOISE_NONE });
    assert_gp(gp, device);
    assert_true(ct_gp_jitter(gp) > 0);
    assert_ok(ct_gp_save_with(gp, path, &(ct_gp_save_options){ .no_factor = true }), ct_message(device));
    ct_gp *back = ct_gp_load(device, path);
    assert_gp(back, device);
    assert_true(ct_gp_jitter(back) == ct_gp_jitter(gp));
    assert_same_predictions(gp, back, X);
    ct_gp_free(back);
    ct_gp_free(gp);
    ct_release(X);
    ct_release(y);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    assert_refused(ct_gp_load(device, "/nonexistent/model"), device, CT_EIO, "/nonexistent/model");
    assert_refused(ct_gp_load(device, "/"), device, CT_EIO, "directory");
    FILE *f = fopen(path, "wb");
    fputs("x,y\n1,2\n3,4\n5,6\n7,8\n9,10\n", f);
    fclose(f);
    assert_refused(ct_gp_load(device, path), device, CT_EFORMAT, "not a cotangent model");
}

/* A child that saves again and again is killed at some moment: the file at the path is always a whole model.
 */
/* 56 profiles, each with a list of 4096 columns. */
static void a_text_that_is_too_long_is_refused(void **state)
{
    (void)state;
    enum { COLUMNS = 4096, PROFILES = 56 };
    int dims[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) dims[i] = i;
    ct_kernel *one = ct_kernel_active(ct_kernel_rbf(), dims, COLUMNS), *k = ct_kernel_copy(one);
    for (int i = 1; i < PROFILES; i++) k = ct_kernel_sum(k, ct_kernel_copy(one));
    ct_tensor *X = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape2(3, COLUMNS), 1, 0), device),
              *y = assert_tensor(ct_rand_uniform(device, CT_F64, ct_shape1(3), 2, 0), device);
    ct_gp *gp = ct_gp_new(X, y, k, NULL);
    assert_gp(gp, device);
    const ct_gp_save_options bare = { .no_factor = true };
    remove(path);
    assert_failed(ct_gp_save_with(gp, path, &bare), device, CT_EINVAL, "a text of ");
    assert_true(access(path, F_OK) != 0);
    ct_gp_free(gp);
    ct_kernel_free(one);
    ct_release(X);
    ct_release(y);
}

/* A full device is noticed within the long name, before the kind of its column. */
static void a_save_that_fails_leaves_the_model(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK)) skip();
    enum { LENGTH = 300000 };
    char *name = malloc(LENGTH + 1);
    assert_non_null(name);
    memset(name, 'n', LENGTH);
    name[LENGTH] = 0;
    const char *const levels[] = { "a", "b" };
    const ct_column inputs[] = {
        { .name = name, .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 2 }, { .name = "x" }
    };
    gp_data s = gp_data_new(device, CT_F64, 12, 2);
    ct_gp *gp = gp_of(&s, "rbf(dims=1) + category(dims=0)", &(ct_gp_options){ .inputs = inputs });
    assert_status(ct_gp_save(gp, "/dev/full"), CT_EIO, "");
    assert_int_equal(ct_gp_input(gp, 0)->kind, CT_COLUMN_CATEGORY);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    ct_gp *back = ct_gp_load(device, path);
    assert_gp(back, device);
    assert_same_predictions(gp, back, s.X);
    ct_gp_free(back);
    ct_gp_free(gp);
    gp_data_free(&s);
    free(name);
}

static void a_kill_leaves_a_whole_file(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 120, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    for (int round = 0; round < 10; round++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                if (ct_gp_save(gp, path)) _exit(1);
        usleep((useconds_t)(3000 + 1700 * round));
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        assert_true(WIFSIGNALED(status));
        ct_gp *back = ct_gp_load(device, path);
        assert_gp(back, device);
        ct_gp_free(back);
    }
    char command[300];
    snprintf(command, sizeof command, "rm -f %s.tmp-*", path);
    assert_int_equal(system(command), 0);
    ct_gp_free(gp);
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_come_back),
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(forged_files_do_no_harm),
        cmocka_unit_test(forged_numbers_are_refused),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(a_text_that_is_too_long_is_refused),
        cmocka_unit_test(a_save_that_fails_leaves_the_model),
        cmocka_unit_test(a_kill_leaves_a_whole_file),
        cmocka_unit_test(records_out_of_place_are_refused),
        cmocka_unit_test(files_of_development_versions_are_refused),
        cmocka_unit_test(a_file_without_its_factor),
        cmocka_unit_test(the_ladder_finds_the_jitter_again),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
