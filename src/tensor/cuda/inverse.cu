/* The adjoint of an inverse. */
#include "batch.cuh"

/* out = -Pᵀ G Pᵀ. Symmetric: G is replaced by ½(G + Gᵀ), and the upper triangle mirrors the lower one. If G
 * is a column, it stands for diag(G). */
ct_status ct__cuda_inverse_bar(ct_device *dev, bool symmetric, const ct_view *p, const ct_view *g,
                               ct_view *out)
{
    const ct__matrices<3> b(dev, { p, g, out });
    const int64_t n = b.m[0].rows;
    if (!ct__entries(b, b.m[0])) return CT_OK;
    const bool diagonal = b.m[1].cols != n, sums = symmetric && !diagonal;
    const ct__temporary sum(b, sums ? n : 0, n), h(b, n, n);
    ct__formed fp(b, b.m[0]), fg(b, b.m[1]), fo(b, b.m[2], ct__formed::NOTHING, ct__formed::ALL);
    const ct__matrix Pt = ct__transposed(fp.m), &G = fg.m;
    const ct_view upper = ct__as_view(b, G), lower = ct__as_view(b, ct__transposed(G));
    ct_view both = ct__as_view(b, sum.m);
    if (sums) CT__DO(b, ct__cuda_map2(dev, CT_MAP_add, &upper, &lower, &both));
    if (diagonal)
        ct__scale_columns(b, Pt, ct__transposed(G), h.m);
    else
        ct__gemm(b, sums ? 0.5 : 1, Pt, sums ? sum.m : G, 0, h.m);
    ct__gemm(b, -1, h.m, Pt, 0, fo.m);
    if (symmetric) ct__mirror_lower(b, fo.m);
    return fo.finish();
}
