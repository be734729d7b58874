/* CSV text, and the table that it makes. */
#ifndef CT_TENSOR_CSV_H
#define CT_TENSOR_CSV_H

#include <cotangent/io.h>
#include <stddef.h>

/* How a table is written. */
typedef struct ct__dialect {
    char separator; /* ' ' stands for a run of blanks */
    char decimal;   /* '.' or ','                     */
} ct__dialect;

typedef struct ct__csv {
    ct_device *device;
    const char *label, *at, *end;
    ct__dialect dialect;
    const ct_csv_options *options;
    int64_t line; /* of `at`, from 1 */
    bool looking; /* what is no CSV is CT_EFORMAT without a message */
    char *scratch;
    size_t scratch_bytes;
} ct__csv;

typedef struct ct__field {
    const char *text;
    size_t size;
    int64_t line;
    bool last; /* of its row */
    bool quoted;
} ct__field;

enum { CT__NOTES = 8, CT__NOTE = 320 };

struct ct_table {
    ct_device *device;
    int64_t rows, cols, capacity; /* rows there is room for */
    double *values;               /* (rows, cols) */
    int64_t *lines;               /* (rows) */
    const char **texts;           /* (rows, cols) of `text`, or NULL */
    char *text;                   /* [text_bytes], text_used of them taken */
    size_t text_bytes, text_used;
    ct_column *columns;   /* (cols), and in the same block their names, and the forms */
    unsigned char *forms; /* (cols): how its numbers are written, CT__UNNAMED, CT__TEXT */
    size_t columns_bytes; /* without the levels, which ct__levels_free releases */
    bool header;
    int n_notes;
    char notes[CT__NOTES][CT__NOTE];
};

/* -- csv_field.c -- */

/* The next field of a row. Its text is a slice of the input, or lives in the scratch until the next field. */
ct_status ct__csv_field(ct__csv *r, ct__field *f);
/* Passes lines with nothing in them; returns how many. At the end of the text r->at == r->end. */
int64_t ct__csv_pass_empty(ct__csv *r);
/* Whether the line begins with #, but not with the missing value #N/A. */
bool ct__csv_is_remark(ct__csv *r);
void ct__csv_pass_line(ct__csv *r);
/* Passes empty lines and remarks to the next row; false at the end. */
bool ct__csv_find_row(ct__csv *r);
/* How many fields the line has that stands at r->at; -1 where it is no row. */
int64_t ct__csv_count(ct__csv *r);

/* -- csv_number.c -- */

enum { CT__BARE = 1, CT__PERCENT = 2, CT__GROUPED = 4, CT__UNNAMED = 8, CT__TEXT = 16 };
/* Also with blanks around it inside quotes; 50%; and 1,000 in groups of three with the sign that is not the
 * decimal one. *form: CT__BARE or CT__PERCENT, and CT__GROUPED; 0 unless there is a number. */
ct_number ct__csv_number(const ct__field *f, char decimal, int *form, double *value);

/* -- csv_dialect.c -- */

/* Finds the signs of r->dialect that are 0. CT_EFORMAT where they are not certain. */
ct_status ct__csv_find_dialect(ct__csv *r);

/* -- csv_header.c -- */

/* Passes the remarks above the first row, and finds t->header: `asked` as in ct_csv_options.
 * Sets the number of columns and the room their names take. A note says where numbers may be names. */
ct_status ct__csv_find_header(ct__csv *r, ct_table *t, int asked);

/* -- csv_rows.c -- */

/* Reads the text from r->at on into an empty table. */
ct_status ct__csv_rows(ct__csv *r, ct_table *t);

/* -- csv_error.c -- */

/* CT_EFORMAT: the cell of column `col`, its line, and `what` is wrong with it. */
ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what);
/* What is wrong with a cell that is not a number: " is not a number", and what it may be. */
const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f);

/* -- csv_kinds.c -- */

/* What the caller says of the column; NULL: nothing. */
const ct_column *ct__csv_asked(const ct__csv *r, const char *name);
/* Reads the columns that have CT__TEXT once more from r->at, the first row: as categories, or times. */
ct_status ct__csv_kinds(ct__csv *r, ct_table *t);

/* -- csv_levels.c -- */

/* Different texts, numbered as they come. Zero-initialise, with a device. */
typedef struct ct__levels {
    ct_device *device;
    char *text; /* each with a NUL */
    size_t used, room;
    size_t *at; /* [n]: where they begin */
    size_t n, capacity;
    int64_t *slot; /* [slots], a power of two: a number, or -1 */
    size_t slots;
} ct__levels;

/* The number of the text's level; -1: there is none. */
int64_t ct__levels_find(const ct__levels *l, const char *text, size_t size);
/* The same, of a new one if there is none; -1: no memory. */
int64_t ct__levels_add(ct__levels *l, const char *text, size_t size);
void ct__levels_drop(ct__levels *l);
/* The levels as a column's own, in one block; sorted if `number` is not NULL: level i is now number[i]. */
ct_status ct__levels_give(const ct__levels *l, ct_column *c, int64_t *number);
void ct__levels_free(ct_device *device, ct_column *c);

/* -- table.c -- */

/* A note on the table, unless there are CT__NOTES already. */
void ct__csv_note(ct_table *t, const char *format, ...) CT_PRINTF(2, 3);

#endif
