/* The fields of CSV text, and the table that they make. */
#ifndef CT_TENSOR_CSV_H
#define CT_TENSOR_CSV_H

#include <cotangent/io.h>

typedef struct ct__csv_field {
    const char *text;
    size_t size;
    int64_t line;
    bool last; /* of its row */
} ct__csv_field;

typedef struct ct__csv {
    ct_device *device;
    const char *label;
    const char *at, *end;
    char delimiter;
    const char *const *only; /* see ct_csv_options */
    int64_t n_only;
    int64_t line; /* of `at`, from 1 */
    char *scratch;
    size_t scratch_bytes;
} ct__csv;

/* The next field; its text is a slice of the input, or in the scratch, where it lives until the next one.
 * CT_EFORMAT, with the line, for a quote that is not closed or has text behind it. */
ct_status ct__csv_next(ct__csv *r, ct__csv_field *f);
/* Passes lines with nothing in them; returns how many. At the end of the text r->at == r->end. */
int64_t ct__csv_pass_empty(ct__csv *r);
/* A field as a number, also with blanks around it inside quotes. */
ct_number ct__csv_number(const ct__csv *r, const ct__csv_field *f, double *value);

struct ct_table {
    ct_device *device;
    int64_t rows, cols, capacity; /* rows there is room for */
    double *values;               /* (rows, cols) */
    int64_t *lines;               /* (rows) */
    char **names;                 /* (cols), and in the same block their text */
    size_t names_bytes;
};

#endif
