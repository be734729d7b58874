/* ctgp fit: what the model found, in words. */
#include "found.h"

#include <math.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "target.h"
#include "text.h"

enum { SAMPLES = 512, NAMED = 3 };
#define MOST_WORK 2e9 /* multiplications for the indices, about a second */
#define SHARE     0.1 /* of the variance, from which on a feature is named */

/* "mostly a, b": the features with the largest total Sobol indices. */
static const char *influence(ctgp *c, ct_gp *gp)
{
    const int64_t d = ct_gp_dims(gp);
    const double size = (double)d, work = SAMPLES * (size + 2) * size * (double)ct_gp_points(gp);
    const char *text = "";
    if (d == 1 || work > MOST_WORK) return text;
    double *first = take(c, d, 2 * sizeof *first, "features"), *total = first + d;
    if (!is_known(c, ct_gp_sobol(gp, SAMPLES, 0, first, total))) return text;
    for (int named = 0; named < NAMED; named++) {
        int64_t most = 0;
        for (int64_t j = 1; j < d; j++)
            if (total[j] > total[most]) most = j;
        if (total[most] < SHARE) break;
        text = text_of(c, "%s%s%s", text, named ? ", " : "mostly ", ct_gp_input(gp, most)->name);
        total[most] = 0;
    }
    return text;
}

/* What a parameter says, or NULL. */
static const char *meaning(ctgp *c, const ct_gp *gp, const ct_param *p)
{
    const ct_column *of = p->column >= 0 ? ct_gp_input(gp, p->column) : NULL;
    const bool days = of && of->kind == CT_COLUMN_TIME, transformed = ct_gp_transform(gp).kind;
    if (!strcmp(p->name, "noise.variance"))
        return text_of(c, "noise %.3g%s%s", sqrt(p->value), transformed ? " of " : "",
                       transformed ? target_text(c, gp) : "");
    if (strstr(p->name, ".period")) return text_of(c, "a season of %.4g%s", p->value, days ? " days" : "");
    return NULL;
}

void print_found(ctgp *c, FILE *to, ct_gp *gp)
{
    const char *text = influence(c, gp);
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const char *of = meaning(c, gp, ct_gp_param(gp, i));
        if (of) text = text_of(c, "%s%s%s", text, *text ? "; " : "", of);
    }
    if (*text) say(to, "  in words                     %s\n", text);
}
