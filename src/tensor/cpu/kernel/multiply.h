/* Vector code: matrix products. A tile of HIGH rows by WIDE vectors is held in registers. */
#define WIDTH (WIDE * L)            /* of a tile, in numbers    */
#define LINE  (64 / (int)sizeof(T)) /* of the cache, in numbers */

/* c (rows x n) = ± sum, or c += ± sum. The sums come from memory, because compilers would otherwise keep them
 * in memory throughout the loop that accumulates them. */
CT__INLINE void put(const int vectors, T (*sum)[WIDTH], int64_t rows, int64_t n, T *c, int64_t ldc,
                    bool minus, bool add)
{
    const T sign = minus ? -1 : 1;
    if (n < vectors * L) {
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < n; j++) c[r * ldc + j] = sign * sum[r][j] + (add ? c[r * ldc + j] : 0);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            vec *to = &VEC(c + r * ldc + v * L), s = sign * LOAD(sum[r] + v * L);
            if (add)
                *to += s;
            else
                *to = s;
        }
}

/* c (rows x n) = or += ± Σ_p a_rp b_p, with a_rp at a[r ra + p pa] and b packed. Callers pass a constant
 * `vectors`; depth is at least 1. */
CT__INLINE void tile(const int vectors, int64_t depth, const T *a, int64_t ra, int64_t pa, const T *b,
                     int64_t rows, int64_t n, T *c, int64_t ldc, bool minus, bool add)
{
    vec sum[HIGH * WIDE] = { 0 };
    const T *x[HIGH];
    UNROLL for (int r = 0; r < HIGH; r++) x[r] = a + (r < rows ? r : 0) * ra;
    for (int r = 0; r < rows && add; r++)
        for (int l = 0; l < vectors * L; l += LINE) __builtin_prefetch(c + r * ldc + l, 1);
    accumulate(HIGH, vectors, true, depth, x, pa, b, vectors * L, sum);
    T out[HIGH][WIDTH];
    UNROLL for (int r = 0; r < HIGH; r++) UNROLL for (int v = 0; v < vectors; v++) VEC(out[r] + v * L) =
        sum[r * vectors + v];
    put(vectors, out, rows, n, c, ldc, minus, add);
}

/* Zeros the panel's elements (p, j) with p + k < j (lower) or p + k > j (upper). */
static void trim(T *panel, int64_t width, int64_t depth, int64_t k, bool lower)
{
    for (int64_t p = 0; p < depth; p++)
        for (int64_t j = 0; j < width; j++)
            if (lower ? p + k < j : p + k > j) panel[p * width + j] = 0;
}

/* Packs whole panels together, row by row, from column j of B on: rows that lie far apart are read once. */
CT__INLINE void pack_rows(const int panels, const ct__product *q, int64_t from, int64_t to, int64_t j, T *x)
{
    const T *b = (const T *)q->b + from * q->b_rs + j;
    for (int64_t p = from; p < to; p++, b += q->b_rs, x += WIDTH) {
        for (int l = 0; l < panels * WIDTH; l += LINE) __builtin_prefetch(b + CT__AHEAD * q->b_rs + l);
        for (int c = 0; c < panels; c++)
            UNROLL for (int v = 0; v < WIDE; v++) VEC(x + c * (to - from) * WIDTH + v * L) =
                LOAD(b + c * WIDTH + v * L);
    }
}

/* Packs columns [j, j + n) of B's rows [from, to), or of its triangle, into panels (to - from) WIDTH
 * apart. */
static void pack_right(const ct__product *q, int64_t from, int64_t to, int64_t j, int64_t n, T *panels)
{
    enum { TOGETHER = CT__PANELS_TOGETHER(ISA) };
    const bool whole = TOGETHER > 1 && q->b_cs == 1 && !(q->parts & (CT__RIGHT_LOWER | CT__RIGHT_UPPER));
    for (; whole && n >= TOGETHER * WIDTH; j += TOGETHER * WIDTH, n -= TOGETHER * WIDTH) {
        pack_rows(TOGETHER, q, from, to, j, panels);
        panels += TOGETHER * (to - from) * WIDTH;
    }
    for (int64_t c = j; c < j + n; c += WIDTH, panels += (to - from) * WIDTH) {
        const int64_t cols = j + n - c < WIDTH ? j + n - c : WIDTH, width = (cols + L - 1) / L * L;
        const int64_t first = q->parts & CT__RIGHT_LOWER ? ct__max(from, c) : from;
        const int64_t last = q->parts & CT__RIGHT_UPPER ? ct__min(to, c + cols) : to;
        if (first >= last) continue;
        const T *b = (const T *)q->b + first * q->b_rs + c * q->b_cs;
        T *panel = panels + (first - from) * width;
        pack(b, q->b_rs, q->b_cs, last - first, cols, width, panel);
        if (q->parts & CT__RIGHT_LOWER && first < c + cols)
            trim(panel, width, ct__min(last, c + cols) - first, first - c, true);
        if (q->parts & CT__RIGHT_UPPER && last > c) {
            const int64_t p = ct__max(first, c);
            trim(panel + (p - first) * width, width, last - p, p - c, false);
        }
    }
}

static void clear(int64_t rows, int64_t n, T *c, int64_t ldc)
{
    for (int64_t r = 0; r < rows; r++) memset(c + r * ldc, 0, (size_t)n * sizeof(T));
}

/* Computes the tile of rows [i, i + rows) and columns [c, c + cols) for the inner range [from, to). packed:
 * A's rows, or NULL if A is read in place. */
CT__INLINE void one_tile(const ct__product *q, int64_t i, int64_t rows, int64_t from, int64_t to, int64_t c,
                         int64_t cols, const T *panel, const T *packed)
{
    if (q->parts & CT__OUT_LOWER && c >= i + rows) return;
    if (q->parts & CT__OUT_UPPER && c + cols <= i) return;
    const int64_t low = q->parts & CT__LEFT_UPPER ? i : 0,
                  high = q->parts & CT__LEFT_LOWER ? ct__min(q->k, i + rows) : q->k,
                  first = q->parts & CT__RIGHT_LOWER ? ct__max(low, c) : low,
                  last = q->parts & CT__RIGHT_UPPER ? ct__min(high, c + cols) : high,
                  start = ct__max(from, first), stop = ct__min(to, last), vectors = (cols + L - 1) / L;
    T *out = (T *)q->c + i * q->ldc + c;
    if (start >= stop) {
        if (first >= last && !from && !q->add) clear(rows, cols, out, q->ldc);
        return;
    }
    const bool begun = q->add || first < from;
    const int64_t depth = stop - start, ra = packed ? 1 : q->a_rs, pa = packed ? HIGH : q->a_cs;
    const T *left = packed ? packed + (start - from) * HIGH : (const T *)q->a + i * q->a_rs + start * q->a_cs,
            *right = panel + (start - from) * vectors * L;
    switch (vectors) {
    case 1: tile(1, depth, left, ra, pa, right, rows, cols, out, q->ldc, q->minus, begun); break;
#if ISA > 0
    case 2: tile(2, depth, left, ra, pa, right, rows, cols, out, q->ldc, q->minus, begun); break;
#endif
    default: tile(WIDE, depth, left, ra, pa, right, rows, cols, out, q->ldc, q->minus, begun);
    }
}

/* Computes the tiles of rows [i, i + rows) and columns [j, j + n) for the inner range [from, to), panel after
 * panel. packed: the rows' strips of A, or NULL. */
static void block(const ct__product *q, int64_t i, int64_t rows, int64_t from, int64_t to, int64_t j,
                  int64_t n, const T *panels, const T *packed)
{
    for (int64_t c = j; c < j + n; c += WIDTH, panels += (to - from) * WIDTH)
        for (int64_t r = 0; r < rows; r += HIGH)
            one_tile(q, i + r, ct__min(HIGH, rows - r), from, to, c, ct__min(WIDTH, j + n - c), panels,
                     packed ? packed + r * (to - from) : NULL);
}

/* Packs columns [from, to) of A's rows [i, i + rows) into strips of HIGH rows, (to - from) HIGH apart. */
static void pack_left(const ct__product *q, int64_t i, int64_t rows, int64_t from, int64_t to, T *packed)
{
    const int64_t low = q->parts & CT__LEFT_UPPER ? i : 0,
                  high = q->parts & CT__LEFT_LOWER ? ct__min(q->k, i + rows) : q->k;
    const int64_t first = ct__max(from, low), last = ct__min(to, high);
    if (first >= last) return;
    const T *a = (const T *)q->a + i * q->a_rs + first * q->a_cs;
    packed += (first - from) * HIGH;
    const int64_t whole = rows / HIGH * HIGH, depth = to - from;
    if (q->a_rs == 1) {
        for (int64_t p = 0; p < last - first; p++) {
            for (int64_t r = 0; r < whole; r += LINE)
                __builtin_prefetch(a + (p + 2 * CT__AHEAD) * q->a_cs + r);
            for (int64_t r = 0; r < whole; r += HIGH)
                for (int64_t l = 0; l < HIGH; l++) packed[r * depth + p * HIGH + l] = a[p * q->a_cs + r + l];
        }
        if (whole < rows)
            pack(a + whole, q->a_cs, 1, last - first, rows - whole, HIGH, packed + whole * depth);
        return;
    }
    for (int64_t r = 0; r < rows; r += HIGH) {
        const int64_t high_rows = ct__min(HIGH, rows - r);
        pack(a + r * q->a_rs, q->a_cs, q->a_rs, last - first, high_rows, HIGH, packed + r * depth);
    }
}

static void product(const ct__product *q, void *work)
{
    if (q->m <= 0 || q->n <= 0) return;
    enum { STRIPS = CT__STRIPS_TOGETHER(ISA), DEPTH = CT__BLOCK_DEPTH(ISA) };
    const int64_t nc = CT__PANELS * WIDTH;
    const bool packs = q->a_cs != 1 || q->a == q->c;
    T *packed = work, *panels = packed + CT__STRIPS * HIGH * DEPTH;
    int64_t from = 0;
    do {
        const int64_t to = ct__min(q->k, from + DEPTH);
        for (int64_t j = 0; j < q->n; j += nc) {
            const int64_t n = ct__min(nc, q->n - j);
            pack_right(q, from, to, j, n, panels);
            for (int64_t i = 0; i < q->m; i += STRIPS * HIGH) {
                const int64_t rows = ct__min(STRIPS * HIGH, q->m - i), at = i % (CT__STRIPS * HIGH);
                if (packs && !at) pack_left(q, i, ct__min(CT__STRIPS * HIGH, q->m - i), from, to, packed);
                block(q, i, rows, from, to, j, n, panels, packs ? packed + at * (to - from) : NULL);
            }
        }
        from = to;
    } while (from < q->k);
}
