/* How a table is written, if options say so. */
#ifndef CTGP_DIALECT_H
#define CTGP_DIALECT_H

#include "ctgp.h"

typedef struct dialect {
    int separator, decimal; /* indices in SEPARATORS and DECIMALS; here and below -1 unless given */
    int header, unseen;     /* the indices of yes and no, error and prior */
    int dates;              /* the index in DATES */
} dialect;

/* The signs that separate columns and decimals, in the order of their names in the table of options. */
#define SEPARATORS ",;\t |:"
#define DECIMALS   ".,"
#define DATES      "day-first month-first excel"

ct_csv_options csv_options(dialect d);
/* The option that a message of the library asks for, to end its sentence: " with --separator"; "" for other
 * messages. */
const char *dialect_remedy(const char *message);

#endif
