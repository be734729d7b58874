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

/* A damped periodic part, whose search begins at the season. */
static void print_part(ct_season season, int64_t column, int64_t d, char *text, size_t size)
{
    char dims[32] = "";
    if (d > 1) snprintf(dims, sizeof dims, "dims=%lld", (long long)column);
    snprintf(text, size, " + scale * periodic(%s%speriod=%.7g) * rbf%s%s%s", dims,
                            d > 1 ? ", " : "", season.period, d > 1 ? "(" : "", dims, d > 1 ? ")" : "");
}

int ct__seasonal_candidates(const ct_gp_candidate *usual, int count, const ct_season *season, int seasons,
                            int64_t column, int64_t d, char text[CT_GP_SEASONAL][CT_GP_SEASONAL_TEXT],
                            ct_gp_candidate *candidate)
{
    const int made = seasons < 1 ? 0 : seasons < 2 ? 2 : CT_GP_SEASONAL;
    for (int k = 0; k < made; k++) {
        const char *before = k ? text[k - 1] : usual[count - 3].kernel; /* ROUGH, or ROUGH_EACH */
        const size_t size = CT_GP_SEASONAL_TEXT, n = (size_t)snprintf(text[k], size, "%s", before);
        if (k == 1)
            snprintf(text[k] + n, size - n, " + scale * rbf(ard)");
        else
            print_part(season[k / 2], column, d, text[k] + n, size - n);
        candidate[k] = (ct_gp_candidate){ text[k], k ? before : NULL };
    }
    return made;
}
