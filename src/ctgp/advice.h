/* Advice on a model. The options that it names are those of fit. */
#ifndef CTGP_ADVICE_H
#define CTGP_ADVICE_H

#include "result.h"

/* The option that raises a noise that is too low; NULL where the data determine the noise. */
const char *more_noise(const ct_gp *gp);
/* Prints the lines of advice under "advice:", where there are any. */
void print_advice(writer *w, ct_gp *gp, const ct_gp_numerics *numerics);

#endif
