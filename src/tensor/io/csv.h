/* CSV text and the table read from it. */
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
    bool looking; /* text that is no CSV is CT_EFORMAT without a message */
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
    int64_t rows, cols, capacity; /* capacity: in rows */
    double *values;               /* (rows, cols) */
    int64_t *lines;               /* (rows) */
    const char **texts;           /* (rows, cols) of `text`, or NULL */
    char *text;                   /* [text_bytes], of which text_used are used */
    size_t text_bytes, text_used;
    ct_column *columns;   /* (cols), in one block with their names and the forms */
    unsigned char *forms; /* (cols): how its numbers are written, CT__UNNAMED, CT__TEXT */
    size_t columns_bytes; /* without the levels, which ct__levels_free releases */
    bool header;
    int n_notes;
    char notes[CT__NOTES][CT__NOTE];
};

/* -- csv_field.c -- */

/* Reads the next field of a row. Its text is a slice of the input, or is in the scratch until the next
 * field. */
ct_status ct__csv_field(ct__csv *r, ct__field *f);
/* Skips empty lines and returns their number. At the end of the text r->at == r->end. */
int64_t ct__csv_pass_empty(ct__csv *r);
/* Whether the line begins with #, but not with the missing value #N/A. */
bool ct__csv_is_remark(ct__csv *r);
void ct__csv_pass_line(ct__csv *r);
/* Skips empty lines and remarks up to the next row. Returns false at the end. */
bool ct__csv_find_row(ct__csv *r);
/* The number of fields of the line at r->at; -1 if it is no row. */
int64_t ct__csv_count(ct__csv *r);

/* -- csv_number.c -- */

enum { CT__BARE = 1, CT__PERCENT = 2, CT__GROUPED = 4, CT__UNNAMED = 8, CT__TEXT = 16 };
/* Reads a field as a number. Accepts blanks inside the quotes, 50%, and 1,000 in groups of three with the
 * sign that is not the decimal one. *form: CT__BARE or CT__PERCENT, and CT__GROUPED; 0 unless there is a
 * number. */
ct_number ct__csv_number(const ct__field *f, char decimal, int *form, double *value);

/* -- csv_dialect.c -- */

/* Detects the signs of r->dialect that are 0. CT_EFORMAT if they are ambiguous. */
ct_status ct__csv_find_dialect(ct__csv *r);

/* -- csv_header.c -- */

/* Skips the remarks above the first row, and determines t->header; `asked` is as in ct_csv_options. Sets the
 * number of columns and the space for their names. Adds a note if a row of numbers may be names. */
ct_status ct__csv_find_header(ct__csv *r, ct_table *t, int asked);

/* -- csv_rows.c -- */

/* Reads the text from r->at on into an empty table. */
ct_status ct__csv_rows(ct__csv *r, ct_table *t);

/* -- csv_error.c -- */

/* Returns CT_EFORMAT, with a message that names the line, the column, the cell, and what is wrong with it. */
ct_status ct__csv_refuse(ct__csv *r, const ct_table *t, int64_t col, const ct__field *f, const char *what);
/* The text for a cell that is not a number: " is not a number", and a guess at the reason. */
const char *ct__csv_no_number(const ct__csv *r, const ct_table *t, const ct__field *f);

/* -- csv_kinds.c -- */

/* The caller's description of the column; NULL: none. */
const ct_column *ct__csv_asked(const ct__csv *r, const char *name);
/* Reads the columns marked CT__TEXT again, from the first row at r->at on, as categories or times. */
ct_status ct__csv_kinds(ct__csv *r, ct_table *t);

/* -- csv_levels.c -- */

/* Distinct texts, numbered in order of appearance. Zero-initialise, then set the device. */
typedef struct ct__levels {
    ct_device *device;
    char *text; /* each with a NUL */
    size_t used, room;
    size_t *at; /* [n]: where the texts begin */
    size_t n, capacity;
    int64_t *slot; /* [slots], a power of two: a text's number, or -1 */
    size_t slots;
} ct__levels;

/* The number of the text's level; -1 if there is none. */
int64_t ct__levels_find(const ct__levels *l, const char *text, size_t size);
/* The same, but adds a level if there is none; -1 if memory is exhausted. */
int64_t ct__levels_add(ct__levels *l, const char *text, size_t size);
void ct__levels_drop(ct__levels *l);
/* Gives the column a copy of the levels, in one block. If `number` is not NULL they are sorted, and level i
 * becomes level number[i]. */
ct_status ct__levels_give(const ct__levels *l, ct_column *c, int64_t *number);
void ct__levels_free(ct_device *device, ct_column *c);

/* -- table.c -- */

/* A note on the table, unless there are CT__NOTES already. */
void ct__csv_note(ct_table *t, const char *format, ...) CT_PRINTF(2, 3);

#endif
