/* A table that was read from text. */
#ifndef CT_GP_TABLE_TABLE_H
#define CT_GP_TABLE_TABLE_H

#include <cotangent/gp/csv.h>

#include "csv_number.h"

enum { CT__NOTES = 8, CT__NOTE = 320 };
/* Further bits of a column's form (csv_number.h): its header has no name for it; it is read by csv_kinds.c;
 * not all of its numbers are dates as 20240131. */
enum { CT__UNNAMED = 8, CT__TEXT = 16, CT__NO_DIGITS = 32 };

/* A column that is no column of the text. */
typedef struct ct__derived {
    ct_column column; /* with a name of its own */
    double *values;   /* [rows] */
} ct__derived;

struct ct_table {
    ct_device *device;
    int64_t rows, cols;
    double *values;     /* (rows, cols) */
    int64_t *lines;     /* (rows) */
    const char **texts; /* (rows, cols) of `text`, or NULL */
    char *text;
    size_t text_used;
    ct_column *columns;           /* (cols), in one block with their names and the forms */
    unsigned char *forms;         /* (cols): how its numbers are written, and these bits */
    char (*units)[CT__UNIT_TEXT]; /* (cols): the unit of its first number that has one; "": none has */
    size_t columns_bytes;         /* without the levels, which are blocks of their own */
    ct__derived *derived;         /* [n_derived], behind the others */
    int64_t n_derived;
    bool header;
    int n_notes;
    char notes[CT__NOTES][CT__NOTE];
};

/* Whether the number has the unit of its column. */
bool ct__csv_in_unit(const ct_table *t, int64_t col, const ct__numeral *n);
/* A note on the table, unless there are CT__NOTES already. */
void ct__csv_note(ct_table *t, const char *format, ...) CT_PRINTF(2, 3);

#endif
