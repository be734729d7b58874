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

/* " + scale * periodic(period=7) * rbf": a season whose shape may change slowly. */
static void print_part(ct_season season, const char *of, char *text, size_t size)
{
    snprintf(text, size, " + scale * periodic(%s%speriod=%.7g) * rbf%s%s%s", of, *of ? ", " : "",
             season.period, *of ? "(" : "", of, *of ? ")" : "");
}

int ct__seasonal_candidates(const ct_gp_candidate *usual, int count, const ct_season *season, int seasons,
                            int64_t column, int64_t d, char text[CT_GP_SEASONAL][CT_GP_SEASONAL_TEXT],
                            ct_gp_candidate *candidate)
{
    const size_t size = CT_GP_SEASONAL_TEXT;
    const int made = seasons < 1 ? 0 : seasons < 2 ? 2 : CT_GP_SEASONAL;
    char of[32] = "";
    if (d > 1) snprintf(of, sizeof of, "dims=%lld", (long long)column);
    for (int k = 0; k < made; k++) {
        const char *rough = usual[count - 3].kernel; /* ROUGH, or ROUGH_EACH */
        const size_t n = (size_t)snprintf(text[k], size, "%s", k ? text[k - 1] : rough);
        if (k == made - 1)
            snprintf(text[k] + n, size - n, " + scale * rbf(ard) + linear%s%s%s", *of ? "(" : "", of,
                     *of ? ")" : "");
        else
            print_part(season[k], of, text[k] + n, size - n);
        candidate[k] = (ct_gp_candidate){ text[k], k ? text[k - 1] : NULL };
    }
    return made;
}
