/* The rows of a model of one feature, in its order. */
#include "series.h"

#include <string.h>

#include "context.h"
#include "failure.h"
#include "learned.h"
#include "numbers.h"

/* The period of the model's longest season; 0 where it has none. */
static double period_of(const ct_gp *gp)
{
    double period = 0;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        if (strstr(p->name, ".period") && p->value > period) period = p->value;
    }
    return period;
}

series series_of(ctgp *c, ct_gp *gp)
{
    const int64_t n = ct_gp_points(gp), d = ct_gp_dims(gp);
    const ct_column *input = ct_gp_input(gp, 0);
    if (d > 1 || input->kind == CT_COLUMN_CATEGORY)
        fail(c, CODE_USAGE,
             "a forecast is of a model of one time or number, and this one has %lld feature%s, %s%s: ctgp "
             "predict takes a table of the coming rows",
             (long long)d, d > 1 ? "s" : "", input->name, d > 1 ? ", ..." : "");
    const double *x = model_inputs(c, gp), *y = model_targets(c, gp);
    series s = { .n = n,
                 .x = take(c, n, sizeof *s.x, "rows"),
                 .y = take(c, n, sizeof *s.y, "rows"),
                 .row = take(c, n, sizeof *s.row, "rows"),
                 .period = period_of(gp) };
    keyed *order = take(c, n, sizeof *order, "rows");
    for (int64_t i = 0; i < n; i++) order[i] = (keyed){ x[i], i };
    sort_keyed(order, n);
    for (int64_t i = 0; i < n; i++) {
        s.row[i] = order[i].index;
        s.x[i] = x[s.row[i]], s.y[i] = y[s.row[i]];
    }
    if (n < 2 || s.x[0] == s.x[n - 1])
        fail(c, CODE_USAGE, "a forecast takes rows at two places of '%s' at least", input->name);
    s.space = spacing_of(c, s.x, n, input->kind == CT_COLUMN_TIME);
    return s;
}
