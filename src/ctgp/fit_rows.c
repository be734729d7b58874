/* ctgp fit: the rows that it learns. */
#include "fit_rows.h"

#include <math.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "fit_test.h"
#include "missing.h"
#include "numbers.h"
#include "target.h"

/* Refuses a column whose values are all equal, or equal to the model. */
static void check_values(ctgp *c, const frame *f, int64_t col, bool target)
{
    const char *name = ct_table_name(f->table, col);
    const moments m = moments_of(frame_values(c, f, &col, 1), f->n_rows, 1);
    const double low = m.low, high = m.high, largest = fmax(fabs(low), fabs(high)), half = high / 2 - low / 2;
    if (low == high && target)
        fail(c, CODE_DATA, "%s: the target '%s' has the same value in every row, there is nothing to learn",
             f->path, name);
    if (low == high)
        fail(c, CODE_DATA, "%s: column '%s' has the same value in every row; leave it out: --drop %s",
             f->path, name, option_name(c, name));
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
static void complete(ctgp *c, learned *t, int64_t targets, bool missing)
{
    frame_complete(c, &t->f, NULL, 0);
    frame_keep(c, &t->f, t->targets, targets, missing ? 1 : targets);
    if (t->noise >= 0) frame_keep(c, &t->f, &t->noise, 1, 1);
    frame_keep(c, &t->f, t->cols, t->d, t->d);
}

/* Refuses a feature without any value. */
static void check_features(ctgp *c, learned *t)
{
    for (int64_t j = 0; j < t->d; j++) {
        const char *name = ct_table_name(t->f.table, t->cols[j]);
        frame_complete(c, &t->f, &t->cols[j], 1);
        if (!t->f.n_rows)
            fail(c, CODE_DATA, "%s: column '%s' has no value in any row; leave it out: --drop %s", t->f.path,
                 name, option_name(c, name));
    }
}

int64_t fit_choose_rows(ctgp *c, const settings *s, learned *t, int64_t targets, bool missing, frame *h)
{
    frame *f = &t->f;
    const int64_t d = t->d, *cols = t->cols, *of = t->targets;
    check_features(c, t);
    complete(c, t, targets, missing);
    print_missing(c, f, cols, d, "%lld of %lld rows are left out, a value is missing: %s%s");
    check_target(c, f, of[0], s->gp.transform);
    const int64_t all = f->n_rows;
    fit_hold_rows(c, s, f, h);
    const long long kept = f->n_rows;
    if (kept < 2)
        fail(c, CODE_DATA, "%s: %lld complete row%s; it takes at least 2", f->path, kept,
             kept == 1 ? "" : "s");
    for (int64_t j = 0; j < targets; j++) check_values(c, f, of[j], true);
    for (int64_t j = d - 1; j >= 0; j--) check_values(c, f, cols[j], false);
    if (s->gp.noise == CT_NOISE_NONE) frame_distinct(c, f, cols, d);
    return kept < all ? all : 0;
}
