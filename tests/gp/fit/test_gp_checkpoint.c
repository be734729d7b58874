/* A fit with a checkpoint ends in the same bits wherever it is cut off, and computes no evaluation twice. A
 * file of another fit, or one that is damaged, does no harm and comes to none. */
#define _XOPEN_SOURCE 700
#include "gp_device.h"

#include <cotangent/io.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc.h"
#include "gp/data/crc64.h"
#include "gp/fit/checkpoint.h"

enum { MOST = 16, HEADER = 28 };

/* The library's, replaced: no test cuts the power. */
int fsync(int descriptor)
{
    (void)descriptor;
    return 0;
}

/* The callback stops at call stop_at, or the process is killed there (-stop_at); 0: neither. */
typedef struct watch {
    int stop_at, calls, logged;
} watch;

static int on_step(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    w->logged = p->logged;
    if (++w->calls == -w->stop_at) kill(getpid(), SIGKILL);
    return w->calls == w->stop_at;
}

/* What a fit leaves. */
typedef struct result {
    ct_status status;
    double value[MOST], objective, jitter, error, norm;
    int64_t n;
    int evaluations, iterations, failed, jittered;
    ct_fit_end end;
    int replayed; /* from here on not compared */
    watch w;
} result;

static result result_of(const ct_gp *gp, ct_status status)
{
    result r = { 0 };
    ct_fit_report report = ct_gp_report(gp);
    r.status = status;
    r.n = ct_gp_params(gp);
    for (int64_t i = 0; i < r.n; i++) r.value[i] = ct_gp_param(gp, i)->value;
    r.objective = report.objective;
    r.jitter = report.jitter;
    r.error = report.objective_error;
    r.norm = report.gradient_norm;
    r.evaluations = report.evaluations;
    r.iterations = report.iterations;
    r.failed = report.failed;
    r.jittered = report.jittered;
    r.end = report.end;
    r.replayed = report.replayed;
    return r;
}

static void assert_same(const result *a, const result *b)
{
    assert_memory_equal(a, b, offsetof(result, replayed));
}

/* A new model of the data is fitted. */
static result fit_once(const gp_data *s, const char *kernel, ct_fit_options options, int stop_at)
{
    ct_gp *gp = gp_of(s, kernel, NULL);
    watch w = { .stop_at = stop_at };
    options.progress = on_step;
    options.context = &w;
    ct_status status = ct_gp_fit(gp, &options);
    result r = result_of(gp, status);
    r.w = w;
    ct_gp_free(gp);
    return r;
}

static int64_t file_size(void)
{
    struct stat info;
    return stat(path, &info) ? -1 : (int64_t)info.st_size;
}

/* Records in the file of a fit with so many parameters. */
static int64_t records(int64_t parameters)
{
    int64_t size = 52 + 16 * parameters;
    assert_int_equal((file_size() - HEADER) % size, 0);
    return (file_size() - HEADER) / size;
}

/* y = sin x without noise: mixed precision fails where the search would lower the noise further. */
static gp_data smooth(int64_t n)
{
    gp_data s = gp_data_new(device, CT_F64, n, 1);
    double *x = gp_host(s.X);
    for (int64_t i = 0; i < n; i++) s.y_host[i] = sin(x[i]);
    assert_ok(ct_write(s.y, s.y_host, (size_t)n * sizeof *x), ct_message(device));
    free(x);
    return s;
}

static const char *const kernel = "scale * rbf(ard)";

/* -- going on -------------------------------------------------------------------------------------------- */

static void wherever_it_is_stopped_it_goes_on(void **state)
{
    (void)state;
    const ct_fit_options how[] = {
        { .restarts = CT_FIT_NO_RESTARTS, .seed = 1 },
        { .restarts = 3, .seed = 2, .max_iterations = 6 },
        { .restarts = CT_FIT_NO_RESTARTS, .objective = CT_OBJECTIVE_LOO },
        { .optimizer = CT_OPTIMIZER_ADAM, .max_iterations = 12, .restarts = 1 },
        { .restarts = CT_FIT_NO_RESTARTS, .precision = CT_PRECISION_MIXED },
        { .restarts = CT_FIT_NO_RESTARTS, .precision = CT_PRECISION_MIXED },
        { .restarts = CT_FIT_NO_RESTARTS, .tolerance = 1e-3 },
    };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        gp_data s = i == 5 ? smooth(40) : gp_data_new(device, i == 6 ? CT_F32 : CT_F64, 20, 2);
        ct_fit_options options = how[i];
        const result whole = fit_once(&s, kernel, options, 0);
        assert_ok(whole.status, ct_message(device));
        assert_true(whole.w.calls == whole.evaluations && whole.w.logged == 0 && whole.replayed == 0);
        if (i == 5) assert_true(whole.failed > 0);
        options.checkpoint = path;
        for (int k = 1; k <= whole.evaluations; k += 1 + k / 8) {
            unlink(path);
            assert_status(fit_once(&s, kernel, options, k).status, CT_ESTOPPED, ct_message(device));
            int64_t logged = records(whole.n);
            assert_true(logged >= k && (logged == k || options.restarts > 0));
            const result r = fit_once(&s, kernel, options, 0);
            assert_same(&whole, &r);
            assert_true(r.w.logged == logged && r.replayed == logged && r.w.calls == whole.evaluations);
            assert_int_equal(records(whole.n), whole.evaluations);
        }
        /* once more after its end: all is there, and no evaluation is added */
        const result again = fit_once(&s, kernel, options, 0);
        assert_same(&whole, &again);
        assert_int_equal(again.replayed, whole.evaluations);
        assert_int_equal(records(whole.n), whole.evaluations);
        gp_data_free(&s);
    }
}

/* SIGKILL at call k, again and again: each time the fit comes further. */
static void a_kill_loses_nothing(void **state)
{
    (void)state;
    for (int restarts = CT_FIT_NO_RESTARTS; restarts < 3; restarts += 3) {
        unlink(path);
        ct_fit_options options = { .restarts = restarts, .max_iterations = 8 };
        gp_data s = gp_data_new(device, CT_F64, 20, 2);
        const result whole = fit_once(&s, kernel, options, 0);
        options.checkpoint = path;
        for (int k = 3; k < whole.evaluations; k += 4) {
            pid_t child = fork();
            if (child == 0) { /* a process of its own, with one thread */
                device = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
                gp_data own = gp_data_new(device, CT_F64, 20, 2);
                fit_once(&own, kernel, options, -k);
                _exit(1);
            }
            int status;
            waitpid(child, &status, 0);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            assert_int_equal(records(whole.n), k);
        }
        const int64_t logged = records(whole.n);
        const result r = fit_once(&s, kernel, options, 0);
        assert_same(&whole, &r);
        assert_int_equal(r.replayed, logged);
        gp_data_free(&s);
    }
}

/* Models of different sizes in one file. */
static void many_models_share_a_file(void **state)
{
    (void)state;
    enum { MODELS = 3 };
    static const char *const kernels[MODELS] = { "scale * rbf", "scale * rbf(ard) + linear", "rbf" };
    gp_data s = gp_data_new(device, CT_F64, 20, 2);
    ct_fit_options options = { .restarts = 1, .max_iterations = 5, .progress = on_step };
    result whole[MODELS];
    int total = 0, logged = 0;
    unlink(path);
    for (int pass = 0; pass < 4; pass++) {
        watch w = { .stop_at = pass == 1 ? 7 : pass == 2 ? 20 : 0 };
        ct_gp *gp[MODELS];
        ct_status status[MODELS];
        for (int m = 0; m < MODELS; m++) gp[m] = gp_of(&s, kernels[m], NULL);
        options.context = &w;
        options.checkpoint = pass ? path : NULL;
        ct_gp_fit_many(gp, MODELS, &options, status);
        assert_int_equal(w.logged, logged);
        int replayed = 0;
        for (int m = 0; m < MODELS; m++) {
            const result r = result_of(gp[m], status[m]);
            replayed += r.replayed;
            if (pass == 0) whole[m] = r, total += r.evaluations;
            if (pass == 3) assert_same(&whole[m], &r);
        }
        if (pass) logged = (int)records(ct_gp_params(gp[1]));
        if (pass == 3) assert_true(replayed == w.logged && logged == total);
        for (int m = 0; m < MODELS; m++) ct_gp_free(gp[m]);
    }
    gp_data_free(&s);
}

/* The choice of a covariance, on all rows and on some. */
static void so_does_a_choice(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 30, 2);
    for (int rows = 0; rows <= 20; rows += 20) {
        ct_gp_choose_options options = { .rows = rows, .fit = { .max_iterations = 4, .restarts = 1 } };
        ct_gp_choice whole, choice;
        ct_gp *gp;
        assert_ok(ct_gp_choose(s.X, s.y, NULL, &options, &gp, &whole), ct_message(device));
        const result best = result_of(gp, CT_OK);
        ct_gp_free(gp);
        options.fit.checkpoint = path;
        options.fit.progress = on_step;
        for (int k = 1; k <= whole.evaluations; k += 1 + k / 2) {
            watch w = { .stop_at = k };
            options.fit.context = &w;
            unlink(path);
            assert_status(ct_gp_choose(s.X, s.y, NULL, &options, &gp, &choice), CT_ESTOPPED,
                          ct_message(device));
            assert_int_equal(choice.replayed, 0);
            ct_gp_free(gp);
            w = (watch){ 0 };
            assert_ok(ct_gp_choose(s.X, s.y, NULL, &options, &gp, &choice), ct_message(device));
            const result r = result_of(gp, CT_OK);
            ct_gp_free(gp);
            assert_same(&best, &r);
            assert_true(choice.best == whole.best && choice.variance_factor == whole.variance_factor);
            assert_int_equal(choice.evaluations, whole.evaluations);
            /* a choice on some rows asks once without an evaluation */
            assert_true(w.logged >= k - (rows > 0) && choice.replayed >= w.logged - (rows > 0));
            assert_true(choice.replayed <= w.logged);
            for (int j = 0; j < choice.count; j++)
                assert_true(choice.tried[j].criterion == whole.tried[j].criterion);
        }
        /* other candidates, or the choice on other rows: refused */
        for (int other = 0; other < 3; other++) {
            const ct_gp_candidate mine[] = { { "scale * rbf", NULL } };
            ct_gp_choose_options changed = options;
            if (other == 0) changed.candidates = mine, changed.n_candidates = 1;
            if (other == 1) changed.rows = 25;
            if (other == 2) changed.fit.objective = CT_OBJECTIVE_LOO;
            assert_failed(ct_gp_choose(s.X, s.y, NULL, &changed, &gp, NULL), device, CT_EINVAL,
                          "a checkpoint of other data, kernels or options");
        }
    }
    gp_data_free(&s);
}

/* A first point without a factor has its message on each try. */
static void a_failure_has_its_message_again(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 200, 1);
    ct_gp *gp = gp_of(&s, "scale * rbf", &(ct_gp_options){ .noise = CT_NOISE_NONE });
    const ct_fit_options options = { .precision = CT_PRECISION_MIXED, .checkpoint = path };
    unlink(path);
    for (int pass = 0; pass < 2; pass++)
        assert_failed(ct_gp_fit(gp, &options), device, CT_ENUMERIC, "compute in f64");
    assert_int_equal(file_size(), HEADER);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- what is refused ------------------------------------------------------------------------------------- */

static void assert_file(const ct_bytes *wanted)
{
    ct_bytes now;
    assert_ok(ct_bytes_load(device, path, &now), ct_message(device));
    assert_int_equal(now.size, wanted->size);
    assert_memory_equal(now.data, wanted->data, now.size);
    ct_bytes_free(device, &now);
}

static void another_fit_is_refused(void **state)
{
    (void)state;
    enum { CHANGES = 16 };
    gp_data s = gp_data_new(device, CT_F64, 12, 2);
    ct_bytes file;
    unlink(path);
    assert_ok(fit_once(&s, kernel, (ct_fit_options){ .checkpoint = path }, 0).status, ct_message(device));
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    for (int change = 0; change < CHANGES; change++) {
        gp_data t = gp_data_new(device, CT_F64, 12, 2);
        ct_fit_options o = { .checkpoint = path };
        if (change == 0) t.y_host[3] += 1e-9;
        assert_ok(ct_write(t.y, t.y_host, 12 * sizeof(double)), ct_message(device));
        ct_gp_options model = { .mean = change == 1 ? CT_MEAN_ZERO : CT_MEAN_CONSTANT,
                                .priors = change == 2 ? CT_PRIORS_WEAK : CT_PRIORS_NONE };
        ct_gp *gp = gp_of(&t, change == 3 ? "scale * matern52(ard)" : kernel, &model);
        ct_param p = *ct_gp_param(gp, 1);
        if (change == 4) p.value *= 1.5;
        if (change == 5) p.lower = 0.01;
        if (change == 6) p.upper = 9;
        if (change == 7) p.fixed = true;
        if (change == 8) p.prior = (ct_prior){ CT_PRIOR_GAMMA, 2, 3 };
        if (change >= 4 && change <= 8) assert_ok(ct_gp_set_param(gp, 1, &p), ct_message(device));
        if (change == 9) o.objective = CT_OBJECTIVE_LOO;
        if (change == 10) o.precision = CT_PRECISION_MIXED;
        if (change == 11) o.optimizer = CT_OPTIMIZER_ADAM;
        if (change == 12) o.restarts = 1;
        if (change == 13) o.max_iterations = 7;
        if (change == 14) o.tolerance = 1e-4;
        if (change == 15) o.seed = 1;
        assert_failed(ct_gp_fit(gp, &o), device, CT_EINVAL,
                      "a checkpoint of other data, kernels or options: give the checkpoint another name");
        assert_null(strchr(ct_message(device), '\n'));
        assert_file(&file);
        ct_gp_free(gp);
        gp_data_free(&t);
    }
    const result r = fit_once(&s, kernel, (ct_fit_options){ .checkpoint = path }, 0);
    assert_int_equal(r.replayed, r.evaluations);
    ct_bytes_free(device, &file);
    gp_data_free(&s);
}

/* The new file of that fit; *whole: its result. */
static ct_bytes of_a_fit(const gp_data *s, ct_fit_options options, result *whole)
{
    ct_bytes file;
    unlink(path);
    *whole = fit_once(s, "rbf", options, 0);
    assert_ok(ct_bytes_load(device, path, &file), ct_message(device));
    return file;
}

/* Every byte and every length: the head is refused and left alone, a record is computed anew. */
static void damage_does_no_harm(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 6, 1);
    const ct_fit_options options = { .restarts = CT_FIT_NO_RESTARTS,
                                     .max_iterations = 4,
                                     .checkpoint = path };
    result whole;
    ct_bytes file = of_a_fit(&s, options, &whole);
    unsigned char *b = file.data;
    const size_t size = (file.size - HEADER) / (size_t)whole.evaluations;
    for (size_t i = 0; i < 2 * file.size; i++) {
        const bool flip = i < file.size;
        const size_t at = i % file.size;
        ct_bytes damaged = { b, flip ? file.size : at, 0 };
        if (flip) b[at] ^= (unsigned char)(1u << at % 8);
        overwrite(path, damaged.data, damaged.size);
        const result r = fit_once(&s, "rbf", options, 0);
        if (at < HEADER) {
            assert_status(r.status, CT_EFORMAT, ct_message(device));
            assert_null(strchr(ct_message(device), '\n'));
            if (damaged.size) assert_file(&damaged);
        }
        if (flip) b[at] ^= (unsigned char)(1u << at % 8);
        if (at < HEADER) continue;
        assert_same(&whole, &r);
        const int good = flip ? whole.evaluations - 1 : (int)((at - HEADER) / size);
        assert_int_equal(r.replayed, good);
        assert_int_equal(records(whole.n), whole.evaluations + flip); /* a whole one, which is bad, stays */
        const result again = fit_once(&s, "rbf", options, 0);
        assert_same(&whole, &again);
        assert_int_equal(again.replayed, whole.evaluations);
    }
    ct_bytes_free(device, &file);
    gp_data_free(&s);
}

/* Under a right checksum: another point, as of another machine, and results that no evaluation has. */
static void what_does_not_fit_is_computed(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 6, 1);
    const ct_fit_options options = { .restarts = CT_FIT_NO_RESTARTS,
                                     .max_iterations = 4,
                                     .checkpoint = path };
    result whole;
    ct_bytes file = of_a_fit(&s, options, &whole);
    unsigned char *b = file.data, keep[8];
    const size_t n = (size_t)whole.n, size = 52 + 16 * n;
    const double odd[] = { NAN, INFINITY };
    for (int k = 0; k < whole.evaluations; k++)
        for (size_t j = 0; j < 2 * n + 3; j++) { /* z, value, jitter, error, gradient */
            unsigned char *record = b + HEADER + (size_t)k * size,
                          *number = record + 16 + 8 * j + (j < n ? 0 : 4);
            memcpy(keep, number, 8);
            if (j < n)
                number[0] ^= 1;
            else
                memcpy(number, &odd[j == n + 2 ? 0 : j % 2], 8);
            uint64_t crc = ct__crc64(record, size - 8);
            memcpy(record + size - 8, &crc, 8);
            overwrite(path, b, file.size);
            const result r = fit_once(&s, "rbf", options, 0);
            assert_same(&whole, &r);
            assert_int_equal(r.replayed, whole.evaluations - 1);
            memcpy(number, keep, 8);
            crc = ct__crc64(record, size - 8);
            memcpy(record + size - 8, &crc, 8);
        }
    ct_bytes_free(device, &file);
    gp_data_free(&s);
}

static void what_cannot_be_written_is_told_at_once(void **state)
{
    (void)state;
    gp_data s = gp_data_new(device, CT_F64, 12, 2);
    static const char *const bad[][2] = { { "/nonexistent/checkpoint", "/nonexistent/checkpoint" },
                                          { "/", "not a regular file" },
                                          { "/dev/full", "not a regular file" },
                                          { "", "path" } };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const result r = fit_once(&s, kernel, (ct_fit_options){ .checkpoint = bad[i][0] }, 0);
        assert_true(r.status && r.w.calls == 0 && r.evaluations == 0);
        if (!strstr(ct_message(device), bad[i][1])) fail_msg("%s", ct_message(device));
    }
    overwrite(path, "x,y\n1,2\nthis is a table of mine and no checkpoint\n", 49);
    const int64_t size = file_size();
    const result r = fit_once(&s, kernel, (ct_fit_options){ .checkpoint = path }, 0);
    assert_status(r.status, CT_EFORMAT, ct_message(device));
    assert_int_equal(file_size(), size);
    gp_data_free(&s);
}

/* A disk that becomes full in the middle: a status and a model as before; then the fit goes on. */
static void a_full_disk_ends_the_fit(void **state)
{
    (void)state;
    struct rlimit limit, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = limit;
    for (int restarts = CT_FIT_NO_RESTARTS; restarts < 3; restarts += 3) {
        gp_data s = gp_data_new(device, CT_F64, 12, 2);
        ct_fit_options options = { .restarts = restarts, .max_iterations = 5 };
        const result whole = fit_once(&s, kernel, options, 0);
        options.checkpoint = path;
        for (rlim_t bytes = HEADER - 1; bytes < HEADER + 400; bytes += 61) {
            unlink(path);
            ct_gp *gp = gp_of(&s, kernel, NULL);
            const result before = result_of(gp, CT_OK);
            low.rlim_cur = bytes;
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
            ct_status status = ct_gp_fit(gp, &options);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
            assert_status(status, CT_EIO, ct_message(device));
            assert_non_null(strstr(ct_message(device), path));
            assert_memory_equal(result_of(gp, CT_OK).value, before.value, sizeof before.value);
            assert_true(isfinite(ct_gp_nlml_value(gp)));
            ct_gp_free(gp);
            const result r = fit_once(&s, kernel, options, 0);
            assert_same(&whole, &r);
            assert_true(bytes < HEADER ||
                        r.replayed == (int)((bytes - HEADER) / (52 + 16 * (size_t)whole.n)));
        }
        gp_data_free(&s);
    }
}

/* The k-th allocation fails, with a file that is there and without: the next try ends in the same bits. */
static void no_memory(void **state)
{
    (void)state;
    ct_fit_options options = { .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 2 };
    result whole = { 0 };
    for (int there = 0; there < 2; there++)
        for (int64_t k = 0; k < 20000; k += 1 + k / 20) {
            ct_device *own = ct_device_open_with("cpu", &(ct_device_options){ .threads = 1 });
            gp_data s = gp_data_new(own, CT_F64, 12, 2);
            ct_gp *gp = gp_of(&s, kernel, NULL);
            unlink(path);
            options.checkpoint = k ? path : NULL;
            if (k && there) fit_once(&s, kernel, options, 2);
            if (k) alloc_fail_at(k);
            ct_status status = ct_gp_fit(gp, &options);
            bool refused = k && alloc_refused();
            if (k) alloc_unwatch();
            result r = result_of(gp, status);
            if (status) assert_status(status, CT_ENOMEM, ct_message(own));
            assert_true(!status || refused);
            if (k && status) r = fit_once(&s, kernel, options, 0);
            if (k)
                assert_same(&whole, &r);
            else
                whole = r;
            ct_gp_free(gp);
            gp_data_free(&s);
            assert_int_equal(ct_memory(own).bytes_now, 0);
            ct_device_close(own);
            if (k && !refused) break;
            assert_true(k < 19000);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_loses_nothing),
        cmocka_unit_test(wherever_it_is_stopped_it_goes_on),
        cmocka_unit_test(many_models_share_a_file),
        cmocka_unit_test(so_does_a_choice),
        cmocka_unit_test(a_failure_has_its_message_again),
        cmocka_unit_test(another_fit_is_refused),
        cmocka_unit_test(damage_does_no_harm),
        cmocka_unit_test(what_does_not_fit_is_computed),
        cmocka_unit_test(what_cannot_be_written_is_told_at_once),
        cmocka_unit_test(a_full_disk_ends_the_fit),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, open_cpu_with_path, close_with_path);
}
