/* The best of the candidates that were fitted. */
#ifndef CT_GP_FORECAST_H
#define CT_GP_FORECAST_H

#include <cotangent/gp/choose.h>

/* Sets c->best to the one with the lowest loss for each row: half of AICc over n, and with `forecasts` also
 * the mean of -log p over the last tenth of the rows along c->season_column, given the others. */
ct_status ct__choose_best(ct_gp_choice *c, ct_gp *const *gp, bool forecasts);

#endif
