/* Starts the kernel's periods from the data. */
#ifndef CT_GP_PERIODS_H
#define CT_GP_PERIODS_H

#include "gp/model/model.h"

/* Starts the periods of one column that have no start or bounds at its seasons. */
ct_status ct__gp_begin_periods(ct_gp *gp);

#endif
