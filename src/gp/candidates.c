/* The covariances that ct_gp_choose tries: the caller's, or the default ones, of which docs/gp.md says what
 * they are worth. */
#include <stdio.h>

#include "fit.h"

#define ROUGH "scale * matern32(ard)"
#define BOTH  ROUGH " + scale * rbf(ard)"
/* With categories: what a level adds, and how much levels share of a function of the numbers. */
#define LEVELS     "scale * category(ard)"
#define ROUGH_EACH LEVELS " + " ROUGH " * category(ard)"
#define BOTH_EACH  LEVELS " + (" BOTH ") * category(ard)"

static const ct_gp_candidate by_likelihood[] = {
    { "linear + scale * matern32", NULL }, { ROUGH, NULL }, { BOTH, NULL }, { BOTH, ROUGH }
};
/* Without a linear part: in as many centred columns as rows the others tell each row exactly. */
static const ct_gp_candidate by_loo[] = {
    { "scale * matern32", NULL }, { ROUGH, NULL }, { BOTH, NULL }, { BOTH, ROUGH }
};
static const ct_gp_candidate mixed[] = { { "linear + " LEVELS " + scale * matern32 * category", NULL },
                                         { ROUGH_EACH, NULL },
                                         { BOTH_EACH, NULL },
                                         { BOTH_EACH, ROUGH_EACH } };
static const ct_gp_candidate of_categories[] = { { "scale * category", NULL }, { LEVELS, NULL } };

/* -- options --------------------------------------------------------------------------------------------- */

static ct_status check_season(const ct_gp_choose_options *o, const ct_gp_options *model, ct_device *device,
                              int64_t d)
{
    const int64_t j = o->season_column;
    if ((unsigned)o->season > CT_GP_SEASON_NONE)
        return ct_device_fail(device, CT_EINVAL, "ct_gp_choose: an option has no such value");
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

/* Without seasons; *count: how many. */
static const ct_gp_candidate *usual(const ct_column *inputs, int64_t d, bool loo, int *count)
{
    int64_t categories = 0;
    for (int64_t j = 0; inputs && j < d; j++) categories += inputs[j].kind == CT_COLUMN_CATEGORY;
    *count = categories && categories == d ? 2 : 4;
    if (categories == d && categories) return of_categories;
    /* The first of four saves parameters, where there are any to save. */
    const bool saves = categories ? !loo : d > (loo ? 1 : 2);
    *count -= !saves;
    return (categories ? mixed : loo ? by_loo : by_likelihood) + !saves;
}

/* text = before, and a season whose shape may change slowly, or whose search begins with one that lasts for
 * `periods` of them (0: the usual start). `of`: its column, "" or "dims=1". */
static void write_season(char *text, const char *before, ct_season season, int periods, const char *of)
{
    const char *comma = *of ? ", " : "";
    char rbf[96] = "";
    if (periods)
        snprintf(rbf, sizeof rbf, "(%s%slengthscale=%.7g)", of, comma, periods * season.period);
    else if (*of)
        snprintf(rbf, sizeof rbf, "(%s)", of);
    snprintf(text, CT_GP_SEASONAL_TEXT, "%.200s + scale * periodic(%s%speriod=%.7g) * rbf%s", before, of,
             comma, season.period, rbf);
}

/* Candidates for the seasons of a column, behind those that are there: beside the rough part one season, from
 * two starts; two seasons; and these with a trend and swings, too. The last does not begin where a smaller
 * one ended, as the rough part there has become the trend. */
static void add_seasonal(ct_gp_choice *c, int64_t column, int64_t d)
{
    enum { FADING = 3 }; /* periods that such a season lasts, as sunspots do */
    const char *rough = c->tried[c->count - 3].kernel, *steady = c->seasonal[0]; /* ROUGH, or ROUGH_EACH */
    char of[32] = "";
    int k = 2;
    if (!c->seasons) return;
    if (d > 1) snprintf(of, sizeof of, "dims=%lld", (long long)column);
    write_season(c->seasonal[0], rough, c->season[0], 0, of);
    write_season(c->seasonal[1], rough, c->season[0], FADING, of);
    if (c->seasons > 1) write_season(c->seasonal[k++], steady, c->season[1], 0, of);
    snprintf(c->seasonal[k], sizeof c->seasonal[k], "%.300s + scale * rbf(ard) + scale * matern52(ard)",
             k > 2 ? c->seasonal[2] : steady);
    for (int i = 0; i <= k; i++)
        c->tried[c->count++] =
            (ct_gp_tried){ .kernel = c->seasonal[i], .from = i == 2 && k > 2 ? steady : NULL };
}

ct_status ct__candidates(const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model,
                         const ct_gp_choose_options *how, ct_gp_choice *choice)
{
    const int64_t d = ct_tensor_dim(X, 1);
    const bool own = how->n_candidates, asked = how->season == CT_GP_SEASON_OF_COLUMN,
               timed = d == 1 && model->inputs && model->inputs[0].kind == CT_COLUMN_TIME;
    ct_status s = check(how, ct_tensor_device(X));
    if (!s) s = check_season(how, model, ct_tensor_device(X), d);
    if (s) return s;
    const ct_gp_candidate *candidate = how->candidates;
    choice->count = how->n_candidates;
    if (!own) candidate = usual(model->inputs, d, how->fit.objective == CT_OBJECTIVE_LOO, &choice->count);
    for (int k = 0; k < choice->count; k++)
        choice->tried[k] = (ct_gp_tried){ .kernel = candidate[k].kernel, .from = candidate[k].from };
    if (own || !(asked || (timed && how->season == CT_GP_SEASON_OF_TIME))) return CT_OK;
    const int64_t column = asked ? how->season_column : 0;
    s = ct_find_seasons(X, column, y, choice->season, &choice->seasons);
    if (!s) add_seasonal(choice, column, d);
    return s == CT_ENOMEM ? s : CT_OK; /* what else is wrong with the data ct_gp_new tells */
}
