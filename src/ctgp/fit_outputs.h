/* ctgp fit with several targets. */
#ifndef CTGP_FIT_OUTPUTS_H
#define CTGP_FIT_OUTPUTS_H

#include "ctgp.h"
#include "fit_columns.h"
#include "fit_options.h"

/* Learns, saves and reports a model of each target, or one of all of them. */
void fit_outputs(ctgp *c, const settings *s, const learned *t);

#endif
