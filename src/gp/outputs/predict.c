/* Mean and covariance of all outputs at all points. */
#include <stdlib.h>

#include "gp/data/numbers.h"
#include "gp/model/exchange.h"
#include "gp/model/memory.h"
#include "gp/predict/predict.h"
#include "joint.h"

/* C[(i, j), (l, j)] = V[i, l]; 0 between different outputs. */
static void place(const ct_outputs *o, int64_t j, int64_t m, const double *V, double *C)
{
    const int64_t p = o->p;
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < m; l++) C[(i * p + j) * m * p + l * p + j] = V[i * m + l];
}

/* Outputs that are independent given the parameters. */
static ct_status predict_each(ct_outputs *o, const ct_tensor *Xs, bool noisy, int64_t m, double *mean,
                              double *C)
{
    double *V = ct__gp_alloc(o->device, (uint64_t)(m * m + m), sizeof *V), *one = V ? V + m * m : NULL;
    ct_status s = V ? CT_OK : CT_ENOMEM;
    for (int64_t j = 0; j < o->p && !s; j++) {
        const ct__prediction r = { .gp = ct_outputs_model(o, j),
                                   .kind = CT__TOGETHER,
                                   .noisy = noisy,
                                   .rows = m,
                                   .mean = one,
                                   .more = V };
        s = r.gp ? ct__predict(r, Xs) : ct_last_status(o->device);
        for (int64_t i = 0; i < m && !s; i++) mean[i * o->p + j] = one[i];
        if (!s) place(o, j, m, V, C);
    }
    free(V);
    return s;
}

static ct_status check_out(const ct_outputs *o, const ct_tensor *t, int64_t rows, int64_t cols,
                           const char *what)
{
    if (t && ct_tensor_ndim(t) == 2 && ct_tensor_dim(t, 0) == rows && ct_tensor_dim(t, 1) == cols &&
        ct_tensor_dtype(t) <= CT_F32 && ct_tensor_device(t) == o->device)
        return CT_OK;
    return ct_device_fail(o->device, CT_ESHAPE, "%s must be (%lld, %lld), f64 or f32, on the models' device",
                          what, (long long)rows, (long long)cols);
}

ct_status ct_outputs_predict_full(ct_outputs *o, const ct_tensor *Xs, bool noisy, ct_tensor *mean,
                                  ct_tensor *covariance)
{
    if (!o) return CT_EINVAL;
    ct_gp *first = ct_outputs_model(o, 0);
    ct_status s = first ? ct__gp_check_inputs(first, Xs, "Xs") : ct_last_status(o->device);
    if (s) return s;
    const int64_t m = ct_tensor_dim(Xs, 0), mp = m * o->p;
    if (mean) s = check_out(o, mean, m, o->p, "mean");
    if (!s) s = check_out(o, covariance, mp, mp, "covariance");
    if (!s)
        s = ct__gp_reserve(o->device, 16 * (uint64_t)mp * (uint64_t)mp, false,
                           "the joint distribution of the outputs", "take fewer points at a time");
    double *both = s ? NULL : ct__gp_alloc(o->device, (uint64_t)mp * (uint64_t)(mp + 1), sizeof *both);
    if (!s && !both) s = CT_ENOMEM;
    if (!s)
        s = (o->kind == CT_OUTPUTS_COREGIONALISED ? ct__joint_predict : predict_each)(o, Xs, noisy, m,
                                                                                      both + mp * mp, both);
    if (!s && mean) s = ct__gp_deliver(first, both + mp * mp, mean);
    if (!s) s = ct__gp_deliver(first, both, covariance);
    free(both);
    return s;
}
