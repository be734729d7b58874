/* ctgp plot of two coordinates. */
#ifndef CTGP_PLOT_MAP_H
#define CTGP_PLOT_MAP_H

#include "plot_page.h"

/* The inputs of a map, x and y: those that --map names, or the only two that vary in the table if both are
 * numbers. False if there are none. */
bool find_map(const page *g, const char *names, int64_t sides[2]);
/* The middle and beside it its uncertainty. Returns false, with a remark, if the kernel's waves need more
 * cells than a map has. */
bool write_map(page *g, const int64_t sides[2]);

#endif
