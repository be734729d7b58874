/* The target on another scale, --transform: its domain, its name, and a hint if it would help. */
#include "model.h"

#include <math.h>

ct_tensor *target_tensor(ctgp *c, const frame *f, int64_t col, ct_transform_kind kind, ct_dtype dtype)
{
    return frame_tensor(c, f, &col, 1, kind ? CT_F64 : dtype);
}

const char *target_text(const ct_gp *gp, char *text, size_t size)
{
    const ct_transform_kind kind = ct_gp_transform(gp).kind;
    const char *name = ct_gp_output(gp)->name;
    if (kind)
        snprintf(text, size, "%s(%s)", ct_transform_name(kind), name);
    else
        snprintf(text, size, "%s", name);
    return text;
}

void check_target(ctgp *c, const frame *f, int64_t col, ct_transform_kind kind)
{
    char number[CT_NUMBER_TEXT];
    double low = INFINITY, high = -INFINITY;
    int64_t bad = -1;
    for (int64_t k = 0; k < f->n_rows; k++) {
        const double y = ct_table_at(f->table, f->rows[k], col);
        if (isnan(y)) continue;
        low = fmin(low, y), high = fmax(high, y);
        if (bad < 0 && isnan(ct_transform_value((ct_transform){ .kind = kind }, y))) bad = f->rows[k];
    }
    if (bad < 0) return;
    const bool percent = kind == CT_TRANSFORM_LOGIT && low > 0 && high > 1 && high < 100;
    const char *remedy = percent ? "divide the column by 100"
                         : kind == CT_TRANSFORM_LOG && low >= 0
                             ? "fit with --transform sqrt, which takes 0, or leave the row out"
                             : "leave the row out, or fit without --transform";
    ct_number_write(ct_table_at(f->table, bad, col), 0, number);
    fail(c, CODE_DATA, "%s, line %lld, column '%s': %s, and %s takes %s: %s", f->path,
         (long long)ct_table_line(f->table, bad), ct_table_name(f->table, col), number,
         ct_transform_name(kind), ct_transform_domain(kind), remedy);
}

/* -- the hint -------------------------------------------------------------------------------------------- */

static double skewness(const frame *f, int64_t col, bool of_log)
{
    double n = 0, mean = 0, second = 0, third = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) mean /= n;
        for (int64_t k = 0; k < f->n_rows; k++) {
            const double y = ct_table_at(f->table, f->rows[k], col), x = of_log ? log(y) : y, e = x - mean;
            if (pass)
                second += e * e, third += e * e * e;
            else
                n++, mean += x;
        }
    }
    return third / n / pow(second / n, 1.5);
}

void tell_skewed(const frame *f, int64_t col)
{
    double low = INFINITY;
    for (int64_t k = 0; k < f->n_rows; k++) low = fmin(low, ct_table_at(f->table, f->rows[k], col));
    if (!(low > 0)) return;
    const double as_is = skewness(f, col, false), of_log = skewness(f, col, true);
    if (as_is > 1 && fabs(of_log) < 0.5 * as_is)
        note("'%s' is positive and skewed (%.2g, its log %.2g): --transform log may predict better; "
             "ctgp "
             "compare tells",
             ct_table_name(f->table, col), as_is, of_log);
}
