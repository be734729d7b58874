/* Tokens of a kernel's text, and where it is wrong. */
#ifndef CT_GP_SCAN_H
#define CT_GP_SCAN_H

#include "kernel_tree.h"

typedef struct ct__scan {
    ct_kernel *kernel;        /* what has been read */
    const ct_column *columns; /* that may be named */
    int64_t n_columns;
    const char *text, *at;
    int depth;
    ct_status status; /* the first error, at `place` */
    const char *place;
    char what[256];
} ct__scan;

/* Keeps the first error. */
void ct__scan_fail(ct__scan *p, ct_status status, const char *place, const char *format, ...) CT_PRINTF(4, 5);
void ct__scan_no_memory(ct__scan *p);
/* The place after white space. */
const char *ct__scan_space(ct__scan *p);
/* c, where it is next. */
bool ct__scan_accept(ct__scan *p, char c);
void ct__scan_expect(ct__scan *p, char c);
/* A name, in lower case, into word[32]; "" where there is none. A longer one matches nothing. Returns where
 * it begins. */
const char *ct__scan_name(ct__scan *p, char word[32]);
/* A whole number of at most `limit`. */
int ct__scan_integer(ct__scan *p, int limit, const char *what);
/* A column of the inputs, by its number or its name (scan_column.c). */
int ct__scan_column(ct__scan *p);
/* A number that param can have, which it starts at, and whether "!" follows: it is then fixed. */
void ct__scan_value(ct__scan *p, ct_param *param);
/* Three lines: `subject` and what is wrong, an excerpt of the text, and a caret under the place. */
void ct__scan_message(const ct__scan *p, const char *subject, char *text, size_t size);
/* The kernel's message: these lines, or only what is wrong if that is not the text. Returns the status. */
ct_status ct__scan_describe(const ct__scan *p);

#endif
