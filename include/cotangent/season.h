/* Seasons: the periods at which a series repeats. */
#ifndef COTANGENT_SEASON_H
#define COTANGENT_SEASON_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

enum { CT_SEASONS = 4 }; /* the most that are found */

typedef struct ct_season {
    double period; /* in units of the column */
    /* The share of the variance of y that a wave of this period explains, of what the trend and the seasons
     * before this one leave. */
    double power;
    double false_alarm; /* the probability that noise has a peak as high as this one at some frequency */
} ct_season;

/* Finds the seasons of y (n) or (n, 1) along a column of X (n, d), f64 or f32, the strongest first, into
 * season[CT_SEASONS]; *count: how many. The rows may be unevenly spaced, and in any order. A cubic trend and
 * the wave are fitted together at each frequency [Lomb 1976; Scargle 1982; with a floating mean Zechmeister &
 * Kürster 2009]. A peak counts if its false-alarm probability is below 1e-4 against the median of the
 * periodogram within an octave of it, so that slow, rough series without a season have none [Mann & Lees
 * 1996]. It then joins the trend with its second and third harmonic, and the next one is sought, whose
 * period differs by a quarter at least; a season whose harmonics were found before takes their place. Periods go from half of the span of the column, or less with a rough trend, down to twice
 * the median distance of neighbours, and at most 4000 of them fill the span. There are none in fewer than 16
 * different times. Of more than 2000 rows 2000 are used. Takes O(rows · frequencies) operations, at most some
 * seconds. CT_EINVAL for NULL, a column that X does not have, and what is not finite; CT_ESHAPE, CT_EDTYPE,
 * CT_EDEVICE, CT_ENOMEM. On failure *count is 0. */
CT_API ct_status ct_find_seasons(const ct_tensor *X, int64_t column, const ct_tensor *y,
                                 ct_season season[CT_SEASONS], int *count);

CT_END_DECLS
#endif
