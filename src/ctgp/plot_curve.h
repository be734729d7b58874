/* ctgp plot of one input. */
#ifndef CTGP_PLOT_CURVE_H
#define CTGP_PLOT_CURVE_H

#include "plot_page.h"

void write_curve(page *g);

#endif
