#include "mean.h"

#include <math.h>
#include <stdio.h>

#include <cotangent/ops.h>

int64_t ct__mean_params(const ct__mean *mean, int64_t d)
{
    return mean->kind == CT_MEAN_CONSTANT ? 1 : mean->kind == CT_MEAN_LINEAR ? 1 + d : 0;
}

ct_param ct__mean_param(int64_t k)
{
    ct_param p = {
        .name = "mean.constant", .lower = -INFINITY, .upper = INFINITY, .column = -1, .any_sign = true
    };
    if (k) snprintf(p.name, sizeof p.name, "mean.slope[%lld]", (long long)k - 1);
    return p;
}

ct_var ct__mean_on(const ct__mean *mean, ct_var s, ct_var X)
{
    ct_var c = ct_slice(s, 0, 0, 1, 1);
    if (mean->kind == CT_MEAN_CONSTANT) return c;
    const int64_t d = ct_var_shape(X).dim[1];
    return ct_add(ct_matmul(X, ct_reshape(ct_slice(s, 0, 1, 1 + d, 1), ct_shape2(d, 1))), c);
}
