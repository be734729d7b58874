/* Two further passes over the columns of text: kinds, then values. */
#include "csv_kinds.h"

#include <cotangent/io.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csv_error.h"
#include "csv_levels.h"
#include "csv_number.h"
#include "csv_times.h"
#include "gp/data/numbers.h"
#include "letters.h"

typedef struct kind {
    const ct_column *asked;             /* NULL: most of its cells decide */
    int64_t cells, numbers, quantities; /* those present; plain numbers; numbers in the column's unit */
    ct__times times;
    ct_column_kind kind;
    bool in_unit; /* its numbers have the column's unit */
    ct__levels levels;
    bool closed; /* other levels are refused */
} kind;

typedef struct reading {
    ct__csv *r;
    ct_table *t;
    kind *kinds; /* (cols) */
} reading;

typedef ct_status visit_fn(reading *g, int64_t row, int64_t col, const ct__field *f);

/* Calls `visit` for each cell of the columns marked CT__TEXT. */
static ct_status each_cell(reading *g, visit_fn *visit)
{
    const ct_table *t = g->t;
    ct__csv *r = g->r;
    const ct__place start = ct__csv_place(r);
    ct_status s = CT_OK;
    for (int64_t row = 0; row < t->rows && !s; row++) {
        ct__field f;
        int64_t col = 0;
        while (r->line < t->lines[row] && r->at < r->end) ct__csv_pass_line(r);
        do {
            s = ct__csv_field(r, &f);
            ct__trim(&f.text, &f.size);
            if (!s && col < t->cols && (t->forms[col] & CT__TEXT)) s = visit(g, row, col, &f);
            col++;
        } while (!s && !f.last);
    }
    ct__csv_go_to(r, start);
    return s;
}

/* -- what a column holds --------------------------------------------------------------------------------- */

/* Counts a cell by its kind. "0,5" among numbers with a point is a number in the wrong form, not a text. */
static ct_status count_cell(reading *g, int64_t row, int64_t col, const ct__field *f)
{
    (void)row;
    kind *k = &g->kinds[col];
    ct__numeral n;
    ct_number is = ct__csv_number(f, g->r->dialect.decimal, &n);
    if (is == CT_NUMBER_MISSING) return CT_OK;
    if (is == CT_NUMBER_NONE) is = ct__csv_number(f, ',', &n);
    k->cells++;
    k->quantities += ct__csv_in_unit(g->t, col, &n);
    k->numbers += is != CT_NUMBER_NONE && !n.unit_size;
    if (is != CT_NUMBER_NONE && !n.unit_size)
        ct__times_add_number(&k->times, n.value);
    else
        ct__times_add(&k->times, f);
    return CT_OK;
}

/* Takes the caller's levels, which must all be different. */
static ct_status take_levels(reading *g, kind *k)
{
    const ct_column *c = k->asked;
    k->closed = true;
    for (int64_t i = 0; i < c->n_levels; i++) {
        const int64_t at = ct__levels_add(&k->levels, c->levels[i], strlen(c->levels[i]));
        char name[CT_SHOWN_TEXT], first[CT_SHOWN_TEXT], second[CT_SHOWN_TEXT];
        if (at == i) continue;
        if (at < 0) return CT_ENOMEM;
        return ct_device_fail(
            g->r->device, CT_EINVAL,
            "%s: column \"%s\": its levels %lld and %lld, \"%s\" and \"%s\", are one: rename them",
            g->r->label, ct_show_text(c->name, strlen(c->name), name), (long long)at, (long long)i,
            ct_show_text(c->levels[at], strlen(c->levels[at]), first),
            ct_show_text(c->levels[i], strlen(c->levels[i]), second));
    }
    return CT_OK;
}

/* Most of its cells make a column one of times or of numbers. With a unit it takes nine of ten: 4WD is a code
 * where 2RD is another. */
static ct_status begin_kind(reading *g, int64_t col)
{
    kind *k = &g->kinds[col];
    ct_column *c = &g->t->columns[col];
    k->in_unit = k->quantities && 10 * k->quantities >= 9 * k->cells;
    if (!k->in_unit) *g->t->units[col] = 0;
    k->kind = k->asked                                   ? k->asked->kind
              : 2 * ct__times_most(&k->times) > k->cells ? CT_COLUMN_TIME
              : 2 * k->numbers > k->cells || k->in_unit  ? CT_COLUMN_NUMBER
                                                         : CT_COLUMN_CATEGORY;
    c->kind = k->kind;
    if (k->kind == CT_COLUMN_CATEGORY && k->asked && k->asked->levels) return take_levels(g, k);
    if (k->kind != CT_COLUMN_TIME || !k->cells) return CT_OK;
    const ct_time_form said = k->asked && k->asked->form ? k->asked->form : g->r->options->dates;
    return ct__times_choose(&k->times, g->r, g->t, c, said, k->numbers == k->cells);
}

/* -- the values ------------------------------------------------------------------------------------------ */

/* Lists levels as "a", "b", "c", ..., as many as fit. */
static void list_levels(const ct_column *c, char *to, size_t size)
{
    size_t used = 0;
    to[0] = 0;
    for (int64_t i = 0; i < c->n_levels; i++) {
        char text[CT_SHOWN_TEXT];
        ct_show_text(c->levels[i], strlen(c->levels[i]), text);
        if (used + strlen(text) + 8 > size) {
            snprintf(to + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(to + used, size - used, "%s%s", i ? ", " : "", text);
    }
}

static ct_status unseen(reading *g, int64_t col, const ct__field *f)
{
    char list[160], what[CT_SHOWN_TEXT + sizeof list];
    list_levels(g->kinds[col].asked, list, sizeof list);
    snprintf(what, sizeof what, " is none of its levels: %s", list);
    return ct__csv_refuse(g->r, g->t, col, f, what);
}

/* Reads a category's cell. A number with a decimal comma is rewritten with a point, so that it is the same
 * level in every table. */
static ct_status read_level(reading *g, int64_t col, const ct__field *f, double *value)
{
    kind *k = &g->kinds[col];
    char number[CT_NUMBER_TEXT];
    const char *text = f->text;
    size_t size = f->size;
    ct__numeral n;
    const char decimal = g->r->dialect.decimal;
    const ct_number is = ct__csv_number(f, decimal, &n);
    static const char missing[] = "missing";
    if (is == CT_NUMBER_MISSING) {
        text = missing, size = sizeof missing - 1;
        const bool keep =
            k->closed ? ct__levels_find(&k->levels, text, size) >= 0 : g->r->options->keep_missing;
        if (!keep) return *value = NAN, CT_OK;
    }
    if (is == CT_NUMBER && n.form == CT__BARE && decimal != '.') {
        size = ct_number_write(n.value, 0, number);
        text = number;
    }
    const int64_t found =
        k->closed ? ct__levels_find(&k->levels, text, size) : ct__levels_add(&k->levels, text, size);
    *value = (double)found;
    if (found >= 0) return CT_OK;
    if (!k->closed) return CT_ENOMEM;
    return g->r->options->unseen ? CT_OK : unseen(g, col, f);
}

static ct_status read_time(reading *g, int64_t col, const ct__field *f, double *value)
{
    const kind *k = &g->kinds[col];
    ct__numeral n;
    const ct_number is = ct__csv_number(f, g->r->dialect.decimal, &n);
    *value = n.value;
    if (is == CT_NUMBER_MISSING) return *value = NAN, CT_OK;
    if (k->times.per_day && is != CT_NUMBER)
        return ct__csv_refuse(g->r, g->t, col, f,
                              is == CT_NUMBER_TOO_LARGE ? " is too large for a double"
                                                        : ct__csv_no_number(g->r, g->t, f));
    const ct_time time = ct__times_read(&k->times, f, value);
    if (time == CT_TIME) return CT_OK;
    return ct__csv_refuse(g->r, g->t, col, f,
                          time == CT_TIME_IMPOSSIBLE ? " is not in the calendar"
                          : k->asked                 ? " is not a date as 2024-01-31 or 2024-01-31T12:30"
                                     : " is not a date, as most of its column are: state what the column is");
}

static ct_status read_number(reading *g, int64_t col, const ct__field *f, double *value)
{
    ct__numeral n;
    const ct_number is = ct__csv_number(f, g->r->dialect.decimal, &n);
    *value = n.value;
    const bool fits = g->kinds[col].in_unit ? ct__csv_in_unit(g->t, col, &n) : !n.unit_size;
    if (is == CT_NUMBER_MISSING || (is == CT_NUMBER && fits)) return CT_OK;
    const char *why = ct__csv_no_number(g->r, g->t, f);
    return ct__csv_refuse(g->r, g->t, col, f,
                          strcmp(why, " is not a number")
                              ? why
                              : " is not a number, as most of its column are: state what the column is");
}

static ct_status read_cell(reading *g, int64_t row, int64_t col, const ct__field *f)
{
    double *value = &g->t->values[row * g->t->cols + col];
    switch (g->kinds[col].kind) {
    case CT_COLUMN_CATEGORY: return read_level(g, col, f, value);
    case CT_COLUMN_TIME: return read_time(g, col, f, value);
    default: return read_number(g, col, f, value);
    }
}

/* Gives the column its levels. New levels are sorted, and the values renumbered. */
static ct_status end_kind(reading *g, int64_t col)
{
    const kind *k = &g->kinds[col];
    ct_table *t = g->t;
    if (k->kind != CT_COLUMN_CATEGORY) return CT_OK;
    int64_t *number = k->closed ? NULL : ct__gp_alloc(t->device, k->levels.n, sizeof *number);
    ct_status s = k->closed || number ? CT_OK : CT_ENOMEM;
    if (!s) s = ct__levels_give(&k->levels, &t->columns[col], number);
    for (int64_t i = 0; i < t->rows && !s && number; i++) {
        double *value = &t->values[i * t->cols + col];
        if (!isnan(*value)) *value = (double)number[(int64_t)*value];
    }
    free(number);
    return s;
}

/* -- all columns ----------------------------------------------------------------------------------------- */

const ct_column *ct__csv_asked(const ct__csv *r, const char *name)
{
    for (int64_t i = 0; i < r->options->n_columns; i++)
        if (!strcmp(r->options->columns[i].name, name)) return &r->options->columns[i];
    return NULL;
}

bool ct__csv_wanted(const ct__csv *r, const char *name)
{
    const ct_csv_options *o = r->options;
    for (int64_t i = 0; o->only && i < o->n_only; i++)
        if (!strcmp(o->only[i], name)) return true;
    return !o->only;
}

/* Calls `what` for each of these columns. */
static ct_status each_column(reading *g, ct_status (*what)(reading *g, int64_t col))
{
    ct_status s = CT_OK;
    for (int64_t j = 0; j < g->t->cols && !s; j++)
        if (g->t->forms[j] & CT__TEXT) s = what(g, j);
    return s;
}

static ct_status ask(reading *g, int64_t col)
{
    g->t->forms[col] &= CT__TEXT | CT__UNNAMED;
    g->kinds[col] =
        (kind){ .asked = ct__csv_asked(g->r, g->t->columns[col].name), .levels.device = g->t->device };
    return CT_OK;
}

static ct_status drop(reading *g, int64_t col)
{
    ct__levels_drop(&g->kinds[col].levels);
    return CT_OK;
}

/* Whether a column is not simply one of numbers; marks one of dates as 20240131, too. */
static bool is_for_us(const ct__csv *r, ct_table *t, int64_t col)
{
    const unsigned char numbers = t->forms[col] & (CT__BARE | CT__NO_DIGITS | CT__TEXT);
    if (numbers == CT__BARE && r->options->kinds && !ct__csv_asked(r, t->columns[col].name))
        t->forms[col] |= CT__TEXT;
    return t->forms[col] & CT__TEXT;
}

ct_status ct__csv_kinds(ct__csv *r, ct_table *t)
{
    bool any = false;
    for (int64_t j = 0; j < t->cols; j++) any |= is_for_us(r, t, j);
    if (!any) return CT_OK;
    reading g = { r, t, ct__gp_alloc(t->device, (uint64_t)t->cols, sizeof(kind)) };
    if (!g.kinds) return CT_ENOMEM;
    each_column(&g, ask);
    ct_status s = each_cell(&g, count_cell);
    if (!s) s = each_column(&g, begin_kind);
    if (!s) s = each_cell(&g, read_cell);
    if (!s) s = each_column(&g, end_kind);
    each_column(&g, drop);
    free(g.kinds);
    return s;
}
