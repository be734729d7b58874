/* Columns and rows of a CSV file. */
#ifndef CTGP_FRAME_H
#define CTGP_FRAME_H

#include "ctgp.h"
#include "source.h"

/* How many rows a column's missing values cost, and how many of these lack no other value. */
typedef struct cost {
    int64_t rows, alone;
} cost;

typedef struct frame {
    const char *path;
    ct_table *table;
    int64_t *rows, n_rows; /* the rows that are chosen */
    cost *missing;         /* of each column of the table, in the choice of the rows */
    const int64_t *cols;   /* of a model: see frame_model */
} frame;

/* Parses a table; `t` is not needed afterwards. Text is an error in the columns `only` [n] and a missing
 * value in others. */
frame frame_parse(ctgp *c, const source *t, const ct_csv_options *how, const char *const *only, int64_t n);
/* Prints the notes on the table on standard error. */
void frame_print_notes(const frame *f);
/* Index of the column. Fails with CODE_DATA and a list of the columns where there is none of that name. */
int64_t frame_column(ctgp *c, const frame *f, const char *name);
/* Fails with CODE_DATA for the value in a row and column: "t.csv, line 3, column 'x': " and why. */
_Noreturn void fail_cell(ctgp *c, const frame *f, int64_t row, int64_t col, const char *why);
/* Whether one of the columns has this name. */
bool frame_has_name(const frame *f, const int64_t *cols, int64_t n, const char *name);
/* Chooses the rows without a missing value in `cols`. CODE_DATA where a value is infinite. */
void frame_complete(ctgp *c, frame *f, const int64_t *cols, int64_t n);
/* Keeps those of the chosen rows that have a value in `least` of `cols`, or more. CODE_DATA where one is
 * infinite. */
void frame_keep(ctgp *c, frame *f, const int64_t *cols, int64_t n, int64_t least);
/* The chosen rows of `cols`, (n_rows, n), in memory or as a tensor. */
double *frame_values(ctgp *c, const frame *f, const int64_t *cols, int64_t n);
ct_tensor *frame_tensor(ctgp *c, const frame *f, const int64_t *cols, int64_t n, ct_dtype dtype);
/* Fails with CODE_DATA where two chosen rows agree in all of `cols`, with their lines in the message. */
void frame_distinct(ctgp *c, const frame *f, const int64_t *cols, int64_t n);

#endif
