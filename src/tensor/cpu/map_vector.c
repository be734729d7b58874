/* Elementwise functions in the vector code of vmath.h, compiled for each instruction set. Those of f32
 * compute in f64, where a few operations more make the result right to a little over half an ulp; exp has its
 * own in f32. */
#include "map_vector.h"

#include "isa.h"
#include "vmath.h"

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* a loop that a sanitizer keeps scalar */
#endif

enum { STRIP = 256 };

/* -- in f64, for results in f32 -------------------------------------------------------------------------- */

/* 1 - 2/(e^2|x| + 1); near 0 its series */
CT__INLINE double tanh_of(double x, bool fused)
{
    double a = x < 0 ? -x : x, square = x * x, large = 1 - 2 / (ct__exp(2 * a, fused) + 1);
    double small = x * (1 - square * (1. / 3 - square * (2. / 15)));
    return a < 0x1p-10 ? small : x < 0 ? -large : large;
}

CT__INLINE double expm1_of(double x, bool fused)
{
    double a = x < 0 ? -x : x, small = x * (1 + x * (1. / 2 + x * (1. / 6 + x * (1. / 24))));
    return a < 0x1p-10 ? small : ct__exp(x, fused) - 1;
}

CT__INLINE double sigmoid_of(double x, bool fused) { return 1 / (1 + ct__exp(-x, fused)); }

CT__INLINE double softplus_of(double x, bool fused)
{
    return (x > 0 ? x : 0) + ct__log1p(ct__exp(x < 0 ? x : -x, fused), fused);
}

/* name, type, function, over x and `fused` */
/* clang-format off */
#define FUNCTIONS(M)                                   \
    M(exp_f64,      double, ct__exp(x, fused))             \
    M(exp_f32,      float,  ct__expf(x, fused))            \
    M(expm1_f32,    float,  (float)expm1_of(x, fused))     \
    M(tanh_f32,     float,  (float)tanh_of(x, fused))      \
    M(sigmoid_f32,  float,  (float)sigmoid_of(x, fused))   \
    M(softplus_f32, float,  (float)softplus_of(x, fused))
/* clang-format on */

/* -- rows ------------------------------------------------------------------------------------------------ */

/* Contiguous pieces, in place or not; others by way of one that is. */
#define ROWS(name, T, value, isa, attribute, is_fused)                                            \
    attribute static void piece_##name##_##isa(int64_t n, const T *in, T *out)                    \
    {                                                                                             \
        const bool fused = is_fused;                                                              \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                                       \
        {                                                                                         \
            const T x = in[i];                                                                    \
            out[i] = value;                                                                       \
        }                                                                                         \
    }                                                                                             \
    static void rows_##name##_##isa(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                                    const int64_t *s0, const void *context)                       \
    {                                                                                             \
        (void)context;                                                                            \
        for (int64_t j = 0; j < n1; j++) {                                                        \
            T *out = (T *)data[0] + j * s1[0], strip[STRIP];                                      \
            const T *in = (const T *)data[1] + j * s1[1];                                         \
            if (s0[0] == 1 && s0[1] == 1) {                                                       \
                piece_##name##_##isa(n0, in, out);                                                \
                continue;                                                                         \
            }                                                                                     \
            for (int64_t i = 0; i < n0; i += STRIP) {                                             \
                int64_t n = n0 - i < STRIP ? n0 - i : STRIP;                                      \
                for (int64_t k = 0; k < n; k++) strip[k] = in[(i + k) * s0[1]];                   \
                piece_##name##_##isa(n, strip, strip);                                            \
                for (int64_t k = 0; k < n; k++) out[(i + k) * s0[0]] = strip[k];                  \
            }                                                                                     \
        }                                                                                         \
    }

#define BASE_ROWS(name, T, value) ROWS(name, T, value, base, , CT__BASE_FUSED)
FUNCTIONS(BASE_ROWS)
#if CT__X86
#    define AVX2_ROWS(name, T, value)   ROWS(name, T, value, avx2, CT__AVX2, true)
#    define AVX512_ROWS(name, T, value) ROWS(name, T, value, avx512, CT__AVX512, true)
FUNCTIONS(AVX2_ROWS)
FUNCTIONS(AVX512_ROWS)
#endif

#define ENTRY(isa, attribute, fused)                                     \
    { rows_exp_f64_##isa,  rows_exp_f32_##isa,     rows_expm1_f32_##isa, \
      rows_tanh_f32_##isa, rows_sigmoid_f32_##isa, rows_softplus_f32_##isa },
static const ct__kernel rows[CT__ISA_COUNT][6] = { CT__ISAS(ENTRY) };

ct__kernel ct__vector_map(int isa, ct_map1 f, bool f32)
{
    if (!f32) return f == CT_MAP_exp ? rows[isa][0] : NULL;
    switch (f) {
    case CT_MAP_exp: return rows[isa][1];
    case CT_MAP_expm1: return rows[isa][2];
    case CT_MAP_tanh: return rows[isa][3];
    case CT_MAP_sigmoid: return rows[isa][4];
    case CT_MAP_softplus: return rows[isa][5];
    default: return NULL;
    }
}

void ct__vector_exp(int isa, int64_t n, double *x)
{
    static const int64_t step[] = { 1, 1 };
    rows[isa][0](1, n, (void *const[]){ x, x }, step, step, NULL);
}
