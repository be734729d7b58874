/* How a table is written, if options say so. */
#ifndef CTGP_DIALECT_H
#define CTGP_DIALECT_H

#include "ctgp.h"

typedef struct dialect {
    const char *separator, *decimal;
    int header, unseen; /* the indices of yes and no, error and prior; -1 unless given */
} dialect;

ct_csv_options parse_dialect(ctgp *c, const dialect *d);
/* The option that a message of the library asks for, to end its sentence: " with --separator"; "" for other
 * messages. */
const char *dialect_remedy(const char *message);

#endif
