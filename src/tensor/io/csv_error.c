/* What is wrong with a cell. */
#include "csv.h"
#include "path.h"
#include "tensor/internal.h"

#include <string.h>

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
    char text[CT__SHOWN], name[CT__SHOWN];
    const char *of = t->columns[col].name;
    return ct__fail(r->device, CT_EFORMAT, "%s:%lld: column %lld (\"%s\"): \"%s\"%s", r->label,
                    (long long)f->line, (long long)col + 1, ct__show(of, strlen(of), name),
                    ct__show(f->text, f->size, text), what);
}
