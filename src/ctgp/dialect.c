/* How a table is written, if the command line says so. */
#include "dialect.h"

#include <string.h>

#include "failure.h"

typedef struct sign {
    const char *name, sign;
} sign;

/* The sign that `text` names or is, or 0. */
static char find_sign(const char *text, const sign *signs, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(text, signs[i].name) || (text[0] == signs[i].sign && !text[1])) return signs[i].sign;
    return 0;
}

ct_csv_options parse_dialect(ctgp *c, const dialect *d)
{
    static const sign separators[] = { { "comma", ',' },  { "semicolon", ';' }, { "tab", '\t' },
                                       { "blanks", ' ' }, { "bar", '|' },       { "colon", ':' } };
    static const sign decimals[] = { { "point", '.' }, { "comma", ',' } };
    const ct_csv_options how = { .delimiter = d->separator ? find_sign(d->separator, separators, 6) : 0,
                                 .decimal = d->decimal ? find_sign(d->decimal, decimals, 2) : 0,
                                 .header = d->header < 0 ? 0
                                           : d->header   ? -1
                                                         : 1,
                                 .unseen = d->unseen == 1 };
    if (d->separator && !how.delimiter)
        fail(c, CODE_USAGE, "--separator: '%s' is not comma, semicolon, tab, blanks, bar or colon",
             d->separator);
    if (d->decimal && !how.decimal) fail(c, CODE_USAGE, "--decimal: '%s' is not point or comma", d->decimal);
    return how;
}

/* Words of the library's messages, and the option that helps. */
static const struct {
    const char *words, *option;
} remedies[] = {
    { "state the separator", " with --separator" },
    { "is the separator ", " --separator says so" },
    { "state the decimal sign", " with --decimal" },
    { "is the decimal sign ", " --decimal says so" },
    { "state the header, yes or no", " with --header" },
    { "state what the column is", " with --categorical" },
    { " is none of its levels: ", "; predict, sample, plot and compare take it with --unseen prior" },
};

const char *dialect_remedy(const char *message)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strstr(message, remedies[i].words)) return remedies[i].option;
    return "";
}
