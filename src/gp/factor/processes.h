/* A matrix or factor over the processes of a group. */
#ifndef CT_GP_OVER_PROCESSES_H
#define CT_GP_OVER_PROCESSES_H

#include "factor.h"

ct__factor ct__factor_on(const ct__grid *grid, ct_view tiles);

#endif
