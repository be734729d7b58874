/* Tokens of a kernel's text, and its first error. */
#ifndef CT_GP_SCAN_H
#define CT_GP_SCAN_H

#include "gp/table/letters.h"
#include "kernel_tree.h"

typedef struct ct__scan {
    ct_kernel *kernel;        /* the kernel read so far; of a basis NULL */
    const ct_column *columns; /* [n_columns], which the text may name; NULL: they are called x0, x1, ... */
    int64_t n_columns;        /* 0: any number is a column */
    const char *text, *at;
    int depth;
    ct_status status; /* the first error, at `place` */
    const char *place;
    char what[256];
} ct__scan;

/* Keeps the first error. */
void ct__scan_fail(ct__scan *p, ct_status status, const char *place, const char *format, ...) CT_PRINTF(4, 5);
void ct__scan_no_memory(ct__scan *p);
/* Skips white space; returns the place after it. */
const char *ct__scan_space(ct__scan *p);
/* Whether the next token is c, which is then read; `expect` fails otherwise. */
bool ct__scan_accept(ct__scan *p, char c);
void ct__scan_expect(ct__scan *p, char c);
/* Reads a name, in lower case, into word[32]; "" if there is none. Longer names match nothing. Returns the
 * start of the name. */
const char *ct__scan_name(ct__scan *p, char word[32]);
/* Reads a whole number up to `limit`. */
int ct__scan_integer(ct__scan *p, int limit, const char *what);
/* The place after the name in quotes, which are doubled inside, at `text`; `text` if the second one is
 * missing. */
const char *ct__scan_behind_quotes(const char *text);
/* The column with the name from `text` to `end`, possibly in quotes; -1: there is none. */
int64_t ct__scan_find_column(const ct__scan *p, const char *text, const char *end);
/* Fails, and lists the columns. */
void ct__scan_no_column(ct__scan *p, const char *place);
/* Fails for a word that is no profile, and lists these; for no word at all. */
void ct__scan_no_kernel(ct__scan *p, const char *place, const char *word);
/* Reads a valid value of param as its start, and an optional "!", which fixes it. */
void ct__scan_value(ct__scan *p, ct_param *param);
/* Writes three lines: `subject` and the error, an excerpt of the text, and a caret under the place. */
void ct__scan_message(const ct__scan *p, const char *subject, char *text, size_t size);

#endif
