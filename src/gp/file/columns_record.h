/* The description of a column in a stream. */
#ifndef CT_GP_COLUMNS_RECORD_H
#define CT_GP_COLUMNS_RECORD_H

#include <cotangent/gp/column.h>

#include "stream.h"

/* A column's name, kind and levels. The column that is read replaces a number without levels (columns.h). */
void ct__stream_column(ct__stream *s, ct_column *c);

#endif
