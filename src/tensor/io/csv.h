/* CSV text, and the table that it makes. */
#ifndef CT_TENSOR_CSV_H
#define CT_TENSOR_CSV_H

#include <cotangent/io.h>

typedef struct ct__csv {
    ct_device *device;
    const char *label, *at, *end;
    char delimiter;
    const char *const *only; /* see ct_csv_options */
    int64_t n_only;
    int64_t line; /* of `at`, from 1 */
    char *scratch;
    size_t scratch_bytes;
} ct__csv;

struct ct_table {
    ct_device *device;
    int64_t rows, cols, capacity; /* rows there is room for */
    double *values;               /* (rows, cols) */
    int64_t *lines;               /* (rows) */
    char **names;                 /* (cols), and in the same block their text */
    size_t names_bytes;
};

/* Reads the text from r->at on into an empty table; `header` as in ct_csv_options. */
ct_status ct__csv_rows(ct__csv *r, ct_table *t, int header);

#endif
