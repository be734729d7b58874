/* Seasons: the column that may have them, those that are found, and a hint if nobody asked for them. */
#include "season.h"

#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "text.h"

/* Further starts of a search whose period has no start. */
enum { PERIOD_RESTARTS = 4 };

_Noreturn static void no_feature(ctgp *c, const char *name, const ct_column *inputs, int64_t d)
{
    name_choice all = { .asked = name };
    for (int64_t j = 0; j < d; j++) add_name(&all, inputs[j].name);
    fail(c, CODE_USAGE, "--season: '%s' is no feature; there are %s%s", name, all.list, all.guess);
}

void season_settings(ctgp *c, const char *name, const ct_column *inputs, int64_t d, ct_gp_choose_options *how)
{
    if (!name) return;
    how->season = CT_GP_SEASON_NONE;
    if (!strcmp(name, "none")) return;
    int64_t j = find_input(inputs, d, name);
    if (j < 0) { /* in quotes, as option_name writes it */
        const name_list list = split_names(c, name);
        if (list.n == 1) j = find_input(inputs, d, list.name[0]);
    }
    if (j < 0) no_feature(c, name, inputs, d);
    if (inputs[j].kind == CT_COLUMN_CATEGORY)
        fail(c, CODE_USAGE, "--season: '%s' is a category, and a season needs a number or a time", name);
    how->season = CT_GP_SEASON_OF_COLUMN;
    how->season_column = j;
}

/* -- periods of a kernel that is given -- */

/* 0: it has none; 1: each has a start of its own; 2: one has none. */
static int periods_of(const ct_kernel *kernel)
{
    int found = 0;
    for (int64_t i = 0; i < ct_kernel_params(kernel); i++) {
        const ct_param *p = ct_kernel_param(kernel, i);
        const int kind = !strstr(p->name, ".period") ? 0 : p->fixed || p->start_given ? 1 : 2;
        if (kind > found) found = kind;
    }
    return found;
}

void season_restarts(const ct_kernel *kernel, ct_fit_options *how)
{
    if (periods_of(kernel) < 2) return;
    how->restarts = PERIOD_RESTARTS;
    note("the period has no start of its own: %d searches, the first from the periodogram; "
         "--restarts says how many more than one",
         PERIOD_RESTARTS + 1);
}

/* -- what is found -- */

/* "7 days", "6 hours", "11 years" of a time, else "7". */
static void period_text(double period, bool time, char text[64])
{
    static const struct {
        double days;
        const char *name;
    } unit[] = { { 1.0 / 86400, "seconds" },
                 { 1.0 / 1440, "minutes" },
                 { 1.0 / 24, "hours" },
                 { 1, "days" },
                 { 365.2425, "years" } };
    int k = 0;
    while (time && k < 4 && period >= 2 * unit[k + 1].days) k++;
    snprintf(text, 64, "%.4g%s%s", time ? period / unit[k].days : period, time ? " " : "",
             time ? unit[k].name : "");
}

void print_seasons(const ct_season *season, int count, const ct_column *column, bool asked)
{
    char text[64];
    for (int i = 0; i < count; i++) {
        period_text(season[i].period, column->kind == CT_COLUMN_TIME, text);
        note("%s: season of %s (power %.2f)", column->name, text, season[i].power);
    }
    if (!count && asked) note("%s: no season is found", column->name);
}

void season_hint(ctgp *c, const ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *model)
{
    ct_season season[CT_SEASONS];
    int count;
    int64_t j;
    if (periods_of(ct_gp_kernel(gp)) || ct_gp_likely_seasons(X, y, model, season, &count, &j) || !count)
        return;
    print_seasons(season, 1, ct_gp_input(gp, j), false);
    const char *of = ct_gp_dims(gp) > 1 ? text_of(c, "dims=%lld, ", (long long)j) : "";
    note("the kernel has no part for it, such as scale * periodic(%speriod=%.4g)", of, season[0].period);
}
