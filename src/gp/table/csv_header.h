/* Where a table begins, and whether its first row holds names. */
#ifndef CT_GP_CSV_HEADER_H
#define CT_GP_CSV_HEADER_H

#include "csv_field.h"
#include "table.h"

/* Skips the remarks above the first row, and determines t->header; `asked` is as in ct_csv_options. Sets the
 * number of columns and the space for their names. Adds a note if a row of numbers may be names. */
ct_status ct__csv_find_header(ct__csv *r, ct_table *t, int asked);

#endif
