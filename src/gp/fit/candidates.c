/* The covariances that ct_gp_choose tries: the caller's, or the defaults, which docs/gp.md evaluates. */
#include "candidates.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cotangent/gp/number.h>

#include "gp/data/find_seasons.h"
#include "gp/model/options.h"

#define ROUGH "scale * matern32(ard)"
#define BOTH  ROUGH " + scale * rbf(ard)"
/* With categories: an offset for each level, and functions of the numbers that the levels partly share. */
#define LEVELS     "scale * category(ard)"
#define ROUGH_EACH LEVELS " + " ROUGH " * category(ard)"
#define BOTH_EACH  LEVELS " + (" BOTH ") * category(ard)"
#define PLAIN_EACH "linear + " LEVELS " + scale * matern32 * category"
/* With one category: the correlations of its levels, and the variance of each. */
#define ROUGH_INDEX "index(rank=1) * matern32(ard)"
#define BOTH_INDEX  "index(rank=1) * (matern32(ard) + scale * rbf(ard))"
enum { FEW_ROWS = 60 };     /* below, a covariance of fewer parameters is tried, too */
enum { ROWS_A_LEVEL = 20 }; /* rows per level from which index is tried: ten per parameter */

/* The first is for few rows. */
static const ct_gp_candidate by_likelihood[] = { { "linear", NULL },
                                                 { "linear + scale * matern32", NULL },
                                                 { ROUGH, NULL },
                                                 { BOTH, NULL },
                                                 { BOTH, ROUGH } };
/* Without a linear part: with as many centred columns as rows, the other rows determine each row exactly. */
static const ct_gp_candidate by_loo[] = {
    { "scale * matern32", NULL }, { ROUGH, NULL }, { BOTH, NULL }, { BOTH, ROUGH }
};
/* The first is for few rows. */
static const ct_gp_candidate mixed[] = { { "linear + scale * category", NULL },
                                         { PLAIN_EACH, NULL },
                                         { ROUGH_EACH, NULL },
                                         { BOTH_EACH, NULL },
                                         { BOTH_EACH, ROUGH_EACH } };
static const ct_gp_candidate indexed[] = { { PLAIN_EACH, NULL }, { ROUGH_INDEX, NULL },
                                           { BOTH_INDEX, NULL }, { ROUGH_EACH, NULL },
                                           { BOTH_EACH, NULL },  { BOTH_EACH, ROUGH_EACH } };
static const ct_gp_candidate of_categories[] = { { "scale * category", NULL }, { LEVELS, NULL } };

/* -- options --------------------------------------------------------------------------------------------- */

static ct_status check_season(const ct_gp_choose_options *o, const ct_gp_options *model, ct_device *device,
                              int64_t d)
{
    const int64_t j = o->season_column;
    const ct__option season = { "season", o->season, 0, CT_GP_SEASON_NONE };
    if (ct__options_check(device, "ct_gp_choose", &season, 1)) return CT_EINVAL;
    if (o->season != CT_GP_SEASON_OF_COLUMN) return CT_OK;
    if (o->n_candidates)
        return ct_device_fail(
            device, CT_EINVAL,
            "ct_gp_choose: seasons belong to the default candidates: write them into your own");
    if (j < 0 || j >= d || (model->inputs && model->inputs[j].kind == CT_COLUMN_CATEGORY))
        return ct_device_fail(
            device, CT_EINVAL,
            "ct_gp_choose: seasons along column %lld of %lld, which must be a number or a time", (long long)j,
            (long long)d);
    return CT_OK;
}

static ct_status check(const ct_gp_choose_options *o, ct_device *device)
{
    bool good = o->n_candidates >= 0 && o->n_candidates <= CT_GP_CANDIDATES && o->rows >= 0 && o->rows != 1 &&
                (o->candidates || !o->n_candidates);
    for (int k = 0; good && k < o->n_candidates; k++) good = o->candidates[k].kernel != NULL;
    return good
               ? CT_OK
               : ct_device_fail(device, CT_EINVAL,
                                "ct_gp_choose: %d candidates, a kernel each, at most %d of them, and on %lld "
                                "rows, at least 2",
                                o->n_candidates, CT_GP_CANDIDATES, (long long)o->rows);
}

/* -- the default ----------------------------------------------------------------------------------------- */

/* The candidates without seasons, for a choice by `rows` rows; *count: their number. */
static const ct_gp_candidate *usual(const ct_column *inputs, int64_t d, int64_t rows, bool loo, int *count)
{
    int64_t categories = 0, levels = 0;
    for (int64_t j = 0; inputs && j < d; j++) {
        categories += inputs[j].kind == CT_COLUMN_CATEGORY;
        levels += inputs[j].kind == CT_COLUMN_CATEGORY ? inputs[j].n_levels : 0;
    }
    *count = categories && categories == d ? 2 : 4;
    if (categories == d && categories) return of_categories;
    const bool one = categories == 1 && levels > 1 && rows / ROWS_A_LEVEL >= levels;
    if (one) *count = 6;
    /* The first candidate saves parameters; it is skipped if there are none to save. */
    const bool saves = categories ? !loo : d > (loo ? 1 : 2), few = rows < FEW_ROWS && !loo && !one;
    *count += few ? 1 : -!saves;
    const ct_gp_candidate *list = one ? indexed : categories ? mixed + 1 : loo ? by_loo : by_likelihood + 1;
    return list + (few ? -1 : !saves);
}

static const char *add(ct_gp_choice *c, int k, const char *from, const char *format, ...) CT_PRINTF(4, 5);

/* Sets seasonal candidate k. Returns its text. */
static const char *add(ct_gp_choice *c, int k, const char *from, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->seasonal[k], sizeof c->seasonal[k], format, args);
    va_end(args);
    c->tried[c->count++] = (ct_gp_tried){ .kernel = c->seasonal[k], .from = from };
    return c->seasonal[k];
}

/* Appends candidates with a straight trend, for a single time without seasons. */
static void add_trend(ct_gp_choice *c)
{
    add(c, 0, NULL, "linear + %s", ROUGH);
    add(c, 1, NULL, "linear + %s", BOTH);
}

/* Appends candidates for the seasons of a column. First the rough part plus one season whose shape changes
 * slowly; the same, started at a season that fades within three periods; with a straight trend; two seasons.
 * Then these with a trend and variations around it. With a single column the rough part joins these later,
 * because it would become the trend. */
static void add_seasonal(ct_gp_choice *c, int64_t column, int64_t d)
{
    const char *rough = c->tried[c->count - 3].kernel, *steady, *slow; /* ROUGH, or ROUGH_EACH */
    const double period = c->season[0].period;
    char of[32] = "", alone[32] = "", part[256];
    char P[CT_NUMBER_TEXT], two_P[CT_NUMBER_TEXT], three_P[CT_NUMBER_TEXT], second[CT_NUMBER_TEXT];
    int k = 3;
    ct_number_write(period, 7, P);
    ct_number_write(2 * period, 7, two_P);
    ct_number_write(3 * period, 7, three_P);
    ct_number_write(c->seasons > 1 ? c->season[1].period : period, 7, second);
    if (d > 1) snprintf(of, sizeof of, "dims=%lld, ", (long long)column);
    if (d > 1) snprintf(alone, sizeof alone, "(dims=%lld)", (long long)column);
    snprintf(part, sizeof part, "scale * periodic(%speriod=%s) * rbf%s", of, P, alone);
    steady = add(c, 0, NULL, "%s + %s", rough, part);
    add(c, 1, NULL, "%s + scale * periodic(%speriod=%s) * rbf(%slengthscale=%s)", rough, of, P, of, three_P);
    add(c, 2, steady, "linear%s + %s", alone, steady);
    if (c->seasons > 1) {
        const size_t n = strlen(part);
        snprintf(part + n, sizeof part - n, " + scale * periodic(%speriod=%s) * rbf%s", of, second, alone);
        add(c, k++, steady, "%s + %s", rough, part);
    }
    slow = add(c, k++, NULL, "%s%s%s + scale * rbf%s + scale * matern52(%slengthscale=%s)",
               d > 1 ? rough : "", d > 1 ? " + " : "", part, alone, of, two_P);
    if (d == 1) add(c, k, slow, "%s + %s", slow, rough);
}

/* The only time, or the only input; -1: neither. */
static int64_t likely_column(const ct_column *inputs, int64_t d)
{
    int64_t found = -1, times = 0;
    for (int64_t j = 0; inputs && j < d; j++)
        if (inputs[j].kind == CT_COLUMN_TIME) found = j, times++;
    if (d == 1 && !(inputs && inputs[0].kind == CT_COLUMN_CATEGORY)) return 0;
    return times == 1 ? found : -1;
}

/* Seasons that nobody asked for, of a number or of one of several inputs, must be strong. */
#define STRONG 0.1

ct_status ct_gp_likely_seasons(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                               ct_season season[CT_SEASONS], int *count, int64_t *column)
{
    const ct_gp_options of = model ? *model : (ct_gp_options){ 0 };
    const int64_t d = ct_tensor_dim(X, 1), j = X && y && season && count ? likely_column(of.inputs, d) : 0;
    if (count) *count = 0;
    if (!column)
        return ct_device_fail(ct_tensor_device(X), CT_EINVAL, "ct_gp_likely_seasons: column is NULL");
    *column = j;
    if (j < 0) return CT_OK;
    const ct_status s = ct__find_seasons_of(X, j, y, of.transform, season, count);
    const bool time = d == 1 && of.inputs && of.inputs[j].kind == CT_COLUMN_TIME;
    if (!time && count && *count && season[0].power < STRONG) *count = 0;
    return s;
}

static ct_status find_seasons(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                              const ct_gp_choose_options *how, ct_gp_choice *choice)
{
    const bool asked = how->season == CT_GP_SEASON_OF_COLUMN;
    if (how->season == CT_GP_SEASON_NONE) return CT_OK;
    choice->season_column = how->season_column;
    const ct_status s =
        asked ? ct__find_seasons_of(X, how->season_column, y, model->transform, choice->season,
                                    &choice->seasons)
              : ct_gp_likely_seasons(X, y, model, choice->season, &choice->seasons, &choice->season_column);
    const int64_t j = choice->season_column, d = ct_tensor_dim(X, 1);
    const bool time = j >= 0 && model->inputs && model->inputs[j].kind == CT_COLUMN_TIME;
    choice->forecasts = !s && ct_tensor_dim(X, 0) >= FEW_ROWS && (time || choice->seasons);
    if (!s && choice->seasons)
        add_seasonal(choice, j, d);
    else if (choice->forecasts && d == 1 && how->fit.objective != CT_OBJECTIVE_LOO)
        add_trend(choice);
    return s == CT_ENOMEM ? s : CT_OK; /* ct_gp_new reports all other faults of the data */
}

ct_status ct__candidates(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                         const ct_gp_choose_options *how, int64_t rows, ct_gp_choice *choice)
{
    const int64_t d = ct_tensor_dim(X, 1);
    const bool own = how->n_candidates;
    ct_status s = check(how, ct_tensor_device(X));
    if (!s) s = check_season(how, model, ct_tensor_device(X), d);
    if (s) return s;
    const ct_gp_candidate *candidate = how->candidates;
    choice->count = how->n_candidates;
    choice->season_column = -1;
    if (!own)
        candidate = usual(model->inputs, d, rows, how->fit.objective == CT_OBJECTIVE_LOO, &choice->count);
    for (int k = 0; k < choice->count; k++)
        choice->tried[k] = (ct_gp_tried){ .kernel = candidate[k].kernel, .from = candidate[k].from };
    return own ? CT_OK : find_seasons(X, y, model, how, choice);
}
