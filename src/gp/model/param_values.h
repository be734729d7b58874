/* The values of a model's parameters. */
#ifndef CT_GP_PARAM_VALUES_H
#define CT_GP_PARAM_VALUES_H

#include "model.h"

/* Lists the parameters; call it after kernel, noise and mean are set. */
ct_status ct__gp_list_params(ct_gp *gp);
/* CT_EINVAL unless parameter i may be set to *param. */
ct_status ct__gp_check_param(ct_gp *gp, int64_t i, const ct_param *param);
/* Copies the new value of parameter i to the kernel and to s. */
ct_status ct__gp_pass_on(ct_gp *gp, int64_t i);
/* Sets the parameters to the values v and drops the factor. */
ct_status ct__gp_set_values(ct_gp *gp, const double *v);
int64_t ct__gp_free_params(const ct_gp *gp); /* how many */
/* Free parameters that `from` has by the same name take its values; other variances of the kernel become a
 * tenth of the first one of `from`. */
ct_status ct__gp_begin_from(ct_gp *gp, const ct_gp *from);

#endif
