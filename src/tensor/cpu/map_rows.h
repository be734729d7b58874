/* The elementwise functions that have vector code, for each type and instruction set (each_isa.h). A piece is
 * contiguous, and `out` may be one of its operands. Strided data passes through contiguous strips. */

/* out_i = value, in x, y and g */
#define LOOP(value)                                       \
    for (int64_t i = 0; i < n; i++) {                     \
        const T x = in[0][i], y = in[1][i], g = in[2][i]; \
        (void)x, (void)y, (void)g;                        \
        out[i] = (T)(value);                              \
    }

/* Defines the piece `name`, and its kernel over `operands` arrays. */
#define PIECE(name, operands, value)                                     \
    TARGET static void NAME(piece_##name)(int64_t n, const T *const *in, \
                                          T *out){ _Pragma("omp simd") LOOP(value) } KERNEL(name, operands)

/* The same for a vector function of |x| <= CT__SINE_MOST and the C library's beyond */
#define NEAR_PIECE(name, operands, value, beyond)                                \
    TARGET static void NAME(piece_##name)(int64_t n, const T *const *in, T *out) \
    {                                                                            \
        if (NAME(near)(n, in[0])) {                                              \
            _Pragma("omp simd") LOOP(value)                                      \
        } else {                                                                 \
            LOOP(FN(fabs)(x) <= (T)CT__SINE_MOST ? (value) : (beyond))           \
        }                                                                        \
    }                                                                            \
    KERNEL(name, operands)

#define KERNEL(name, operands)                                                                  \
    static void NAME(rows_##name)(int64_t n1, int64_t n0, void *const *data, const int64_t *s1, \
                                  const int64_t *s0, const void *context)                       \
    {                                                                                           \
        (void)context;                                                                          \
        NAME(rows)(operands, n1, n0, data, s1, s0, NAME(piece_##name));                         \
    }

TARGET CT__INLINE bool NAME(near)(int64_t n, const T *x)
{
    int far = 0;
    for (int64_t i = 0; i < n; i++) far |= !(FN(fabs)(x[i]) <= (T)CT__SINE_MOST);
    return !far;
}

static void NAME(rows)(int operands, int64_t n1, int64_t n0, void *const *data, const int64_t *s1,
                       const int64_t *s0, void (*piece)(int64_t n, const T *const *in, T *out))
{
    bool whole = true;
    for (int k = 0; k < operands; k++) whole &= s0[k] == 1;
    const int64_t most = whole ? n0 : CT__MAP_STRIP;
    T strip[CT__OPERANDS][CT__MAP_STRIP];
    for (int64_t j = 0; j < n1; j++)
        for (int64_t i = 0; i < n0; i += most) {
            const int64_t n = n0 - i < most ? n0 - i : most;
            T *at[CT__OPERANDS];
            for (int k = 0; k < operands; k++) {
                at[k] = (T *)data[k] + j * s1[k] + i * s0[k];
                for (int64_t e = 0; e < n && s0[k] != 1 && k > 0; e++) strip[k][e] = at[k][e * s0[k]];
                if (s0[k] != 1) at[k] = strip[k];
            }
            piece(n, (const T *const[]){ at[1], at[operands > 2 ? 2 : 1], at[operands > 2 ? 3 : 1] }, at[0]);
            T *out = (T *)data[0] + j * s1[0] + i * s0[0];
            for (int64_t e = 0; e < n && s0[0] != 1; e++) out[e * s0[0]] = strip[0][e];
        }
}

PIECE(exp, 2, FN(ct__exp)(x, FUSED))
PIECE(expm1, 2, ct__expm1(x, FUSED))
PIECE(log, 2, ct__log(x, FUSED))
PIECE(log1p, 2, ct__log1p(x, FUSED))
PIECE(tanh, 2, tanh_of(x, FUSED))
PIECE(sigmoid, 2, sigmoid_of(x, FUSED))
PIECE(softplus, 2, softplus_of(x, FUSED))
PIECE(softplus_bar, 4, g *sigmoid_of(x, FUSED))
PIECE(erf, 2, erf_of(x, FUSED))
PIECE(erf_bar, 4, g *(1.1283791670955126 * ct__exp(-(double)x * x, FUSED)))
NEAR_PIECE(sin, 2, ct__sine(x, 0, FUSED), sin(x))
NEAR_PIECE(sin_bar, 4, g *ct__sine(x, 1, FUSED), g *cos(x))
NEAR_PIECE(cos, 2, ct__sine(x, 1, FUSED), cos(x))
NEAR_PIECE(cos_bar, 4, -g *ct__sine(x, 0, FUSED), -g *sin(x))

static const vector_map NAME(maps)[CT_MAP1_COUNT] = {
    [CT_MAP_exp] = { NAME(rows_exp), NULL },
    [CT_MAP_expm1] = { NAME(rows_expm1), NULL },
    [CT_MAP_log] = { NAME(rows_log), NULL },
    [CT_MAP_log1p] = { NAME(rows_log1p), NULL },
    [CT_MAP_tanh] = { NAME(rows_tanh), NULL },
    [CT_MAP_sigmoid] = { NAME(rows_sigmoid), NULL },
    [CT_MAP_softplus] = { NAME(rows_softplus), NAME(rows_softplus_bar) },
    [CT_MAP_erf] = { NAME(rows_erf), NAME(rows_erf_bar) },
    [CT_MAP_sin] = { NAME(rows_sin), NAME(rows_sin_bar) },
    [CT_MAP_cos] = { NAME(rows_cos), NAME(rows_cos_bar) },
};

#undef LOOP
#undef PIECE
#undef NEAR_PIECE
#undef KERNEL
