/* ctgp plot of one input. */
#ifndef CTGP_PLOT_CURVE_H
#define CTGP_PLOT_CURVE_H

#include <stdio.h>

#include "ctgp.h"
#include "learned.h"
#include "model.h"

void write_curve(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates);

#endif
