/* Covariance matrices and the contraction of their gradients, tile by tile: no n×m array exists besides the
 * result (or the cotangent). */
#include "covariance_run.h"

static ct__cov_problem describe(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                const ct_view *x, const ct_view *z)
{
    const int64_t n = ct__dim(x, -2), m = ct__dim(z ? z : x, -2);
    const bool alone = n * m * program->n_nodes < dev->tuning->covariance_alone || n <= CT__COV_ROWS;
    return (ct__cov_problem){ .program = program,
                              .theta = theta,
                              .x = x,
                              .z = z ? z : x,
                              .n = n,
                              .m = m,
                              .d = ct__dim(x, -1),
                              .lanes = 1,
                              .members = 1,
                              .z_row = ct__cov_whole(m, CT__COV_GROUP),
                              .blocks = (n + CT__COV_ROWS - 1) / CT__COV_ROWS,
                              .symmetric = !z,
                              .threads = alone ? 1 : ct__team(dev, dev->threads) };
}

ct_status ct__cpu_covariance(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                             const ct_view *x, const ct_view *z, bool lower, ct_view *out)
{
    ct__cov_problem q = describe(dev, program, theta, x, z);
    if (!q.n || !q.m) return CT_OK;
    const ct_dtype t = out->dtype;
    q.lower = lower;
    q.upper = lower && out->stride[1] != 1 && out->stride[0] == 1;
    q.clip = z ? CT__COV_ALL : q.upper ? CT__COV_UPPER : CT__COV_LOWER;
    if (q.upper) q.z_row += CT__COV_GROUP; /* strips may begin at any column */
    const bool direct = q.upper || out->stride[1] == 1;
    const size_t work = ct__cov_code_of(dev->isa, theta->dtype)->workspace(&q);
    size_t bytes = work + (direct ? 0 : (size_t)(q.n * q.m) * ct_dtype_size(t));
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    q.K = direct ? out->data : block + work;
    q.ld = q.upper ? out->stride[1] : direct ? out->stride[0] : q.m;
    ct__cov_code_of(dev->isa, t)->forward(&q, block);
    if (!direct && !lower)
        ct__copy_matrix(dev, t, q.n, q.m, q.K, q.ld, 1, out->data, out->stride[0], out->stride[1]);
    for (int64_t i = 0; !direct && lower && i < q.n; i++)
        ct__copy_matrix(dev, t, 1, i + 1, ct__at(q.K, t, i * q.ld), q.ld, 1,
                        ct__at(out->data, t, i * out->stride[0]), out->stride[0], out->stride[1]);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

ct_status ct__cpu_covariance_bar(ct_device *dev, const ct_cov_program *program, const ct_view *theta,
                                 const ct_view *x, const ct_view *z, const ct_cov_bar *K_bar, bool add,
                                 ct_view *theta_bar, ct_view *x_bar)
{
    ct__cov_problem q = describe(dev, program, theta, x, z);
    q.lower = K_bar->lower;
    q.K_bar = K_bar;
    q.theta_bar = theta_bar;
    q.x_bar = x_bar;
    q.clip = z || x_bar ? CT__COV_ALL : CT__COV_LOWER;
    q.add = add;
    size_t bytes = ct__cov_code_of(dev->isa, theta->dtype)->workspace(&q);
    char *block = ct__pool_get(dev, &bytes);
    if (!block) return CT_ENOMEM;
    ct__cov_code_of(dev->isa, theta->dtype)->backward(&q, block);
    ct__pool_put(dev, block, bytes);
    return CT_OK;
}

/* -- Gaussians of a batch -------------------------------------------------------------------------------- */

bool ct__cpu_gaussians(ct_device *dev, const ct_cov_program *program, const ct_view *theta, const ct_view *X,
                       const ct_view *r, const ct_view *noise, double tolerance, ct_view *alpha,
                       ct_view *diagonal, ct_view *theta_bar, ct_view *noise_bar)
{
    const int64_t size = (int64_t)ct__size(X->dtype), lanes = ((int64_t)16 << dev->isa) / size,
                  n = ct__dim(X, -2);
    ct__cov_problem q = { .program = program,
                          .theta = theta,
                          .x = X,
                          .z = X,
                          .r = r,
                          .noise = noise,
                          .n = n,
                          .m = n,
                          .d = ct__dim(X, -1),
                          .z_row = n * lanes,
                          .blocks = 1,
                          .lanes = lanes,
                          .members = n ? ct__count(r) / n : 0,
                          .symmetric = true,
                          .threads = 1,
                          .theta_bar = theta_bar,
                          .noise_bar = noise_bar,
                          .alpha = alpha,
                          .diagonal = diagonal,
                          .tolerance = tolerance,
                          .failed = 2 * ct__count(r) < n * lanes || ct__count(r) < 2 * n || !n ||
                                    n * lanes > CT__COV_WIDTH };
    for (const ct_cov_node *k = ct_cov_nodes(program), *end = k + program->n_nodes; k < end; k++)
        if (k->code == CT_COV_WHITE || k->code == CT_COV_INDEX || ct__cov_by_products(k, (size_t)size) ||
            (k->code < CT_COV_PROFILES &&
             (k->geometry == CT_SINE || k->geometry == CT_DOT || k->tail == CT_HEAVY)))
            q.failed = true;
    const int64_t groups = (q.members + lanes - 1) / lanes, work = q.members * n * n * program->n_nodes;
    const int threads =
        work < dev->tuning->covariance_alone ? 1 : ct__team(dev, (int)ct__min(dev->threads, groups));
    size_t bytes = (size_t)threads * (q.workspace = ct__cov_code_of(dev->isa, theta->dtype)->workspace(&q));
    if (q.failed || !(q.block = ct__pool_get(dev, &bytes))) return false;
    ct__cov_code_of(dev->isa, X->dtype)->gaussians(&q, threads);
    ct__pool_put(dev, q.block, bytes);
    return !q.failed;
}
