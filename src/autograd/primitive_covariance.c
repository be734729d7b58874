/* The primitives of covariance.h: check, and hand over to the backend. */
#include "internal.h"

#include <cotangent/covariance.h>

static bool fits(ct_call *c, const ct_cov_program *program, const ct_tensor *theta, const ct_tensor *X,
                 const ct_tensor *Z, const ct_tensor *K)
{
    if (c->status || !theta || !X || !K) return false;
    const ct_tensor *z = Z ? Z : X;
    return ct_require(c, theta->ndim == 1 && theta->dim[0] == program->n_params, CT_ESHAPE,
                      "theta must be a vector of the kernel's %d parameters", (int)program->n_params) &&
           ct_require(c,
                      X->ndim == 2 && z->ndim == 2 && X->dim[1] == program->input_dims &&
                          z->dim[1] == program->input_dims,
                      CT_ESHAPE, "the inputs must be matrices of %d columns, as the kernel is bound to",
                      (int)program->input_dims) &&
           ct_require(c, K->ndim == 2 && K->dim[0] == X->dim[0] && K->dim[1] == z->dim[0], CT_ESHAPE,
                      "the covariance matrix has one row for each row of X, one column for each row of Z") &&
           ct_require(c,
                      theta->dtype != CT_I64 && theta->dtype == X->dtype && theta->dtype == z->dtype &&
                          theta->dtype == K->dtype,
                      CT_EDTYPE, "all must be f64, or all f32");
}

void ct_prim_covariance(ct_call *c, const ct_cov_program *program, const ct_tensor *theta, const ct_tensor *X,
                        const ct_tensor *Z, ct_tensor *K)
{
    ct_device *device = c->tape->device;
    if (fits(c, program, theta, X, Z, K))
        ct__call_status(c, device->backend->covariance(device, program, theta, X, Z, K));
}

void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, const ct_tensor *theta,
                            const ct_tensor *X, const ct_tensor *Z, const ct_tensor *K_bar,
                            ct_tensor *theta_bar, ct_tensor *X_bar)
{
    ct_device *device = c->tape->device;
    if (!fits(c, program, theta, X, Z, K_bar)) return;
    bool outputs = (!theta_bar || (theta_bar->ndim == 1 && theta_bar->dim[0] == program->n_params)) &&
                   (!X_bar || ct_shape_equal(ct_tensor_shape(X_bar), ct_tensor_shape(X)));
    if (ct_require(c, outputs, CT_ESHAPE, "the cotangents must have the shapes of theta and X"))
        ct__call_status(
            c, device->backend->covariance_bar(device, program, theta, X, Z, K_bar, theta_bar, X_bar));
}
