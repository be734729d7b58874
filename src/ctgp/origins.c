/* Forecasts from earlier origins, beside simple ones. */
#include "origins.h"

#include <math.h>

#include "failure.h"
#include "model.h"
#include "numbers.h"
#include "open.h"
#include "score.h"

/* -- the forecasts --------------------------------------------------------------------------------------- */

enum { MODEL, SEASON, LAST, DRIFT, WAYS };

static const char *const names[WAYS] = { "model", "last_season", "last_value", "drift" },
                         *const titles[WAYS] = { "this model", "the last season again", "the last value",
                                                 "first to last value, on" };

/* The mean and its standard error of `count` scores, which lie `stride` numbers apart. */
typedef struct estimate {
    double mean, error;
} estimate;

static estimate estimate_of(const double *scores, int64_t count, int64_t stride)
{
    const moments m = moments_of(scores, count, stride);
    return (estimate){ m.mean, sqrt(m.variance / (m.n - 1)) };
}

/* The model of the first `n` rows of the series. */
static ct_gp *model_until(ctgp *c, const ct_gp *gp, const series *of, int64_t n)
{
    ct_gp *copy = own_gp(c, ct_gp_copy(gp));
    check(c, ct_gp_remove(copy, of->row + n, of->n - n));
    return copy;
}

/* Row n + i of the series, from the n rows before. */
static double simple(const series *of, int way, int64_t n, int64_t i, int64_t season)
{
    const double last = of->y[n - 1], slope = (last - of->y[0]) / (double)(n - 1);
    if (way == SEASON) return season && season <= n ? of->y[n - season + i % season] : NAN;
    return way == LAST ? last : last + (double)(i + 1) * slope;
}

/* The errors, and the model's density and coverage, of `steps` rows after the first n. */
typedef struct origin {
    double rmse[WAYS], nlpd, coverage95;
} origin;

static origin score_origin(ctgp *c, ct_gp *gp, const series *of, int64_t n, int64_t steps, int64_t season)
{
    const owned *before = c->owned;
    origin o = { .nlpd = 0 };
    const prediction p = prediction_of(c, model_until(c, gp, of, n), of->x + n, of->y + n, steps);
    const score s = prediction_score(c, &p);
    o = (origin){ .rmse[MODEL] = s.rmse, .nlpd = s.nlpd, .coverage95 = s.coverage95 };
    for (int way = SEASON; way < WAYS; way++) {
        double sum = 0;
        for (int64_t i = 0; i < steps; i++) {
            const double error = of->y[n + i] - simple(of, way, n, i, season);
            sum += error * error;
        }
        o.rmse[way] = sqrt(sum / (double)steps);
    }
    give_back(c, before);
    return o;
}

/* -- the table ------------------------------------------------------------------------------------------- */

static void write_estimate(writer *w, const char *name, const char *text, estimate e)
{
    WRITE(w, field_text("%s", text), field_begin(name, '{', NULL), field_number("mean", " %10.4g", e.mean),
          field_number("error", " +- %-8.2g", e.error), field_end('}', NULL));
}

/* The origins lie as far apart as the forecasts are long, or closer, so that half the rows come before
 * them. */
static int64_t distance(ctgp *c, const series *of, int64_t count, int64_t steps)
{
    const int64_t room = (of->n - of->n / 2 - steps) / (count - 1);
    if (room < 1)
        fail(c, CODE_USAGE,
             "--origins %lld: there is no room for forecasts of %lld rows in the second half of the model's "
             "%lld",
             (long long)count, (long long)steps, (long long)of->n);
    return room < steps ? room : steps;
}

void write_origins(writer *w, ct_gp *gp, const series *of, int64_t count, int64_t steps)
{
    ctgp *c = w->c;
    const int64_t stride = sizeof(origin) / sizeof(double), apart = distance(c, of, count, steps);
    const int64_t season = of->period > 0 ? llround(of->period / of->space.step) : 0;
    origin *o = take(c, count, sizeof *o, "origins");
    for (int64_t k = 0; k < count; k++)
        o[k] = score_origin(c, gp, of, of->n - steps - k * apart, steps, season);
    WRITE(w, field_begin("origins", '{', NULL),
          field_number("n", "forecasts from %.0f earlier rows", (double)count),
          field_number("apart", ", %.0f apart, with the parameters of all rows:\n", (double)apart));
    for (int way = 0; way < WAYS; way++) {
        const estimate e = estimate_of(&o->rmse[way], count, stride);
        if (isnan(e.mean)) continue;
        WRITE(w, field_label(titles[way]), field_begin(names[way], '{', NULL));
        write_estimate(w, "rmse", "rmse", e);
        if (way == MODEL) {
            write_estimate(w, "nlpd", "nlpd", estimate_of(&o->nlpd, count, stride));
            write_estimate(w, "coverage95", "coverage95", estimate_of(&o->coverage95, count, stride));
        }
        WRITE(w, field_end('}', NULL), field_text("\n", ""));
    }
    WRITE(w, field_end('}', NULL));
}
