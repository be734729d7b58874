/* Does the default search find the best optimum? `search [TABLES [RESTARTS]]` draws TABLES tables (300) of
 * sines, steps and noise, of 8 to 200 rows and 1 to 5 columns. It fits each with the defaults and with
 * RESTARTS restarts (50), and prints the share of tables on which the default's objective is at most 2 nats
 * above the other. The drawn tables are the same on every machine. seconds_ratio is the default's time over
 * the other's, evaluations are those of the default for each table. */
#include "bench.h"

#include <cotangent/gp.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 5, ROWS = 200, KINDS = 3, DRAWN = 4 * COLUMNS + 8, TABLES = 300, RESTARTS = 50 };

static const char *const kind_name[KINDS] = { "sines", "steps", "noise" };
static const char *const kernel[] = { "scale * rbf(ard)", "scale * matern32(ard) + scale * rbf(ard)" };

typedef struct table {
    int64_t n, d;
    ct_tensor *X, *y;
} table;

/* -- tables ---------------------------------------------------------------------------------------------- */

/* `count` numbers of a stream: uniform in (0, 1), or normal. */
static ct_status draw(ct_device *dev, bool normal, uint64_t seed, int64_t count, double *out)
{
    ct_tensor *t = (normal ? ct_rand_normal : ct_rand_uniform)(dev, CT_F64, ct_shape1(count), 38, seed);
    const ct_status s = t ? ct_read(t, out, (size_t)count * sizeof *out) : ct_last_status(dev);
    ct_release(t);
    return s;
}

/* One column's part of the target, by three numbers of (0, 1): its size, its number of periods or its step's
 * place, its phase. */
static double part(int kind, double x, double n, const double *u)
{
    const double most = fmin(n / 4, 12), periods = 0.3 * pow(most / 0.3, u[1]), size = 0.3 + u[0];
    if (kind == 0) return size * sin(2 * acos(-1) * (periods * x + u[2]));
    return kind == 1 ? (x > 0.2 + 0.6 * u[1] ? size : -size) : 0;
}

/* Table k. A single column is evenly spaced in every second table; about a third of several columns has no
 * effect; the noise has a deviation of 0.01 to 1. */
static ct_status table_of(ct_device *dev, int k, table *t)
{
    const int kind = k % KINDS;
    static double u[DRAWN], x[ROWS * COLUMNS], y[ROWS];
    ct_status s = draw(dev, false, 3 * (uint64_t)k, DRAWN, u);
    *t = (table){ .n = (int64_t)(8 * pow(ROWS / 8.0, u[0]) + 0.5), .d = 1 + k / KINDS % COLUMNS };
    if (!s) s = draw(dev, false, 3 * (uint64_t)k + 1, t->n * t->d, x);
    if (!s) s = draw(dev, true, 3 * (uint64_t)k + 2, t->n, y);
    for (int64_t i = 0; i < t->n; i++) {
        if (t->d == 1 && u[1] < 0.5) x[i] = (double)i / (double)t->n;
        y[i] *= kind == 2 ? 1 : 0.01 * pow(100, u[2]);
        for (int64_t j = 0; j < t->d; j++) {
            const double *of = u + 4 + 4 * j;
            const double n = t->d > 1 ? 8 : (double)t->n; /* two periods at most in several columns */
            if (j == 0 || of[3] < 0.67) y[i] += part(kind, x[i * t->d + j], n, of);
        }
    }
    t->X = s ? NULL : ct_from(dev, CT_F64, ct_shape2(t->n, t->d), x);
    t->y = s ? NULL : ct_from(dev, CT_F64, ct_shape1(t->n), y);
    return s ? s : t->X && t->y ? CT_OK : ct_last_status(dev);
}

/* -- fits ------------------------------------------------------------------------------------------------ */

typedef struct result {
    double objective, seconds;
    int evaluations, starts;
} result;

static ct_status fit(const table *t, const char *text, const ct_fit_options *how, result *r)
{
    const double begun = bench_now();
    ct_gp *gp = ct_gp_new(t->X, t->y, ct_kernel_parse(text), NULL);
    const ct_status s = gp ? ct_gp_fit(gp, how) : CT_ENOMEM;
    const ct_fit_report report = ct_gp_report(gp);
    *r = (result){ report.objective, bench_now() - begun, report.evaluations, report.starts };
    ct_gp_free(gp);
    return s;
}

typedef struct score {
    int tables, near;
    double seconds[2], evaluations, starts;
} score;

static void print(const bench *b, const char *text, const char *kind, const score *s)
{
    printf("bench=search kernel=\"%s\" case=%s who=cotangent tables=%d within_2_nats=%.3f evaluations=%.1f "
           "starts=%.1f seconds=%.3g seconds_ratio=%.3f%s\n",
           text, kind, s->tables, (double)s->near / s->tables, s->evaluations / s->tables,
           s->starts / s->tables, s->seconds[0], s->seconds[0] / s->seconds[1], b->where);
    fflush(stdout);
}

/* The default beside many restarts, whose draws it must not share. */
static ct_status compare(const bench *b, const char *text, int tables, int restarts)
{
    score all[KINDS + 1] = { 0 };
    ct_status s = CT_OK;
    for (int k = 0; k < tables && !s; k++) {
        table t;
        result one, many;
        s = table_of(b->dev, k, &t);
        if (!s) s = fit(&t, text, NULL, &one);
        if (!s && !getenv("ONLY"))
            s = fit(&t, text, &(ct_fit_options){ .restarts = restarts, .seed = 1 }, &many);
        else
            many = one;
        const double behind = s ? 0 : one.objective - many.objective;
        for (int i = 0; i < 2 && !s; i++) {
            score *of = &all[i ? KINDS : k % KINDS];
            of->tables++;
            of->near += behind <= 2;
            of->evaluations += one.evaluations;
            of->starts += one.starts;
            of->seconds[0] += one.seconds;
            of->seconds[1] += many.seconds;
        }
        ct_release(t.X), ct_release(t.y);
    }
    for (int kind = 0; kind <= KINDS && !s; kind++)
        print(b, text, kind < KINDS ? kind_name[kind] : "all", &all[kind]);
    return s;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 2;
    const int tables = argc > 1 ? atoi(argv[1]) : TABLES, restarts = argc > 2 ? atoi(argv[2]) : RESTARTS;
    ct_status s = tables > 0 && restarts > 0 ? CT_OK : CT_EINVAL;
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel && !s; i++)
        s = compare(&b, kernel[i], tables, restarts);
    if (s)
        fprintf(stderr, "search: %s\n",
                s == CT_EINVAL ? "usage: search [TABLES [RESTARTS]]" : ct_message(b.dev));
    bench_close(&b);
    return s != CT_OK;
}
