/* The adjoint of an inverse. */
#include "batch.cuh"

/* s = ½(g + gᵀ) */
template <typename T> static __global__ void symmetric_kernel(ct__batch b, ct__matrix g, ct__matrix s)
{
    CT__EACH_ENTRY(at, b, s)
    {
        ct__at_entry<T>(b, s, at) =
            (T)0.5 * (ct__at_entry<T>(b, g, at) + ct__at_entry<T>(b, ct__turned(g), at));
    }
}

/* h = p diag(g) */
template <typename T>
static __global__ void scaled_kernel(ct__batch b, ct__matrix p, ct__matrix g, ct__matrix h)
{
    CT__EACH_ENTRY(at, b, h)
    {
        const ct__entry scale{ at.member, at.j, 0 };
        ct__at_entry<T>(b, h, at) = ct__at_entry<T>(b, p, at) * ct__at_entry<T>(b, g, scale);
    }
}

/* -Pᵀ G Pᵀ; where P is symmetric with ½(G + Gᵀ) for G, and the upper triangle is the mirror image of the
 * lower. Where G is a column, with diag(G) for G. */
ct_status ct__cuda_inverse_bar(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                               ct_view *out)
{
    const ct__matrices<3> b({ p, g, out });
    const int64_t n = b.m[0].rows, count = ct__entries(&b, b.m[0]), bytes = count * ct__bytes_of(&b);
    if (!count) return CT_OK;
    const bool diagonal = b.m[1].cols != n, sums = symmetric && !diagonal;
    ct__scratch half(dev, sums ? bytes : 0), work(dev, bytes);
    if (!half.data || !work.data) return CT_ENOMEM;
    ct__formed fp(dev, &b, b.m[0], ct__formed::ALL, ct__formed::NOTHING),
        fg(dev, &b, b.m[1], ct__formed::ALL, ct__formed::NOTHING),
        fo(dev, &b, b.m[2], ct__formed::NOTHING, ct__formed::ALL);
    const ct__matrix sum = ct__dense(&b, half, n, n), h = ct__dense(&b, work, n, n),
                     turned = ct__turned(fp.m);
    ct_status s = fp.status ? fp.status : fg.status ? fg.status : fo.status;
    if (!s && sums) s = CT__BATCH_EACH(dev, "inverse_bar", b, symmetric_kernel, count, fg.m, sum);
    if (!s)
        s = diagonal ? CT__BATCH_EACH(dev, "inverse_bar", b, scaled_kernel, count, turned, fg.m, h)
                     : ct__gemm(dev, &b, 1, turned, sums ? sum : fg.m, 0, h);
    if (!s) s = ct__gemm(dev, &b, -1, h, turned, 0, fo.m);
    if (!s && symmetric) s = ct__mirror_lower(dev, &b, fo.m);
    return s ? s : fo.finish();
}
