/* Columns by names and patterns. */
#ifndef CTGP_COLUMNS_H
#define CTGP_COLUMNS_H

#include "ctgp.h"
#include "frame.h"
#include "table.h"

typedef struct name_list {
    char **name; /* [n] */
    int64_t n;
} name_list;

/* Splits "a,b,c" at the commas; no names for NULL. Blanks around a name are left out. A name in quotes may
 * hold commas and, doubled, quotes. */
name_list split_names(ctgp *c, const char *text);

/* A name as it can be pasted into the shell behind --drop, in quotes if it needs them. */
const char *option_name(ctgp *c, const char *name);

/* The index of the column of this name; -1: there is none. */
int64_t find_input(const ct_column *inputs, int64_t d, const char *name);

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
void keep_texts(ctgp *c, const frame *f, const char *list, sheet *to);

#endif
