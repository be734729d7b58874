/* ctgp, exact Gaussian processes from the command line, on the library's public API alone: its commands, and
 * what they fit and say. Below it lie model.h, frame.h and command.h. */
#ifndef CTGP_H
#define CTGP_H

#include "model.h"

/* -- parameters.c -- */

/* "parameters": { name: value, ... }; in text a line for each, with its prior or not. */
void write_parameters(writer *w, const ct_gp *gp, bool priors);
/* Prints the standard deviations and correlations of the levels of each `index` in the kernel. */
void print_levels(FILE *to, const ct_gp *gp);

/* -- kernels.c -- */

void print_kernels(void);

/* -- advice.c -- */

/* The option that raises a noise that is too low; NULL where the data determine the noise. */
const char *more_noise(const ct_gp *gp);
/* Prints the lines of advice under "advice:", where there are any. */
void print_advice(writer *w, ct_gp *gp, const ct_gp_numerics *numerics);

/* -- outliers.c: rows more than 4 standard deviations from what all others predict -- */

/* "outliers": [{"line": 17, "sigmas": 4.5}, ...], the farthest first, by lines of the table whose rows the
 * model has learned; with f = NULL by its rows, and null where the model cannot tell. In text a line, where
 * there are any. */
void write_outliers(writer *w, ct_gp *gp, const frame *f, const char *heading);

/* -- sensitivity.c: how much each feature matters -- */

/* Sobol indices of the mean, and how far the leave-one-out NLPD rises if the feature is held at its mean:
 * "sensitivity": [{"feature": "a", "first": 0.7, "total": 0.8, "loo_nlpd_without": 0.5}, ...] */
void write_sensitivity(writer *w, ct_gp *gp, uint64_t seed);

/* -- trend.c: the mean -- */

/* "constant" (NULL), "zero", "linear", or the text of a basis, which stays the caller's. */
void read_mean(const char *text, ct_gp_options *options);
/* CODE_USAGE for a single word that is neither one of these nor a column. */
void check_mean(ctgp *c, const ct_gp_options *options, int64_t d);
/* The mean of a model as such a text. */
const char *mean_text(ctgp *c, const ct_gp *gp);

/* Of a basis: "coefficients": {"x^2": {"value": ..., "error": ...}, ...} */
void write_trend(writer *w, ct_gp *gp);

/* -- info_result.c -- */

/* What ctgp info says of an output. `factor`: the file has it. `table`: the rows that the model has learned,
 * or NULL. Without `seed` there is no sensitivity. */
void write_info(writer *w, ct_gp *gp, bool factor, const frame *table, const uint64_t *seed);

/* -- the commands -- */

void run_fit(ctgp *c, int argc, char **argv);
void run_predict(ctgp *c, int argc, char **argv);
void run_info(ctgp *c, int argc, char **argv);
void run_plot(ctgp *c, int argc, char **argv);
void run_loo(ctgp *c, int argc, char **argv);
void run_compare(ctgp *c, int argc, char **argv);
void run_sample(ctgp *c, int argc, char **argv);
void run_append(ctgp *c, int argc, char **argv);

#endif
