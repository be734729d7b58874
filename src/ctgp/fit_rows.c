/* ctgp fit: the rows that it learns. */
#include "fit.h"

#include <math.h>
#include <string.h>

/* Refuses a column whose values are all equal, or equal to the model. */
static void check_values(ctgp *c, const frame *f, int64_t col, bool target)
{
    if (!going(c)) return;
    const char *name = ct_table_name(f->table, col);
    char quoted[OPTION_NAME];
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < f->n_rows; i++) {
        double value = ct_table_at(f->table, f->rows[i], col);
        low = fmin(low, value), high = fmax(high, value);
    }
    double largest = fmax(fabs(low), fabs(high)), half = high / 2 - low / 2;
    if (low == high && target)
        fail(c, CODE_DATA, "%s: the target '%s' has the same value in every row, there is nothing to learn",
             f->path, name);
    if (low == high)
        fail(c, CODE_DATA, "%s: column '%s' has the same value in every row; leave it out: --drop %s",
             f->path, name, option_name(name, quoted));
    if (largest > 1e150 || half < 1e-150)
        fail(c, CODE_DATA,
             "%s: column '%s' goes from %.3g to %.3g, whose squares are out of range: multiply it by a power "
             "of ten",
             f->path, name, low, high);
    if (half < 1e-14 * largest)
        fail(c, CODE_DATA,
             "%s: column '%s' goes from %.17g to %.17g, equal but for rounding: subtract a constant from it",
             f->path, name, low, high);
}

/* Chooses the rows with a value in all columns; with `missing` one of the targets is enough. */
static void complete(ctgp *c, frame *f, const int64_t *cols, int64_t d, int64_t targets, bool missing)
{
    if (!going(c)) return;
    const bool noise = cols[d + 1] >= 0;
    int64_t *wanted = take(c, d + 1 + targets, sizeof *wanted, "columns"), n = d, kept = 0;
    if (!wanted) return;
    memcpy(wanted, cols, (size_t)d * sizeof *wanted);
    if (noise) wanted[n++] = cols[d + 1];
    for (int64_t j = 0; j < targets && !missing; j++) wanted[n++] = cols[fit_place(d, j)];
    frame_complete(c, f, wanted, n);
    for (int64_t k = 0; k < f->n_rows && going(c); k++) {
        bool any = !missing;
        for (int64_t j = 0; j < targets && !any; j++)
            any = !isnan(ct_table_at(f->table, f->rows[k], cols[fit_place(d, j)]));
        if (any) f->rows[kept++] = f->rows[k];
    }
    f->n_rows = kept;
}

void fit_choose_rows(ctgp *c, const settings *s, frame *f, const int64_t *cols, int64_t d, int64_t targets,
                     bool missing, held *h, int64_t *all)
{
    if (!going(c)) return;
    char quoted[OPTION_NAME];
    for (int64_t j = 0; j < d; j++) {
        frame_complete(c, f, &cols[j], 1);
        if (!going(c)) return;
        const char *name = ct_table_name(f->table, cols[j]);
        if (f->n_rows == 0) {
            fail(c, CODE_DATA, "%s: column '%s' has no value in any row; leave it out: --drop %s", f->path,
                 name, option_name(name, quoted));
            return;
        }
    }
    complete(c, f, cols, d, targets, missing);
    if (!going(c)) return;
    frame_tell_missing(f, "%lld of %lld rows are left out: a value is missing");
    check_target(c, f, cols[d], s->gp.transform);
    if (!going(c)) return;
    const int64_t all_complete = f->n_rows;
    fit_hold_rows(c, s, f, h);
    if (!going(c)) return;
    long long kept = f->n_rows;
    *all = kept < all_complete ? all_complete : 0;
    if (kept < 2) {
        fail(c, CODE_DATA, "%s: %lld complete row%s; it takes at least 2", f->path, kept,
             kept == 1 ? "" : "s");
        return;
    }
    for (int64_t j = 0; j < targets; j++) check_values(c, f, cols[fit_place(d, j)], true);
    for (int64_t j = d - 1; j >= 0; j--) check_values(c, f, cols[j], false);
    if (s->gp.noise == CT_NOISE_NONE) frame_distinct(c, f, cols, d);
    const bool given = s->gp.noise == CT_NOISE_GIVEN || s->gp.noise == CT_NOISE_GIVEN_PLUS;
    if (going(c) && !s->gp.transform && !given && !s->outputs) tell_skewed(f, cols[d]);
}
