/* What is wrong with a cell. */
#ifndef CT_GP_CSV_ERROR_H
#define CT_GP_CSV_ERROR_H

#include "csv_field.h"
#include "table.h"

/* Returns CT_EFORMAT, with a message that names the line, the column, the cell, and what is wrong with it. */
ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what);
/* The text for a cell that is not a number: " is not a number", and a guess at the reason. */
const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f);

#endif
