/* Squared distances by direct differences, so that equal points are at distance 0 exactly. */
#include "batch.cuh"

template <typename T>
static __global__ void sqdist_kernel(ct__batch b, ct__matrix x, ct__matrix y, ct__matrix out)
{
    const int64_t size = out.rows * out.cols;
    CT__EACH(e, b.members * size)
    {
        int64_t member = e / size, i = e % size / out.cols, j = e % out.cols;
        const T *p = (const T *)x.data + ct__member_at(b, x, member) + i * x.rs,
                *q = (const T *)y.data + ct__member_at(b, y, member) + j * y.rs;
        T sum = 0;
        for (int64_t d = 0; d < x.cols; d++) {
            const T difference = p[d * x.cs] - q[d * y.cs];
            sum += difference * difference;
        }
        ((T *)out.data)[ct__member_at(b, out, member) + i * out.rs + j * out.cs] = sum;
    }
}

ct_status ct__cuda_sqdist(ct_device *dev, const ct_tensor *x, const ct_tensor *y, ct_tensor *out)
{
    const ct_tensor *t[] = { x, y, out };
    ct__matrix m[3];
    ct__batch b = ct__make_batch(3, t, m);
    const int64_t count = b.members * m[2].rows * m[2].cols;
    if (!count) return CT_OK;
    cudaStream_t stream = ct__cuda_of(dev)->stream;
    if (b.dtype == CT_F64)
        CT__LAUNCH(sqdist_kernel<double>, ct__grid(count), CT__BLOCK, stream, b, m[0], m[1], m[2]);
    else
        CT__LAUNCH(sqdist_kernel<float>, ct__grid(count), CT__BLOCK, stream, b, m[0], m[1], m[2]);
    return ct__cuda_launched(dev, "sqdist");
}
