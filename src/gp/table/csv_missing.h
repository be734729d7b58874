/* Columns whose missing cells are a number, and columns that say where these are. */
#ifndef CT_GP_CSV_MISSING_H
#define CT_GP_CSV_MISSING_H

#include "csv_field.h"
#include "table.h"

/* Fills columns of the kind CT_COLUMN_FILLED, those that are asked for and those that options.keep_missing
 * makes such, and derives a column of the kind CT_COLUMN_ABSENT from each. */
ct_status ct__csv_missing(ct__csv *r, ct_table *t);

#endif
