/* Rows more than 4 standard deviations from what all others predict. */
#ifndef CTGP_OUTLIERS_H
#define CTGP_OUTLIERS_H

#include "frame.h"
#include "result.h"

/* "outliers": [{"line": 17, "sigmas": 4.5}, ...], the farthest first, by lines of the table whose rows the
 * model has learned; with f = NULL by its rows, and null where the model does not know them. In text a line,
 * where there are any. */
void write_outliers(writer *w, ct_gp *gp, const frame *f, const char *heading);

#endif
