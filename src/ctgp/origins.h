/* Forecasts from earlier origins, beside simple ones. */
#ifndef CTGP_ORIGINS_H
#define CTGP_ORIGINS_H

#include "result.h"
#include "series.h"

/* Scores forecasts of `steps` rows from `count` origins in the second half of the rows, with the model's
 * parameters and the rows before the origin; and beside them the last season, the last value, and the line
 * through the first and the last value. Each score is the mean over the origins with its standard error, as
 * if they were independent. CODE_USAGE where there is no room for them. */
void write_origins(writer *w, ct_gp *gp, const series *of, int64_t count, int64_t steps);

#endif
