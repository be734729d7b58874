/* ctgp plot: the tics of an axis, and its label. */
#ifndef CTGP_PLOT_TICS_H
#define CTGP_PLOT_TICS_H

#include <stdio.h>

#include "ctgp.h"
#include "plot_axis.h"

/* A text, or if it is wider than so many letters its beginning and an ellipsis. */
const char *shortened(ctgp *c, const char *text, size_t most);

/* How many pixels the letters of a label take, at most. */
enum { LETTER = 8 };
/* Writes the range, the tics and the label of axis `which`, "x", "y" or "cb", which is so many pixels long.
 * If names of levels do not fit beside each other, they stand upright with at most `upright` letters; returns
 * how many they have, else 0. */
size_t write_axis(ctgp *c, FILE *script, const char *which, const axis *a, double pixels, size_t upright,
                  const char *name, const char *suffix);

#endif
