/* Words for what the library counts. */
#ifndef CTGP_NAMES_H
#define CTGP_NAMES_H

#include "ctgp.h"

/* "scale * rbf(ard)", .... */
const char *kernel_text(ctgp *c, const ct_gp *gp);
/* The name of a parameter, with that of its column in place of the number: "rbf.lengthscale[rooms]". */
const char *param_label(ctgp *c, const ct_gp *gp, int64_t i);
/* Whether a column holds numbers, in whatever unit, and no levels and no times. */
bool is_number(const ct_column *c);
const char *kind_name(ct_column_kind kind);
const char *outputs_name(ct_outputs_kind kind); /* "each", "shared", "joint" */
const char *precision_name(ct_precision precision);
const char *objective_name(ct_fit_objective objective);
const char *optimizer_name(ct_optimizer optimizer);
const char *standardize_name(ct_gp_standardize standardize);
const char *noise_kind(ct_gp_noise noise);
const char *prior_name(ct_prior_kind kind);

#endif
