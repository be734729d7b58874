/* The descriptions of columns, with texts of their own. */
#ifndef CT_GP_COLUMNS_H
#define CT_GP_COLUMNS_H

#include <cotangent/gp/model.h>

/* CT_EINVAL if the options' columns cannot be copied. */
ct_status ct__columns_check(ct_device *device, const ct_gp_options *o, int64_t d);
/* A copy [d + 1] of inputs [d], or of x0, x1, ... for NULL, and of the output, or of y for NULL; NULL with
 * CT_ENOMEM. */
ct_column *ct__columns_copy(ct_device *device, const ct_column *inputs, int64_t d, const ct_column *output);
/* Frees `count` columns with their texts, and their array; c may be NULL. */
void ct__columns_free(ct_column *c, int64_t count);

#endif
