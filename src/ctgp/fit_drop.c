/* ctgp fit: columns that cannot help to predict. */
#include "fit_drop.h"

#include <math.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "numbers.h"
#include "text.h"

/* -- alone ----------------------------------------------------------------------------------------------- */

/* Why a column of text cannot help to predict; NULL if it may. */
static const char *says_nothing(ctgp *c, const frame *f, int64_t col)
{
    const ct_column *of = ct_table_column(f->table, col);
    if (of->n_levels == 1) return text_of(c, "has no other text than '%.40s': it is left out", of->levels[0]);
    if (!ct_table_names_rows(f->table, col)) return NULL;
    return text_of(c,
                   "has %lld texts, nearly one per row: it is left out; --features or --categorical keeps it",
                   (long long)of->n_levels);
}

/* -- numbers and times, in standard deviations from their mean ------------------------------------------- */

typedef struct scaled {
    double *z; /* [rows], NaN where a value is missing; NULL for a category, and for a constant */
    bool constant;
} scaled;

static scaled scale(ctgp *c, const frame *f, int64_t col)
{
    const int64_t rows = ct_table_rows(f->table);
    if (ct_table_column(f->table, col)->kind == CT_COLUMN_CATEGORY) return (scaled){ 0 };
    double *z = take(c, rows, sizeof *z, "rows");
    for (int64_t i = 0; i < rows; i++) z[i] = ct_table_at(f->table, i, col);
    const moments m = moments_of(z, rows, 1);
    if (m.low == m.high) return (scaled){ .constant = m.n > 1 };
    for (int64_t i = 0; i < rows; i++) z[i] = (z[i] - m.mean) / sqrt(m.variance);
    return (scaled){ .z = isfinite(m.variance) ? z : NULL };
}

/* Whether the correlation is above 1 - 1e-9 in size: mean (z ∓ w)² = 2 - 2 |r|. */
static bool are_alike(const double *z, const double *w, int64_t rows)
{
    double sum = 0, sign = 0;
    for (int64_t i = 0; i < rows && sum <= 2e-9 * (double)rows; i++) {
        if (isnan(z[i]) != isnan(w[i])) return false;
        if (!sign && z[i] * w[i] != 0) sign = z[i] * w[i] > 0 ? 1 : -1;
        if (!isnan(z[i])) sum += (z[i] - sign * w[i]) * (z[i] - sign * w[i]);
    }
    return sum <= 2e-9 * (double)rows;
}

/* The kept column before number j that is the same on another scale, or -1. */
static int64_t find_alike(const scaled *of, int64_t j, int64_t rows)
{
    for (int64_t i = 0; i < j && of[j].z; i++)
        if (of[i].z && are_alike(of[i].z, of[j].z, rows)) return i;
    return -1;
}

/* -- both ------------------------------------------------------------------------------------------------ */

/* Columns that are left out for the same reason. */
typedef struct left {
    int64_t n;
    name_choice names;
} left;

static void note_left(const frame *f, const char *why, const left *l)
{
    if (l->n)
        note("%s: left out, %s: %lld column%s, %s", f->path, why, (long long)l->n, l->n == 1 ? "" : "s",
             l->names.list);
}

int64_t drop_columns(ctgp *c, const settings *s, const frame *f, int64_t *cols, int64_t d)
{
    const owned *before = c->owned; /* the scaled columns take as much memory as the table */
    const picks asked = frame_pick(c, f, s->categorical);
    int64_t kept = 0;
    scaled *of = take(c, d, sizeof *of, "columns");
    left constant = { 0 }, alike = { 0 };
    for (int64_t j = 0; j < d; j++) {
        const char *name = ct_table_name(f->table, cols[j]);
        const bool keep = s->features || frame_has_name(f, asked.cols, asked.n, name);
        of[kept] = keep ? (scaled){ 0 } : scale(c, f, cols[j]);
        const int64_t like = find_alike(of, kept, ct_table_rows(f->table));
        const char *why = keep || of[kept].constant ? NULL : says_nothing(c, f, cols[j]);
        if (of[kept].constant) constant.n++, add_name(&constant.names, name);
        if (like >= 0)
            alike.n++,
                add_name(&alike.names, text_of(c, "%s (%s)", name, ct_table_name(f->table, cols[like])));
        if (why) note("%s: column '%s' %s", f->path, name, why);
        if (!of[kept].constant && !why && like < 0) cols[kept++] = cols[j];
    }
    note_left(f, "the same value in every row", &constant);
    note_left(f, "another column on another scale", &alike);
    if (!kept) fail(c, CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    give_back(c, before);
    return kept;
}

/* -- codes ----------------------------------------------------------------------------------------------- */

/* How many values a column of small whole numbers has; 0 for other columns, and for more than `most`. */
static int count_values(const frame *f, int64_t col, int most)
{
    double value[16];
    int n = 0;
    for (int64_t i = 0; i < ct_table_rows(f->table); i++) {
        const double x = ct_table_at(f->table, i, col);
        int k = 0;
        if (isnan(x)) continue;
        while (k < n && value[k] != x) k++;
        if (x != floor(x) || fabs(x) >= 1e4 || k == most) return 0;
        if (k == n) value[n++] = x;
    }
    return n;
}

void note_codes(const settings *s, const frame *f, const int64_t *cols, int64_t d)
{
    enum { FEW = 3, MOST = 12, ROWS = 5 }; /* values, and rows for each of them */
    name_choice codes = { 0 };
    for (int64_t j = 0; j < d; j++) {
        const int n = count_values(f, cols[j], MOST);
        if (ct_table_column(f->table, cols[j])->kind == CT_COLUMN_NUMBER && n >= FEW &&
            n * ROWS <= ct_table_rows(f->table))
            add_name(&codes, ct_table_name(f->table, cols[j]));
    }
    if (*codes.list && !s->categorical)
        note("%s: few whole numbers: %s; --categorical NAME,... where they stand for classes", f->path,
             codes.list);
}
