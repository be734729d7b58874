/* A model from data: checks, standardisation, starts and priors. */
#include "gp/data/columns.h"
#include "gp/data/table.h"
#include "gp/data/trend.h"
#include "gp/file/fingerprint.h"
#include "gp/kernel/kernel_tree.h"
#include "gp/likelihood/table.h"
#include "gp/model/memory.h"
#include "gp/model/options.h"
#include "gp/model/param_units.h"
#include "gp/model/param_values.h"
#include "periods.h"

/* The checks that need no allocation. */
static ct_status check(ct_device *device, const ct_tensor *X, const ct_tensor *y, const ct_kernel *kernel,
                       const ct_gp_options *o)
{
    if (ct_device_status(device)) return ct_device_status(device);
    ct_status s = ct__check_data(device, X, y, "ct_gp_new");
    if (s) return s;
    const int64_t n = ct_tensor_dim(X, 0), d = ct_tensor_dim(X, 1);
    if (n < 1 || d < 1)
        return ct_device_fail(device, CT_ESHAPE, "ct_gp_new: X needs at least one row and one column");
    if (ct_kernel_status(kernel))
        return ct_device_fail(device, ct_kernel_status(kernel), "%s", ct_kernel_message(kernel));
    if (ct__comm_usable(o->comm, device) || ct__columns_check(device, o, d)) return ct_last_status(device);
    const ct__option range[] = { { "mean", o->mean, 0, CT_MEAN_BASIS },
                                 { "noise", o->noise, 0, CT_NOISE_LOG_LINEAR },
                                 { "standardize", o->standardize, 0, CT_STANDARDIZE_OUTPUTS },
                                 { "priors", o->priors, 0, CT_PRIORS_WEAK },
                                 { "transform", o->transform, 0, CT_TRANSFORM_SQRT },
                                 { "rows_of_table", (double)o->rows_of_table, 0, (double)INT64_MAX } };
    if (ct__options_check(device, "ct_gp_new", range, sizeof range / sizeof *range))
        return ct_last_status(device);
    if ((o->mean == CT_MEAN_BASIS) != (o->basis != NULL))
        return ct_device_fail(device, CT_EINVAL, "ct_gp_new: a basis belongs with CT_MEAN_BASIS");
    if (!ct__likelihood_for(device, ct__features_of(o, ct_tensor_dtype(X)), NULL, "ct_gp_new"))
        return ct_last_status(device);
    if (ct__noise_check(device, o, n)) return ct_last_status(device);
    return ct__gp_reserve(device, ct__gp_bytes(device, o->comm, n, d, ct_tensor_dtype(X), false),
                          ct_tensor_dtype(X) == CT_F64, "ct_gp_new: the model", "use fewer rows");
}

static ct_status take(ct_gp *gp, const ct_tensor *X, const ct_tensor *y, const ct_gp_options *options)
{
    const ct_gp_standardize how = gp->options.standardize;
    const bool inputs = how == CT_STANDARDIZE_BOTH || how == CT_STANDARDIZE_INPUTS,
               outputs = how == CT_STANDARDIZE_BOTH || how == CT_STANDARDIZE_OUTPUTS;
    ct__data_rows *rows = &gp->rows;
    ct__target *target = &gp->target;
    rows->X = ct__table(
        gp->device, rows->dtype, X, ct_shape2(rows->n, rows->d), "X",
        (ct__units){ rows->shift, rows->scale, rows->spread, inputs, ct_kernel_program(gp->kernel) });
    ct_tensor *z = rows->X ? ct__target_of(target, y, true) : NULL;
    if (z)
        target->y = ct__table(
            gp->device, rows->dtype, z, ct_shape2(rows->n, 1), "y",
            (ct__units){ &target->shift, &target->scale, &target->spread, outputs && !options->basis, NULL });
    ct_status s = target->y ? CT_OK : ct_last_status(gp->device);
    if (!s && options->basis)
        s = ct__trend_read(&gp->mean, gp->device, options->basis, rows->column, rows->d);
    if (!s && options->basis) s = ct__trend_standardize(&gp->mean, rows, target, z, outputs);
    ct_release(z);
    if (!s) s = ct__target_sum_slopes(target);
    return s ? s : ct__noise_take(&gp->noise, ct__noise_given(options), rows->n, rows->dtype, target->scale);
}

static ct_gp *new_model(ct_device *device, const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
                        const ct_gp_options *options)
{
    if (check(device, X, y, kernel, options)) {
        ct_kernel_free(kernel);
        return NULL;
    }
    ct_gp *gp =
        ct__gp_blank(device, kernel, ct_tensor_dim(X, 0), ct_tensor_dim(X, 1), ct_tensor_dtype(X), options);
    if (!gp) return NULL;
    ct_status s = ct__kernel_choose_columns(kernel, options->inputs, gp->rows.d);
    if (!s) s = ct_kernel_bind(kernel, gp->rows.d);
    if (s) ct_device_fail(device, s, "%s", ct_kernel_message(kernel));
    if (!s) s = take(gp, X, y, options);
    if (!s) ct__likelihood_take(gp, 0);
    if (!s) s = ct__gp_list_params(gp);
    if (!s) ct__gp_first_values(gp);
    if (!s) s = ct__gp_begin_periods(gp);
    for (int64_t i = 0; i < gp->params.count && !s; i++) s = ct__gp_pass_on(gp, i);
    if (!s) s = ct__gp_compare(gp);
    if (!s) return gp;
    ct_gp_free(gp);
    return NULL;
}

ct_gp *ct_gp_new(const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel, const ct_gp_options *options)
{
    options = options ? options : &(ct_gp_options){ 0 };
    ct_device *device = X ? ct_tensor_device(X) : y ? ct_tensor_device(y) : NULL;
    ct__comm_enter(options->comm);
    ct_gp *gp = new_model(device, X, y, kernel, options);
    if (!ct__comm_leave(options->comm, device, gp ? CT_OK : ct_last_status(device))) return gp;
    ct_gp_free(gp);
    return NULL;
}
