#include "csv_error.h"

#include <stdio.h>
#include <string.h>

#include "csv_number.h"

static char shown(char c) { return (unsigned char)c < ' ' || c == 127 ? '?' : c; }

const char *ct__csv_label(const char *path, char buffer[CT__CSV_LABEL])
{
    const size_t length = strlen(path);
    const bool whole = length < CT__CSV_LABEL;
    snprintf(buffer, CT__CSV_LABEL, "%s%s", whole ? "" : "...",
             whole ? path : path + length - (CT__CSV_LABEL - 4));
    for (char *c = buffer; *c; c++) *c = shown(*c);
    return buffer;
}

const char *ct__csv_show(const char *text, size_t size, char buffer[CT__CSV_SHOWN])
{
    const size_t n = size < CT__CSV_SHOWN ? size : CT__CSV_SHOWN - 4;
    for (size_t i = 0; i < n; i++) buffer[i] = shown(text[i]);
    strcpy(buffer + n, n < size ? "..." : "");
    return buffer;
}

const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f)
{
    if (t->cols == 1 && memchr(f->text, ';', f->size))
        return " is not a number: is the separator a semicolon?";
    if (t->cols == 1 && memchr(f->text, '\t', f->size)) return " is not a number: is the separator a tab?";
    double value;
    int form;
    if (r->dialect.decimal == '.' && ct__csv_number(f, ',', &form, &value) == CT_NUMBER)
        return " is not a number: is the decimal sign a comma?";
    return " is not a number";
}

ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what)
{
    char text[CT__CSV_SHOWN], name[CT__CSV_SHOWN];
    const char *of = t->columns[col].name;
    return ct_device_fail(r->device, CT_EFORMAT, "%s:%lld: column %lld (\"%s\"): \"%s\"%s", r->label,
                          (long long)f->line, (long long)col + 1, ct__csv_show(of, strlen(of), name),
                          ct__csv_show(f->text, f->size, text), what);
}
