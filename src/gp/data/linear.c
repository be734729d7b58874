#include "linear.h"

#include <stdio.h>

#include <cotangent/ops.h>

#include "gp/kernel/prior.h"

ct_param ct__linear_param(const char *constant, const char *slope, int64_t k)
{
    ct_param p = ct__param_default(0, true);
    snprintf(p.name, sizeof p.name, k ? "%s[%lld]" : "%s", k ? slope : constant, (long long)k - 1);
    return p;
}

ct_var ct__linear_on(ct_var parameters, ct_var X)
{
    const int64_t d = ct_var_shape(X).dim[1];
    ct_var slopes = ct_reshape(ct_slice(parameters, 0, 1, 1 + d, 1), ct_shape2(d, 1));
    return ct_add(ct_matmul(X, slopes), ct_slice(parameters, 0, 0, 1, 1));
}
