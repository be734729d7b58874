/* The primitives that evaluate a covariance kernel's program and contract its derivatives. */
#include "primitive.h"

static bool is_program(ct_call *c, const ct_cov_program *program)
{
    return ct_require(c, program, CT_EINVAL, "the kernel's program is NULL: ct_kernel_program makes it");
}

/* No view for Z means the symmetric case. */
static bool fits(ct_call *c, const ct_cov_program *program, const ct_view *theta, const ct_view *X,
                 const ct_view *Z, const ct_view *K)
{
    if (!is_program(c, program) || !ct__one_dtype(c, theta, K) || !ct__one_dtype(c, X, K)) return false;
    const ct_view *z = Z->storage || Z->ndim < 0 ? Z : X;
    return ct__one_dtype(c, z, K) &&
           ct_require(c, theta->ndim == 1 && theta->dim[0] == program->n_params, CT_ESHAPE,
                      "theta must be a vector of the kernel's %d parameters", (int)program->n_params) &&
           ct_require(c,
                      X->ndim == 2 && z->ndim == 2 && X->dim[1] == program->input_dims &&
                          z->dim[1] == program->input_dims,
                      CT_ESHAPE, "the inputs must be matrices of %d columns, as the kernel is bound to",
                      (int)program->input_dims) &&
           ct_require(c, K->ndim == 2 && K->dim[0] == X->dim[0] && K->dim[1] == z->dim[0], CT_ESHAPE,
                      "the covariance matrix has one row for each row of X, one column for each row of Z");
}

void ct_prim_covariance(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view Z,
                        bool lower, ct_view K)
{
    if (fits(c, program, &theta, &X, &Z, &K))
        CT__DO(c, covariance, program, &theta, &X, ct__given(&Z), lower, &K);
}

static bool is_vector(const ct_view *v, int64_t n, ct_dtype dtype)
{
    return v->storage && v->ndim == 1 && v->dim[0] == n && v->dtype == dtype;
}

/* Whether `bar` is left out, or has the shape and dtype of x. */
static bool is_bar(ct_call *c, const ct_view *bar, const ct_view *x)
{
    return (!bar->storage && bar->ndim >= 0) ||
           (ct__one_dtype(c, bar, x) && ct_require(c, ct__same_shape(bar, x), CT_ESHAPE,
                                                   "the cotangents must have the shapes of theta and X"));
}

void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view Z,
                            const ct_cov_bar *K_bar, bool add, ct_view theta_bar, ct_view X_bar)
{
    if (!ct_require(c, K_bar, CT_EINVAL, "the cotangent of the covariance matrix is NULL")) return;
    const ct_view *M = &K_bar->M, *u = &K_bar->u, *v = &K_bar->v;
    if (!fits(c, program, &theta, &X, &Z, M)) return;
    const bool vectors = (!u->storage && !v->storage) ||
                         (is_vector(u, M->dim[0], M->dtype) && is_vector(v, M->dim[1], M->dtype));
    if (ct_require(c, vectors && !(K_bar->lower && Z.storage), CT_ESHAPE,
                   "the vectors of a cotangent must fit its rows and columns") &&
        is_bar(c, &theta_bar, &theta) && is_bar(c, &X_bar, &X))
        CT__DO(c, covariance_bar, program, &theta, &X, ct__given(&Z), K_bar, add, ct__wanted(&theta_bar),
               ct__wanted(&X_bar));
}

bool ct_prim_gaussians(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view r,
                       ct_view noise, double tolerance, ct_view alpha, ct_view diagonal, ct_view theta_bar,
                       ct_view noise_bar)
{
    if (!is_program(c, program)) return false;
    const ct_view *all[] = { &X, &theta, &r, &noise, &alpha, &diagonal, &theta_bar, &noise_bar };
    const int64_t n = ct__dim(&X, -2), P = program->n_params,
                  last[] = { program->input_dims, P, n, n, n, n, P, n };
    bool fits = X.ndim >= 2 && !theta_bar.storage == !noise_bar.storage;
    if (c->status || !c->tape->device->backend->gaussians) return false;
    for (int i = 0; i < (theta_bar.storage ? 8 : 6) && fits; i++)
        fits = ct__one_dtype(c, all[i], &X) && all[i]->ndim == X.ndim - (i > 0) &&
               ct__dim(all[i], -1) == last[i] &&
               !memcmp(all[i]->dim, X.dim, (size_t)(X.ndim - 2) * sizeof *X.dim);
    return ct_require(c, fits, CT_ESHAPE, "the views of a batch of Gaussians do not fit each other") &&
           c->tape->device->backend->gaussians(c->tape->device, program, &theta, &X, &r, &noise, tolerance,
                                               &alpha, &diagonal, ct__wanted(&theta_bar),
                                               ct__wanted(&noise_bar));
}
