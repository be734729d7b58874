/* Seasons: the column that may have them, those that are found, and a hint if nobody asked for them. */
#ifndef CTGP_SEASON_H
#define CTGP_SEASON_H

#include "ctgp.h"

/* --season: the name of an input, none, or NULL. */
void season_settings(ctgp *c, const char *name, const ct_column *inputs, int64_t d,
                     ct_gp_choose_options *how);
/* Sets restarts, with a note, if the kernel has a period without a start. */
void season_restarts(const ct_kernel *kernel, ct_fit_options *how);
/* Prints each season on standard error and, if seasons were asked for, that there is none. */
void print_seasons(const ct_season *season, int count, const ct_column *column, bool asked);
/* Prints a hint if the rows have a season, where a choice would look for it, for which a kernel that is given
 * has no part. */
void season_hint(ctgp *c, const ct_gp *gp, const ct_tensor *X, const ct_tensor *y,
                 const ct_gp_options *model);

#endif
