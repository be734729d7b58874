/* The covariances that ct_gp_choose tries by default; docs/gp.md says what they are worth. */
#include "fit.h"

#define ROUGH "scale * matern32(ard)"
#define BOTH  ROUGH " + scale * rbf(ard)"
/* With categories: what a level adds, and how much levels share of a function of the numbers. */
#define LEVELS     "scale * category(ard)"
#define ROUGH_EACH LEVELS " + " ROUGH " * category(ard)"
#define BOTH_EACH  LEVELS " + (" BOTH ") * category(ard)"
#define PLAIN_EACH "linear + " LEVELS " + scale * matern32 * category"
/* Of one category: which of its levels go together, and how much each varies. */
#define ROUGH_INDEX "index(rank=1) * matern32(ard)"
#define BOTH_INDEX  "index(rank=1) * (matern32(ard) + scale * rbf(ard))"
enum { ROWS_A_LEVEL = 20 }; /* for which index is tried: ten for each of its parameters */

static const ct_gp_candidate by_likelihood[] = {
    { "linear + scale * matern32", NULL }, { ROUGH, NULL }, { BOTH, NULL }, { BOTH, ROUGH }
};
/* Without a linear part: in as many centred columns as rows the others tell each row exactly. */
static const ct_gp_candidate by_loo[] = {
    { "scale * matern32", NULL }, { ROUGH, NULL }, { BOTH, NULL }, { BOTH, ROUGH }
};
static const ct_gp_candidate mixed[] = {
    { PLAIN_EACH, NULL }, { ROUGH_EACH, NULL }, { BOTH_EACH, NULL }, { BOTH_EACH, ROUGH_EACH }
};
static const ct_gp_candidate indexed[] = { { PLAIN_EACH, NULL }, { ROUGH_INDEX, NULL },
                                           { BOTH_INDEX, NULL }, { ROUGH_EACH, NULL },
                                           { BOTH_EACH, NULL },  { BOTH_EACH, ROUGH_EACH } };
static const ct_gp_candidate of_categories[] = { { "scale * category", NULL }, { LEVELS, NULL } };

const ct_gp_candidate *ct__candidates(const ct_column *inputs, int64_t d, int64_t rows, bool loo, int *count)
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
    /* The first saves parameters, where there are any to save. */
    const bool saves = categories ? !loo : d > (loo ? 1 : 2);
    *count -= !saves;
    return (one ? indexed : categories ? mixed : loo ? by_loo : by_likelihood) + !saves;
}
