/* ctgp plot: the effect of each input. */
#ifndef CTGP_PLOT_EFFECTS_H
#define CTGP_PLOT_EFFECTS_H

#include <stdio.h>

#include "ctgp.h"
#include "model.h"

/* Panels of the effect of each input, at most MOST_EFFECTS, chosen by the range of the mean. */
enum { MOST_EFFECTS = 25 };
void write_effects(ctgp *c, FILE *script, ct_gp *gp, const prediction *p);

#endif
