/* The fields of a table as they are written, read once more from its text. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const char *at, *end;
    int64_t line;
    char separator;
} walk;

typedef struct field {
    const char *text; /* in quotes: with its quotes doubled */
    size_t size;
    bool quoted;
} field;

static bool at_newline(const walk *w) { return w->at == w->end || *w->at == '\n' || *w->at == '\r'; }

/* Passes CRLF, LF or CR. */
static void pass_newline(walk *w)
{
    if (w->at < w->end && *w->at++ == '\r' && w->at < w->end && *w->at == '\n') w->at++;
    w->line++;
}

static void pass_blanks(walk *w)
{
    while (w->at < w->end && (*w->at == ' ' || (*w->at == '\t' && w->separator != '\t'))) w->at++;
}

static bool at_separator(const walk *w)
{
    return *w->at == w->separator || (w->separator == ' ' && *w->at == '\t');
}

/* The field at w->at; whether another one follows in this row. */
static bool take_field(walk *w, field *f)
{
    pass_blanks(w);
    f->quoted = w->at < w->end && *w->at == '"';
    if (f->quoted) w->at++;
    f->text = w->at;
    if (f->quoted)
        for (; w->at < w->end && (*w->at != '"' || (w->at + 1 < w->end && w->at[1] == '"')); w->at++) {
            if (*w->at == '"')
                w->at++;
            else if (*w->at == '\n' || (*w->at == '\r' && (w->at + 1 == w->end || w->at[1] != '\n')))
                w->line++;
        }
    else
        while (!at_newline(w) && !at_separator(w)) w->at++;
    f->size = (size_t)(w->at - f->text);
    if (f->quoted && w->at < w->end) w->at++;
    while (!f->quoted && f->size && strchr(" \t", f->text[f->size - 1])) f->size--;
    pass_blanks(w);
    if (at_newline(w)) return false;
    if (w->separator != ' ') w->at++;
    return true;
}

static void go_to_line(walk *w, int64_t line)
{
    while (w->line < line && w->at < w->end)
        if (at_newline(w))
            pass_newline(w);
        else
            w->at++;
}

/* How many fields, with this separator, are the numbers of the table; -1 where its rows have another
 * length. */
static int64_t agreement(const frame *f, char separator)
{
    const int64_t rows = ct_table_rows(f->table), cols = ct_table_cols(f->table);
    walk w = { f->text.data, f->text.data + f->text.size, 1, separator };
    int64_t agreed = 0;
    for (int64_t i = 0; i < rows; i++) {
        bool more = true;
        int64_t j = 0;
        go_to_line(&w, ct_table_line(f->table, i));
        for (; more; j++) {
            field e;
            double value;
            more = take_field(&w, &e);
            agreed += ct_number_read(e.text, e.size, &value) == CT_NUMBER && j < cols &&
                      value == ct_table_at(f->table, i, j);
        }
        if (j != cols) return -1;
    }
    return agreed;
}

static char find_separator(const frame *f, char given)
{
    static const char signs[] = ",;\t ";
    int64_t best = -1;
    char found = given;
    for (int k = 0; k < 4 && !given; k++) {
        const int64_t agreed = agreement(f, signs[k]);
        if (agreed > best) best = agreed, found = signs[k];
    }
    return found;
}

static char *copy_field(char *to, const field *f)
{
    for (size_t i = 0; i < f->size; i++) {
        *to++ = f->text[i];
        if (f->quoted && f->text[i] == '"') i++;
    }
    *to++ = 0;
    return to;
}

int frame_texts(const frame *f, const ct_csv_options *how, const int64_t *cols, int64_t n, char ***texts)
{
    const int64_t rows = ct_table_rows(f->table);
    const size_t fields = (size_t)rows * (size_t)n;
    *texts = malloc(fields * sizeof **texts + f->text.size + fields + 1);
    if (!*texts) return fail(CODE_MEMORY, "%s: no memory for the texts of its rows", f->path);
    const char separator = find_separator(f, how->delimiter);
    if (!separator)
        return fail(CODE_DATA, "%s: cannot tell what separates its fields: state it with --separator",
                    f->path);
    walk w = { f->text.data, f->text.data + f->text.size, 1, separator };
    char *to = (char *)(*texts + fields);
    for (int64_t i = 0; i < rows; i++) {
        bool more = true;
        go_to_line(&w, ct_table_line(f->table, i));
        for (int64_t j = 0; more; j++) {
            field e;
            more = take_field(&w, &e);
            for (int64_t k = 0; k < n; k++) {
                if (cols[k] != j) continue;
                (*texts)[i * n + k] = to;
                to = copy_field(to, &e);
            }
        }
    }
    return GO_ON;
}

int frame_keep(const frame *f, const ct_csv_options *how, const char *list, text_columns *k)
{
    pick *picks = NULL;
    *k = (text_columns){ 0 };
    int result = list ? frame_pick(f, list, &picks, &k->n) : GO_ON;
    int64_t *cols = malloc((size_t)(k->n + 1) * sizeof *cols);
    k->names = malloc((size_t)(k->n + 1) * sizeof *k->names);
    if (result == GO_ON && (!cols || !k->names))
        result = fail(CODE_MEMORY, "no memory for the columns to keep");
    for (int64_t j = 0; j < k->n && result == GO_ON; j++) {
        cols[j] = picks[j].col;
        k->names[j] = ct_table_name(f->table, cols[j]);
        for (int64_t i = 0; i < j && result == GO_ON; i++)
            if (cols[i] == cols[j])
                result = fail(CODE_USAGE, "--keep: column '%s' is there twice", k->names[j]);
    }
    if (result == GO_ON && k->n) result = frame_texts(f, how, cols, k->n, &k->texts);
    free(picks);
    free(cols);
    return result;
}

void text_columns_free(text_columns *k)
{
    free(k->names);
    free(k->texts);
    *k = (text_columns){ 0 };
}
