/* Bounds of parameters, from the command line. */
#ifndef CTGP_BOUNDS_H
#define CTGP_BOUNDS_H

#include "ctgp.h"
#include "fit_options.h"

/* Fails with CODE_USAGE for what no parameter has. A value outside moves to its bound. */
void set_bounds(ctgp *c, ct_gp *gp, const settings *s);

#endif
