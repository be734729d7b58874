/* Writes columns of text and of numbers as CSV, to a file or to standard output. */
#include "table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "many.h"
#include "signals.h"

bool is_standard(const char *path) { return !strcmp(path, "-"); }

bool is_stream(const char *path)
{
    return is_standard(path) || !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6);
}

/* Writes a text in quotes if it needs them [RFC 4180]. */
static void print_text(FILE *to, const char *text)
{
    if (ct_csv_is_plain(text)) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

/* -- its columns ----------------------------------------------------------------------------------------- */

struct sheet_column {
    sheet_column *next;
    char *name;
    const char **texts; /* [rows], or NULL for a column of numbers */
    double *values;     /* [rows] */
};

/* Appends a column without values. */
static sheet_column *add_column(ctgp *c, sheet *s, const char *name)
{
    sheet_column *k = take(c, 1, sizeof *k, "columns");
    k->name = text_of(c, "%s", name);
    *(s->last ? &s->last->next : &s->first) = k;
    s->last = k;
    return k;
}

const char **sheet_texts(ctgp *c, sheet *s, const char *name)
{
    sheet_column *k = add_column(c, s, name);
    return k->texts = take(c, s->rows, sizeof *k->texts, "rows to keep");
}

double *sheet_values(ctgp *c, sheet *s, const char *format, ...)
{
    char name[1 << 12];
    va_list values;
    va_start(values, format);
    vsnprintf(name, sizeof name, format, values);
    va_end(values);
    for (const sheet_column *k = s->first; k && k->texts; k = k->next)
        if (!strcmp(k->name, name))
            fail(c, CODE_USAGE, "--keep: the prediction has a column '%s', too: rename it in DATA.csv", name);
    sheet_column *k = add_column(c, s, name);
    k->values = take(c, s->rows, sizeof *k->values, "rows of a table");
    for (int64_t i = 0; i < s->rows; i++) k->values[i] = NAN;
    return k->values;
}

/* -- its file -------------------------------------------------------------------------------------------- */

static void print_cell(FILE *to, const sheet_column *k, int64_t row)
{
    char number[CT_NUMBER_TEXT];
    if (k->texts && *k->texts[row]) print_text(to, k->texts[row]); /* else a missing value */
    if (k->texts || isnan(k->values[row])) return;
    ct_number_write(k->values[row], 17, number);
    fputs(number, to);
}

static void print_sheet(FILE *to, const sheet *s)
{
    for (const sheet_column *k = s->first; k; k = k->next) {
        print_text(to, k->name);
        fputc(k->next ? ',' : '\n', to);
    }
    for (int64_t i = 0; i < s->rows; i++)
        for (const sheet_column *k = s->first; k; k = k->next) {
            print_cell(to, k, i);
            fputc(k->next ? ',' : '\n', to);
        }
}

void file_write(ctgp *c, const char *path, const void *data, size_t size)
{
    signals_hold(path);
    const ct_status status = ct_bytes_save(c->device, path, data, size);
    signals_release();
    check(c, status);
}

void sheet_write(ctgp *c, const sheet *s, const char *out)
{
    if (ct_comm_rank(many())) return; /* process 0 writes */
    if (is_standard(out)) {
        print_sheet(stdout, s);
        return;
    }
    memory_file *m = memory_open(c, "the table");
    print_sheet(m->to, s);
    memory_end(c, m, "the table");
    file_write(c, out, m->text, m->size);
}
