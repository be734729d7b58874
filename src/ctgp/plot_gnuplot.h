/* ctgp plot: gnuplot's script and its run. */
#ifndef CTGP_PLOT_GNUPLOT_H
#define CTGP_PLOT_GNUPLOT_H

#include <stdio.h>

#include "context.h"
#include "ctgp.h"

/* Writes a text as a string of gnuplot's: a control character as a blank, all others as they are. */
void quote(FILE *out, const char *text);
/* The same for the label of a tic. */
void quote_tic(FILE *out, const char *text);
/* Runs gnuplot on a script, and returns the picture that it writes. */
memory_file *run_gnuplot(ctgp *c, const memory_file *script);

#endif
