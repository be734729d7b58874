/* Seasons: the periods at which a series repeats. */
#ifndef COTANGENT_GP_SEASON_H
#define COTANGENT_GP_SEASON_H

#include <cotangent/tensor.h>

CT_BEGIN_DECLS

enum { CT_SEASONS = 4 }; /* the largest number of seasons that are found */

typedef struct ct_season {
    double period; /* in units of the column */
    /* The share of variance that a wave of this period explains, in what the trend and the earlier seasons
     * leave of y. */
    double power;
    double false_alarm; /* the probability that noise has a peak this high at some frequency */
} ct_season;

/* Finds the seasons of y (n) or (n, 1) along a column of X (n, d), f64 or f32. Stores them in
 * season[CT_SEASONS], the strongest first, and their number in *count. The rows may have any order and
 * spacing.
 *
 * At each frequency a wave and a cubic trend are fitted together [Lomb 1976; Scargle 1982; Zechmeister &
 * Kürster 2009]. A peak is a season if its false-alarm probability, relative to the median of the periodogram
 * within an octave, is below 1e-4. The local median rejects slow, rough series without a season [Mann & Lees
 * 1996]. The season and its second and third harmonics join the trend, and the search continues. Further
 * seasons are no harmonics of earlier ones, and their periods differ by at least a quarter. If the second or
 * third harmonic of a season was found earlier, the season replaces it.
 *
 * Periods range from half of the column's span down to twice the median distance of neighbours, but at most
 * 4000 fit the span. A series with fewer than 16 different times has no season. Of more than 2000 rows 2000
 * are used. The cost is about 20 operations per row and frequency, at most some seconds.
 *
 * CT_EINVAL for NULL, a column that X does not have, and numbers that are not finite; CT_ESHAPE, CT_EDTYPE,
 * CT_EDEVICE, CT_ENOMEM. On failure *count is 0. */
CT_API ct_status ct_find_seasons(const ct_tensor *X, int64_t column, const ct_tensor *y,
                                 ct_season season[CT_SEASONS], int *count);

CT_END_DECLS
#endif
