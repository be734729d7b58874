/* The primitives of covariance.h: check, and hand over to the backend. */
#include "internal.h"

#include <cotangent/covariance.h>

static bool fits(ct_call *c, const ct_cov_program *program, const ct_tensor *theta, const ct_tensor *X,
                 const ct_tensor *Z, const ct_tensor *K)
{
    if (!ct__usable(c, theta) || !ct__usable(c, X) || !ct__usable(c, K)) return false;
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
        ct__call_status(c, device->backend->covariance(device, program, theta, X, Z, false, K));
}

void ct_prim_covariance_lower(ct_call *c, const ct_cov_program *program, const ct_tensor *theta,
                              const ct_tensor *X, ct_tensor *K)
{
    ct_device *device = c->tape->device;
    if (fits(c, program, theta, X, NULL, K))
        ct__call_status(c, device->backend->covariance(device, program, theta, X, NULL, true, K));
}

static void contract(ct_call *c, const ct_cov_program *program, const ct_tensor *theta, const ct_tensor *X,
                     const ct_tensor *Z, const ct_cov_bar *K_bar, bool add, ct_tensor *theta_bar,
                     ct_tensor *X_bar)
{
    ct_device *device = c->tape->device;
    if (!fits(c, program, theta, X, Z, K_bar->M)) return;
    bool outputs = (!theta_bar || (theta_bar->ndim == 1 && theta_bar->dim[0] == program->n_params)) &&
                   (!X_bar || ct_shape_equal(ct_tensor_shape(X_bar), ct_tensor_shape(X)));
    if (ct_require(c, outputs, CT_ESHAPE, "the cotangents must have the shapes of theta and X"))
        ct__call_status(
            c, device->backend->covariance_bar(device, program, theta, X, Z, K_bar, add, theta_bar, X_bar));
}

void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, const ct_tensor *theta,
                            const ct_tensor *X, const ct_tensor *Z, const ct_tensor *K_bar,
                            ct_tensor *theta_bar, ct_tensor *X_bar)
{
    contract(c, program, theta, X, Z, &(ct_cov_bar){ .M = K_bar, .alpha = 1 }, false, theta_bar, X_bar);
}

static bool is_vector(const ct_tensor *t, int64_t n, ct_dtype dtype)
{
    return t && t->ndim == 1 && t->dim[0] == n && t->dtype == dtype;
}

void ct_prim_covariance_bar_add(ct_call *c, const ct_cov_program *program, const ct_tensor *theta,
                                const ct_tensor *X, const ct_tensor *Z, const ct_cov_bar *K_bar,
                                ct_tensor *theta_bar, ct_tensor *X_bar)
{
    const ct_tensor *M = K_bar->M, *u = K_bar->u, *v = K_bar->v;
    if (!ct__usable(c, M)) return;
    bool vectors = (!u && !v) || (is_vector(u, M->dim[0], M->dtype) && is_vector(v, M->dim[1], M->dtype));
    if (ct_require(c, vectors && !(K_bar->lower && Z), CT_ESHAPE,
                   "the vectors of a cotangent must fit its rows and columns"))
        contract(c, program, theta, X, Z, K_bar, true, theta_bar, X_bar);
}
