/* Where the searches of a fit begin, and how many there are. Points are in z coordinates. */
#ifndef CT_GP_FIRST_POINTS_H
#define CT_GP_FIRST_POINTS_H

#include <cotangent/gp/fit.h>

#include "gp/model/model.h"

/* The starts after the first: the options' number, or as many as cost little. */
int ct__restarts(const ct_gp *gp, const ct_fit_options *options);

/* z: neighbour k = 0, 1, ... of `point`, with all lengthscales shorter or longer. False: there is none. */
bool ct__neighbour(const ct_gp *gp, int k, const double *point, double *z);

/* z: a draw around `point`, for start `index` > 0. The same seed gives the same draw. */
ct_status ct__draw_start(const ct_gp *gp, uint64_t seed, int index, const double *point, double *z);

#endif
