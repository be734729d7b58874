/* The rows of CSV text. */
#ifndef CT_GP_CSV_ROWS_H
#define CT_GP_CSV_ROWS_H

#include "csv_field.h"
#include "table.h"

/* Whether the caller wants the values of the column. */
bool ct__csv_wanted(const ct__csv *r, const char *name);
/* Reads the text from r->at on into an empty table. */
ct_status ct__csv_rows(ct__csv *r, ct_table *t);

#endif
