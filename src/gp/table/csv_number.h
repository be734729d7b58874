/* Numbers in the forms of tables:
 *     1.5 or 1,5; 50%; 1,000 or 1.000, 1 000, 1'000, 1_000 and 12,34,567; 1.5D+03; $1.50, 1.5 €, 5 kg; ="1.5"
 * with a minus sign of ASCII or Unicode, and blanks that do not break as blanks. */
#ifndef CT_GP_CSV_NUMBER_H
#define CT_GP_CSV_NUMBER_H

#include <cotangent/gp/number.h>

#include "csv_field.h"

/* GROUPED: with the one of comma and point that is not the decimal sign. */
enum { CT__BARE = 1, CT__PERCENT = 2, CT__GROUPED = 4, CT__UNIT = 64 };
enum { CT__UNIT_TEXT = 16 }; /* a unit's bytes, with a NUL */

typedef struct ct__numeral {
    double value;
    int form;         /* CT__BARE, CT__PERCENT or CT__UNIT, and CT__GROUPED; 0 unless there is a number */
    const char *unit; /* [unit_size], in the field */
    size_t unit_size;
} ct__numeral;

ct_number ct__csv_number(const ct__field *f, char decimal, ct__numeral *n);

#endif
