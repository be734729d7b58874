/* Vector code: one step of sweep.c. */
#include "sweep_kernel.h"
#include "sweep_parts.h"

/* -- slivers and the matrix ------------------------------------------------------------------------------ */

/* Packs P[k][i] = A_ik, or stores it back, for rows [i0, i1) and pivots [k0, k1), all in one part of the
 * layout, where i (`along_i`) or k is contiguous. P begins at (i0, k0). */
static void move(const sweep *s, T *P, int64_t i0, int64_t i1, int64_t k0, int64_t k1, bool along_i,
                 bool store, T sign)
{
    const int64_t rows = i1 - i0, cols = k1 - k0;
    if (!rows || !cols) return;
    T *a = s->data + (along_i ? row_offset(&s->A, k0) + i0 : row_offset(&s->A, i0) + k0), *to = store ? a : P;
    const T *from = store ? P : a;
    const int64_t from_ld = store ? WIDTH : s->A.ld, to_ld = store ? s->A.ld : WIDTH;
    if (!along_i)
        transpose_signed(store ? cols : rows, store ? rows : cols, from, from_ld, to, to_ld, sign);
    else if (rows == WIDTH)
        copy(cols, from, from_ld, to, to_ld, sign);
    else
        for (int64_t k = 0; k < cols; k++)
            for (int64_t i = 0; i < rows; i++) to[k * to_ld + i] = sign * from[k * from_ld + i];
}

/* The same for the whole sliver at row i0, which contains none of the pivots [k0, k0 + w). */
static void move_sliver(const sweep *s, T *P, int64_t i0, int64_t k0, int64_t w, bool store, T sign)
{
    const int64_t n1 = s->A.n1, k1 = ct__min(k0 + w, s->A.n);
    const int64_t i1 = ct__min(i0 + WIDTH, s->A.n);
    if (!store && (i1 - i0 < WIDTH || k1 - k0 < w)) memset(P, 0, (size_t)(w * WIDTH) * sizeof(T));
    if (i0 >= k1) {
        int64_t cut = ct__max(k0, ct__min(n1, k1));
        move(s, P, i0, i1, k0, cut, true, store, sign);
        move(s, P + (cut - k0) * WIDTH, i0, i1, cut, k1, false, store, sign);
    } else {
        int64_t cut = ct__max(i0, ct__min(n1, i1));
        move(s, P, i0, cut, k0, k1, false, store, sign);
        move(s, P + cut - i0, cut, i1, k0, k1, true, store, sign);
    }
}

/* Packs the lower triangle tile[k][i] = A_ik, k <= i < rows, both counted from i0, or stores it back. */
static void move_triangle(const sweep *s, T *tile, int64_t i0, int64_t rows, bool store)
{
    for (int64_t k = 0; k < rows; k++) {
        T *a = s->data + element(&s->A, i0 + k, i0 + k), *to = tile + k * (WIDTH + 1);
        const int64_t step = i0 + k < s->A.n1 ? 1 : s->A.ld;
        for (int64_t i = 0; i < rows - k && store; i++) a[i * step] = to[i];
        for (int64_t i = 0; i < rows - k && !store; i++) to[i] = a[i * step];
    }
}

/* -- triangular solves on a sliver ----------------------------------------------------------------------- */

/* P := P L⁻ᵀ in rows [from, w); the rows before are zero. w_k = (p_k - Σ_{u<k} l_ku w_u) / l_kk */
static void solve(const sweep *s, T *P, int64_t from, int64_t w)
{
    for (int64_t k = from; k < w; k += HIGH) {
        const T *l = s->F + k / WIDTH * WIDTH * s->block + k % WIDTH;
        const next_rows next = { .rows = HIGH,
                                 .depth = k - from,
                                 .c = l + from * WIDTH,
                                 .rs = 1,
                                 .cs = WIDTH,
                                 .done = P + from * WIDTH,
                                 .ld = WIDTH,
                                 .own = (k - from) * WIDTH,
                                 .own_cs = WIDTH,
                                 .inverse = s->reciprocal + k,
                                 .step = 1,
                                 .b = P + k * WIDTH,
                                 .x = P + k * WIDTH,
                                 .ldx = WIDTH };
        substitute_rows(VECTORS, &next);
    }
}

/* X = W L⁻¹ by back substitution: x_k = (w_k - Σ_{u>k} l_uk x_u) / l_kk, from <= k < w */
static void solve_back(const sweep *s, const T *W, T *X, int64_t from, int64_t w)
{
    for (int64_t end = w, k; (k = end - HIGH) >= from; end = k) {
        const T *l = s->Ft + k / WIDTH * WIDTH * s->block + k % WIDTH + HIGH - 1;
        const next_rows next = { .rows = HIGH,
                                 .depth = w - end,
                                 .c = l + end * WIDTH,
                                 .rs = -1,
                                 .cs = WIDTH,
                                 .done = X + end * WIDTH,
                                 .ld = WIDTH,
                                 .own = -WIDTH,
                                 .own_cs = -WIDTH,
                                 .inverse = s->reciprocal + end - 1,
                                 .step = -1,
                                 .b = W + (end - 1) * WIDTH,
                                 .x = X + (end - 1) * WIDTH,
                                 .ldx = -WIDTH };
        substitute_rows(VECTORS, &next);
    }
}

/* -- pivots ---------------------------------------------------------------------------------------------- */

/* z (WIDTH) = z_t - Σ_{u<t} L_tu y_u for a column of z; returns the place of its y_t. */
static T *residual(const sweep *s, const T *P, int64_t t, int64_t i0, int64_t column, T *z)
{
    const int64_t rows = ct__min(WIDTH, s->A.n - i0);
    T *y = s->y + column * s->block;
    for (int64_t i = 0; i < WIDTH; i++) z[i] = i < rows ? s->z[column * s->A.n + i0 + i] : 0;
    for (int64_t i = rows; i < WIDTH; i++) y[t * WIDTH + i] = 0;
    combine(t * WIDTH, P, y, z, -1);
    return y + t * WIDTH;
}

/* Factorises the t-th diagonal tile of the pivot block, at row i0. P already holds L_tu, u < t, and receives
 * L_tt. y_t = L_tt⁻¹ (z_t - Σ_{u<t} L_tu y_u) for each column of z, the first while L_tt is computed. */
static int64_t factor_tile(const sweep *s, T *P, int64_t t, int64_t i0)
{
    const int64_t rows = ct__min(WIDTH, s->A.n - i0);
    T *tile = P + t * WIDTH * WIDTH, z[WIDTH];
    if (rows < WIDTH) memset(tile, 0, WIDTH * WIDTH * sizeof(T));
    for (int64_t i = rows; i < WIDTH; i++) tile[i * (WIDTH + 1)] = 1;
    move_triangle(s, tile, i0, rows, false);
    for (int64_t g = 0; g < WIDTH && t; g += HIGH)
        multiply(t * WIDTH, P, P + g, WIDTH, tile + g * WIDTH, WIDTH, -1, true);
    T *y = residual(s, P, t, i0, 0, z);
    int64_t failed = eliminate(tile, WIDTH, rows, WIDTH, z, y);
    if (failed) return i0 + failed;
    for (int64_t j = 1; j < s->columns; j++) {
        y = residual(s, P, t, i0, j, z);
        for (int64_t k = 0; k < rows; k++) {
            y[k] = z[k] / tile[k * (WIDTH + 1)];
            for (int64_t i = k + 1; i < rows; i++) z[i] -= tile[k * WIDTH + i] * y[k];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        T *d = &s->diagonal[i0 + i], l = tile[i * (WIDTH + 1)];
        if (s->tolerance > 0 && !(l * l > s->tolerance * *d)) return i0 + i + 1;
        *d = l;
    }
    return 0;
}

/* Factorises the pivot block at k0. Returns the failing minor, or 0. Without the inverse, also stores L in A
 * and y in z. */
static int64_t factor_block(const sweep *s, int64_t k0)
{
    const int64_t w = padded_block(&s->A, k0, s->block, HIGH), n = s->A.n;
    for (int64_t t = 0; t * WIDTH < w; t++) {
        const int64_t i0 = k0 + t * WIDTH, rows = ct__min(WIDTH, n - i0), before = t * WIDTH;
        T *P = s->F + before * s->block, *tile = P + before * WIDTH;
        move_sliver(s, P, i0, k0, before, false, 1);
        solve(s, P, 0, before);
        int64_t failed = factor_tile(s, P, t, i0);
        if (failed) return failed;
        if (!s->inverse) {
            move_sliver(s, P, i0, k0, before, true, 1);
            move_triangle(s, tile, i0, rows, true);
        }
        for (int64_t i = 0; i < WIDTH; i++) s->reciprocal[before + i] = 1 / tile[i * (WIDTH + 1)];
        for (int64_t u = 0; u <= t && s->inverse; u++)
            transpose_signed(WIDTH, WIDTH, P + u * WIDTH * WIDTH, WIDTH,
                             s->Ft + (u * s->block + before) * WIDTH, WIDTH, 1);
        for (int64_t j = 0; j < s->columns && !s->inverse; j++)
            memcpy(s->z + j * n + i0, s->y + j * s->block + before, (size_t)rows * sizeof(T));
    }
    return 0;
}

/* -- one step -------------------------------------------------------------------------------------------- */

/* Computes one sliver of the panel: W for the update, the result that replaces it in A, and its term of z. */
static void panel_sliver(const sweep *s, int64_t k0, int64_t sliver, T *X)
{
    const int64_t w = padded_block(&s->A, k0, s->block, HIGH), i0 = sliver * WIDTH;
    const int64_t rows = ct__min(WIDTH, s->A.n - i0);
    const bool pivot = i0 >= k0 && i0 < k0 + w, above = i0 < k0;
    const int64_t from = pivot ? i0 - k0 : 0; /* L⁻ᵀ is an upper triangle */
    const T sign = above || pivot ? 1 : -1;
    if (!s->inverse && (above || pivot)) return;
    T *W = s->W + sliver * s->block * WIDTH;
    if (pivot) {
        memset(W + from * WIDTH, 0, (size_t)((w - from) * WIDTH) * sizeof(T));
        for (int64_t i = 0; i < rows; i++) W[(from + i) * WIDTH + i] = 1;
    } else {
        move_sliver(s, W, i0, k0, w, false, 1);
    }
    solve(s, W, from, w);
    for (int64_t j = 0; j < s->columns; j++) {
        T dot[WIDTH] = { 0 }, *z = s->z + j * s->A.n + i0;
        combine(w - from, W + from * WIDTH, s->y + j * s->block + from, dot, sign);
        for (int64_t i = 0; i < rows; i++) z[i] = (pivot ? 0 : z[i]) + dot[i];
    }
    if (!s->inverse) {
        move_sliver(s, W, i0, k0, w, true, 1);
        return;
    }
    solve_back(s, W, X, from, w);
    if (!pivot) {
        move_sliver(s, X, i0, k0, w, true, sign);
        return;
    }
    move_triangle(s, X + from * WIDTH, i0, rows, true);
    const int64_t below = from + WIDTH;
    if (below < w) move_sliver(s, X + below * WIDTH, i0, k0 + below, w - below, true, sign);
}

/* The update of a register tile, HIGH rows from p0 and the sliver at q0, that the triangle's edge cuts: only
 * elements inside the triangle change. */
static void update_edge(const sweep *s, int64_t p0, int64_t q0, int64_t w, const T *a, const T *b, T sign)
{
    T tile[WIDTH * WIDTH];
    multiply(w, a, b, WIDTH, tile, WIDTH, sign, false);
    for (int64_t r = 0; r < HIGH && p0 + r < s->A.n; r++) {
        const int64_t p = p0 + r, from = p < s->A.n1 ? p : s->A.n1, to = p < s->A.n1 ? s->A.n : p + 1;
        T *c = s->data + row_offset(&s->A, p);
        for (int64_t j = q0 > from ? q0 : from; j < to && j < q0 + WIDTH; j++)
            c[j] += tile[r * WIDTH + j - q0];
    }
}

/* A_pq -= W_p W_qᵀ for tile (P, Q), or += if all of its rows and columns have been swept. */
static void update_tile(const sweep *s, int64_t k0, int64_t P, int64_t Q)
{
    const int64_t w = padded_block(&s->A, k0, s->block, HIGH);
    const int64_t n = s->A.n, n1 = s->A.n1, grain = s->grain;
    const T sign = P * grain < k0 && Q * grain < k0 ? 1 : -1;
    int64_t p0 = P * grain, p1 = ct__min(p0 + grain, n), q1 = ct__min((Q + 1) * grain, n);
    if (P < Q) p1 = ct__min(p1, n1);
    if (P > Q && p0 < n1) p0 = n1 / HIGH * HIGH;
    for (int64_t p = p0; p < p1; p += HIGH) {
        const int64_t last = p + HIGH - 1;
        const T *b = s->W + p / WIDTH * s->block * WIDTH + p % WIDTH;
        for (int64_t q0 = Q * grain; q0 < q1; q0 += WIDTH) {
            const T *a = s->W + q0 / WIDTH * s->block * WIDTH;
            if (last < n1 ? q0 >= last && q0 + WIDTH <= n
                          : p >= n1 && last < n && q0 >= n1 && q0 + WIDTH <= p + 1)
                multiply(w, a, b, WIDTH, s->data + row_offset(&s->A, p) + q0, s->A.ld, sign, true);
            else if (p < n1 ? q0 + WIDTH > p : q0 + WIDTH > n1 && q0 <= last)
                update_edge(s, p, q0, w, a, b, sign);
        }
    }
}
