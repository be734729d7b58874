/* Forty years of CO2 at Mauna Loa: learns the record up to the end of 1996, forecasts five years and compares
 * with the measurements. The covariance has four parts, each with its own time scale [Rasmussen & Williams
 * 2006, §5.4.3]:
 *     k = trend · rbf(decades) + season · periodic(1 year) · rbf(its slow change)
 *       + swings · matern32(a year or so) + weather · matern32(days to weeks)
 * Forty years cannot tell how a trend bends over decades. Its lengthscale is held at 100 years, nearly a
 * parabola [Thoning, Tans & Komhyr 1989]; left free it falls to 40 years, and the forecast's intervals are
 * too narrow. Run it in the folder above examples/; it writes its tables and pictures to out/. */
#include <cotangent/gp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define KERNEL                                                                  \
    "scale(30000) * rbf(lengthscale=100!)"                                      \
    " + scale(8) * periodic(period=1!, lengthscale=1.4) * rbf(lengthscale=120)" \
    " + scale(0.3) * matern32(lengthscale=1.5) + scale(0.1) * matern32(lengthscale=0.05)"

enum { MAX = 4096, GRID = 2400 };

typedef struct series {
    double year[MAX], ppm[MAX], std[MAX];
    int64_t n;
} series;

/* The meaning of each parameter, in the model's order. Factor 0: a variance, printed as its root. */
static const struct {
    const char *text, *unit;
    double factor;
} meanings[] = {
    { "trend: strays from its level by", "ppm", 0 },
    { "trend: bends within (held fixed)", "years", 1 },
    { "season: amplitude", "ppm", 0 },
    { "season: smoothness within the year", "", 1 },
    { "season: period (held fixed)", "year", 1 },
    { "season: its shape changes within", "years", 1 },
    { "swings from year to year: size", "ppm", 0 },
    { "swings: last", "years", 1 },
    { "weather: size", "ppm", 0 },
    { "weather: lasts", "days", 365.25 },
    { "noise of a single week", "ppm", 0 },
    { "level", "ppm", 1 },
};

/* The weeks with a measurement, before or after the split. */
static bool read_record(ct_device *device, series *before, series *after)
{
    const char *const columns[] = { "year", "ppm" };
    const ct_csv_options options = { .only = columns, .n_only = 2 };
    ct_table *t = ct_csv_read(device, "examples/data/co2_weekly.csv", &options);
    for (int64_t i = 0; i < ct_table_rows(t); i++) {
        double year = ct_table_at(t, i, ct_table_find(t, "year")),
               ppm = ct_table_at(t, i, ct_table_find(t, "ppm"));
        series *s = year < 1997 ? before : after;
        if (isnan(year + ppm) || s->n == MAX) continue;
        s->year[s->n] = year, s->ppm[s->n++] = ppm;
    }
    ct_table_free(t);
    return t != NULL;
}

static int on_step(void *context, const ct_fit_progress *p)
{
    int *shown = context;
    if (p->iteration > *shown)
        printf("iteration %3d   nlml %10.4f   gradient %8.2e   %5.1f s\n", p->iteration, p->best,
               p->gradient_norm, p->seconds);
    *shown = p->iteration;
    return fflush(stdout);
}

/* Mean and standard deviation of an observation in each week of s. */
static ct_status forecast(ct_gp *gp, series *s)
{
    ct_device *device = ct_gp_device(gp);
    ct_shape n = ct_shape1(s->n);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(s->n, 1), s->year);
    ct_tensor *mean = ct_empty(device, CT_F64, n), *variance = ct_empty(device, CT_F64, n);
    ct_status status = ct_gp_predict_noisy(gp, X, mean, variance);
    if (!status) status = ct_read(mean, s->ppm, (size_t)s->n * sizeof *s->ppm);
    if (!status) status = ct_read(variance, s->std, (size_t)s->n * sizeof *s->std);
    ct_release(X), ct_release(mean), ct_release(variance);
    for (int64_t i = 0; i < s->n; i++) s->std[i] = sqrt(s->std[i]);
    return status;
}

static void save(const char *path, const series *s)
{
    FILE *f = fopen(path, "w");
    for (int64_t i = 0; f && i < s->n; i++) fprintf(f, "%.4f,%.4f,%.4f\n", s->year[i], s->ppm[i], s->std[i]);
    if (f) fclose(f);
}

int main(void)
{
    static series before, after, predicted, grid;
    struct timespec start, stop;
    int shown = -1;
    timespec_get(&start, TIME_UTC);
    ct_device *device = ct_device_open(NULL);
    printf("%s\n", ct_device_description(device));
    if (!read_record(device, &before, &after)) return fprintf(stderr, "%s\n", ct_message(device)), 2;
    printf("%lld weeks before 1997 to learn from, %lld weeks after\n", (long long)before.n,
           (long long)after.n);

    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(before.n, 1), before.year);
    ct_tensor *y = ct_from(device, CT_F64, ct_shape1(before.n), before.ppm);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse(KERNEL), NULL);
    ct_release(X), ct_release(y);
    ct_status status = gp ? CT_OK : ct_last_status(device);

    const ct_fit_options options = { .tolerance = 3e-4, .progress = on_step, .context = &shown };
    if (!status) status = ct_gp_fit(gp, &options);
    for (int64_t i = 0; i < ct_gp_params(gp) && !status; i++) {
        double value = ct_gp_param(gp, i)->value, factor = meanings[i].factor;
        printf("  %-36s %9.4g %-6s %s\n", meanings[i].text, factor > 0 ? factor * value : sqrt(value),
               meanings[i].unit, ct_gp_param(gp, i)->name);
    }
    predicted = after;
    if (!status) status = forecast(gp, &predicted);
    for (grid.n = 0; grid.n < GRID; grid.n++) grid.year[grid.n] = 1958 + 44.0 * (double)grid.n / (GRID - 1);
    if (!status) status = forecast(gp, &grid);
    if (status) return fprintf(stderr, "%s\n", ct_message(device)), 3;

    double squares = 0, inside = 0, n = (double)after.n;
    for (int64_t i = 0; i < after.n; i++) {
        double error = after.ppm[i] - predicted.ppm[i];
        squares += error * error;
        inside += fabs(error) <= 1.96 * predicted.std[i];
    }
    printf(
        "forecast 1997-2001: root mean squared error %.2f ppm, %.0f %% of the weeks in the 95 %% interval\n",
        sqrt(squares / n), 100 * inside / n);

    mkdir("out", 0777);
    save("out/co2_before.csv", &before), save("out/co2_after.csv", &after), save("out/co2_model.csv", &grid);
    bool drawn = system("gnuplot examples/demo.gnuplot >out/gnuplot.log 2>&1") == 0;
    printf("%s\n", drawn ? "out/co2.svg and out/co2.png show it"
                         : "no picture was drawn: gnuplot failed or is missing");
    timespec_get(&stop, TIME_UTC);
    double seconds = (double)(stop.tv_sec - start.tv_sec) + 1e-9 * (double)(stop.tv_nsec - start.tv_nsec);
    printf("demo rmse_ppm=%.3f coverage95=%.3f nlml=%.3f seconds=%.1f picture=%s\n", sqrt(squares / n),
           inside / n, ct_gp_nlml_value(gp), seconds, drawn ? "out/co2.png" : "none");
    ct_gp_free(gp);
    ct_device_close(device);
    return 0;
}
