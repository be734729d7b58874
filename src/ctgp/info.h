/* ctgp info: what its files share. */
#ifndef CTGP_INFO_H
#define CTGP_INFO_H

#include "ctgp.h"

/* What ctgp info says of an output. */
typedef struct facts {
    ct_gp *gp;
    bool factor; /* the file has it */
    double nlml;
    column_range *range;
    const ct_gp_numerics *numerics; /* NULL: there are none, and the device says why */
    trend t;
    outliers far;
    bool sensitive; /* `each` is wanted */
    sensitivity each;
} facts;

void info_print(const facts *of);
void info_json(const facts *of, json *j);

#endif
