/* The description of a column in a stream. */
#ifndef CT_GP_COLUMNS_RECORD_H
#define CT_GP_COLUMNS_RECORD_H

#include <cotangent/gp/column.h>

#include "stream.h"

/* A column's name, kind and levels. Each text that is read has its own memory. */
void ct__stream_column(ct__stream *s, ct_column *c);
/* Frees `count` columns that were read, and their array. */
void ct__stream_columns_free(ct_column *c, int64_t count);

#endif
