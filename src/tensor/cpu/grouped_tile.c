/* Vector code: products of scattered rows. A tile of at most CT__GROUP_TILE rows by ACROSS vectors is held in
 * registers. */
#include "grouped_tile.h"
#include "kernel/vector.h"

/* What to prefetch. Rows are scattered, so the hardware's prefetcher cannot predict them. */
typedef struct ahead {
    const ct__grouped *q;
    int64_t row;   /* in group order: CT__GROUP_AHEAD after the block's first row */
    const char *C; /* the next group's matrix, or NULL                            */
    int64_t C_bytes, C_rows;
} ahead;

static ahead look_ahead(const ct__grouped *q, int64_t m, int64_t at, int64_t rows)
{
    int64_t bytes = q->J * q->K * (int64_t)ct_dtype_size(q->dtype);
    ahead next = { q, q->offset[m] * q->I + at + CT__GROUP_AHEAD, NULL, bytes, rows };
    if (q->C && m + 1 < q->M && (rows >= 8 || q->G) && bytes <= CT__GROUP_FETCHED)
        next.C = (const char *)q->C + (m + 1) * bytes;
    return next;
}

static inline void fetch_bytes(const char *from, int64_t bytes)
{
    for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b, 0, 2);
}

/* Prefetches for n rows from row r of a block on. */
static inline void fetch(const ahead *next, int64_t r, int64_t n)
{
    const ct__grouped *q = next->q;
    int64_t size = (int64_t)ct_dtype_size(q->dtype), J = q->J * size, K = q->K * size, row = next->row + r;
    if (next->C) {
        int64_t from = next->C_bytes / 64 * r / next->C_rows * 64;
        fetch_bytes(next->C + from, next->C_bytes / 64 * (r + n) / next->C_rows * 64 - from);
    }
    if (J + K > CT__GROUP_FETCHED / 16) return;
    for (int64_t i = row / q->I, sub = row % q->I; n > 0 && i < q->N; n--) {
        int64_t at = q->order[i] * q->I + sub;
        if (q->A) fetch_bytes((const char *)q->A + at * J, J);
        if (q->G) fetch_bytes((const char *)q->G + at * K, K);
        if (q->out && !q->stream_out) fetch_bytes((const char *)q->out + at * (q->G ? J : K), q->G ? J : K);
        if (++sub == q->I) sub = 0, i++;
    }
}

#define PANEL  ((int64_t)(CT__GROUP_PANEL / sizeof(T)))
#define ACROSS CT__GROUP_VECTORS(ISA)
#define WIDTH  (ACROSS * L) /* of a tile, in numbers */

typedef union tile_row {
    vec v[ACROSS];
    T x[WIDTH];
} tile_row;

/* y = x, or y += x, for n numbers, fewer than a tile's: one function for all sizes of tiles. */
static __attribute__((noinline)) void put_part(const T *x, int64_t n, T *y, bool add)
{
    for (int64_t k = 0; k < n; k++) y[k] = add ? y[k] + x[k] : x[k];
}

/* y = sum, or y += sum, for the first n numbers of y. */
CT__INLINE void put(const vec *sum, int vectors, int64_t n, T *y, bool add, bool stream)
{
    if (n == vectors * L) {
        vec *to = (vec *)(void *)y;
        if (stream && !add && (uintptr_t)y % (L * sizeof(T)) == 0) {
            for (int v = 0; v < vectors; v++) STREAM(to + v, sum[v]);
            return;
        }
        for (int v = 0; v < vectors; v++) {
            if (add)
                to[v] += sum[v];
            else
                to[v] = sum[v];
        }
        return;
    }
    tile_row out;
    for (int v = 0; v < vectors; v++) out.v[v] = sum[v];
    put_part(out.x, n, y, add);
}

/* y_r = Σ_p x_r[p] b[p ld + ...] (+ y_r) for `rows` rows and the first n columns of `vectors` vectors.
 * Callers pass constant rows and vectors. */
CT__INLINE void tile(int rows, int vectors, int64_t n, const T *const *x, int64_t depth, const T *b,
                     int64_t ld, T *const *y, bool add, bool stream)
{
    vec sum[CT__GROUP_TILE * ACROSS] = { 0 };
    accumulate(rows, vectors, false, depth, x, 1, b, ld, sum);
    UNROLL for (int r = 0; r < rows; r++) put(sum + r * vectors, vectors, n, y[r], add, stream);
}

/* d_r = Σ_p a_p[r] g_p[...] (+ d_r) for `rows` rows d, ld apart, and the first n columns. */
CT__INLINE void sum_tile(int rows, int vectors, int64_t n, const T *const *a, int64_t a_at, int64_t depth,
                         const T *const *g, int64_t g_at, T *d, int64_t ld, bool add, bool stream)
{
    vec sum[CT__GROUP_TILE][ACROSS]; /* only the used part is cleared, so that it stays in registers */
    const vec zero = { 0 };
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sum[r][v] = zero;
    for (int64_t p = 0; p < depth; p++) {
        vec row[ACROSS];
        const T *a_p = a[p] + a_at, *g_p = g[p] + g_at;
        for (int v = 0; v < vectors; v++) row[v] = LOAD(g_p + v * L);
        for (int r = 0; r < rows; r++) {
            vec s = a_p[r] - zero;
            for (int v = 0; v < vectors; v++) sum[r][v] = MAD(s, row[v], sum[r][v]);
        }
    }
    for (int r = 0; r < rows; r++) put(sum[r], vectors, n, d + r * ld, add, stream);
}

/* Calls with the tile's sizes as constants. */
#define BY_ROWS(call, rows, vectors) \
    switch (rows) {                  \
    case 6: call(6, vectors); break; \
    case 4: call(4, vectors); break; \
    case 2: call(2, vectors); break; \
    default: call(1, vectors);       \
    }
#if ISA == 2
#    define BY_SIZE(call, rows, vectors)      \
        switch (vectors) {                    \
        case 4: BY_ROWS(call, rows, 4) break; \
        case 2: BY_ROWS(call, rows, 2) break; \
        default: BY_ROWS(call, rows, 1)       \
        }
#else
#    define BY_SIZE(call, rows, vectors)      \
        switch (vectors) {                    \
        case 2: BY_ROWS(call, rows, 2) break; \
        default: BY_ROWS(call, rows, 1)       \
        }
#endif

static int vectors_of(int64_t columns) { return columns <= L ? 1 : columns <= 2 * L ? 2 : ACROSS; }

/* y_r = x_r B (+ y_r) for at most CT__GROUP_BLOCK rows r, B (depth × columns) with strides (rs, cs). panel:
 * PANEL numbers. *held is the B that an earlier call has packed there completely, or NULL. */
static void multiply(int64_t rows, const T *const *x, int64_t depth, const T *B, int64_t rs, int64_t cs,
                     int64_t columns, T *const *y, bool add, T *panel, const T **held, const ahead *next)
{
    T *at[CT__GROUP_BLOCK];
    if (!depth && !add)
        for (int64_t r = 0; r < rows; r++) memset(y[r], 0, (size_t)columns * sizeof(T));
    for (int64_t k = 0; k < columns; k += WIDTH) {
        int64_t n = columns - k < WIDTH ? columns - k : WIDTH;
        int vectors = vectors_of(n);
        for (int64_t r = 0; r < rows; r++) at[r] = y[r] + k;
        for (int64_t p = 0; p < depth; p += CT__GROUP_DEPTH) {
            int64_t part = depth - p < CT__GROUP_DEPTH ? depth - p : CT__GROUP_DEPTH, ld = rs;
            const T *b = B + p * rs + k * cs, *from[CT__GROUP_TILE];
            if (cs != 1 || n != vectors * L) {
                ld = vectors * L;
                if (*held != B) pack(b, rs, cs, part, n, ld, panel);
                *held = columns <= WIDTH && depth <= CT__GROUP_DEPTH ? B : NULL;
                b = panel;
            }
            for (int64_t r = 0; r < rows;) {
                int tall = rows - r >= 6 ? 6 : rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
                for (int i = 0; i < tall; i++) from[i] = x[r + i] + p;
                if (!k && !p) fetch(next, r, tall);
#define CALL(height, width)                                         \
    tile(height, width, n, from, part, b, ld, at + r, add || p > 0, \
         next->q->stream_out && depth <= CT__GROUP_DEPTH)
                BY_SIZE(CALL, tall, vectors)
#undef CALL
                r += tall;
            }
        }
    }
}

/* D = Σ_r a_rᵀ g_r (+ D) over rows r; D (J × K) contiguous. panel: CT__GROUP_ROWS × 4 L numbers. */
static void add_outer(int64_t rows, const T *const *a, const T *const *g, int64_t J, int64_t K, T *D,
                      bool add, bool stream, T *panel)
{
    const T *packed[CT__GROUP_ROWS];
    for (int64_t k = 0; k < K; k += WIDTH) {
        int64_t n = K - k < WIDTH ? K - k : WIDTH, g_at = k;
        int vectors = vectors_of(n);
        const T *const *from = g;
        if (n != vectors * L) {
            for (int64_t r = 0; r < rows; r++) {
                T *to = panel + r * vectors * L;
                for (int64_t l = 0; l < vectors * L; l++) to[l] = l < n ? g[r][k + l] : 0;
                packed[r] = to;
            }
            from = packed;
            g_at = 0;
        }
        for (int64_t j = 0; j < J;) {
            int tall = J - j >= 6 ? 6 : J - j >= 4 ? 4 : J - j >= 2 ? 2 : 1;
#define CALL(height, width) sum_tile(height, width, n, a, j, rows, from, g_at, D + j * K + k, K, add, stream)
            BY_SIZE(CALL, tall, vectors)
#undef CALL
            j += tall;
        }
    }
}

/* As ct__run_rows (grouped_tile.h). */
static void run_rows(const ct__grouped *q, int64_t m, int64_t start, int64_t stop, void *D_, void *panel_)
{
    const T *C = q->C ? (const T *)q->C + m * q->J * q->K : NULL, *a[CT__GROUP_ROWS], *g[CT__GROUP_ROWS],
            *held = NULL;
    T *y[CT__GROUP_ROWS], *D = D_, *panel = panel_;
    const int64_t *order = q->order + q->offset[m];
    bool stream = q->stream_D && stop - start <= CT__GROUP_ROWS; /* D is written once */
    for (int64_t at = start, i = start / q->I, sub = start % q->I; at < stop;) {
        int64_t rows = stop - at < CT__GROUP_ROWS ? stop - at : CT__GROUP_ROWS;
        for (int64_t r = 0; r < rows; r++) {
            int64_t row = order[i] * q->I + sub;
            if (q->A) a[r] = (const T *)q->A + row * q->J;
            if (q->G) g[r] = (const T *)q->G + row * q->K;
            if (q->out) y[r] = (T *)q->out + row * (q->G ? q->J : q->K);
            if (++sub == q->I) sub = 0, i++;
        }
        const ahead next = look_ahead(q, m, at, stop - start);
        if (q->out && q->G)
            multiply(rows, g, q->K, C, 1, q->K, q->J, y, false, panel, &held, &next);
        else if (q->out)
            multiply(rows, a, q->J, C, q->K, 1, q->K, y, false, panel, &held, &next);
        else
            fetch(&next, 0, rows);
        if (D) add_outer(rows, a, g, q->J, q->K, D, at > start, stream, panel + PANEL);
        at += rows;
    }
}

/* C = A B (+ C) for columns [from, from + columns) of B and C. */
static void run_strip(const ct__job *job, const void *A, const void *B_, void *C, int64_t from,
                      int64_t columns, void *panel)
{
    static const ct__grouped far = { .J = CT__GROUP_FETCHED };
    const ahead nothing = { .q = &far };
    const ct__matrix *a = &job->m[0], *b = &job->m[1], *c = &job->m[2];
    const T *x[CT__GROUP_BLOCK], *B = (const T *)B_ + from * b->cs, *held = NULL;
    T *y[CT__GROUP_BLOCK];
    for (int64_t at = 0; at < c->rows; at += CT__GROUP_BLOCK) {
        const int64_t rows = ct__min(c->rows - at, CT__GROUP_BLOCK);
        for (int64_t r = 0; r < rows; r++) {
            x[r] = (const T *)A + (at + r) * a->rs;
            y[r] = (T *)C + (at + r) * c->rs + from;
        }
        multiply(rows, x, a->cols, B, b->rs, b->cs, columns, y, job->beta != 0, panel, &held, &nothing);
    }
}

const ct__group_code NAME(ct__group_code) = { run_rows, run_strip };
