/* How a table is written, if the command line says so. */
#include "dialect.h"

#include <string.h>

ct_csv_options csv_options(dialect d)
{
    static const ct_time_form dates[] = { CT_TIME_DAY_FIRST, CT_TIME_MONTH_FIRST, CT_TIME_EXCEL };
    return (ct_csv_options){ .delimiter = d.separator < 0 ? 0 : SEPARATORS[d.separator],
                             .decimal = d.decimal < 0 ? 0 : DECIMALS[d.decimal],
                             .header = d.header < 0 ? 0
                                       : d.header   ? -1
                                                    : 1,
                             .unseen = d.unseen == 1,
                             .dates = d.dates < 0 ? CT_TIME_ISO : dates[d.dates] };
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
    { "state the order of dates", " with --dates" },
    { "state what the column is", " with --categorical, or leave it out with --drop" },
    { " is none of its levels: ", "; predict, sample, plot and compare take it with --unseen prior" },
};

const char *dialect_remedy(const char *message)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (strstr(message, remedies[i].words)) return remedies[i].option;
    return "";
}
