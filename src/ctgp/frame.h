/* ctgp: tables, their columns and rows. */
#ifndef CTGP_FRAME_H
#define CTGP_FRAME_H

#include "command.h"

/* -- source.c: what a table is read from -- */

typedef struct source {
    const char *name; /* for messages: the path, or "standard input" */
    const char *data; /* [size], held by one of the members below */
    size_t size;
    ct_device *device;
    ct_bytes file;
    char *input;
    bool told; /* the notes on the table are printed */
} source;

/* Reads a whole file or pipe, or for "-" standard input. */
source *source_open(ctgp *c, const char *path);
/* Releases it before the command ends. */
void source_close(ctgp *c, source *t);

/* -- table.c: what predictions and draws are written to -- */

/* Whether a path is "-", which stands for standard input or output. */
bool is_standard(const char *path);
/* Whether it is one, or a shell's <(...): it has no name and can be read once. */
bool is_stream(const char *path);

/* Writes a file whole, or leaves the old one. */
void file_write(ctgp *c, const char *path, const void *data, size_t size);

typedef struct sheet_column sheet_column;

/* A table to write. It begins as { .rows = n }, and its columns follow each other as they are added. */
typedef struct sheet {
    int64_t rows;
    sheet_column *first, *last;
} sheet;

/* Each adds a column and returns its place for values, [rows]: texts, or numbers, which are NaN. A text that
 * is empty and a NaN are empty fields. Texts come first, and no column of numbers has the name of one. */
const char **sheet_texts(ctgp *c, sheet *s, const char *name);
double *sheet_values(ctgp *c, sheet *s, const char *format, ...) CT_PRINTF(3, 4);
/* `out`: a file, or "-" for standard output. */
void sheet_write(ctgp *c, const sheet *s, const char *out);

/* -- data.c: columns and rows of a CSV file -- */

typedef struct frame {
    const char *path;
    ct_table *table;
    int64_t *rows, n_rows; /* the rows that are chosen */
} frame;

/* Parses a table; `t` is not needed afterwards. Text is an error in the columns `only` [n] and a missing
 * value in others. */
frame frame_parse(ctgp *c, const source *t, const ct_csv_options *how, const char *const *only, int64_t n);
/* Prints the notes on the table on standard error. */
void frame_tell_notes(const frame *f);
/* Index of the column. Fails with CODE_DATA and a list of the columns where there is none of that name. */
int64_t frame_column(ctgp *c, const frame *f, const char *name);
/* Fails with CODE_DATA for the value in a row and column: "t.csv, line 3, column 'x': " and why. */
_Noreturn void fail_cell(ctgp *c, const frame *f, int64_t row, int64_t col, const char *why);
/* Whether one of the columns has this name. */
bool frame_has_name(const frame *f, const int64_t *cols, int64_t n, const char *name);
/* Chooses the rows without a missing value in `cols`. CODE_DATA where a value is infinite. */
void frame_complete(ctgp *c, frame *f, const int64_t *cols, int64_t n);
/* Keeps those of the chosen rows that have a value in any of `cols`. CODE_DATA where one is infinite. */
void frame_keep_any(ctgp *c, frame *f, const int64_t *cols, int64_t n);
/* If rows are not chosen, prints `text` on standard error with their number and that of all rows. */
void frame_tell_missing(const frame *f, const char *text);
/* The chosen rows of `cols`, (n_rows, n), in memory or as a tensor. */
double *frame_values(ctgp *c, const frame *f, const int64_t *cols, int64_t n);
ct_tensor *frame_tensor(ctgp *c, const frame *f, const int64_t *cols, int64_t n, ct_dtype dtype);
/* Fails with CODE_DATA where two chosen rows agree in all of `cols`, with their lines in the message. */
void frame_distinct(ctgp *c, const frame *f, const int64_t *cols, int64_t n);

/* -- numbers.c -- */

/* Of numbers that are not NaN. The variance is their mean squared distance from the mean. */
typedef struct moments {
    double n, low, high, mean, variance, skewness;
} moments;

/* Of x[0], x[stride], ..., n of them. */
moments moments_of(const double *x, int64_t n, int64_t stride);
/* Numbers, for qsort and bsearch. */
int ascending(const void *a, const void *b);

typedef struct keyed {
    double key;
    int64_t index;
} keyed;

/* By key, and then by index. */
void sort_keyed(keyed *list, int64_t n);

/* -- columns.c: columns by names and patterns -- */

typedef struct name_list {
    char **name; /* [n] */
    int64_t n;
} name_list;

/* Splits "a,b,c" at the commas; no names for NULL. Blanks around a name are left out. A name in quotes may
 * hold commas and, doubled, quotes. */
name_list split_names(ctgp *c, const char *text);

/* A name as it can be pasted into the shell behind --drop, in quotes if it needs them. */
const char *option_name(ctgp *c, const char *name);

typedef struct picks {
    int64_t *cols; /* [n] */
    bool *exact;   /* [n], by its own name, not by a pattern */
    int64_t n;
} picks;

/* The columns that such a list names, in its order. A name that no column has may be a pattern with *, ? and
 * [...]; it stands for the columns that fit and are not named before it. */
picks frame_pick(ctgp *c, const frame *f, const char *text);

/* Adds the columns that such a list names, as they are written in every row; none for NULL. The table was
 * read with ct_csv_options.texts. */
void frame_keep(ctgp *c, const frame *f, const char *list, sheet *to);

/* -- folds.c: which rows are left out together -- */

/* [n]: 0, ..., n - 1 in an order that the seed draws; another stream gives an independent one. */
int64_t *rows_shuffled(ctgp *c, int64_t n, uint64_t seed, uint64_t stream);
/* [n]: numbers 0, ..., count - 1, drawn by the seed; how often each occurs differs by one at most. */
int64_t *folds_drawn(ctgp *c, int64_t n, int64_t count, uint64_t seed);
/* One for each text of the column in the chosen rows; *count: how many. */
int64_t *folds_by(ctgp *c, const frame *f, const char *column, int64_t *count);

#endif
