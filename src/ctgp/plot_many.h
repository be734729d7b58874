/* ctgp plot of several inputs. */
#ifndef CTGP_PLOT_MANY_H
#define CTGP_PLOT_MANY_H

#include <stdio.h>

#include "ctgp.h"
#include "learned.h"
#include "model.h"

void write_scatter(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates);

#endif
