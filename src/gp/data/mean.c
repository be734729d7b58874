#include "mean.h"

#include <cotangent/ops.h>

#include "linear.h"

int64_t ct__mean_params(const ct__mean *mean, int64_t d)
{
    return mean->kind == CT_MEAN_CONSTANT ? 1 : mean->kind == CT_MEAN_LINEAR ? 1 + d : 0;
}

ct_param ct__mean_param(int64_t k) { return ct__linear_param("mean.constant", "mean.slope", k); }

ct_var ct__mean_on(const ct__mean *mean, ct_var s, ct_var X)
{
    return mean->kind == CT_MEAN_CONSTANT ? ct_slice(s, 0, 0, 1, 1) : ct__linear_on(s, X);
}
