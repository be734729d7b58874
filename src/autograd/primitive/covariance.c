/* The primitives that evaluate a covariance kernel's program and contract its derivatives. */
#include "primitive.h"

/* No view for Z means the symmetric case. */
static bool fits(ct_call *c, const ct_cov_program *program, const ct_view *theta, const ct_view *X,
                 const ct_view *Z, const ct_view *K)
{
    if (!ct__one_dtype(c, theta, K) || !ct__one_dtype(c, X, K)) return false;
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

void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view Z,
                            const ct_cov_bar *K_bar, bool add, ct_view theta_bar, ct_view X_bar)
{
    const ct_view *M = &K_bar->M, *u = &K_bar->u, *v = &K_bar->v;
    if (!fits(c, program, &theta, &X, &Z, M)) return;
    const bool vectors = (!u->storage && !v->storage) ||
                         (is_vector(u, M->dim[0], M->dtype) && is_vector(v, M->dim[1], M->dtype));
    const bool outputs =
        (!theta_bar.storage || (theta_bar.ndim == 1 && theta_bar.dim[0] == program->n_params)) &&
        (!X_bar.storage || ct__same_shape(&X_bar, &X));
    if (ct_require(c, vectors && !(K_bar->lower && Z.storage), CT_ESHAPE,
                   "the vectors of a cotangent must fit its rows and columns") &&
        ct_require(c, outputs, CT_ESHAPE, "the cotangents must have the shapes of theta and X"))
        CT__DO(c, covariance_bar, program, &theta, &X, ct__given(&Z), K_bar, add, ct__wanted(&theta_bar),
               ct__wanted(&X_bar));
}

bool ct_prim_likelihoods(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view r,
                         ct_view noise, double tolerance, ct_view value, ct_view theta_bar, ct_view r_bar,
                         ct_view noise_bar)
{
    const int64_t n = ct__dim(&X, -2), m = ct__dim(&noise, -1);
    ct_view in[] = { theta, X, r, noise }, *all[] = { &in[0], &in[1], &in[2], &in[3], &theta_bar, &r_bar, &noise_bar };
    const ct_shape own[] = { ct_shape1(program->n_params), ct_shape2(n, program->input_dims), ct_shape1(n), ct_shape1(m) };
    if (c->status || !c->tape->device->backend->likelihoods) return false;
    for (int i = 0; i < 7; i++) {
        ct_shape shape = ct__shape(&value);
        const ct_shape *last = &own[i < 4 ? i : i == 4 ? 0 : 2];
        if (i > 3 && !all[i]->storage) continue;
        for (int d = 0; d < last->ndim; d++) shape.dim[shape.ndim++] = last->dim[d];
        if (!ct__one_dtype(c, all[i], &value) ||
            !ct_require(c, i < 4 ? ct__broadcast(all[i], &shape) : ct_shape_equal(ct__shape(all[i]), shape), CT_ESHAPE,
                        "view %d of a batch of likelihoods does not fit", i))
            return false;
    }
    return c->tape->device->backend->likelihoods(c->tape->device, program, in, tolerance, &value, ct__wanted(&theta_bar),
                                                 ct__wanted(&r_bar), ct__wanted(&noise_bar));
}
