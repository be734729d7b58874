/* How a table is written, if the command line says so. */
#include "command.h"

#include <string.h>

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

void parse_dialect(ctgp *c, const dialect *d, ct_csv_options *how)
{
    if (!going(c)) return;
    static const sign separators[] = { { "comma", ',' },  { "semicolon", ';' }, { "tab", '\t' },
                                       { "blanks", ' ' }, { "bar", '|' },       { "colon", ':' } };
    static const sign decimals[] = { { "point", '.' }, { "comma", ',' } };
    static const char *const yes_no[] = { "yes", "no" };
    static const char *const unseen[] = { "error", "prior" };
    int header = -1, choice = 0;
    *how = (ct_csv_options){ 0 };
    if (d->separator && !(how->delimiter = find_sign(d->separator, separators, 6)))
        fail(c, CODE_USAGE, "--separator: '%s' is not comma, semicolon, tab, blanks, bar or colon",
             d->separator);
    if (d->decimal && !(how->decimal = find_sign(d->decimal, decimals, 2)))
        fail(c, CODE_USAGE, "--decimal: '%s' is not point or comma", d->decimal);
    parse_choice(c, "--header", d->header, yes_no, 2, &header);
    parse_choice(c, "--unseen", d->unseen, unseen, 2, &choice);
    how->header = header < 0 ? 0 : header ? -1 : 1;
    how->unseen = choice == 1;
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
