/* The descriptions of columns, copied with all their texts into one block. */
#ifndef CT_GP_COLUMNS_H
#define CT_GP_COLUMNS_H

#include <cotangent/gp/model.h>

/* CT_EINVAL if the options' columns cannot be copied. */
ct_status ct__columns_check(ct_device *device, const ct_gp_options *o, int64_t d);
/* The options' inputs [d] and output in one block; NULL with CT_ENOMEM. Free with free. */
ct_column *ct__columns_copy(ct_device *device, const ct_gp_options *o, int64_t d);
/* The length of the longest name or level of these columns. */
size_t ct__columns_longest(const ct_column *c, int64_t count);

#endif
