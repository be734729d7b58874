/* ctgp fit: its search. */
#ifndef CTGP_TRAIN_H
#define CTGP_TRAIN_H

#include "ctgp.h"
#include "fit_options.h"

/* A kernel of these inputs that the context owns. Text that is none is CODE_USAGE. */
ct_kernel *parse_kernel(ctgp *c, const char *text, const ct_column *inputs, int64_t d);

/* Fits a model of `kernel`, which it takes over, within the bounds, or chooses a covariance where `kernel` is
 * NULL. Ctrl-C, SIGTERM or the end of the time ends the fit with the best model so far. NULL where a
 * transform is only tried, and fails. */
ct_gp *train(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
             const ct_gp_options *model, const ct_gp_choose_options *how, ct_gp_choice *choice);

/* The same for outputs with one model, whose kernel is given. */
ct_outputs *train_outputs(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *Y,
                          ct_kernel *kernel, const ct_outputs_options *options, const ct_fit_options *how,
                          ct_gp_choice *choice);

#endif
