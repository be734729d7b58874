/* ctgp info: what its files share. */
#ifndef CTGP_INFO_H
#define CTGP_INFO_H

#include "ctgp.h"

/* What ctgp info says of an output. */
typedef struct facts {
    ct_gp *gp;
    bool factor;                    /* the file has it */
    const double *inputs;           /* its rows */
    const ct_gp_numerics *numerics; /* NULL: there are none, and the device says why */
    trend t;
    outliers far;
    const sensitivity *each; /* NULL: not asked for */
} facts;

void write_info(writer *w, const facts *of);

#endif
