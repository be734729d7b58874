#include "csv_error.h"

#include <cotangent/io.h>

#include <string.h>

#include "csv_number.h"

const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f)
{
    if (t->cols == 1 && memchr(f->text, ';', f->size))
        return " is not a number: is the separator a semicolon?";
    if (t->cols == 1 && memchr(f->text, '\t', f->size)) return " is not a number: is the separator a tab?";
    ct__numeral n;
    if (r->dialect.decimal == '.' && ct__csv_number(f, '.', &n) == CT_NUMBER_NONE &&
        ct__csv_number(f, ',', &n) == CT_NUMBER)
        return " is not a number: is the decimal sign a comma?";
    return " is not a number";
}

ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what)
{
    char text[CT_SHOWN_TEXT], name[CT_SHOWN_TEXT];
    const char *of = t->columns[col].name;
    return ct_device_fail(r->device, CT_EFORMAT, "%s:%lld: column %lld (\"%s\"): \"%s\"%s", r->label,
                          (long long)f->line, (long long)col + 1, ct_show_text(of, strlen(of), name),
                          ct_show_text(f->text, f->size, text), what);
}
