/* The mean of a model. */
#ifndef CTGP_TREND_H
#define CTGP_TREND_H

#include "ctgp.h"
#include "result.h"

/* "constant" (NULL), "zero", "linear", or the text of a basis, which stays the caller's. */
void read_mean(const char *text, ct_gp_options *options);
/* CODE_USAGE for a single word that is neither one of these nor a column. */
void check_mean(ctgp *c, const ct_gp_options *options, int64_t d);
/* The mean of a model as such a text. */
const char *mean_text(ctgp *c, const ct_gp *gp);

/* Of a basis: "coefficients": {"x^2": {"value": ..., "error": ...}, ...} */
void write_trend(writer *w, ct_gp *gp);

#endif
