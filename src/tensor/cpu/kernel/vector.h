/* What each_isa.h includes for one type and instruction set: vectors, the product of a register tile, packing
 * and transposes, and then VECTOR_CODE, which uses them. */
typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

#define L       LANES
#define HIGH    CT__TILE_ROWS(ISA)
#define WIDE    CT__TILE_VECTORS(ISA)
#define LOAD(x) (*(const NAME(vec) *)(const void *)(x))
#define VEC(x)  (*(NAME(vec) *)(void *)(x))

/* sum += a b, by an instruction that works in place. Where the sums soon leave their registers, gcc 12 would
 * otherwise copy each of them to memory in every iteration. Where they do not, it copies them because of this
 * instruction, so callers choose (in_place). */
#if ISA == 0
#    define ADD_PRODUCT(sum, a, b) ((sum) += (a) * (b))
#elif F64
#    define ADD_PRODUCT(sum, a, b) __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#    define ADD_PRODUCT(sum, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#endif

/* The product of a register tile: sum_rv += Σ_p x_rp b_p for `rows` rows r and `vectors` vectors v, with x_rp
 * at x[r][p step] and b_p at b + p ld. in_place: uses ADD_PRODUCT. b_p is prefetched `early` rows ahead; 0:
 * not at all. Callers pass constants for the first four. */
TARGET CT__INLINE void NAME(add_products)(const int rows, const int vectors, const bool in_place,
                                          const int early, int64_t depth, const T *const *x, int64_t step,
                                          const T *b, int64_t ld, NAME(vec) * sum)
{
    const NAME(vec) zero = { 0 };
    for (int64_t at = 0; depth > 0; depth--, at += step, b += ld) {
        NAME(vec) row[4];
        UNROLL for (int v = 0; v < vectors && early; v++) __builtin_prefetch(b + early * ld + v * L);
        UNROLL for (int v = 0; v < vectors; v++) row[v] = LOAD(b + v * L);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const NAME(vec) s = x[r][at] - zero;
            UNROLL for (int v = 0; v < vectors; v++)
            {
                NAME(vec) *to = &sum[r * vectors + v];
                if (in_place)
                    ADD_PRODUCT(*to, s, row[v]);
                else
                    *to = MAD(s, row[v], *to);
            }
        }
    }
}

/* The same. In place, it prefetches the rows of a panel that exceeds the first-level cache. */
TARGET CT__INLINE void NAME(accumulate)(const int rows, const int vectors, const bool in_place, int64_t depth,
                                        const T *const *x, int64_t step, const T *b, int64_t ld,
                                        NAME(vec) * sum)
{
    if (in_place && depth > CT__NEAR)
        NAME(add_products)(rows, vectors, in_place, CT__AHEAD, depth, x, step, b, ld, sum);
    else
        NAME(add_products)(rows, vectors, in_place, 0, depth, x, step, b, ld, sum);
}

/* to (LANES × LANES, `ld` apart) = sign from (LANES × LANES, `step` apart), transposed: log2 LANES rounds,
 * each of which interleaves row i with row i + LANES/2. With sign = 1 any bits may be transposed: a product
 * would change those of a signalling NaN. */
TARGET CT__INLINE void NAME(transpose_tile)(const T *from, int64_t step, T *to, int64_t ld, const T sign)
{
    const NAME(vec) zero = { 0 }, f = sign - zero;
    NAME(vec) r[L], next[L];
    UNROLL for (int i = 0; i < L; i++) r[i] = LOAD(from + i * step);
    if (sign != 1) UNROLL for (int i = 0; i < L; i++) r[i] *= f;
    UNROLL for (int n = 1; n < L; n *= 2)
    {
        UNROLL for (int i = 0; i < L / 2; i++)
        {
            next[2 * i] = ZIP(r[i], r[i + L / 2], 0);
            next[2 * i + 1] = ZIP(r[i], r[i + L / 2], L / 2);
        }
        UNROLL for (int i = 0; i < L; i++) r[i] = next[i];
    }
    UNROLL for (int i = 0; i < L; i++) VEC(to + i * ld) = r[i];
}

/* to (depth × width) = from (depth × n), whose element (p, j) is from[p rs + j cs]; padded with zero
 * columns */
TARGET static __attribute__((unused)) void NAME(pack)(const T *from, int64_t rs, int64_t cs, int64_t depth,
                                                      int64_t n, int64_t width, T *to)
{
    int64_t j = 0;
    if (cs == 1 && n == width && n % L == 0) {
        for (int64_t p = 0; p < depth; p++)
            for (int64_t l = 0; l < n; l += L) VEC(to + p * n + l) = LOAD(from + p * rs + l);
        return;
    }
    for (; rs == 1 && j + L <= n; j += L) {
        int64_t p = 0;
        for (; p + L <= depth; p += L)
            NAME(transpose_tile)(from + p + j * cs, cs, to + p * width + j, width, 1);
        for (; p < depth; p++)
            for (int64_t l = j; l < j + L; l++) to[p * width + l] = from[p + l * cs];
    }
    for (int64_t p = 0; p < depth; p++)
        for (int64_t l = j; l < width; l++) to[p * width + l] = l < n ? from[p * rs + l * cs] : 0;
}

/* y_ji = sign x_ij: rows x cols into cols x rows */
TARGET static __attribute__((unused)) void
NAME(transpose_signed)(int64_t rows, int64_t cols, const T *x, int64_t ldx, T *y, int64_t ldy, const T sign)
{
    const int64_t r = rows / L * L, c = cols / L * L;
    for (int64_t i = 0; i < r; i += L)
        for (int64_t j = 0; j < c; j += L)
            NAME(transpose_tile)(x + i * ldx + j, ldx, y + j * ldy + i, ldy, sign);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = j < c ? r : 0; i < rows; i++)
            y[j * ldy + i] = sign == 1 ? x[i * ldx + j] : sign * x[i * ldx + j];
}

#include VECTOR_CODE

#undef T
#undef F64
#undef FN
#undef NAME
#undef LANES
#undef ZIP
#undef L
#undef HIGH
#undef WIDE
#undef LOAD
#undef VEC
#undef ADD_PRODUCT
