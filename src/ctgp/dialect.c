/* How a table is written, if the command line says so. */
#include "dialect.h"

#include <string.h>

ct_csv_options csv_options(dialect d)
{
    return (ct_csv_options){ .delimiter = d.separator < 0 ? 0 : SEPARATORS[d.separator],
                             .decimal = d.decimal < 0 ? 0 : DECIMALS[d.decimal],
                             .header = d.header < 0 ? 0
                                       : d.header   ? -1
                                                    : 1,
                             .unseen = d.unseen == 1 };
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
