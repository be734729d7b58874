/* The seasons of a column. */
#ifndef CT_GP_SEASON_H
#define CT_GP_SEASON_H

#include <cotangent/gp/season.h>

#define CT__SEASONS_APART 1.25 /* the smallest ratio of the periods of two seasons */

/* ct_find_seasons for finite numbers. */
ct_status ct__find_seasons(ct_device *device, int64_t n, const double *x, const double *y,
                           ct_season season[CT_SEASONS], int *count);

/* The shortest period that data at these x can resolve: twice the median distance of neighbours, or of fewer
 * than 16 twice the smallest; 0 for one. Returns how many x differ. Sorts and overwrites x. */
int64_t ct__shortest_period(int64_t n, double *x, double *period);

#endif
