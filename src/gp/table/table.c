/* Access to a table of numbers that has been read. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/data/numbers.h"

void ct_table_free(ct_table *t)
{
    if (!t) return;
    free(t->values);
    free(t->lines);
    free(t->texts);
    free(t->text);
    for (int64_t j = 0; t->columns && j < t->cols; j++) free((void *)(uintptr_t)t->columns[j].levels);
    free(t->columns);
    for (int64_t j = 0; j < t->n_derived; j++) {
        free((void *)(uintptr_t)t->derived[j].column.name);
        free(t->derived[j].values);
    }
    free(t->derived);
    ct_device_close(t->device);
    free(t);
}

int64_t ct_table_rows(const ct_table *t) { return t ? t->rows : 0; }
int64_t ct_table_cols(const ct_table *t) { return t ? t->cols + t->n_derived : 0; }

const ct_column *ct_table_column(const ct_table *t, int64_t col)
{
    if (!t || col < 0 || col >= t->cols + t->n_derived) return NULL;
    return col < t->cols ? &t->columns[col] : &t->derived[col - t->cols].column;
}

const char *ct_table_name(const ct_table *t, int64_t col)
{
    const ct_column *c = ct_table_column(t, col);
    return c ? c->name : NULL;
}

bool ct_table_unnamed(const ct_table *t, int64_t col)
{
    return t && t->header && col >= 0 && col < t->cols && (t->forms[col] & CT__UNNAMED);
}

int64_t ct_table_find(const ct_table *t, const char *name)
{
    for (int64_t i = 0; t && name && i < t->cols + t->n_derived; i++)
        if (!strcmp(ct_table_name(t, i), name)) return i;
    return -1;
}

bool ct_table_counts_rows(const ct_table *t, int64_t col)
{
    if (!ct_table_unnamed(t, col) || t->rows < 2) return false;
    for (int64_t i = 0; i < t->rows; i++)
        if (ct_table_at(t, i, col) != (double)i + t->values[col]) return false;
    return t->values[col] == 0 || t->values[col] == 1;
}

bool ct_table_names_rows(const ct_table *t, int64_t col)
{
    enum { FEWEST = 20 };
    const ct_column *c = ct_table_column(t, col);
    if (!c || c->kind != CT_COLUMN_CATEGORY) return false;
    int64_t cells = 0;
    for (int64_t i = 0; i < t->rows; i++) cells += !isnan(ct_table_at(t, i, col));
    return cells >= FEWEST && 2 * c->n_levels > cells;
}

bool ct__csv_in_unit(const ct_table *t, int64_t col, const ct__numeral *n)
{
    const char *unit = t->units[col];
    return n->unit_size && strlen(unit) == n->unit_size && !memcmp(unit, n->unit, n->unit_size);
}

const char *ct_table_note(const ct_table *t, int i)
{
    return t && i >= 0 && i < t->n_notes ? t->notes[i] : NULL;
}

void ct__csv_note(ct_table *t, const char *format, ...)
{
    va_list arguments;
    if (t->n_notes == CT__NOTES) return;
    va_start(arguments, format);
    vsnprintf(t->notes[t->n_notes++], CT__NOTE, format, arguments);
    va_end(arguments);
}

double ct_table_at(const ct_table *t, int64_t row, int64_t col)
{
    if (!t || row < 0 || row >= t->rows || col < 0 || col >= t->cols + t->n_derived) return NAN;
    return col < t->cols ? t->values[row * t->cols + col] : t->derived[col - t->cols].values[row];
}

const char *ct_table_text(const ct_table *t, int64_t row, int64_t col)
{
    bool inside = t && t->texts && row >= 0 && row < t->rows && col >= 0 && col < t->cols;
    return inside ? t->texts[row * t->cols + col] : NULL;
}

int64_t ct_table_line(const ct_table *t, int64_t row)
{
    return t && row >= 0 && row < t->rows ? t->lines[row] : 0;
}

ct_tensor *ct_table_tensor(const ct_table *t, ct_dtype dtype, const int64_t *cols, int64_t n)
{
    if (!t) return NULL;
    ct_device *device = t->device;
    if (!cols) n = ct_table_cols(t);
    ct_status s = dtype != CT_F64 && dtype != CT_F32
                      ? ct_device_fail(device, CT_EDTYPE, "table: only f64 and f32 tensors can be made")
                  : n < 0 ? ct_device_fail(device, CT_EINVAL, "table: %lld columns", (long long)n)
                          : CT_OK;
    for (int64_t j = 0; cols && j < n && !s; j++)
        if (!ct_table_column(t, cols[j]))
            s = ct_device_fail(device, CT_EINDEX, "table: there is no column %lld, use 0 to %lld",
                               (long long)cols[j], (long long)ct_table_cols(t) - 1);
    ct_shape shape = ct_shape2(t->rows, n);
    if (!s && ct_shape_count(shape) < 0) s = ct_device_fail(device, CT_ESHAPE, "table: too many columns");
    if (s) return NULL;

    double *x = ct__gp_alloc(device, (uint64_t)ct_shape_count(shape), sizeof *x);
    for (int64_t i = 0; i < t->rows && x; i++)
        for (int64_t j = 0; j < n; j++) x[i * n + j] = ct_table_at(t, i, cols ? cols[j] : j);
    ct_tensor *result = ct__gp_tensor(device, dtype, shape, x);
    free(x);
    return result;
}
