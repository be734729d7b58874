/* Starts and models side by side: the same bits for any number of threads, one callback at a time, and each
 * failure concerns its own model alone. */
#include "gp_support.h"

#include <pthread.h>

#include "alloc.h"

static ct_device *open_with(int threads)
{
    ct_device *device = ct_device_open_with("cpu", &(ct_device_options){ .threads = threads });
    assert_ok(ct_device_status(device), ct_message(device));
    return device;
}

static void close_empty(ct_device *device)
{
    assert_int_equal(ct_memory(device).bytes_now, 0);
    ct_device_close(device);
}

/* Values of the parameters, then the objective, into out[16]. */
static void fitted(int threads, const ct_fit_options *options, double out[16])
{
    ct_device *device = open_with(threads);
    gp_data s = gp_data_new(device, CT_F64, 60, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard) + scale * matern32", NULL);
    assert_ok(ct_gp_fit(gp, options), ct_message(device));
    int64_t n = ct_gp_params(gp);
    for (int64_t i = 0; i < n; i++) out[i] = ct_gp_param(gp, i)->value;
    ct_fit_report r = ct_gp_report(gp);
    out[n] = r.objective;
    int evaluations = 0;
    for (int k = 0; k < r.starts; k++) {
        assert_ok(r.start[k].status, ct_fit_end_text(r.start[k].end));
        assert_true(r.start[k].objective >= r.objective &&
                    (k != r.best || r.start[k].objective == r.objective));
        evaluations += r.start[k].evaluations;
    }
    assert_int_equal(evaluations, r.evaluations);
    ct_gp_free(gp);
    gp_data_free(&s);
    close_empty(device);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    const ct_fit_options options = { .restarts = 5, .seed = 3 };
    double one[16] = { 0 }, two[16] = { 0 }, seven[16] = { 0 };
    fitted(1, &options, one);
    fitted(2, &options, two);
    fitted(7, &options, seven);
    assert_memory_equal(one, two, sizeof one);
    assert_memory_equal(one, seven, sizeof one);
}

enum { MODELS = 5 };

/* y_i = sin((1 + i) x_0) + ... on the same points. */
static void many_models(ct_device *device, ct_gp *gp[MODELS])
{
    gp_data s = gp_data_new(device, CT_F64, 40, 2);
    double *x = gp_host(s.X), y[40];
    for (int m = 0; m < MODELS; m++) {
        for (int i = 0; i < 40; i++) y[i] = sin((1 + m) * x[2 * i]) + 0.1 * s.y_host[i];
        ct_tensor *t = ct_from(device, CT_F64, ct_shape1(40), y);
        gp[m] = ct_gp_new(s.X, t, ct_kernel_parse("scale * rbf(ard)"), NULL);
        assert_gp(gp[m], device);
        ct_release(t);
    }
    free(x);
    gp_data_free(&s);
}

static void free_models(ct_gp *gp[MODELS])
{
    for (int m = 0; m < MODELS; m++) ct_gp_free(gp[m]);
}

static void many_are_fitted_as_each_alone(void **state)
{
    (void)state;
    ct_device *device = open_with(3), *single = open_with(1);
    ct_gp *many[MODELS], *alone[MODELS];
    many_models(device, many);
    many_models(single, alone);
    for (int restarts = CT_FIT_NO_RESTARTS; restarts < 3; restarts += 3) {
        const ct_fit_options options = { .restarts = restarts, .seed = 9 };
        ct_status status[MODELS];
        assert_ok(ct_gp_fit_many(many, MODELS, &options, status), ct_message(device));
        for (int m = 0; m < MODELS; m++) {
            assert_ok(status[m], "");
            assert_ok(ct_gp_fit(alone[m], &options), ct_message(single));
            for (int64_t i = 0; i < ct_gp_params(many[m]); i++)
                assert_true(ct_gp_param(many[m], i)->value == ct_gp_param(alone[m], i)->value);
            assert_int_equal(ct_gp_report(many[m]).evaluations, ct_gp_report(alone[m]).evaluations);
            assert_int_equal(ct_gp_report(many[m]).starts, restarts < 0 ? 1 : 1 + restarts);
        }
    }
    free_models(many);
    free_models(alone);
    close_empty(device);
    close_empty(single);
}

typedef struct watch {
    int inside, overlaps, calls, stop_at;
    bool seen[MODELS][2];
    double lowest[MODELS]; /* of what was reported */
} watch;

static int look(void *context, const ct_fit_progress *p)
{
    watch *w = context;
    if (__atomic_add_fetch(&w->inside, 1, __ATOMIC_SEQ_CST) != 1) w->overlaps++;
    if (!w->seen[p->model][0] && !w->seen[p->model][1]) w->lowest[p->model] = INFINITY;
    w->seen[p->model][p->start] = true;
    w->lowest[p->model] = fmin(w->lowest[p->model], p->objective);
    w->calls++;
    __atomic_sub_fetch(&w->inside, 1, __ATOMIC_SEQ_CST);
    return w->stop_at && w->calls >= w->stop_at;
}

static void the_callback_is_called_one_at_a_time_and_stops_all(void **state)
{
    (void)state;
    ct_device *device = open_with(4);
    ct_gp *gp[MODELS];
    many_models(device, gp);
    watch w = { 0 };
    ct_fit_options options = { .restarts = 1, .progress = look, .context = &w };
    assert_ok(ct_gp_fit_many(gp, MODELS, &options, NULL), ct_message(device));
    assert_int_equal(w.overlaps, 0);
    int evaluations = 0;
    for (int m = 0; m < MODELS; m++) {
        evaluations += ct_gp_report(gp[m]).evaluations;
        assert_true(w.seen[m][0] && w.seen[m][1]);
    }
    assert_int_equal(w.calls, evaluations);

    free_models(gp);
    many_models(device, gp);
    w = (watch){ .stop_at = 9 };
    ct_status status[MODELS];
    assert_status(ct_gp_fit_many(gp, MODELS, &options, status), CT_ESTOPPED, ct_message(device));
    assert_int_equal(w.calls, 9);
    for (int m = 0; m < MODELS; m++) {
        assert_status(status[m], CT_ESTOPPED, "");
        assert_true(isfinite(ct_gp_nlml_value(gp[m]))); /* the best so far, or the parameters from before */
    }
    free_models(gp);
    close_empty(device);
}

/* When the callback stops the fit, the point that is kept is one that the callback has seen, whatever other
 * threads have found. */
static void only_what_was_told_is_kept(void **state)
{
    (void)state;
    ct_device *device = open_with(4);
    for (int round = 1; round <= 40; round++) {
        ct_gp *gp[MODELS];
        many_models(device, gp);
        watch w = { .stop_at = 3 * round };
        ct_fit_options options = { .restarts = 1, .progress = look, .context = &w };
        ct_status status[MODELS];
        assert_status(ct_gp_fit_many(gp, MODELS, &options, status), CT_ESTOPPED, ct_message(device));
        for (int m = 0; m < MODELS; m++) {
            double kept = ct_gp_report(gp[m]).objective;
            assert_true(w.seen[m][0] || w.seen[m][1] ? kept == w.lowest[m] : isinf(kept));
        }
        free_models(gp);
    }
    close_empty(device);
}

static void each_failure_is_its_own(void **state)
{
    (void)state;
    ct_device *device = open_with(2);
    ct_gp *gp[MODELS];
    ct_status status[MODELS];
    many_models(device, gp);
    assert_ok(ct_gp_fit_many(NULL, 0, NULL, NULL), "none");
    assert_status(ct_gp_fit_many(NULL, 1, NULL, NULL), CT_EINVAL, "");
    assert_status(ct_gp_fit_many(gp, -1, NULL, NULL), CT_EINVAL, "");
    ct_status each[3] = { CT_OK };
    assert_failed(ct_gp_fit_many((ct_gp *[]){ gp[0], gp[1], gp[0] }, 3, NULL, each), device, CT_EINVAL,
                  "the same");
    for (int m = 0; m < 3; m++) assert_status(each[m], CT_EINVAL, "");
    assert_status(ct_gp_fit_many((ct_gp *[]){ gp[0], NULL }, 2, NULL, NULL), CT_EINVAL, "");
    assert_status(ct_gp_fit_many(gp, MODELS, &(ct_fit_options){ .restarts = -2 }, status), CT_EINVAL, "");
    for (int m = 0; m < MODELS; m++) assert_status(status[m], CT_EINVAL, "");

    /* no point of the third can be evaluated, as the prior is 0 at the value it is fixed at */
    int64_t i = ct_gp_find(gp[2], "noise.variance");
    ct_param p = *ct_gp_param(gp[2], i);
    p.value = p.lower = 1e-300;
    p.prior = (ct_prior){ CT_PRIOR_GAMMA, 1e307, 1 };
    p.fixed = true;
    assert_ok(ct_gp_set_param(gp[2], i, &p), ct_message(device));
    double before = gp_get(gp[2], "scale.variance");
    assert_status(ct_gp_fit_many(gp, MODELS, NULL, status), CT_ENUMERIC, ct_message(device));
    for (int m = 0; m < MODELS; m++) assert_status(status[m], m == 2 ? CT_ENUMERIC : CT_OK, "");
    assert_true(gp_get(gp[2], "scale.variance") == before);
    assert_true(ct_gp_report(gp[4]).evaluations > 1);
    free_models(gp);
    close_empty(device);
}

/* The message is that of the failure that is returned, whatever fails after it. */
static void the_first_failure_has_its_message(void **state)
{
    (void)state;
    ct_device *device = open_with(2);
    ct_gp *gp[MODELS];
    ct_status status[MODELS];
    many_models(device, gp);
    gp_data one = gp_data_new(device, CT_F64, 1, 2);
    ct_gp *lone = gp_of(&one, "scale * rbf(ard)", NULL);
    int64_t i = ct_gp_find(gp[2], "noise.variance");
    ct_param p = *ct_gp_param(gp[2], i);
    p.value = p.lower = 1e-300;
    p.prior = (ct_prior){ CT_PRIOR_GAMMA, 1e307, 1 };
    p.fixed = true;
    assert_ok(ct_gp_set_param(gp[2], i, &p), ct_message(device));
    assert_failed(ct_gp_fit_many((ct_gp *[]){ gp[0], lone, gp[2] }, 3, NULL, status), device, CT_EINVAL,
                  "one row");
    assert_failed(ct_gp_fit_many((ct_gp *[]){ gp[0], gp[2], lone }, 3, NULL, status), device, CT_ENUMERIC,
                  "a prior excludes this point");
    ct_gp_free(lone);
    gp_data_free(&one);
    free_models(gp);
    close_empty(device);
}

typedef struct owner {
    pthread_t thread;
    int64_t calls, strangers;
} owner;

static void *own_alloc(void *context, size_t bytes, size_t alignment)
{
    owner *o = context;
    o->calls++;
    o->strangers += !pthread_equal(pthread_self(), o->thread);
    return aligned_alloc(alignment, bytes);
}

static void own_release(void *context, void *pointer, size_t bytes)
{
    owner *o = context;
    (void)bytes;
    o->calls--;
    o->strangers += !pthread_equal(pthread_self(), o->thread);
    free(pointer);
}

static void an_allocator_is_called_from_its_thread(void **state)
{
    (void)state;
    owner o = { .thread = pthread_self() };
    const ct_allocator allocator = { own_alloc, own_release, &o };
    ct_device *device =
        ct_device_open_with("cpu", &(ct_device_options){ .threads = 4, .allocator = &allocator });
    ct_gp *gp[MODELS];
    many_models(device, gp);
    assert_ok(ct_gp_fit_many(gp, MODELS, &(ct_fit_options){ .restarts = 2 }, NULL), ct_message(device));
    free_models(gp);
    close_empty(device);
    assert_int_equal(o.strangers, 0);
    assert_int_equal(o.calls, 0);
}

static void memory_that_does_not_suffice_is_refused(void **state)
{
    (void)state;
    ct_device *device =
        ct_device_open_with("cpu", &(ct_device_options){ .threads = 8, .memory_limit = 9 << 20 });
    gp_data s = gp_data_new(device, CT_F64, 800, 2);
    ct_gp *gp = gp_of(&s, "scale * rbf(ard)", NULL);
    assert_failed(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 7 }), device, CT_ENOMEM, "side by side");
    ct_gp_free(gp);
    gp_data_free(&s);
    close_empty(device);
}

/* The k-th allocation fails: a status, no leak, and the models are as they were. */
static void no_memory(void **state)
{
    (void)state;
    for (int64_t k = 1; k < 20000; k += 1 + k / 20) {
        ct_device *device = open_with(1);
        ct_gp *gp[MODELS];
        many_models(device, gp);
        alloc_fail_at(k);
        ct_status s =
            ct_gp_fit_many(gp, MODELS, &(ct_fit_options){ .max_iterations = 1, .restarts = 1 }, NULL);
        bool refused = alloc_refused();
        alloc_unwatch();
        if (!refused) assert_ok(s, ct_message(device));
        if (s) assert_status(s, CT_ENOMEM, ct_message(device));
        for (int m = 0; m < MODELS; m++) assert_true(isfinite(ct_gp_nlml_value(gp[m])));
        free_models(gp);
        close_empty(device);
        if (!refused) return;
    }
    fail_msg("no end of allocations");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(many_are_fitted_as_each_alone),
        cmocka_unit_test(the_callback_is_called_one_at_a_time_and_stops_all),
        cmocka_unit_test(only_what_was_told_is_kept),
        cmocka_unit_test(each_failure_is_its_own),
        cmocka_unit_test(the_first_failure_has_its_message),
        cmocka_unit_test(an_allocator_is_called_from_its_thread),
        cmocka_unit_test(memory_that_does_not_suffice_is_refused),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
