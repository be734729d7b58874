/* Columns of text: categories and times. */
#ifndef CT_GP_CSV_KINDS_H
#define CT_GP_CSV_KINDS_H

#include "csv_field.h"
#include "table.h"

/* The caller's description of the column; NULL: none. */
const ct_column *ct__csv_asked(const ct__csv *r, const char *name);
/* Whether the caller wants the values of the column. */
bool ct__csv_wanted(const ct__csv *r, const char *name);
/* Reads the columns marked CT__TEXT again, from the first row at r->at on, as categories or times. */
ct_status ct__csv_kinds(ct__csv *r, ct_table *t);

#endif
