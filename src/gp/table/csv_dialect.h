/* The signs that separate the fields of a table and the decimals of its numbers. */
#ifndef CT_GP_CSV_DIALECT_H
#define CT_GP_CSV_DIALECT_H

#include "csv_field.h"

/* Detects the signs of r->dialect that are 0. CT_EFORMAT if they are ambiguous. */
ct_status ct__csv_find_dialect(ct__csv *r);

#endif
