/* ctgp fit: what the model found, in words. */
#ifndef CTGP_FOUND_H
#define CTGP_FOUND_H

#include <stdio.h>

#include "ctgp.h"

/* Prints a line such as "mostly rooms, status; noise 2.7; a season of 365 days": the features by their share
 * of the variance of the mean, where that is quick to estimate, the noise as a standard deviation, and the
 * periods. */
void print_found(ctgp *c, FILE *to, ct_gp *gp);

#endif
