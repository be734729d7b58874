/* Random blocks: Philox4x32-10 [Salmon, Moraes, Dror & Shaw 2011], key = seed, counter = (block, stream). A
 * block is 128 bits: two f64 or four f32 elements. The code compiles in C and CUDA: the includer defines
 * CT__FN and CT__CONST, the storage classes of functions and of constants, and includes <math.h> and
 * Random123/philox.h. */
#ifndef CT_TENSOR_RANDOM_H
#define CT_TENSOR_RANDOM_H

CT__CONST double TWO_PI = 6.28318530717958647692;

CT__FN philox4x32_ctr_t draw(uint64_t seed, uint64_t stream, uint64_t block)
{
    philox4x32_ctr_t counter = { { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                                   (uint32_t)(stream >> 32) } };
    philox4x32_key_t key = { { (uint32_t)seed, (uint32_t)(seed >> 32) } };
    return philox4x32(counter, key);
}

/* 53 bits in the open interval (0, 1): multiples of 2^-53, and 2^-54 in place of zero. */
CT__FN double open53(uint32_t low, uint32_t high)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return bits ? (double)bits * 0x1p-53 : 0x1p-54;
}

CT__FN float open24(uint32_t bits)
{
    bits >>= 8;
    return bits ? (float)bits * 0x1p-24f : 0x1p-25f;
}

/* [Box & Muller 1958], u and v in (0, 1) */
CT__FN void box_muller(double u, double v, double *a, double *b)
{
    double radius = sqrt(-2 * log(u));
    *a = radius * cos(TWO_PI * v);
    *b = radius * sin(TWO_PI * v);
}

CT__FN int block_of(bool normal, ct_dtype dtype, philox4x32_ctr_t bits, double *z)
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

#endif
