/* What is wrong with a cell, and texts of a table in messages. */
#ifndef CT_GP_CSV_ERROR_H
#define CT_GP_CSV_ERROR_H

#include "csv_field.h"
#include "table.h"

enum { CT__CSV_LABEL = 96, CT__CSV_SHOWN = 40 };
/* A path of any length as text for a message: all of it, or "..." and its end, with control characters as ?.
 * Returns buffer. */
const char *ct__csv_label(const char *path, char buffer[CT__CSV_LABEL]);
/* A part of a table as text for a message: control characters as ?, the rest of a long one as "...". Returns
 * buffer. */
const char *ct__csv_show(const char *text, size_t size, char buffer[CT__CSV_SHOWN]);
/* Returns CT_EFORMAT, with a message that names the line, the column, the cell, and what is wrong with it. */
ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what);
/* The text for a cell that is not a number: " is not a number", and a guess at the reason. */
const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f);

#endif
