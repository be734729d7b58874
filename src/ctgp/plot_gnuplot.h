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
/* A text, or if it has more than `most` bytes its beginning and an ellipsis. */
const char *shortened(ctgp *c, const char *text, size_t most);
/* `below` (may be empty) stands below the title. If panels > 1, that many lie beside and below each other. */
void write_header(FILE *script, bool png, const char *title, const char *below, int64_t panels);
/* Runs gnuplot on a script, and returns the picture that it writes. */
memory_file *run_gnuplot(ctgp *c, const memory_file *script);

#endif
