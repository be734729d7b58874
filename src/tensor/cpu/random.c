/* Random fills. ../random.h defines element i. */
#include "cpu.h"

#include <math.h>

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif
#include <Random123/philox.h>

#define CT__FN    static
#define CT__CONST static const
#include "tensor/random.h"

/* Fills elements first <= i < last; first is a multiple of CT__RANDOM_CHUNK. */
static void fill_chunk(const ct_view *t, bool normal, uint64_t seed, uint64_t stream, int64_t first,
                       int64_t last)
{
    int per_block = t->dtype == CT_F64 ? 2 : 4;
    int64_t row = t->ndim ? t->dim[t->ndim - 1] : 1, step = t->ndim ? t->stride[t->ndim - 1] : 0;
    int64_t left = 0, offset = 0;
    ct__axis axis[CT_MAX_DIMS];
    const int64_t axes = ct__axis_list(1, &t, 0, t->ndim, false, axis);
    for (int64_t i = first; i < last; i += per_block) {
        double z[4];
        block_of(normal, t->dtype, draw(seed, stream, (uint64_t)(i / per_block)), z);
        for (int j = 0; j < per_block && i + j < last; j++) {
            if (!left) {
                offset = ct__axis_offset(axis, axes, 0, i + j);
                left = row - (i + j) % row;
            }
            if (t->dtype == CT_F64)
                ((double *)t->data)[offset] = z[j];
            else
                ((float *)t->data)[offset] = (float)z[j];
            offset += step;
            left--;
        }
    }
}

ct_status ct__cpu_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out)
{
    int64_t count = ct__count(out), chunks = (count + CT__RANDOM_CHUNK - 1) / CT__RANDOM_CHUNK;
    if (chunks <= CT__RANDOM_ALONE || dev->threads < 2) {
        fill_chunk(out, normal, seed, stream, 0, count);
        return CT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(ct__team(dev, dev->threads))
    for (int64_t c = 0; c < chunks; c++)
        fill_chunk(out, normal, seed, stream, c * CT__RANDOM_CHUNK,
                   c == chunks - 1 ? count : (c + 1) * CT__RANDOM_CHUNK);
    return CT_OK;
}
