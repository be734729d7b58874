/* The commands. Each reads its command line, argv[1..argc). */
#ifndef CTGP_COMMANDS_H
#define CTGP_COMMANDS_H

#include "ctgp.h"

void run_fit(ctgp *c, int argc, char **argv);
void run_predict(ctgp *c, int argc, char **argv);
void run_info(ctgp *c, int argc, char **argv);
void run_plot(ctgp *c, int argc, char **argv);
void run_grid(ctgp *c, int argc, char **argv);
void run_loo(ctgp *c, int argc, char **argv);
void run_compare(ctgp *c, int argc, char **argv);
void run_forecast(ctgp *c, int argc, char **argv);
void run_sample(ctgp *c, int argc, char **argv);
void run_append(ctgp *c, int argc, char **argv);

#endif
