/* The parameters of a model, and what those of levels mean. */
#ifndef CTGP_PARAMETERS_H
#define CTGP_PARAMETERS_H

#include <stdio.h>

#include "result.h"

/* "parameters": { name: value, ... }; in text a line for each, with its prior or not. */
void write_parameters(writer *w, const ct_gp *gp, bool priors);
/* Prints the standard deviations and correlations of the levels of each `index` in the kernel. */
void print_levels(FILE *to, const ct_gp *gp);

#endif
