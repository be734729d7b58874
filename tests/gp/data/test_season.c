/* Seasons: the periodogram against astropy and dense least squares, what is found and what is not, what the
 * choice and a kernel's periods make of it, and refusals. */
#include "gp_device.h"

#include "alloc.h"
#include "gp/data/periodogram.h"
#include "reference/season_tables.h"

static const double turn = 6.28318530717958647692;
static const ct_column time_column[] = { { .name = "date", .kind = CT_COLUMN_TIME }, { .name = "y" } };

/* y_i = f(x_i) + level e_i with normal e, at days 0 to n - 1, from a fixed seed; `thin`: of every three days
 * one that is drawn. */
static gp_data series(int64_t n, bool thin, double level, double (*f)(double x))
{
    gp_data s = { .device = device, .n = n, .d = 1 };
    ct_tensor *u = ct_rand_uniform(device, CT_F64, ct_shape1(n), 3, 0),
              *e = ct_rand_normal(device, CT_F64, ct_shape1(n), 3, 1);
    double *x = gp_host(u);
    s.y_host = gp_host(e);
    for (int64_t i = 0; i < n; i++) {
        x[i] = thin ? (double)(3 * i) + floor(3 * x[i]) : (double)i;
        s.y_host[i] = f(x[i]) + level * s.y_host[i];
    }
    s.X = assert_tensor(ct_from(device, CT_F64, ct_shape2(n, 1), x), device);
    s.y = assert_tensor(ct_from(device, CT_F64, ct_shape1(n), s.y_host), device);
    ct_release(u), ct_release(e);
    free(x);
    return s;
}

static double flat(double x) { return 0 * x; }
static double week(double x) { return 5 + sin(turn * x / 7); }
static double weekend(double x) { return fmod(x, 7) >= 5; }
/* Its third wave is the strongest. */
static double three_days(double x) { return fmod(fmod(x, 7), 2) - (fmod(x, 7) >= 6 ? 0.5 : 0); }
static double both(double x) { return 4 * sin(turn * x / 91) + weekend(x); }
static double rising_year(double x) { return 300 + 3e-4 * x * x + 3 * sin(turn * x / 365.25); }
static double alternating(double x) { return fmod(x, 2); }
static double cubic(double x) { return 1 + x - 0.01 * x * x + 1e-5 * x * x * x; }

static int found_in(const gp_data *s, ct_season season[CT_SEASONS])
{
    int count;
    assert_ok(ct_find_seasons(s->X, 0, s->y, season, &count), ct_message(device));
    for (int i = 0; i < count; i++)
        assert_true(season[i].period > 0 && season[i].power > 0 && season[i].power <= 1 &&
                    season[i].false_alarm >= 0 && season[i].false_alarm < 1e-4);
    return count;
}

/* -- the periodogram ------------------------------------------------------------------------------------- */

static void equals_the_references(void **state)
{
    (void)state;
    enum { N = SEASON_POINTS };
    static double r[N], q[7 * N], wave[4 * N];
    double power[SEASON_FREQUENCIES];
    for (int table = 0; table < 3; table++) {
        memcpy(r, season_y, sizeof r);
        ct__series s = { .n = N, .t = season_t, .r = r, .q = q, .wave = wave };
        for (int k = 0; k < (table ? 4 : 1) + (table == 2 ? 2 : 0); k++) {
            for (int64_t i = 0; i < N; i++) {
                const double angle = turn * season_known * season_t[i];
                q[s.columns * N + i] = k < 4 ? pow(season_t[i] - 0.5, k) : k == 4 ? cos(angle) : sin(angle);
            }
            ct__series_join(&s);
        }
        memcpy(q + s.columns * N, q, sizeof r); /* what the basis has does not join again */
        const int columns = s.columns;
        ct__series_join(&s);
        assert_int_equal(s.columns, columns);
        ct__periodogram(&s, season_first, season_step, SEASON_FREQUENCIES, power);
        for (int k = 0; k < SEASON_FREQUENCIES; k++)
            assert_close(power[k], season_power[table][k], 1e-9, 1e-11);
        memset(r, 0, sizeof r);
        ct__periodogram(&s, season_first, season_step, 1, power);
        assert_true(power[0] == 0);
    }
}

/* -- what is found --------------------------------------------------------------------------------------- */

static void a_week_and_a_year(void **state)
{
    (void)state;
    static const struct {
        int64_t n;
        bool thin;
        double level, (*f)(double x), period, error;
    } of[] = { { 100, false, 0.5, week, 7, 0.05 },         { 100, true, 0.5, week, 7, 0.02 },
               { 200, false, 0.3, weekend, 7, 0.02 },      { 200, false, 0.3, three_days, 7, 0.02 },
               { 1500, false, 1, rising_year, 365.25, 4 }, { 500, true, 1, rising_year, 365.25, 4 },
               { 5000, false, 0.5, week, 7, 0.001 },       { 40, false, 0, week, 7, 0.05 } };
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        gp_data s = series(of[k].n, of[k].thin, of[k].level, of[k].f);
        ct_season season[CT_SEASONS], again[CT_SEASONS];
        assert_int_equal(found_in(&s, season), 1);
        assert_close(season[0].period, of[k].period, 0, of[k].error);
        assert_int_equal(found_in(&s, again), 1);
        assert_memory_equal(season, again, sizeof *season);
        gp_data_free(&s);
    }
}

static void two_seasons(void **state)
{
    (void)state;
    gp_data s = series(600, false, 0.3, both);
    ct_season season[CT_SEASONS];
    assert_int_equal(found_in(&s, season), 2);
    assert_close(season[0].period, 91, 0, 0.5);
    assert_close(season[1].period, 7, 0, 0.02);
    assert_close(season[0].power, 8 / (8 + 10.0 / 49 + 0.09), 0.02, 0); /* variances */
    gp_data_free(&s);
}

/* Neither units, nor the order of rows, nor another column, nor the dtype matters. */
static void the_same_in_other_words(void **state)
{
    (void)state;
    gp_data s = series(150, true, 0.5, week);
    double *x = gp_host(s.X), table[150 * 3], y[150];
    ct_season season[CT_SEASONS], other[CT_SEASONS];
    int count;
    assert_int_equal(found_in(&s, season), 1);
    for (int64_t i = 0; i < 150; i++) {
        const int64_t k = (i * 67) % 150;
        table[3 * i] = (double)(i % 5), table[3 * i + 1] = 1e-9 * (x[k] + 18000), table[3 * i + 2] = -x[k];
        y[i] = -1e140 * s.y_host[k];
    }
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(150, 3), table),
              *Y = ct_from(device, CT_F64, ct_shape2(150, 1), y);
    for (int64_t j = 1; j < 3; j++) {
        assert_ok(ct_find_seasons(X, j, Y, other, &count), ct_message(device));
        assert_int_equal(count, 1);
        assert_close(other[0].period, (j == 1 ? 1e-9 : 1) * season[0].period, 1e-6, 0);
        assert_close(other[0].power, season[0].power, 1e-6, 0);
    }
    ct_tensor *X32 = ct_tensor_cast(s.X, CT_F32), *y32 = ct_tensor_cast(s.y, CT_F32);
    assert_ok(ct_find_seasons(X32, 0, y32, other, &count), ct_message(device));
    assert_int_equal(count, 1);
    assert_close(other[0].period, season[0].period, 1e-5, 0);
    ct_tensor *all[] = { X, Y, X32, y32 };
    for (int k = 0; k < 4; k++) ct_release(all[k]);
    free(x);
    gp_data_free(&s);
}

static void none_where_there_is_none(void **state)
{
    (void)state;
    ct_season season[CT_SEASONS];
    int count = 7;
    gp_data noise = series(300, false, 1, flat), thin = series(300, true, 1, flat),
            trend = series(300, false, 0, cubic), zero = series(50, false, 0, flat),
            few = series(15, false, 0.1, week), fast = series(64, false, 0, alternating);
    gp_data *of[] = { &noise, &thin, &trend, &zero, &few, &fast };
    for (int k = 0; k < 6; k++) {
        assert_int_equal(found_in(of[k], season), 0);
        gp_data_free(of[k]);
    }
    /* a random walk is strong at low frequencies; x that is all the same, and beyond a double's range */
    gp_data walk = series(300, false, 1, flat);
    for (int64_t i = 1; i < 300; i++) walk.y_host[i] += walk.y_host[i - 1];
    ct_tensor *y = ct_from(device, CT_F64, ct_shape1(300), walk.y_host);
    assert_ok(ct_find_seasons(walk.X, 0, y, season, &count), ct_message(device));
    assert_int_equal(count, 0);
    double x[300];
    for (int turn_at = 0; turn_at < 2; turn_at++) {
        for (int64_t i = 0; i < 300; i++) x[i] = turn_at ? (i % 2 ? 1.7e308 : -1.7e308) : 3;
        ct_tensor *X = ct_from(device, CT_F64, ct_shape2(300, 1), x);
        assert_ok(ct_find_seasons(X, 0, y, season, &count), ct_message(device));
        assert_int_equal(count, 0);
        ct_release(X);
    }
    ct_release(y);
    gp_data_free(&walk);
}

/* -- the choice ------------------------------------------------------------------------------------------ */

static ct_gp *chosen(const gp_data *s, const ct_gp_options *model, ct_gp_season season, ct_gp_choice *choice)
{
    ct_gp *gp;
    const ct_gp_choose_options options = { .season = season, .season_column = s->d - 1 };
    assert_ok(ct_gp_choose(s->X, s->y, model, &options, &gp, choice), ct_message(device));
    assert_gp(gp, device);
    return gp;
}

static void a_season_is_chosen(void **state)
{
    (void)state;
    const ct_gp_options timed = { .priors = CT_PRIORS_WEAK,
                                  .inputs = time_column,
                                  .output = time_column + 1 };
    gp_data s = series(120, false, 0.3, week), none = series(60, false, 1, flat);
    ct_gp_choice choice, plain;
    char wanted[256];
    for (int asked = 0; asked < 2; asked++) {
        ct_gp *gp =
            chosen(&s, asked ? NULL : &timed, asked ? CT_GP_SEASON_OF_COLUMN : CT_GP_SEASON_OF_TIME, &choice);
        assert_int_equal(choice.seasons, 1);
        assert_int_equal(choice.count, 8);
        assert_int_equal(choice.season_column, 0);
        assert_non_null(strstr(choice.tried[choice.best].kernel, "scale * periodic(period="));
        assert_non_null(strstr(choice.tried[4].kernel, " * rbf(lengthscale=2")); /* of three weeks */
        snprintf(wanted, sizeof wanted, "linear + %s", choice.tried[3].kernel);
        assert_string_equal(choice.tried[5].kernel, wanted);
        assert_string_equal(choice.tried[5].from, choice.tried[3].kernel);
        snprintf(wanted, sizeof wanted, "%s + scale * matern32(ard)", choice.tried[6].kernel);
        assert_string_equal(choice.tried[7].kernel, wanted);
        assert_string_equal(choice.tried[7].from, choice.tried[6].kernel);
        assert_close(gp_get(gp, "periodic.period"), 7, 0, 0.03);
        ct_gp_free(gp);
    }
    /* also a strong one of a number that nobody named; not where it is switched off, nor without a season */
    ct_gp_free(chosen(&s, NULL, CT_GP_SEASON_OF_TIME, &choice));
    assert_true(choice.count == 8 && choice.seasons == 1);
    ct_gp_free(chosen(&s, &timed, CT_GP_SEASON_NONE, &choice));
    assert_true(choice.count == 3 && choice.seasons == 0);
    ct_gp *with = chosen(&none, &timed, CT_GP_SEASON_OF_TIME, &choice),
          *without = chosen(&none, &timed, CT_GP_SEASON_NONE, &plain);
    assert_true(choice.count == 5 && choice.forecasts && plain.count == 3 && !plain.forecasts);
    for (int k = 0; k < 3; k++) assert_true(choice.tried[k].criterion == plain.tried[k].criterion);
    ct_gp_free(with), ct_gp_free(without);
    gp_data_free(&s);
    gp_data_free(&none);
}

/* The choice looks for seasons in what it learns: log y. */
static void seasons_of_a_transformed_target(void **state)
{
    (void)state;
    gp_data s = series(100, false, 0.3, week);
    ct_season season[CT_SEASONS];
    ct_gp_choice choice;
    const ct_gp_options model = { .transform = CT_TRANSFORM_LOG };
    assert_int_equal(found_in(&s, season), 1);
    for (int64_t i = 0; i < s.n; i++) s.y_host[i] = exp(s.y_host[i]);
    ct_release(s.y);
    s.y = ct_from(device, CT_F64, ct_shape1(s.n), s.y_host);
    ct_gp_free(chosen(&s, &model, CT_GP_SEASON_OF_COLUMN, &choice));
    assert_int_equal(choice.seasons, 1);
    assert_close(choice.season[0].power, season[0].power, 1e-9, 0);
    gp_data_free(&s);
}

/* Among several columns the periodic part sees its own; some rows choose for all; two seasons, two parts. */
static void a_season_of_one_column(void **state)
{
    (void)state;
    gp_data s = series(150, false, 0.3, both);
    double *x = gp_host(s.X), table[300];
    for (int64_t i = 0; i < 150; i++) table[2 * i] = sin((double)(i * i)), table[2 * i + 1] = x[i];
    ct_release(s.X);
    s.X = ct_from(device, CT_F64, ct_shape2(150, 2), table);
    s.d = 2;
    ct_gp_choice choice;
    const ct_gp_choose_options options = {
        .season = CT_GP_SEASON_OF_COLUMN, .season_column = 1, .rows = 100, .fit = { .max_iterations = 3 }
    };
    ct_gp *gp;
    assert_ok(ct_gp_choose(s.X, s.y, NULL, &options, &gp, &choice), ct_message(device));
    assert_int_equal(choice.rows, 100);
    assert_true(choice.seasons >= 1 && choice.count == 3 + (choice.seasons > 1 ? 5 : 4));
    char wanted[128];
    snprintf(wanted, sizeof wanted,
             "scale * matern32(ard) + scale * periodic(dims=1, period=%.7g) * rbf(dims=1)",
             choice.season[0].period);
    assert_string_equal(choice.tried[3].kernel, wanted);
    if (choice.seasons > 1) assert_string_equal(choice.tried[6].from, wanted);
    ct_gp_free(gp);
    free(x);
    gp_data_free(&s);
}

/* -- a kernel's periods ---------------------------------------------------------------------------------- */

static double first_period(const gp_data *s, const char *kernel, const char *name)
{
    ct_gp *gp = gp_of(s, kernel, NULL);
    const double value = gp_get(gp, name);
    ct_gp_free(gp);
    return value;
}

static void periods_begin_at_seasons(void **state)
{
    (void)state;
    gp_data s = series(600, false, 0.3, both), none = series(60, false, 1, flat);
    ct_season season[CT_SEASONS];
    assert_int_equal(found_in(&s, season), 2);
    const double first = season[0].period, second = season[1].period;
    assert_close(first_period(&s, "scale * periodic", "periodic.period"), first, 1e-6, 0);
    assert_close(first_period(&s, "scale * cosine", "cosine.period"), first, 1e-6, 0);
    assert_close(first_period(&s, "periodic + periodic * rbf", "periodic#2.period"), second, 1e-6, 0);
    assert_close(first_period(&s, "periodic(period=90) + periodic", "periodic#2.period"), second, 1e-6, 0);
    assert_close(first_period(&s, "periodic + periodic(period=90!)", "periodic.period"), second, 1e-6, 0);
    assert_close(first_period(&s, "periodic(period=11)", "periodic.period"), 11, 1e-12, 0);
    /* without a season a standard deviation of the column, and no period that the rows cannot tell */
    ct_gp *gp = gp_of(&none, "periodic + periodic(period=0.3)", NULL);
    assert_close(gp_get(gp, "periodic.period"), sqrt((60.0 * 60 - 1) / 12), 1e-9, 0);
    assert_close(ct_gp_param(gp, ct_gp_find(gp, "periodic.period"))->lower, 2, 1e-9, 0);
    assert_true(!(ct_gp_param(gp, ct_gp_find(gp, "periodic#2.period"))->lower > 0));
    ct_gp_free(gp);
    gp_data_free(&s);
    gp_data_free(&none);
}

static double lower_bound(ct_gp *gp, const char *name)
{
    assert_gp(gp, device);
    return ct_gp_param(gp, ct_gp_find(gp, name))->lower;
}

/* A period is not fitted below what the rows can resolve, whether it has a start or not; few rows count by
 * their smallest distance. A start, an upper bound or a value below that stays. */
static void periods_are_no_aliases(void **state)
{
    (void)state;
    enum { N = 12 };
    static const struct {
        const char *kernel;
        double lower;
    } of[] = { { "periodic", 2 }, { "periodic(period=7)", 2 },   { "cosine(period=2)", 2 },
               { "periodic", 2 }, { "periodic(period=1.9)", 0 }, { "periodic(period=7!)", 0 } };
    gp_data many = series(60, false, 0.5, week), few = series(N, false, 0.5, week);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            ct_gp *gp = gp_of(k ? &few : &many, of[i].kernel, NULL);
            assert_close(lower_bound(gp, i == 2 ? "cosine.period" : "periodic.period"), of[i].lower, 1e-9, 0);
            ct_gp_free(gp);
        }
    /* an alias: a wave of period 7/8 is one of period 7 on whole days */
    ct_gp *gp = gp_of(&many, "scale * periodic(period=2.5)", NULL);
    assert_ok(ct_gp_fit(gp, &(ct_fit_options){ .restarts = 8 }), ct_message(device));
    assert_true(gp_get(gp, "periodic.period") >= 2);
    ct_gp_free(gp);

    ct_kernel *bounded = ct_kernel_parse("periodic");
    ct_param p = *ct_kernel_param(bounded, 1);
    p.upper = 1.5;
    assert_string_equal(p.name, "periodic.period");
    assert_ok(ct_kernel_set(bounded, 1, &p), ct_kernel_message(bounded));
    gp = ct_gp_new(many.X, many.y, bounded, NULL);
    assert_true(lower_bound(gp, "periodic.period") == 0);
    ct_gp_free(gp);
    gp_data_free(&many);
    gp_data_free(&few);
}

/* The forecast of the last tenth is that of a model of the other rows, and decides with AICc. */
static void forecasts_decide(void **state)
{
    (void)state;
    const ct_gp_options timed = { .priors = CT_PRIORS_WEAK,
                                  .inputs = time_column,
                                  .output = time_column + 1 };
    gp_data s = series(120, false, 0.3, week);
    const ct_gp_choose_options options = { .as_fitted = true };
    ct_gp_choice choice;
    ct_gp *gp;
    assert_ok(ct_gp_choose(s.X, s.y, &timed, &options, &gp, &choice), ct_message(device));
    assert_true(choice.forecasts);
    const ct_gp_tried *best = &choice.tried[choice.best];
    for (int k = 0; k < choice.count; k++) {
        const ct_gp_tried *t = &choice.tried[k];
        assert_true(t->criterion / 240 + t->forecast >= best->criterion / 240 + best->forecast);
    }
    int64_t rows[12];
    for (int i = 0; i < 12; i++) rows[i] = 108 + i;
    ct_tensor *X = ct_tensor_slice(s.X, 0, 108, 120, 1), *y = ct_tensor_slice(s.y, 0, 108, 120, 1),
              *mean = ct_empty(device, CT_F64, ct_shape1(12)),
              *variance = ct_empty(device, CT_F64, ct_shape1(12));
    assert_ok(ct_gp_remove(gp, rows, 12), ct_message(device));
    assert_ok(ct_gp_predict_noisy(gp, X, mean, variance), ct_message(device));
    double m[12], v[12], of[12], loss = 0;
    assert_true(!ct_read(mean, m, sizeof m) && !ct_read(variance, v, sizeof v) && !ct_read(y, of, sizeof of));
    for (int i = 0; i < 12; i++)
        loss += 0.5 * (log(2 * acos(-1) * v[i]) + (of[i] - m[i]) * (of[i] - m[i]) / v[i]) / 12;
    assert_close(best->forecast, loss, 1e-8, 0);
    ct_release(X), ct_release(y), ct_release(mean), ct_release(variance);
    ct_gp_free(gp);
    gp_data_free(&s);
}

/* -- what is refused, and failing allocations ------------------------------------------------------------ */

static void refusals(void **state)
{
    (void)state;
    gp_data s = series(30, false, 0.3, week), one = series(20, false, 0.3, week);
    ct_season season[CT_SEASONS];
    int count = 7;
    assert_status(ct_find_seasons(NULL, 0, NULL, season, &count), CT_EINVAL, "");
    assert_int_equal(count, 0);
    assert_failed(ct_find_seasons(NULL, 0, s.y, season, &count), device, CT_EINVAL, "NULL");
    assert_failed(ct_find_seasons(s.X, 0, NULL, season, &count), device, CT_EINVAL, "NULL");
    assert_failed(ct_find_seasons(s.X, 0, s.y, NULL, &count), device, CT_EINVAL, "NULL");
    assert_failed(ct_find_seasons(s.X, 0, s.y, season, NULL), device, CT_EINVAL, "NULL");
    assert_failed(ct_find_seasons(s.X, 1, s.y, season, &count), device, CT_EINVAL, "column 1 of 1");
    int64_t column;
    const ct_gp_options model = { .inputs = time_column };
    assert_status(ct_gp_likely_seasons(NULL, NULL, &model, season, &count, &column), CT_EINVAL, "");
    assert_failed(ct_gp_likely_seasons(s.X, NULL, &model, season, &count, &column), device, CT_EINVAL,
                  "NULL");
    assert_failed(ct_gp_likely_seasons(NULL, s.y, &model, season, &count, &column), device, CT_EINVAL,
                  "NULL");
    assert_failed(ct_gp_likely_seasons(s.X, s.y, &model, NULL, &count, &column), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_likely_seasons(s.X, s.y, &model, season, NULL, &column), device, CT_EINVAL, "NULL");
    assert_failed(ct_gp_likely_seasons(s.X, s.y, &model, season, &count, NULL), device, CT_EINVAL, "NULL");
    assert_int_equal(ct_gp_likely_seasons(s.X, s.y, NULL, season, &count, &column), CT_OK);
    assert_int_equal(column, 0);
    assert_failed(ct_find_seasons(s.X, -1, s.y, season, &count), device, CT_EINVAL, "column -1");
    assert_failed(ct_find_seasons(s.X, 0, one.y, season, &count), device, CT_ESHAPE, "rows");
    assert_failed(ct_find_seasons(s.y, 0, s.y, season, &count), device, CT_ESHAPE, "(n, d)");
    ct_tensor *whole = ct_zeros(device, CT_I64, ct_shape1(30));
    assert_failed(ct_find_seasons(s.X, 0, whole, season, &count), device, CT_EDTYPE, "f64");
    ct_device *other = ct_device_open("cpu");
    ct_tensor *there = ct_zeros(other, CT_F64, ct_shape1(30));
    assert_failed(ct_find_seasons(s.X, 0, there, season, &count), device, CT_EDEVICE, "device");
    ct_release(there), ct_release(whole);
    ct_device_close(other);

    s.y_host[4] = NAN;
    ct_tensor *y = ct_from(device, CT_F64, ct_shape1(30), s.y_host);
    assert_failed(ct_find_seasons(s.X, 0, y, season, &count), device, CT_EINVAL, "row 4");
    const ct_gp_options timed = { .inputs = time_column, .output = time_column + 1 };
    const ct_column codes[] = { { .name = "c", .kind = CT_COLUMN_CATEGORY }, { .name = "y" } };
    const ct_gp_options of_codes = { .inputs = codes, .output = codes + 1 };
    const ct_gp_candidate own = { "rbf", NULL };
    ct_gp_choose_options o = { .season = CT_GP_SEASON_OF_COLUMN };
    ct_gp *gp;
    assert_failed(ct_gp_choose(s.X, y, &timed, NULL, &gp, NULL), device, CT_EINVAL, "row 4, column 0 is NaN");
    assert_failed(ct_gp_choose(s.X, s.y, &of_codes, &o, &gp, NULL), device, CT_EINVAL, "number or a time");
    o.season_column = 1;
    assert_failed(ct_gp_choose(s.X, s.y, NULL, &o, &gp, NULL), device, CT_EINVAL, "column 1 of 1");
    o = (ct_gp_choose_options){ .season = CT_GP_SEASON_OF_COLUMN, .candidates = &own, .n_candidates = 1 };
    assert_failed(ct_gp_choose(s.X, s.y, NULL, &o, &gp, NULL), device, CT_EINVAL, "your own");
    o = (ct_gp_choose_options){ .season = (ct_gp_season)9 };
    assert_failed(ct_gp_choose(s.X, s.y, NULL, &o, &gp, NULL), device, CT_EINVAL, "the option ");
    ct_release(y);
    gp_data_free(&s);
    gp_data_free(&one);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    gp_data s = series(2010, false, 0.3, week);
    ct_season season[CT_SEASONS];
    int count;
    for (int64_t k = 1, refused = 1; refused; k++) {
        assert_true(k < 1000);
        alloc_fail_at(k);
        const ct_status status = ct_find_seasons(s.X, 0, s.y, season, &count);
        refused = alloc_refused();
        alloc_unwatch();
        assert_status(status, refused ? CT_ENOMEM : CT_OK, ct_message(device));
        assert_int_equal(count, refused ? 0 : 1);
    }
    gp_data_free(&s);
    /* a model, and a choice: the device is its own, since pools keep memory */
    s = series(40, false, 0.3, week);
    for (int64_t k = 1, refused = 1; refused; k++) {
        assert_true(k < 5000);
        ct_gp *gp = NULL;
        const ct_gp_choose_options o = { .season = CT_GP_SEASON_OF_COLUMN,
                                         .fit = { .restarts = CT_FIT_NO_RESTARTS, .max_iterations = 1 } };
        alloc_fail_at(k);
        const ct_status status = ct_gp_choose(s.X, s.y, NULL, &o, &gp, NULL);
        ct_gp *own = status ? NULL : ct_gp_new(s.X, s.y, ct_kernel_parse("scale * periodic"), NULL);
        const ct_status made = own ? CT_OK : ct_last_status(device);
        refused = alloc_refused();
        alloc_unwatch();
        assert_true(refused || (!status && own));
        assert_true(status || !made || made == CT_ENOMEM);
        assert_true(!status || status == CT_ENOMEM);
        assert_true(!gp == (status != CT_OK));
        ct_gp_free(gp), ct_gp_free(own);
    }
    gp_data_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_references),
        cmocka_unit_test(a_week_and_a_year),
        cmocka_unit_test(two_seasons),
        cmocka_unit_test(the_same_in_other_words),
        cmocka_unit_test(none_where_there_is_none),
        cmocka_unit_test(a_season_is_chosen),
        cmocka_unit_test(seasons_of_a_transformed_target),
        cmocka_unit_test(a_season_of_one_column),
        cmocka_unit_test(periods_begin_at_seasons),
        cmocka_unit_test(periods_are_no_aliases),
        cmocka_unit_test(forecasts_decide),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, open_cpu, close_device);
}
