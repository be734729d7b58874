/* The target on another scale, --transform: its domain, its name, and which may help. */
#include "target.h"

#include <math.h>

#include "context.h"
#include "numbers.h"
#include "text.h"

/* The least skewness of a target whose log or root is tried. */
#define SKEWED 1.0

const char *target_text(ctgp *c, const ct_gp *gp)
{
    const ct_transform_kind kind = ct_gp_transform(gp).kind;
    const char *name = ct_gp_output(gp)->name;
    return kind ? text_of(c, "%s(%s)", ct_transform_name(kind), name) : name;
}

void check_target(ctgp *c, const frame *f, int64_t col, ct_transform_kind kind)
{
    const double *y = frame_values(c, f, &col, 1);
    const moments m = moments_of(y, f->n_rows, 1);
    int64_t k = 0;
    while (k < f->n_rows && (isnan(y[k]) || !isnan(ct_transform_value((ct_transform){ .kind = kind }, y[k]))))
        k++;
    if (k == f->n_rows) return;
    const bool percent = kind == CT_TRANSFORM_LOGIT && m.low > 0 && m.high > 1 && m.high < 100;
    const char *remedy = percent ? "divide the column by 100"
                         : kind == CT_TRANSFORM_LOG && m.low >= 0
                             ? "fit with --transform sqrt, which takes 0, or leave the row out"
                             : "leave the row out, or fit without --transform";
    fail_cell(c, f, f->rows[k], col,
              text_of(c, "%s, and %s takes %s: %s", number_text(c, y[k]), ct_transform_name(kind),
                      ct_transform_domain(kind), remedy));
}

void note_range(ctgp *c, const frame *f, int64_t col)
{
    const double *y = frame_values(c, f, &col, 1);
    const moments m = moments_of(y, f->n_rows, 1);
    const char *name = ct_table_name(f->table, col);
    bool whole = true;
    int64_t zeros = 0;
    for (int64_t k = 0; k < f->n_rows; k++) {
        whole &= isnan(y[k]) || y[k] == floor(y[k]);
        zeros += y[k] == 0;
    }
    if (!whole || m.low != 0 || zeros < 2) return;
    if (m.high == 1)
        note("'%s' is 0 or 1: a mean outside is to be read as the nearer of them, and intervals say little",
             name);
    else if (m.mean < 2 * sqrt(m.variance))
        note("'%s' counts from 0: intervals reach below; --transform sqrt holds them above", name);
}

ct_transform_kind likely_transform(ctgp *c, const frame *f, int64_t col)
{
    const double *y = frame_values(c, f, &col, 1);
    const moments as_is = moments_of(y, f->n_rows, 1);
    const bool share = as_is.low > 0 && as_is.high < 1;
    double *z = take(c, f->n_rows, sizeof *z, "rows"), least = share ? INFINITY : fabs(as_is.skewness) / 2;
    ct_transform_kind found = CT_TRANSFORM_NONE;
    for (int kind = CT_TRANSFORM_LOG; kind <= CT_TRANSFORM_SQRT && as_is.low >= 0; kind++) {
        for (int64_t k = 0; k < f->n_rows; k++)
            z[k] = ct_transform_value((ct_transform){ .kind = (ct_transform_kind)kind }, y[k]);
        const moments m = moments_of(z, f->n_rows, 1);
        if (m.n < as_is.n || !(fabs(m.skewness) < least) || (as_is.skewness < SKEWED && !share)) continue;
        least = fabs(m.skewness);
        found = (ct_transform_kind)kind;
    }
    return found;
}
