/* Writes columns of text and of numbers as CSV, to a file or to standard output. */
#include "frame.h"

#include <math.h>
#include <string.h>

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

static void print_table(FILE *to, const text_columns *k, const double *values, int64_t rows, int64_t cols,
                        const char *const *names)
{
    for (int64_t j = 0; j < k->n; j++) {
        print_text(to, k->names[j]);
        fputc(',', to);
    }
    for (int64_t j = 0; j < cols; j++) {
        if (j) fputc(',', to);
        print_text(to, names[j]);
    }
    fputc('\n', to);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < k->n; j++) {
            if (*k->texts[i * k->n + j]) print_text(to, k->texts[i * k->n + j]); /* else a missing value */
            fputc(',', to);
        }
        for (int64_t j = 0; j < cols; j++) {
            char text[CT_NUMBER_TEXT];
            ct_number_write(values[i * cols + j], 17, text);
            if (!isnan(values[i * cols + j])) fputs(text, to);
            fputc(j + 1 < cols ? ',' : '\n', to);
        }
    }
}

void file_write(ctgp *c, const char *path, const void *data, size_t size)
{
    signals_hold(path);
    const ct_status status = ct_bytes_save(c->device, path, data, size);
    signals_release();
    check(c, status);
}

void table_write(ctgp *c, const text_columns *k, const double *values, int64_t rows, int64_t cols,
                 const char *const *names, const char *out)
{
    const text_columns none = { 0 };
    if (ct_comm_rank(many())) return; /* process 0 writes */
    if (!k) k = &none;
    if (is_standard(out)) {
        print_table(stdout, k, values, rows, cols, names);
        return;
    }
    memory_file *m = memory_open(c, "the table");
    print_table(m->to, k, values, rows, cols, names);
    memory_end(c, m, "the table");
    file_write(c, out, m->text, m->size);
}
