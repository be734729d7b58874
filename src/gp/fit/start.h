/* One start of a fit. The starts of a model may run on several threads, each with a clone of the model. */
#ifndef CT_GP_START_H
#define CT_GP_START_H

#include "evaluate.h"

/* Runs start `index` on gp, the fit's model or its clone. */
void ct__fit_run_start(ct__fit *f, ct_gp *gp, int index);
/* Records an error, or only its message if CT_OK; the earliest start's wins. Called with the lock held. */
void ct__fit_fail(ct__fit *f, int index, ct_status status, const char *message);

#endif
