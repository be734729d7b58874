/* Numbers in the forms of tables. */
#ifndef CT_GP_CSV_NUMBER_H
#define CT_GP_CSV_NUMBER_H

#include <cotangent/gp/number.h>

#include "csv_field.h"

enum { CT__BARE = 1, CT__PERCENT = 2, CT__GROUPED = 4 };
/* Reads a field as a number. Accepts blanks inside the quotes, 50%, and 1,000 in groups of three with the
 * sign that is not the decimal one. *form: CT__BARE or CT__PERCENT, and CT__GROUPED; 0 unless there is a
 * number. */
ct_number ct__csv_number(const ct__field *f, char decimal, int *form, double *value);

#endif
