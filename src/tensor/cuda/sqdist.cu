/* Squared distances between rows, without tiles. */
#include "batch.cuh"

/* out_ij = Σ_k (x_ik - y_jk)² */
template <typename T>
static __global__ void sqdist_kernel(ct__batch b, ct__matrix x, ct__matrix y, ct__matrix out)
{
    CT__EACH_ENTRY(at, b, out)
    {
        const T *p = &ct__at_entry<T>(b, x, ct__entry{ at.member, at.i, 0 }),
                *q = &ct__at_entry<T>(b, y, ct__entry{ at.member, at.j, 0 });
        T sum = 0;
        CT__BY_FOUR
        for (int64_t k = 0; k < x.cols; k++) {
            const T difference = p[k * x.cs] - q[k * y.cs];
            sum += difference * difference;
        }
        ct__at_entry<T>(b, out, at) = sum;
    }
}

ct_status ct__cuda_sqdist(ct_device *dev, const ct_view *x, const ct_view *y, ct_view *out)
{
    const ct__matrices<3> b(dev, { x, y, out });
    const ct__matrix *m = b.m;
    const bool by_row = m[2].cs <= m[2].rs; /* else transposed: neighbours write neighbours */
    const ct__matrix &first = m[!by_row], &second = m[by_row], to = by_row ? m[2] : ct__transposed(m[2]);
    return CT__BATCH_EACH("sqdist", b, sqdist_kernel, ct__entries(b, to), first, second, to);
}
