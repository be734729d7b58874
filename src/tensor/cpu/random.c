/* Random fills: Philox4x32-10 [Salmon, Moraes, Dror & Shaw 2011], key = seed, counter = (block, stream). A block is
 * 128 bits: two f64 or four f32 elements. */
#include "cpu.h"

#include <math.h>

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif
#include <Random123/philox.h>

enum { CHUNK = 512 };

static const double TWO_PI = 6.28318530717958647692;

static philox4x32_ctr_t draw(uint64_t seed, uint64_t stream, uint64_t block)
{
    philox4x32_ctr_t counter = { { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                   (uint32_t)(stream >> 32) } };
    philox4x32_key_t key = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
    return philox4x32(counter, key);
}

/* 53 bits in the open interval (0, 1): multiples of 2^-53, and 2^-54 for zero. */
static double open53(uint32_t low, uint32_t high)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return bits ? (double)bits * 0x1p-53 : 0x1p-54;
}

static float open24(uint32_t bits)
{
    bits >>= 8;
    return bits ? (float)bits * 0x1p-24f : 0x1p-25f;
}

/* [Box & Muller 1958], u and v in (0, 1) */
static void box_muller(double u, double v, double *a, double *b)
{
    double radius = sqrt(-2 * log(u));
    *a = radius * cos(TWO_PI * v);
    *b = radius * sin(TWO_PI * v);
}

static int block_of(bool normal, ct_dtype dtype, philox4x32_ctr_t bits, double *z)
{
    const uint32_t *v = bits.v;
    if (dtype == CT_F64) {
        double a = open53(v[0], v[1]), b = open53(v[2], v[3]);
        if (normal)
            box_muller(a, b, &z[0], &z[1]);
        else
            z[0] = a, z[1] = b;
        return 2;
    }
    if (normal)
        for (int i = 0; i < 4; i += 2)
            box_muller(((double)v[i] + 0.5) * 0x1p-32, ((double)v[i + 1] + 0.5) * 0x1p-32, &z[i], &z[i + 1]);
    else
        for (int i = 0; i < 4; i++) z[i] = (double)open24(v[i]);
    return 4;
}

/* Element i of t in row-major order, as an offset. */
static int64_t offset_of(const ct_tensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int d = t->ndim; d-- > 0;) {
        offset += i % t->dim[d] * t->stride[d];
        i /= t->dim[d];
    }
    return offset;
}

/* Elements first <= i < last; first is a multiple of CHUNK. */
static void fill_chunk(const ct_tensor *t, bool normal, uint64_t seed, uint64_t stream, int64_t first,
                       int64_t last)
{
    int per_block = t->dtype == CT_F64 ? 2 : 4;
    int64_t row = t->ndim ? t->dim[t->ndim - 1] : 1, step = t->ndim ? t->stride[t->ndim - 1] : 0;
    int64_t left = 0, offset = 0;
    for (int64_t i = first; i < last; i += per_block) {
        double z[4];
        block_of(normal, t->dtype, draw(seed, stream, (uint64_t)(i / per_block)), z);
        for (int j = 0; j < per_block && i + j < last; j++) {
            if (!left) {
                offset = offset_of(t, i + j);
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

ct_status ct__cpu_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_tensor *out)
{
    int64_t count = ct__count(out), chunks = (count + CHUNK - 1) / CHUNK;
    if (chunks <= 8 || dev->threads < 2) {
        fill_chunk(out, normal, seed, stream, 0, count);
        return CT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(dev->threads)
    for (int64_t c = 0; c < chunks; c++)
        fill_chunk(out, normal, seed, stream, c * CHUNK, c == chunks - 1 ? count : (c + 1) * CHUNK);
    return CT_OK;
}
