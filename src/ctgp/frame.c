/* A table: its columns by name, and the rows that a command uses. */
#include "frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "dialect.h"
#include "failure.h"
#include "text.h"

static void release_table(void *table) { ct_table_free(table); }

frame frame_parse(ctgp *c, const source *t, const ct_csv_options *how, const char *const *only, int64_t n)
{
    ct_csv_options options = *how;
    options.only = only;
    options.n_only = n;
    options.label = t->name;
    ct_table *table = ct_csv_parse(c->device, t->data, t->size, &options);
    if (!table && ct_last_status(c->device) == CT_EFORMAT)
        fail(c, CODE_DATA, "%s%s", ct_message(c->device), dialect_remedy(ct_message(c->device)));
    own(c, table, release_table);
    if (ct_table_rows(table) == 0) fail(c, CODE_DATA, "%s: there are no rows below the header", t->name);
    return (frame){ .path = t->name, .table = table };
}

void frame_print_notes(const frame *f)
{
    const char *text;
    for (int i = 0; (text = ct_table_note(f->table, i)) != NULL; i++)
        note("%s: %s%s", f->path, text, dialect_remedy(text));
}

int64_t frame_column(ctgp *c, const frame *f, const char *name)
{
    int64_t found = ct_table_find(f->table, name);
    if (found >= 0) return found;
    name_choice all = { .asked = name };
    int64_t n = ct_table_cols(f->table);
    for (int64_t j = 0; j < n; j++) add_name(&all, ct_table_name(f->table, j));
    fail(c, CODE_DATA, "%s has no column '%s'; it has %s%s", f->path, name, all.list,
         n == 1 ? " alone: --separator says what stands between columns" : all.guess);
}

_Noreturn void fail_cell(ctgp *c, const frame *f, int64_t row, int64_t col, const char *why)
{
    fail(c, CODE_DATA, "%s, line %lld, column '%s': %s", f->path, (long long)ct_table_line(f->table, row),
         ct_table_name(f->table, col), why);
}

bool frame_has_name(const frame *f, const int64_t *cols, int64_t n, const char *name)
{
    for (int64_t j = 0; j < n; j++)
        if (!strcmp(ct_table_name(f->table, cols[j]), name)) return true;
    return false;
}

/* How many of the columns have a value in a row. */
static int64_t count_values(ctgp *c, const frame *f, int64_t row, const int64_t *cols, int64_t n)
{
    int64_t count = 0, lacks = -1;
    for (int64_t j = 0; j < n; j++) {
        const double value = ct_table_at(f->table, row, cols[j]);
        if (isinf(value)) fail_cell(c, f, row, cols[j], "the value is infinite");
        count += !isnan(value);
        if (isnan(value)) f->missing[lacks = cols[j]].rows++;
    }
    if (count == n - 1) f->missing[lacks].alone++;
    return count;
}

void frame_complete(ctgp *c, frame *f, const int64_t *cols, int64_t n)
{
    const int64_t all = ct_table_rows(f->table);
    if (!f->rows) f->rows = take(c, all, sizeof *f->rows, "rows");
    f->missing = take(c, ct_table_cols(f->table), sizeof *f->missing, "columns");
    f->n_rows = 0;
    for (int64_t i = 0; i < all; i++)
        if (count_values(c, f, i, cols, n) == n) f->rows[f->n_rows++] = i;
}

void frame_keep(ctgp *c, frame *f, const int64_t *cols, int64_t n, int64_t least)
{
    int64_t kept = 0, *rows = take(c, f->n_rows, sizeof *rows, "rows");
    for (int64_t k = 0; k < f->n_rows; k++)
        if (count_values(c, f, f->rows[k], cols, n) >= least) rows[kept++] = f->rows[k];
    f->rows = rows;
    f->n_rows = kept;
}

double *frame_values(ctgp *c, const frame *f, const int64_t *cols, int64_t n)
{
    double *values = take(c, f->n_rows, (size_t)n * sizeof *values, "rows");
    for (int64_t i = 0; i < f->n_rows; i++)
        for (int64_t j = 0; j < n; j++) values[i * n + j] = ct_table_at(f->table, f->rows[i], cols[j]);
    return values;
}

ct_tensor *frame_tensor(ctgp *c, const frame *f, const int64_t *cols, int64_t n, ct_dtype dtype)
{
    const owned *before = c->owned;
    const double *values = frame_values(c, f, cols, n);
    ct_tensor *wide = own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(f->n_rows, n), values));
    ct_tensor *cast = ct_tensor_cast(wide, dtype);
    give_back(c, before);
    return own_tensor(c, cast);
}

typedef struct record {
    const double *x; /* [n] */
    int64_t n, line;
} record;

static int compare(const void *a, const void *b)
{
    const record *p = a, *q = b;
    for (int64_t j = 0; j < p->n; j++)
        if (p->x[j] != q->x[j]) return p->x[j] < q->x[j] ? -1 : 1;
    return p->line < q->line ? -1 : p->line > q->line;
}

void frame_distinct(ctgp *c, const frame *f, const int64_t *cols, int64_t n)
{
    const double *x = frame_values(c, f, cols, n);
    record *records = take(c, f->n_rows, sizeof *records, "rows");
    for (int64_t i = 0; i < f->n_rows; i++)
        records[i] = (record){ x + i * n, n, ct_table_line(f->table, f->rows[i]) };
    qsort(records, (size_t)f->n_rows, sizeof *records, compare);
    for (int64_t i = 1; i < f->n_rows; i++)
        if (!memcmp(records[i - 1].x, records[i].x, (size_t)n * sizeof *x))
            fail(c, CODE_DATA,
                 "%s: lines %lld and %lld have equal inputs, which a model without noise cannot tell "
                 "apart; use --noise learned",
                 f->path, (long long)records[i - 1].line, (long long)records[i].line);
}
