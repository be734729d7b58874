/* Columns whose missing cells are a number, and columns that say where these are. */
#include "csv_missing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "csv_kinds.h"
#include "gp/data/numbers.h"

/* The mean of a column's cells; NaN where none is missing, or none is there. */
static double mean_of_others(const ct_table *t, int64_t col)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        const double x = t->values[i * t->cols + col];
        if (isnan(x)) continue;
        sum += x;
        n++;
    }
    return n < t->rows ? sum / (double)n : (double)NAN;
}

/* Makes a column of numbers one whose missing cells are filled, if that is wanted. */
static bool choose(const ct__csv *r, ct_table *t, int64_t col)
{
    ct_column *c = &t->columns[col];
    const ct_column *asked = ct__csv_asked(r, c->name);
    const bool keep =
        !asked && r->options->keep_missing && c->kind == CT_COLUMN_NUMBER && ct__csv_wanted(r, c->name);
    const double mean = keep ? mean_of_others(t, col) : asked ? asked->fill : 0;
    if (keep ? !isfinite(mean) : !asked || asked->kind != CT_COLUMN_FILLED) return false;
    c->kind = CT_COLUMN_FILLED;
    c->fill = mean;
    return true;
}

static ct_status derive(ct_table *t, int64_t col)
{
    static const char suffix[] = " (missing)";
    const char *of = t->columns[col].name;
    const size_t size = strlen(of) + sizeof suffix;
    ct__derived *d = &t->derived[t->n_derived];
    char *name = ct__gp_alloc(t->device, size, 1);
    d->values = ct__gp_alloc(t->device, (uint64_t)t->rows, sizeof *d->values);
    d->column = (ct_column){ .name = name, .kind = CT_COLUMN_ABSENT };
    t->n_derived++;
    if (!name || !d->values) return CT_ENOMEM;
    snprintf(name, size, "%s%s", of, suffix);
    for (int64_t i = 0; i < t->rows; i++) {
        double *x = &t->values[i * t->cols + col];
        d->values[i] = isnan(*x);
        if (isnan(*x)) *x = t->columns[col].fill;
    }
    return CT_OK;
}

ct_status ct__csv_missing(ct__csv *r, ct_table *t)
{
    ct_status s = CT_OK;
    t->derived = ct__gp_alloc(t->device, (uint64_t)t->cols, sizeof *t->derived);
    if (!t->derived) return CT_ENOMEM;
    for (int64_t j = 0; j < t->cols && !s; j++)
        if (choose(r, t, j)) s = derive(t, j);
    return s;
}
