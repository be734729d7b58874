/* Inverses, and the adjoint of one. */
#include "batch.cuh"

/* A⁻¹ = L⁻ᵀL⁻¹ */
ct_status ct__cuda_potri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct__matrices<2> b({ a, out });
    if (!b.members || !b.m[0].rows) return CT_OK;
    ct__scratch failed(dev, b.members * (int64_t)sizeof(int64_t));
    if (!failed.data) return CT_ENOMEM;
    ct__formed f(dev, &b, b.m[1], ct__formed::NOTHING, ct__formed::ALL);
    ct_status s = f.status ? f.status : ct__copy_lower(dev, &b, &b.m[0], &f.m);
    if (!s) s = ct__cholesky(dev, &b, f.m, failed);
    if (!s) s = ct__invert_lower(dev, &b, f.m);
    if (!s) s = ct__square_lower(dev, &b, f.m);
    if (!s) s = ct__mirror_lower(dev, &b, &f.m);
    if (!s) s = ct__poison(dev, &b, failed, false, &f.m);
    if (!s) s = f.finish();
    return s ? s : ct__cholesky_failure(dev, &b, failed, 0, failure);
}

/* A = P L U gives A⁻¹ = U⁻¹ L⁻¹ Pᵀ: the identity's rows in pivot order, solved for twice. */
ct_status ct__cuda_getri(ct_device *dev, const ct_view *a, ct_view *out, ct_failure *failure)
{
    const ct__matrices<2> b({ a, out });
    const int64_t n = b.m[0].rows;
    if (!b.members || !n) return CT_OK;
    ct__scratch integers(dev, b.members * (1 + n) * (int64_t)sizeof(int64_t)),
        work(dev, ct__entries(&b, b.m[0]) * ct__bytes_of(&b)), identity(dev, n * n * ct__bytes_of(&b));
    if (!integers.data || !work.data || !identity.data) return CT_ENOMEM;
    int64_t *failed = integers, *orders = failed + b.members;
    ct__formed f(dev, &b, b.m[1], ct__formed::NOTHING, ct__formed::ALL);
    ct__matrix lu = ct__turned(ct__dense(&b, work, n, n)), eye = ct__dense(&b, identity, n, n),
               order = ct__dense(&b, orders, n, 1);
    for (int d = 0; d < b.ndim; d++) eye.step[d] = 0;
    ct__batch one = ct__one(b.dtype);
    ct_view from = ct__as_view(&b, &b.m[0]), factors = ct__as_view(&b, &lu), result = ct__as_view(&b, &f.m),
            unit = ct__as_view(&one, &eye), spread = ct__as_view(&b, &eye), rows = ct__as_view(&b, &order),
            diagonal = unit;
    rows.dtype = CT_I64;
    diagonal.ndim = 1;
    diagonal.stride[0] = eye.rs + eye.cs;
    ct_status s = f.status ? f.status : ct__cuda_copy(dev, &from, &factors);
    if (!s) s = ct__lu_in_order(dev, &b, lu, orders, failed);
    if (!s) s = ct__cuda_fill(dev, 0, &unit);
    if (!s) s = ct__cuda_fill(dev, 1, &diagonal);
    if (!s) s = ct__cuda_permute_rows(dev, &spread, &rows, false, &result);
    if (!s) s = ct__solve(dev, &b, true, true, 1, lu, f.m);
    if (!s) s = ct__solve(dev, &b, false, false, 1, lu, f.m);
    if (!s) s = ct__poison(dev, &b, failed, false, &f.m);
    if (!s) s = f.finish();
    return s ? s : ct__lu_failure(dev, &b, failed, failure);
}

/* -- the adjoint ----------------------------------------------------------------------------------------- */

/* s = ½(g + gᵀ) */
template <typename T> static __global__ void symmetric_kernel(ct__batch b, ct__matrix g, ct__matrix s)
{
    CT__EACH_ENTRY(at, b, s)
    {
        ct__at_entry<T>(b, s, at) =
            (T)0.5 * (ct__at_entry<T>(b, g, at) + ct__at_entry<T>(b, ct__turned(g), at));
    }
}

/* -Pᵀ G Pᵀ; where P is symmetric with ½(G + Gᵀ) for G, and the upper triangle is the mirror image of the
 * lower */
ct_status ct__cuda_inverse_bar(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                               ct_view *out)
{
    const ct__matrices<3> b({ p, g, out });
    const int64_t n = b.m[0].rows, count = ct__entries(&b, b.m[0]), bytes = count * ct__bytes_of(&b);
    if (!count) return CT_OK;
    ct__scratch half(dev, symmetric ? bytes : 0), work(dev, bytes);
    if (!half.data || !work.data) return CT_ENOMEM;
    ct__formed fp(dev, &b, b.m[0], ct__formed::ALL, ct__formed::NOTHING),
        fg(dev, &b, b.m[1], ct__formed::ALL, ct__formed::NOTHING),
        fo(dev, &b, b.m[2], ct__formed::NOTHING, ct__formed::ALL);
    const ct__matrix sum = ct__dense(&b, half, n, n), h = ct__dense(&b, work, n, n),
                     turned = ct__turned(fp.m);
    ct_status s = fp.status ? fp.status : fg.status ? fg.status : fo.status;
    if (!s && symmetric) s = CT__BATCH_EACH(dev, "inverse_bar", b, symmetric_kernel, count, fg.m, sum);
    if (!s) s = ct__gemm(dev, &b, 1, turned, symmetric ? sum : fg.m, 0, h);
    if (!s) s = ct__gemm(dev, &b, -1, h, turned, 0, fo.m);
    if (!s && symmetric) s = ct__mirror_lower(dev, &b, &fo.m);
    return s ? s : fo.finish();
}
