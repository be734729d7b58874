/* The covariances that ct_gp_choose tries by default; docs/gp.md says what they are worth. */
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

const ct_gp_candidate *ct__candidates(const ct_column *inputs, int64_t d, bool loo, int *count)
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

/* " + scale * periodic(period=7) * rbf": a season whose shape may change slowly. of: "" or "dims=1". */
static void add_season(char *text, size_t size, ct_season season, const char *of)
{
    snprintf(text, size, " + scale * periodic(%s%speriod=%.7g) * rbf%s%s%s", of, *of ? ", " : "",
             season.period, *of ? "(" : "", of, *of ? ")" : "");
}

static void add_line(char *text, size_t size, const char *of)
{
    snprintf(text, size, " + linear%s%s%s", *of ? "(" : "", of, *of ? ")" : "");
}

/* Each is the one before it, and a part more. A search of all parts at once ends in worse places. */
int ct__seasonal_candidates(const ct_gp_candidate *usual, int count, const ct_season *season, int seasons,
                            int64_t column, int64_t d, char text[CT_GP_SEASONAL][CT_GP_SEASONAL_TEXT],
                            ct_gp_candidate *candidate)
{
    const int parts = seasons < 2 ? seasons : 2, made = parts ? parts + 2 : 0;
    const char *from = NULL, *rough = usual[count - 3].kernel; /* ROUGH, or ROUGH_EACH */
    char of[32] = "";
    if (d > 1) snprintf(of, sizeof of, "dims=%lld", (long long)column);
    for (int k = 0; k < made; k++) {
        const size_t size = CT_GP_SEASONAL_TEXT,
                     n = (size_t)snprintf(text[k], size, "%s", from ? from : rough);
        if (k < parts)
            add_season(text[k] + n, size - n, season[k], of);
        else if (k == parts)
            snprintf(text[k] + n, size - n, " + scale * rbf(ard)");
        else
            add_line(text[k] + n, size - n, of);
        candidate[k] = (ct_gp_candidate){ text[k], from };
        from = text[k];
    }
    return made;
}
