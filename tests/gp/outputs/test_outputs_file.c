/* Several outputs with more rows, from a file, and without memory. */
#include "gp_outputs.h"

#include <cotangent/io.h>

#include "alloc.h"

#include <string.h>

/* -- rows more ------------------------------------------------------------------------------------------- */

static void assert_same_models(ct_outputs *a, ct_outputs *b, double tolerance)
{
    ct_tensor *Xs = tensor(CT_F64, ct_shape2(NEW, 2), outputs_new_X);
    for (int64_t j = 0; j < ct_outputs_count(a); j++) {
        double *out[2][2];
        for (int k = 0; k < 2; k++) {
            ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(NEW)),
                      *variance = ct_empty(device, CT_F64, ct_shape1(NEW));
            ct_gp *gp = ct_outputs_model(k ? b : a, j);
            assert_gp(gp, device);
            assert_ok(ct_gp_predict_noisy(gp, Xs, mean, variance), ct_message(device));
            out[k][0] = gp_host(mean), out[k][1] = gp_host(variance);
            ct_release(mean), ct_release(variance);
        }
        for (int i = 0; i < 2; i++) {
            assert_near(i ? "variance" : "mean", out[0][i], out[1][i], NEW, tolerance, 0);
            free(out[0][i]), free(out[1][i]);
        }
    }
    ct_release(Xs);
}

static void rows_are_appended(void **state)
{
    (void)state;
    for (int r = 0; r < ROWS; r++) {
        ct_outputs *all = outputs_make(&outputs_table[r], N);
        const double *Y = strchr(outputs_table[r].name, ',') ? outputs_Y_missing : outputs_Y;
        ct_tensor *X = tensor(CT_F64, ct_shape2(N, 2), outputs_X),
                  *all_Y = tensor(CT_F64, ct_shape2(N, P), Y);
        ct_tensor *X2 = ct_tensor_slice(X, 0, 4, N, 1), *Y2 = ct_tensor_slice(all_Y, 0, 4, N, 1);
        ct_outputs *o = outputs_make(&outputs_table[r], N);
        assert_same_models(o, all, 0);
        assert_ok(ct_outputs_append(o, X2, Y2, NULL), ct_message(device));
        ct_outputs *twice = outputs_make(&outputs_table[r], N);
        assert_ok(ct_outputs_append(twice, X2, Y2, NULL), ct_message(device));
        assert_same_models(o, twice, 1e-11);
        assert_true(ct_outputs_nlml(o) != ct_outputs_nlml(all));
        ct_outputs_free(o), ct_outputs_free(all), ct_outputs_free(twice);
        ct_release(X), ct_release(all_Y), ct_release(X2), ct_release(Y2);
    }
}

/* -- files ----------------------------------------------------------------------------------------------- */

static void the_same_bits_come_back(void **state)
{
    (void)state;
    for (int kind = CT_OUTPUTS_EACH; kind <= CT_OUTPUTS_COREGIONALISED; kind++) {
        for (int bare = 0; bare < 2; bare++) {
            ct_outputs *o = outputs_fitted((ct_outputs_kind)kind, 20);
            assert_ok(ct_outputs_save(o, path, &(ct_gp_save_options){ .no_factor = bare }),
                      ct_message(device));
            ct_outputs *back = ct_outputs_load(device, path);
            assert_outputs(back);
            assert_int_equal(ct_outputs_kind_of(back), kind);
            assert_int_equal(ct_outputs_count(back), 3);
            assert_int_equal(ct_outputs_find(back, "b"), 1);
            assert_same_models(o, back, bare ? 1e-12 : 0);
            assert_null(ct_gp_load(device, path));
            assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
            assert_non_null(strstr(ct_message(device), "ct_outputs_load"));
            assert_ok(ct_outputs_fit(back, NULL), ct_message(device));
            ct_outputs_free(o), ct_outputs_free(back);
        }
    }
}

static void a_model_is_one_output(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 12, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf", NULL);
    assert_ok(ct_gp_save(gp, path), ct_message(device));
    ct_outputs *o = ct_outputs_load(device, path);
    assert_outputs(o);
    assert_int_equal(ct_outputs_count(o), 1);
    assert_string_equal(ct_gp_output(ct_outputs_model(o, 0))->name, "y");
    assert_ok(ct_outputs_save(o, path, NULL), ct_message(device));
    ct_gp *back = ct_gp_load(device, path);
    assert_gp(back, device);
    ct_gp_free(gp), ct_gp_free(back), ct_outputs_free(o);
    gp_data_free(&s);
}

static void all_damage_is_seen(void **state)
{
    (void)state;
    ct_outputs *o = outputs_make(&outputs_table[0], 3);
    assert_ok(ct_outputs_save(o, path, NULL), ct_message(device));
    ct_bytes file;
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    unsigned char *b = file.data;
    for (size_t i = 0; i < 2 * file.size; i++) {
        const size_t length = i < file.size ? file.size : i - file.size;
        if (i < file.size) b[i] ^= 4;
        overwrite(path, b, length);
        if (i < file.size) b[i] ^= 4;
        assert_null(ct_outputs_load(device, path));
        assert_status(ct_last_status(device), CT_EFORMAT, ct_message(device));
    }
    ct_bytes_free(device, &file);
    ct_outputs_free(o);
}

/* -- memory ---------------------------------------------------------------------------------------------- */

typedef struct job {
    ct_outputs_kind kind;
    ct_tensor *X, *Y, *mean, *C;
    ct_outputs *o;
} job;

static ct_status make_job(job *j)
{
    ct_outputs *o =
        ct_outputs_new(j->X, j->Y, ct_kernel_parse("scale * rbf"), &(ct_outputs_options){ .kind = j->kind });
    ct_outputs_free(o);
    return o ? CT_OK : ct_last_status(device);
}
static ct_status model_job(job *j)
{
    ct_gp *gp = ct_outputs_model(j->o, 1);
    return gp ? CT_OK : ct_last_status(device);
}
static ct_status of_job(job *j)
{
    ct_tensor *y = ct_tensor_slice(j->Y, 1, 0, 1, 1);
    ct_gp *gp = y ? ct_gp_new(j->X, y, ct_kernel_parse("rbf"), NULL) : NULL;
    ct_outputs *o = gp ? ct_outputs_of(&gp, 1) : NULL;
    const ct_status s = o ? CT_OK : ct_last_status(device);
    if (!o) ct_gp_free(gp);
    ct_outputs_free(o);
    ct_release(y);
    return s;
}
static ct_status whole_job(job *j)
{
    return !ct_outputs_joint_model(j->o) == (j->kind == CT_OUTPUTS_EACH) ? CT_OK : CT_EINVAL;
}
static ct_status device_job(job *j) { return ct_device_status(ct_outputs_device(j->o)); }
static ct_status fit_job(job *j) { return ct_outputs_fit(j->o, &(ct_fit_options){ .max_iterations = 1 }); }
static ct_status predict_job(job *j) { return ct_outputs_predict_full(j->o, j->X, true, j->mean, j->C); }
static ct_status append_job(job *j) { return ct_outputs_append(j->o, j->X, j->Y, NULL); }
static ct_status save_job(job *j) { return ct_outputs_save(j->o, path, NULL); }
static ct_status load_job(job *j)
{
    (void)j;
    ct_outputs *o = ct_outputs_load(device, path);
    ct_outputs_free(o);
    return o ? CT_OK : ct_last_status(device);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static ct_status (*const jobs[])(job *) = { device_job, whole_job,   of_job,     make_job, model_job,
                                                fit_job,    predict_job, append_job, save_job, load_job };
    enum { JOBS = sizeof jobs / sizeof *jobs };
    for (int run = 0; run < 3 * JOBS; run++) {
        job j = { .kind = (ct_outputs_kind)(run / JOBS),
                  .X = tensor(CT_F64, ct_shape2(4, 2), outputs_X),
                  .Y = tensor(CT_F64, ct_shape2(4, P), outputs_Y),
                  .mean = ones(ct_shape2(4, P)),
                  .C = ones(ct_shape2(4 * P, 4 * P)) };
        ct_status s = CT_ENOMEM;
        for (int64_t k = 1; s; k++) {
            j.o = ct_outputs_new(j.X, j.Y, ct_kernel_parse("scale * rbf"),
                                 &(ct_outputs_options){ .kind = j.kind });
            assert_outputs(j.o);
            if (run % JOBS == JOBS - 1) assert_ok(save_job(&j), ct_message(device));
            const double before = ct_outputs_nlml(j.o);
            alloc_fail_at(k);
            s = jobs[run % JOBS](&j);
            const bool refused = alloc_refused();
            alloc_unwatch();
            if (s) assert_status(s, CT_ENOMEM, ct_message(device));
            const bool others_go_on = j.kind == CT_OUTPUTS_EACH && jobs[run % JOBS] == fit_job;
            if (s) assert_true(refused && (others_go_on || before == ct_outputs_nlml(j.o)));
            ct_outputs_free(j.o);
            if (!refused) assert_ok(s, ct_message(device));
            s = refused ? CT_ENOMEM : s;
        }
        ct_release(j.X), ct_release(j.Y), ct_release(j.mean), ct_release(j.C);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_appended),      cmocka_unit_test(the_same_bits_come_back),
        cmocka_unit_test(a_model_is_one_output),  cmocka_unit_test(all_damage_is_seen),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, open_check_device_with_path, close_with_path);
}
