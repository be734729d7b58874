/* The rows of CSV text. */
#ifndef CT_GP_CSV_ROWS_H
#define CT_GP_CSV_ROWS_H

#include "csv_field.h"
#include "table.h"

/* Reads the text from r->at on into an empty table. */
ct_status ct__csv_rows(ct__csv *r, ct_table *t);

#endif
