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
 * season[CT_SEASONS]; *count: how many. The rows may have any order and spacing. At each frequency a wave
 * and a cubic trend are fitted together [Lomb 1976; Scargle 1982; Zechmeister & Kürster 2009]. A peak
 * counts if its false-alarm probability is below 1e-4, beside the median of the periodogram within an
 * octave, so that a slow and rough series without a season has none [Mann & Lees 1996]. It joins the
 * trend, with its second and third harmonic, and the next one is sought: one that is no harmonic, and
 * whose period differs by a quarter at least. If its second or third wave was found before, it takes that
 * one's place. Periods go from half of the column's span down to twice the median distance of neighbours,
 * but at most 4000 of them to the span. Fewer than 16 different times have no season. Of more than 2000
 * rows 2000 are used. Takes about 20 operations for each row and frequency, at most some seconds.
 * CT_EINVAL for NULL, a column that X does not have, and numbers that are not finite; CT_ESHAPE,
 * CT_EDTYPE, CT_EDEVICE, CT_ENOMEM. On failure *count is 0. */
CT_API ct_status ct_find_seasons(const ct_tensor *X, int64_t column, const ct_tensor *y,
                                 ct_season season[CT_SEASONS], int *count);

CT_END_DECLS
#endif
