/* The elementwise functions that have vector code, for each type and instruction set (each_isa.h): for
 * contiguous pieces, in place or not. Strided data is copied through a contiguous strip. */
#define ROWS(f, value)                                                                       \
    TARGET static void NAME(piece_##f)(int64_t n, const T *in, T *out)                       \
    {                                                                                        \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++)                                  \
        {                                                                                    \
            const T x = in[i];                                                               \
            out[i] = (T)(value);                                                             \
        }                                                                                    \
    }                                                                                        \
    static void NAME(rows_##f)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                               const int64_t *s0, const void *context)                       \
    {                                                                                        \
        NAME(rows)(n1, n0, data, s1, s0, NAME(piece_##f));                                   \
        (void)context;                                                                       \
    }

static void NAME(rows)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, const int64_t *s0,
                       void (*piece)(int64_t n, const T *in, T *out))
{
    for (int64_t j = 0; j < n1; j++) {
        T *out = (T *)data[0] + j * s1[0], strip[CT__MAP_STRIP];
        const T *in = (const T *)data[1] + j * s1[1];
        if (s0[0] == 1 && s0[1] == 1) {
            piece(n0, in, out);
            continue;
        }
        for (int64_t i = 0; i < n0; i += CT__MAP_STRIP) {
            const int64_t n = n0 - i < CT__MAP_STRIP ? n0 - i : CT__MAP_STRIP;
            for (int64_t k = 0; k < n; k++) strip[k] = in[(i + k) * s0[1]];
            piece(n, strip, strip);
            for (int64_t k = 0; k < n; k++) out[(i + k) * s0[0]] = strip[k];
        }
    }
}

ROWS(exp, FN(ct__exp)(x, FUSED))
#if F64
static const ct__kernel NAME(maps)[CT_MAP1_COUNT] = { [CT_MAP_exp] = NAME(rows_exp) };
#else
ROWS(expm1, expm1_of(x, FUSED))
ROWS(tanh, tanh_of(x, FUSED))
ROWS(sigmoid, sigmoid_of(x, FUSED))
ROWS(softplus, softplus_of(x, FUSED))
static const ct__kernel NAME(maps)[CT_MAP1_COUNT] = {
    [CT_MAP_exp] = NAME(rows_exp),           [CT_MAP_expm1] = NAME(rows_expm1),
    [CT_MAP_tanh] = NAME(rows_tanh),         [CT_MAP_sigmoid] = NAME(rows_sigmoid),
    [CT_MAP_softplus] = NAME(rows_softplus),
};
#endif
#undef ROWS
