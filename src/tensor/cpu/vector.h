/* One type and one instruction set for each_vector.h: a vector, what all code with vectors needs, and then
 * that code. */
typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* to (LANES × LANES, `ld` apart) = from (LANES × LANES, `step` apart), transposed: log2 LANES rounds that
 * interleave row i with row i + LANES/2 */
TARGET CT__INLINE void NAME(turn)(const T *from, int64_t step, T *to, int64_t ld)
{
    NAME(vec) r[LANES], next[LANES];
    for (int i = 0; i < LANES; i++) r[i] = *(const NAME(vec) *)(const void *)(from + i * step);
    for (int n = 1; n < LANES; n *= 2) {
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = ZIP(r[i], r[i + LANES / 2], 0);
            next[2 * i + 1] = ZIP(r[i], r[i + LANES / 2], LANES / 2);
        }
        for (int i = 0; i < LANES; i++) r[i] = next[i];
    }
    for (int i = 0; i < LANES; i++) *(NAME(vec) *)(void *)(to + i * ld) = r[i];
}

#include VECTOR_CODE

#undef T
#undef NAME
#undef LANES
#undef ZIP
