/* Models over the processes of mpirun beside models of one process: the same numbers, the same failures, no
 * hang. Each process keeps a model of its own to compare with. TAP on process 0; an alarm ends what hangs. */
#include <cotangent/cotangent.h>
#include <cotangent/gp.h>
#include <cotangent/gp/mpi.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "gp/comm/comm.h"

static ct_comm *comm;
static ct_device *device;
static int tests, failures;
static bool bad;

/* -- checks ---------------------------------------------------------------------------------------------- */

CT_PRINTF(2, 3) static bool expect(bool ok, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!ok) fprintf(stderr, "# process %d: ", ct_comm_rank(comm));
    if (!ok) vfprintf(stderr, format, args);
    if (!ok) fprintf(stderr, "\n");
    va_end(args);
    bad |= !ok;
    return ok;
}

static void expect_close(const char *what, const double *a, const double *b, int64_t count, double tolerance)
{
    double size = 1;
    for (int64_t i = 0; i < count; i++) size = fmax(size, fabs(b[i]));
    for (int64_t i = 0; i < count; i++)
        if (!expect(fabs(a[i] - b[i]) <= tolerance * size, "%s[%lld]: %.17g is not %.17g", what, (long long)i,
                    a[i], b[i]))
            return;
}

/* One line of TAP for what all processes have checked since the last one. */
CT_PRINTF(1, 2) static void conclude(const char *format, ...)
{
    int all = bad;
    va_list args;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    tests++;
    failures += all != 0;
    bad = false;
    va_start(args, format);
    if (!ct_comm_rank(comm)) {
        printf("%sok %d - ", all ? "not " : "", tests);
        vprintf(format, args);
        printf("\n");
        fflush(stdout);
    }
    va_end(args);
    alarm(600);
}

/* -- models ---------------------------------------------------------------------------------------------- */

typedef struct data {
    ct_tensor *X, *y, *Xs;
    int64_t n, m;
} data;

static ct_tensor *table(ct_dtype dtype, ct_shape shape, uint64_t seed)
{
    ct_tensor *wide = ct_rand_uniform(device, CT_F64, shape, seed, 0), *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return t;
}

static data data_of(ct_dtype dtype, int64_t n)
{
    return (data){ table(dtype, ct_shape2(n, 3), 1), table(dtype, ct_shape1(n), 2),
                   table(dtype, ct_shape2(7, 3), 3), n, 7 };
}

static void data_free(data *s)
{
    ct_release(s->X);
    ct_release(s->y);
    ct_release(s->Xs);
}

/* models[0] over the communicator, models[1] alone */
static bool make(const data *s, const char *kernel, ct_gp_options options, ct_gp *models[2])
{
    for (int i = 0; i < 2; i++) {
        options.comm = i ? NULL : comm;
        models[i] = ct_gp_new(s->X, s->y, ct_kernel_parse(kernel), &options);
    }
    return expect(models[0] && models[1], "no model: %s", ct_message(device));
}

static void read_all(const ct_tensor *t, double *out)
{
    ct_tensor *wide = ct_tensor_cast(t, CT_F64);
    ct_read(wide, out, (size_t)ct_tensor_count(t) * sizeof *out);
    ct_release(wide);
}

/* The numbers of one model: what[0..count) in out[2], of models 0 and 1. */
static void compare(const char *what, ct_status s[2], ct_tensor *t[2], double tolerance)
{
    const int64_t count = ct_tensor_count(t[0]);
    double *out[2];
    for (int i = 0; i < 2; i++) {
        out[i] = calloc((size_t)count + 1, sizeof **out);
        read_all(t[i], out[i]);
        expect(!s[i], "%s: %s", what, ct_message(device));
    }
    expect_close(what, out[0], out[1], count, tolerance);
    for (int i = 0; i < 2; i++) {
        free(out[i]);
        ct_release(t[i]);
    }
}

static void check_model(const data *s, const char *kernel, ct_gp_options options, double tolerance)
{
    const ct_dtype dtype = ct_tensor_dtype(s->X);
    ct_gp *gp[2];
    double u[32], value[2], gradient[2][32] = { { 0 } };
    if (!make(s, kernel, options, gp)) return;
    const int64_t count = ct_gp_params(gp[1]);
    for (int64_t i = 0; i < count; i++) {
        const ct_param *p = ct_gp_param(gp[1], i);
        u[i] = p->lower < 0 ? p->value : log(p->value);
    }
    for (int i = 0; i < 2; i++)
        expect(!ct_gp_objective(gp[i], u, &value[i], gradient[i]), "objective: %s", ct_message(device));
    expect_close("the likelihood", &value[0], &value[1], 1, tolerance);
    expect_close("its gradient", gradient[0], gradient[1], count, tolerance);
    for (int i = 0; i < 2; i++) value[i] = ct_gp_nlml_value(gp[i]);
    expect_close("the factor's likelihood", &value[0], &value[1], 1, tolerance);

    ct_tensor *mean[2], *more[2], *third[2];
    ct_status status[2];
    for (int i = 0; i < 2; i++) {
        mean[i] = ct_zeros(device, dtype, ct_shape1(s->m));
        more[i] = ct_zeros(device, dtype, ct_shape1(s->m));
        status[i] = ct_gp_predict(gp[i], s->Xs, mean[i], more[i]);
    }
    compare("the mean", status, mean, tolerance);
    compare("the variance", status, more, tolerance);
    for (int i = 0; i < 2; i++) {
        more[i] = ct_zeros(device, dtype, ct_shape2(s->m, s->m));
        status[i] = ct_gp_predict_full(gp[i], s->Xs, true, NULL, more[i]);
    }
    compare("the covariance", status, more, tolerance);
    for (int i = 0; i < 2; i++) {
        more[i] = ct_zeros(device, dtype, ct_shape2(2, s->m));
        status[i] = ct_gp_sample(gp[i], s->Xs, true, 5, more[i]);
    }
    compare("the draws", status, more, tolerance);
    for (int i = 0; i < 2; i++) {
        mean[i] = ct_zeros(device, dtype, ct_shape1(s->n));
        more[i] = ct_zeros(device, dtype, ct_shape1(s->n));
        third[i] = ct_zeros(device, dtype, ct_shape1(s->n));
        status[i] = ct_gp_loo(gp[i], mean[i], more[i], third[i]);
    }
    compare("the left-out means", status, mean, tolerance);
    compare("the left-out variances", status, more, tolerance);
    compare("the left-out densities", status, third, tolerance);
    int64_t *fold = calloc((size_t)s->n, sizeof *fold);
    for (int64_t i = 0; i < s->n; i++) fold[i] = i * 7 % 4;
    for (int i = 0; i < 2; i++) {
        mean[i] = ct_zeros(device, dtype, ct_shape1(s->n));
        more[i] = ct_zeros(device, dtype, ct_shape1(s->n));
        status[i] = ct_gp_cross_validate(gp[i], fold, mean[i], more[i], NULL);
    }
    free(fold);
    compare("the means of folds", status, mean, 10 * tolerance);
    compare("the variances of folds", status, more, 10 * tolerance);
    ct_gp_numerics numerics[2];
    for (int i = 0; i < 2; i++)
        expect(!ct_gp_inspect(gp[i], &numerics[i]), "inspect: %s", ct_message(device));
    expect_close("the condition", &numerics[0].condition, &numerics[1].condition, 1, 1e4 * tolerance);
    for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
}

static const char *const kernels[] = {
    "scale * rbf(ard)",
    "scale * matern12",
    "matern32(ard)",
    "scale * matern52",
    "scale * rq",
    "scale * periodic * rbf",
    "cosine(dims=0) + matern52",
    "linear + rbf",
    "poly(degree=2) + matern32",
    "scale * rbf + white",
    "constant + scale * rbf",
};

static void sizes(void)
{
    static const int64_t n[] = { 1, 2, 5, 23, 24, 25, 48, 100, 129, 257, 500, 700, 1500 };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        if (n[i] > 1000 && comm->ahead) continue;
        data s = data_of(CT_F64, n[i]);
        check_model(&s, "scale * rbf(ard)", (ct_gp_options){ 0 }, 1e-10);
        data_free(&s);
        conclude("%lld rows%s", (long long)n[i], comm->ahead ? ", two panels" : "");
    }
}

/* The last column is of three levels; in the points one of them is unknown. */
static void kernels_of_levels(const data *s)
{
    static const char *const levels[] = { "a", "b", "c" };
    static const ct_column columns[] = {
        { .name = "u" },
        { .name = "v" },
        { .name = "w", .kind = CT_COLUMN_CATEGORY, .levels = levels, .n_levels = 3 }
    };
    static const char *const texts[] = { "scale * rbf(dims=0:2) * category(dims=2)",
                                         "index(dims=2, rank=2) * matern52(dims=0:2)" };
    for (int64_t i = 0; i < s->n; i++) ((double *)ct_tensor_data(s->X))[3 * i + 2] = (double)(i * i % 3);
    for (int64_t i = 0; i < s->m; i++) ((double *)ct_tensor_data(s->Xs))[3 * i + 2] = (double)(i % 4) - 1;
    for (int k = 0; k < 2; k++) {
        check_model(s, texts[k], (ct_gp_options){ .inputs = columns }, 1e-10);
        conclude("%s", texts[k]);
    }
}

static void every_kernel(void)
{
    data s = data_of(CT_F64, 150);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        check_model(&s, kernels[i], (ct_gp_options){ .mean = i % 2 ? CT_MEAN_LINEAR : CT_MEAN_CONSTANT },
                    1e-10);
        conclude("%s", kernels[i]);
    }
    ct_tensor *noise = table(CT_F64, ct_shape1(s.n), 9);
    check_model(&s, "rbf", (ct_gp_options){ .noise = CT_NOISE_GIVEN_PLUS, .noise_variances = noise }, 1e-10);
    ct_release(noise);
    conclude("given noise");
    int64_t level[150];
    for (int i = 0; i < 150; i++) level[i] = i % 3;
    ct_tensor *levels = ct_from(device, CT_I64, ct_shape1(s.n), level);
    check_model(&s, "rbf", (ct_gp_options){ .noise = CT_NOISE_BY_LEVEL, .noise_levels = levels }, 1e-10);
    ct_release(levels);
    conclude("noise by level");
    check_model(&s, "rbf", (ct_gp_options){ .noise = CT_NOISE_LOG_LINEAR }, 1e-10);
    conclude("noise of the inputs");
    kernels_of_levels(&s);
    data_free(&s);
    s = data_of(CT_F32, 150);
    check_model(&s, "scale * rbf(ard)", (ct_gp_options){ 0 }, 2e-3);
    data_free(&s);
    conclude("f32");
}

/* More panels of points in one prediction than a call has room for scratch. */
static void many_points(void)
{
    enum { POINTS = 33 * 512 + 1 };
    data s = data_of(CT_F64, 70);
    ct_gp *gp[2];
    ct_tensor *points = table(CT_F64, ct_shape2(POINTS, 3), 4), *variance[2];
    ct_status status[2];
    if (make(&s, "scale * rbf", (ct_gp_options){ 0 }, gp)) {
        for (int i = 0; i < 2; i++) {
            variance[i] = ct_zeros(device, CT_F64, ct_shape1(POINTS));
            status[i] = ct_gp_predict(gp[i], points, NULL, variance[i]);
        }
        compare("the variance", status, variance, 1e-10);
        for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
    }
    ct_release(points);
    data_free(&s);
    conclude("%d points", POINTS);
}

/* -- fits ------------------------------------------------------------------------------------------------ */

static int stop_on_process_1(void *context, const ct_fit_progress *p)
{
    (void)context;
    return p->evaluation == 3 && ct_comm_rank(comm) == ct_comm_size(comm) - 1;
}

static void fits(void)
{
    data s = data_of(CT_F64, 120);
    ct_gp *gp[2];
    if (make(&s, "scale * rbf(ard)", (ct_gp_options){ .priors = CT_PRIORS_WEAK }, gp)) {
        double value[2];
        for (int i = 0; i < 2; i++) {
            expect(!ct_gp_fit(gp[i], &(ct_fit_options){ .restarts = 1 }), "fit: %s", ct_message(device));
            value[i] = ct_gp_report(gp[i]).objective;
        }
        expect_close("the optimum", &value[0], &value[1], 1, 1e-6);
        for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
    }
    conclude("a fit with a restart");

    if (make(&s, "scale * rbf(ard)", (ct_gp_options){ 0 }, gp)) {
        ct_status status = ct_gp_fit(gp[0], &(ct_fit_options){ .progress = stop_on_process_1 });
        expect(status == CT_ESTOPPED, "a stopped fit: %s", ct_message(device));
        expect(ct_gp_report(gp[0]).evaluations == 3, "%d evaluations", ct_gp_report(gp[0]).evaluations);
        for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
    }
    conclude("one process stops the fit");

    ct_gp *chosen = NULL;
    ct_status status = ct_gp_choose(s.X, s.y, &(ct_gp_options){ .comm = comm }, NULL, &chosen, NULL);
    expect(!status && chosen && isfinite(ct_gp_nlml_value(chosen)), "choose: %s", ct_message(device));
    ct_gp_free(chosen);
    conclude("a chosen kernel");
    data_free(&s);
}

/* -- failures -------------------------------------------------------------------------------------------- */

/* The rank of the process that failed is said once. */
static bool says_once(const char *message)
{
    const char *prefix = strstr(message, "process ");
    return !prefix || !strstr(prefix + 1, "process ");
}

/* All processes must have the same status. */
static void expect_same(ct_status status, const char *what)
{
    if (status) expect(says_once(ct_message(device)), "%s: %s", what, ct_message(device));
    int least = (int)status, most = (int)status;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    expect(least == most, "%s: statuses from %d to %d", what, least, most);
}

static void bad_data(void)
{
    data s = data_of(CT_F64, 90);
    ct_gp_options options = { .comm = comm };
    const bool many = ct_comm_size(comm) > 1, last = ct_comm_rank(comm) == ct_comm_size(comm) - 1;
    ((double *)ct_tensor_data(s.X))[5] = NAN;
    ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &options);
    expect(!gp && ct_last_status(device) == CT_EINVAL, "NaN: %s", ct_message(device));
    conclude("NaN");

    ((double *)ct_tensor_data(s.X))[5] = last && many ? 0.25 : 0.5;
    gp = ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &options);
    expect(!gp == many, "data that differ were %s", gp ? "taken" : "refused");
    if (many) expect(strstr(ct_message(device), "differ"), "%s", ct_message(device));
    ct_gp_free(gp);
    conclude("data that differ");

    double *x = ct_tensor_data(s.X);
    x[5] = 0.5;
    for (int64_t i = 45; i < 90; i++) memcpy(x + 3 * i, x + 3 * (i - 45), 3 * sizeof *x);
    options.noise = CT_NOISE_NONE;
    gp = ct_gp_new(s.X, s.y, ct_kernel_parse("poly(degree=2)"), &options);
    double u[32] = { 0 }, value, alone;
    options.comm = NULL;
    ct_gp *single = ct_gp_new(s.X, s.y, ct_kernel_parse("poly(degree=2)"), &options);
    ct_status status = ct_gp_objective(gp, u, &value, NULL),
              expected = ct_gp_objective(single, u, &alone, NULL);
    expect(status == expected, "a singular matrix: %d, alone %d: %s", status, expected, ct_message(device));
    expect_same(status, "a singular matrix");
    ct_gp_free(gp);
    ct_gp_free(single);
    conclude("a singular matrix");
    data_free(&s);

    options.comm = comm;
    options.mean = CT_MEAN_BASIS;
    options.basis = "1";
    s = data_of(CT_F64, 20);
    gp = ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &options);
    expect(!gp == many && (gp || ct_last_status(device) == CT_EUNSUPPORTED), "%s", ct_message(device));
    ct_gp_free(gp);
    conclude("a trend over many processes");

    options = (ct_gp_options){ .comm = comm };
    ct_outputs *o =
        ct_outputs_new(s.X, s.y, ct_kernel_parse("rbf"), &(ct_outputs_options){ .model = options });
    expect(!o == many && (o || ct_last_status(device) == CT_EUNSUPPORTED), "%s", ct_message(device));
    ct_outputs_free(o);
    data_free(&s);
    conclude("outputs over many processes");
}

/* The pivot of a row that copies another one is rounding, in whatever tile that is: the jitter is as for one
 * process, and so is the value. */
static void copied_rows(void)
{
    for (int64_t i = 0; i < 110; i += 10) {
        data s = data_of(CT_F64, 111);
        double *x = ct_tensor_data(s.X), u[8] = { 0 }, value[2];
        ct_gp *gp[2];
        memcpy(x + 3 * 110, x + 3 * i, 3 * sizeof *x);
        if (make(&s, "scale * matern32", (ct_gp_options){ .noise = CT_NOISE_NONE }, gp)) {
            for (int k = 0; k < 2; k++)
                expect(!ct_gp_objective(gp[k], u, &value[k], NULL), "row %d twice: %s", (int)i,
                       ct_message(device));
            expect(fabs(value[0] - value[1]) < 1e-3 * value[1], "row %d twice: %g is not %g", (int)i,
                   value[0], value[1]);
            for (int k = 0; k < 2; k++) ct_gp_free(gp[k]);
        }
        data_free(&s);
    }
    conclude("a row that is there twice");
}

/* Everything that is collective, on models over the communicator. */
static ct_status do_all(const data *s, ct_gp *const gp[2], ct_tensor *mean, ct_tensor *each)
{
    double u[8] = { 0 }, value;
    const int64_t fold[64] = { 1, 2, 1 };
    ct_gp_numerics numerics;
    ct_status status =
        ct_gp_fit_many(gp, 2, &(ct_fit_options){ .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 1 }, NULL);
    if (!status) status = ct_gp_predict(gp[0], s->Xs, mean, mean);
    if (!status) status = ct_gp_objective(gp[0], u, &value, NULL);
    if (!status) status = ct_gp_loo(gp[0], each, NULL, NULL);
    if (!status) status = ct_gp_cross_validate(gp[0], fold, each, NULL, NULL);
    if (!status) status = ct_gp_sobol(gp[0], 10, 0, u, u + 3);
    if (!status) status = ct_gp_data(gp[0], NULL, each);
    if (!status) status = ct_gp_inspect(gp[1], &numerics);
    return status ? status : ct_gp_calibrate_variance(gp[1], NULL);
}

/* One process after the other: its k-th allocation fails, for every k. Afterwards the models are as good as
 * before. */
static void no_memory(void)
{
    data s = data_of(CT_F64, 40);
    for (int process = 0; process < ct_comm_size(comm); process++) {
        int refused = 1, k;
        for (k = 1; refused && k < 5000; k++) {
            const bool mine = process == ct_comm_rank(comm);
            ct_tensor *mean = ct_zeros(device, CT_F64, ct_shape1(s.m)),
                      *each = ct_zeros(device, CT_F64, ct_shape1(s.n));
            ct_gp *gp[2] = { NULL };
            ct_status status = CT_OK;
            ct_memory_trim(device);
            if (mine) alloc_fail_at(k);
            for (int i = 0; i < 2 && !status; i++) {
                gp[i] = ct_gp_new(s.X, s.y, ct_kernel_parse("scale * rbf"), &(ct_gp_options){ .comm = comm });
                status = gp[i] ? CT_OK : ct_last_status(device);
            }
            if (!status) status = do_all(&s, gp, mean, each);
            refused = mine && alloc_refused();
            if (mine) alloc_unwatch();
            MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            expect(status == CT_OK || (refused && status == CT_ENOMEM), "allocation %d: %s", k,
                   ct_message(device));
            expect_same(status, "no memory");
            if (gp[1]) expect(!do_all(&s, gp, mean, each), "after allocation %d: %s", k, ct_message(device));
            for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
            ct_release(mean);
            ct_release(each);
        }
        expect(k > 20, "only %d allocations", k);
        conclude("process %d without memory, %d times", process, k);
    }
    data_free(&s);
}

/* The posterior on a tape: values, and gradients in the points. What a sweep would have to solve for over
 * many processes is refused. */
static void posteriors(void)
{
    data s = data_of(CT_F64, 100);
    ct_gp *gp[2];
    if (!make(&s, "scale * rbf(ard)", (ct_gp_options){ .mean = CT_MEAN_LINEAR }, gp)) return;
    ct_tape *tape = ct_tape_new(device);
    ct_tensor *slope[2], *covariance[2];
    ct_status status[2];
    double value[2];
    for (int i = 0; i < 2; i++) {
        ct_tape_reset(tape);
        ct_var x = ct_leaf(tape, s.Xs), none = { NULL, 0, 0 }, mean, variance, C, g;
        ct_gp_posterior(gp[i], x, true, &mean, &variance);
        ct_gp_posterior_full(gp[i], x, false, NULL, &C);
        ct_var y = ct_sum(ct_add(ct_square(mean), ct_log(variance)), CT_ALL, false);
        status[i] = ct_grad(y, none, &x, &g, 1, CT_GRAD_FREE);
        value[i] = ct_item(y);
        slope[i] = ct_retain(ct_value(g));
        covariance[i] = ct_retain(ct_value(C));
        expect(!status[i], "a posterior: %s", ct_tape_message(tape));
        const ct_status wanted = i || ct_comm_size(comm) == 1 ? CT_OK : CT_EUNSUPPORTED;
        for (int full = 0; full < 2; full++) {
            ct_tape_reset(tape);
            x = ct_leaf(tape, s.Xs);
            ct_gp_posterior(gp[i], x, true, NULL, &variance);
            ct_gp_posterior_full(gp[i], x, false, NULL, &C);
            y = ct_sum(full ? C : variance, CT_ALL, false);
            expect(ct_grad(y, none, &x, &g, 1, full ? CT_GRAD_FREE : CT_GRAD_RECORD) == wanted,
                   "what is refused: %s", ct_tape_message(tape));
        }
    }
    expect_close("a posterior", &value[0], &value[1], 1, 1e-10);
    if (slope[0] && slope[1]) compare("its gradient", status, slope, 1e-9);
    if (covariance[0] && covariance[1]) compare("its covariance", status, covariance, 1e-10);
    ct_tape_free(tape);
    for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
    data_free(&s);
    conclude("the posterior on a tape");
}

/* The factor's file, while one process after the other has no memory: then there is none. */
static void save_without_memory(ct_gp *gp, const char *path)
{
    for (int process = 0; process < ct_comm_size(comm); process++) {
        int refused = 1, k;
        for (k = 1; refused && k < 1000; k++) {
            const bool mine = process == ct_comm_rank(comm);
            ct_memory_trim(device);
            if (mine) alloc_fail_at(k);
            const ct_status status = ct_gp_save(gp, path);
            refused = mine && alloc_refused();
            if (mine) alloc_unwatch();
            MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            expect(!status || (refused && status == CT_ENOMEM), "allocation %d: %s", k, ct_message(device));
            expect_same(status, "saving");
            if (!ct_comm_rank(comm)) expect(!unlink(path) == !status, "allocation %d: is there a file?", k);
        }
        expect(k > 5, "only %d allocations", k);
    }
}

/* The same for a file that all processes read. */
static void load_without_memory(const char *path, double value)
{
    for (int process = 0; process < ct_comm_size(comm); process++) {
        int refused = 1, k;
        for (k = 1; refused && k < 1000; k++) {
            const bool mine = process == ct_comm_rank(comm);
            ct_memory_trim(device);
            if (mine) alloc_fail_at(k);
            ct_gp *loaded = ct_gp_load_for(device, path, comm);
            const ct_status status = loaded ? CT_OK : ct_last_status(device);
            refused = mine && alloc_refused();
            if (mine) alloc_unwatch();
            MPI_Allreduce(MPI_IN_PLACE, &refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            expect(!status || (refused && status == CT_ENOMEM), "allocation %d: %s", k, ct_message(device));
            expect_same(status, "loading");
            const double of_loaded = refused ? value : ct_gp_nlml_value(loaded);
            expect_close("the likelihood of a loaded model", &of_loaded, &value, 1, 1e-10);
            ct_gp_free(loaded);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What process 0 wrote of all processes' tiles is to one process a model with its factor. */
static void expect_same_file(const data *s, const char *path, ct_gp *one)
{
    if (ct_comm_rank(comm)) return;
    ct_gp *loaded = ct_gp_load(device, path);
    if (!expect(loaded && ct_gp_has_factor(loaded), "a file with its factor: %s", ct_message(device))) return;
    ct_tensor *mean[2], *variance[2];
    ct_status status[2];
    for (int i = 0; i < 2; i++) {
        mean[i] = ct_zeros(device, CT_F64, ct_shape1(s->m));
        variance[i] = ct_zeros(device, CT_F64, ct_shape1(s->m));
        status[i] = ct_gp_predict(i ? one : loaded, s->Xs, mean[i], variance[i]);
    }
    compare("a loaded mean", status, mean, 1e-10);
    compare("a loaded variance", status, variance, 1e-10);
    ct_gp_free(loaded);
}

/* A model's file: written by process 0, read by all; one process after the other has no memory. */
static void files(void)
{
    data s = data_of(CT_F64, 80);
    char path[64];
    ct_gp *gp[2];
    snprintf(path, sizeof path, "/tmp/cotangent-%d.ctgp", (int)getpid());
    ct_comm_share(comm, path, sizeof path);
    if (!make(&s, "scale * rbf", (ct_gp_options){ 0 }, gp)) return;
    const double value = ct_gp_nlml_value(gp[1]);
    expect(!ct_gp_save(gp[0], path), "save: %s", ct_message(device));
    expect_same_file(&s, path, gp[1]);
    if (!ct_comm_rank(comm)) unlink(path);
    expect(ct_gp_save(gp[0], "/nowhere/model") == CT_EIO, "a folder that is not there: %s",
           ct_message(device));
    save_without_memory(gp[0], path);
    for (int bare = 0; bare < 2; bare++) {
        const ct_gp_save_options how = { .no_factor = bare };
        expect(!ct_gp_save_with(gp[0], path, &how), "save %d: %s", bare, ct_message(device));
        load_without_memory(path, value);
    }
    expect(!ct_gp_save(gp[0], path), "save: %s", ct_message(device));
    if (!ct_comm_rank(comm)) {
        FILE *f = fopen(path, "r+b"); /* one bit of the factor, which the others do not read */
        fseek(f, -40, SEEK_END);
        const int byte = fgetc(f);
        fseek(f, -40, SEEK_END);
        fputc(byte ^ 1, f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    expect(!ct_gp_load_for(device, path, comm), "a damaged factor");
    expect_same(ct_last_status(device), "damage");
    expect(ct_last_status(device) == CT_EFORMAT, "a damaged factor: %s", ct_message(device));
    for (int i = 0; i < 2; i++) ct_gp_free(gp[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!ct_comm_rank(comm)) unlink(path);
    data_free(&s);
    conclude("a saved model");
}

/* Opening a communicator: one process after the other has no memory for it. */
static void no_memory_for_a_communicator(void)
{
    for (int process = 0; process < ct_comm_size(comm); process++) {
        if (process == ct_comm_rank(comm)) alloc_fail_at(1);
        ct_comm *other = ct_comm_from_handle((int)MPI_Comm_c2f(MPI_COMM_WORLD));
        expect(ct_comm_status(other) == CT_ENOMEM, "a communicator without memory: %s",
               ct_comm_message(other));
        if (process == ct_comm_rank(comm)) alloc_unwatch();
        ct_comm_free(other);
    }
    ct_comm *world = ct_comm_world();
    int64_t number = 41 + ct_comm_rank(world);
    expect(!ct_comm_share(world, &number, sizeof number) && number == 41, "shared: %lld", (long long)number);
    ct_comm_free(world);
    conclude("opening and sharing");
}

/* One process after the other fails between two calls. The others learn of it in their next call, of the
 * program or of the library. */
static void fails_between_calls(void)
{
    const int size = ct_comm_size(comm), own = ct_comm_rank(comm);
    char wanted[64];
    expect(!ct_comm_leave(comm, CT_OK, NULL), "all went well: %s", ct_comm_message(comm));
    for (int process = 0; process < size && size > 1; process++)
        for (int library = 0; library < 2; library++) {
            ct_status status = CT_ENOMEM;
            int64_t number = process;
            data s = data_of(CT_F64, 20);
            snprintf(wanted, sizeof wanted, "process %d of %d: no memory for a table", process, size);
            if (own != process && library) {
                ct_gp *gp = ct_gp_new(s.X, s.y, ct_kernel_parse("rbf"), &(ct_gp_options){ .comm = comm });
                expect(!gp && !strcmp(ct_message(device), wanted), "a model: %s", ct_message(device));
                status = ct_last_status(device);
            } else if (own != process) {
                status = ct_comm_share(comm, &number, sizeof number);
                expect(status == CT_ENOMEM && !strcmp(ct_comm_message(comm), wanted), "sharing: %d, %s",
                       status, ct_comm_message(comm));
            }
            const char *message = own == process ? "no memory for a table" : ct_comm_message(comm);
            status = ct_comm_leave(comm, status, message);
            expect(status == CT_ENOMEM, "leaving: %d", status);
            if (own != process) expect(!strcmp(ct_comm_message(comm), wanted), "%s", message);
            expect(!ct_comm_share(comm, &number, sizeof number), "sharing: %s", ct_comm_message(comm));
            data_free(&s);
        }
    expect(!ct_comm_status(comm), "%s", ct_comm_message(comm));
    expect(ct_comm_leave(NULL, CT_OK, NULL) == CT_EINVAL, "leaving no communicator");
    conclude("a process fails between two calls");
}

static int silences;

static void on_silence(void *context, const int *silent, int count)
{
    const int *wanted = context;
    bool found = false;
    for (int i = 0; i < count; i++) found |= silent[i] == *wanted;
    expect(found, "process %d is not silent", *wanted);
    silences++;
}

/* The last process, and then the first, comes later than the others wait without a word. */
static void a_silent_process(void)
{
    const int size = ct_comm_size(comm), own = ct_comm_rank(comm);
    int silent;
    expect(ct_comm_watch(comm, 0, on_silence, &silent) == CT_EINVAL, "no time");
    expect(ct_comm_watch(comm, 1, NULL, NULL) == CT_EINVAL, "nobody is told");
    if (own == size - 1) {
        alloc_fail_at(1);
        expect(ct_comm_watch(comm, 2, on_silence, &silent) == (size > 1 ? CT_ENOMEM : CT_OK), "no memory");
        alloc_unwatch();
    }
    expect(!ct_comm_watch(comm, 2, on_silence, &silent), "a watch: %s", ct_comm_message(comm));
    for (int k = 0; k < 2; k++) {
        int64_t number = 0;
        int told = 0;
        silent = k ? 0 : size - 1;
        silences = 0;
        if (own == silent) usleep(3000000);
        expect(!ct_comm_share(comm, &number, sizeof number), "sharing: %s", ct_comm_message(comm));
        expect(own != silent || !silences, "the silent process tells");
        MPI_Allreduce(&silences, &told, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(size > 1 ? told > 0 : !told, "process %d is silent, %d tell it", silent, told);
        conclude("process %d is silent", silent);
    }
    data s = data_of(CT_F64, 300);
    check_model(&s, "rbf", (ct_gp_options){ 0 }, 1e-10);
    data_free(&s);
    conclude("and all go on");
}

int main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    MPI_Init(NULL, NULL);
    alarm(600);
    comm = ct_comm_mpi(MPI_COMM_WORLD);
    device = ct_device_open("cpu");
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expect(!ct_comm_status(comm) && ct_comm_size(comm) == size, "%s", ct_comm_message(comm));
    conclude("%d processes", size);
    if (!failures) {
        sizes();
        comm->ahead = true;
        sizes();
        comm->ahead = false;
        every_kernel();
        many_points();
        fits();
        bad_data();
        copied_rows();
        no_memory();
        posteriors();
        files();
        no_memory_for_a_communicator();
        fails_between_calls();
        a_silent_process();
    }
    if (!ct_comm_rank(comm)) printf("1..%d\n", tests);
    ct_device_close(device);
    ct_comm_free(comm);
    MPI_Finalize();
    return failures > 0;
}
