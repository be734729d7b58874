/* ctgp fit: its result. */
#ifndef CTGP_FIT_REPORT_H
#define CTGP_FIT_REPORT_H

#include "fit_learn.h"
#include "fit_options.h"
#include "result.h"

/* Scores and describes a model that is saved. In text, the parameters of a model of all outputs are left out.
 * */
void fit_report(writer *w, const settings *s, const fit_output *l);

#endif
