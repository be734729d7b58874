/* What predictions and draws are written to. */
#ifndef CTGP_TABLE_H
#define CTGP_TABLE_H

#include "ctgp.h"

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

#endif
