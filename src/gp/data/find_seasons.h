/* The seasons along a column of a tensor. */
#ifndef CT_GP_FIND_SEASONS_H
#define CT_GP_FIND_SEASONS_H

#include <cotangent/gp/season.h>
#include <cotangent/gp/transform.h>

/* ct_find_seasons for the transformed y. */
ct_status ct__find_seasons_of(const ct_tensor *X, int64_t column, const ct_tensor *y, ct_transform_kind kind,
                              ct_season season[CT_SEASONS], int *count);

#endif
