/* The sweep of sweep.c for one type T. */

/* The functions of sweep_kernel.h for one instruction set */
typedef struct NAME(kernel) {
    int64_t width, rank, lanes;
    void (*multiply)(int64_t depth, const T *a, const T *b, int64_t ldb, T *c, int64_t ldc, T sign, bool add);
    void (*substitute)(int64_t depth, const T *a, const T *b, const T *l, const T *p, T *x);
    void (*substitute_back)(int64_t depth, const T *a, const T *b, const T *l, const T *p, T *x);
    int64_t (*cholesky)(T *c);
    void (*combine)(int64_t depth, const T *a, const T *b, T *c, T sign);
    void (*copy)(int64_t rows, const T *x, int64_t ldx, T *y, int64_t ldy, T sign);
    void (*turn)(int64_t rows, int64_t cols, const T *x, int64_t ldx, T *y, int64_t ldy, T sign);
} NAME(kernel);

typedef struct NAME(sweep) {
    const NAME(kernel) * kernel;
    layout A;
    int64_t block; /* pivots at once, whole slivers            */
    int64_t grain; /* rows and columns of a task of the update */
    bool inverse;
    T tolerance;            /* of pivots, over the diagonal                                            */
    T *data, *z, *diagonal; /* z, diagonal: contiguous; the latter that of A until it is that of L     */
    T *W;                   /* [sliver][pivot][row of the sliver]: the panel of one step               */
    T *L, *Lt;              /* the pivot block's factor by slivers, and likewise its transpose; in the */
                            /* place of l_kk -1 / l_kk, which is finite, l_kk being a square root      */
    T *y;                   /* L⁻¹z of the pivot block                                                 */
    T *spare;               /* a sliver of W for each part                                             */
    queue *queues;          /* of each part: its slivers of the panel, its tiles of the update         */
    int parts, team;
} NAME(sweep);

/* -- slivers and the matrix ------------------------------------------------------------------------------ */

/* P[k][i] = A_ik, or back, for rows [i0, i1) and pivots [k0, k1), all in one triangle; P begins at (i0,
 * k0). */
static void NAME(move)(const NAME(sweep) * s, T *P, int64_t i0, int64_t i1, int64_t k0, int64_t k1,
                       bool along_i, bool store, T sign)
{
    const NAME(kernel) *q = s->kernel;
    const int64_t width = q->width, ld = s->A.ld, rows = i1 - i0, cols = k1 - k0;
    if (!rows || !cols) return;
    T *a = s->data + (along_i ? row_offset(&s->A, k0) + i0 : row_offset(&s->A, i0) + k0);
    int64_t done = 0; /* pivots */
    if (along_i && rows == width) {
        done = cols;
        if (store)
            q->copy(cols, P, width, a, ld, sign);
        else
            q->copy(cols, a, ld, P, width, sign);
    } else if (!along_i && rows % q->lanes == 0) {
        done = cols / q->lanes * q->lanes;
        if (store)
            q->turn(done, rows, P, width, a, ld, sign);
        else
            q->turn(rows, done, a, ld, P, width, sign);
    }
    for (int64_t k = done; k < cols; k++)
        for (int64_t i = 0; i < rows; i++) {
            T *p = P + k * width + i, *e = a + (along_i ? k * ld + i : i * ld + k);
            if (store)
                *e = sign * *p;
            else
                *p = sign * *e;
        }
}

/* The same for a whole sliver from row i0 that does not meet the pivots [k0, k0 + w). */
static void NAME(move_sliver)(const NAME(sweep) * s, T *P, int64_t i0, int64_t k0, int64_t w, bool store,
                              T sign)
{
    const int64_t width = s->kernel->width, n1 = s->A.n1, k1 = smaller(k0 + w, s->A.n);
    const int64_t i1 = smaller(i0 + width, s->A.n);
    if (!store && (i1 - i0 < width || k1 - k0 < w)) memset(P, 0, (size_t)(w * width) * sizeof(T));
    if (i0 >= k1) {
        int64_t cut = within(n1, k0, k1);
        NAME(move)(s, P, i0, i1, k0, cut, true, store, sign);
        NAME(move)(s, P + (cut - k0) * width, i0, i1, cut, k1, false, store, sign);
    } else {
        int64_t cut = within(n1, i0, i1);
        NAME(move)(s, P, i0, cut, k0, k1, false, store, sign);
        NAME(move)(s, P + cut - i0, cut, i1, k0, k1, true, store, sign);
    }
}

/* -- triangular solves on a sliver ----------------------------------------------------------------------- */

/* The first w pivots' rows of P become those of P L⁻ᵀ:  w_k = (p_k - Σ_{u<k} l_ku w_u) / l_kk */
static void NAME(solve)(const NAME(sweep) * s, T *P, int64_t w)
{
    const int64_t width = s->kernel->width, rank = s->kernel->rank;
    for (int64_t k = 0; k < w; k += rank) {
        const T *l = s->L + k / width * width * s->block + k % width;
        s->kernel->substitute(k, P, l, l + k * width, P + k * width, P + k * width);
    }
}

/* X = W L⁻¹:  x_k = (w_k - Σ_{u>k} l_uk x_u) / l_kk, k < w */
static void NAME(solve_back)(const NAME(sweep) * s, const T *W, T *X, int64_t w)
{
    const int64_t width = s->kernel->width, rank = s->kernel->rank;
    for (int64_t end = w, k; (k = end - rank) >= 0; end = k) {
        const T *l = s->Lt + k / width * width * s->block + k % width;
        s->kernel->substitute_back(w - end, X + end * width, l + end * width, l + k * width, W + k * width,
                                   X + k * width);
    }
}

/* -- pivots ---------------------------------------------------------------------------------------------- */

/* The pivots' t-th tile on the diagonal, from row i0: L_tt in its place in P, which has L_tu, u < t,
 * already. */
static int64_t NAME(factor_tile)(const NAME(sweep) * s, T *P, int64_t t, int64_t i0)
{
    const NAME(kernel) *q = s->kernel;
    const int64_t width = q->width, rows = smaller(width, s->A.n - i0);
    T *tile = P + t * width * width;
    for (int64_t i = 0; i < width; i++)
        for (int64_t k = 0; k <= i; k++) {
            T a = i < rows ? s->data[element(&s->A, i0 + i, i0 + k)] : (T)(i == k);
            tile[i * width + k] = tile[k * width + i] = a;
        }
    for (int64_t g = 0; g < width && t; g += q->rank)
        q->multiply(t * width, P, P + g, width, tile + g * width, width, -1, true);
    int64_t failed = q->cholesky(tile);
    if (failed) return i0 + failed;
    for (int64_t i = 0; i < rows; i++) {
        T *d = &s->diagonal[i0 + i], l = tile[i * (width + 1)];
        if (s->tolerance > 0 && !(l * l > s->tolerance * *d)) return i0 + i + 1;
        *d = l;
    }
    return 0;
}

/* y_t = L_tt⁻¹ (z_t - Σ_{u<t} L_tu y_u) */
static void NAME(solve_z)(const NAME(sweep) * s, const T *P, int64_t t, int64_t i0)
{
    const int64_t width = s->kernel->width, rows = smaller(width, s->A.n - i0);
    T r[LARGEST] = { 0 }, *y = s->y + t * width;
    for (int64_t i = 0; i < rows; i++) r[i] = -s->z[i0 + i];
    for (int64_t k = 0; k < (t + 1) * width; k++) {
        const int64_t own = k - t * width;
        if (own >= 0) y[own] = r[own] * P[k * width + own];
        for (int64_t i = 0; i < width; i++) r[i] += P[k * width + i] * s->y[k];
    }
}

/* Factorises the pivot block from k0; the failing minor, or 0. Without the inverse L and y go to their
 * places. */
static int64_t NAME(factor)(const NAME(sweep) * s, int64_t k0)
{
    const int64_t width = s->kernel->width, w = padded_block(&s->A, k0, s->block, width), n = s->A.n;
    for (int64_t t = 0; t < w / width; t++) {
        const int64_t i0 = k0 + t * width, rows = smaller(width, n - i0), before = t * width;
        T *P = s->L + before * s->block, *tile = P + before * width;
        NAME(move_sliver)(s, P, i0, k0, before, false, 1);
        NAME(solve)(s, P, before);
        int64_t failed = NAME(factor_tile)(s, P, t, i0);
        if (failed) return failed;
        if (!s->inverse) {
            NAME(move_sliver)(s, P, i0, k0, before, true, 1);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t k = 0; k <= i; k++)
                    s->data[element(&s->A, i0 + i, i0 + k)] = tile[k * width + i];
        }
        for (int64_t i = 0; i < width; i++) tile[i * (width + 1)] = -1 / tile[i * (width + 1)];
        for (int64_t u = 0; u <= t && s->inverse; u++)
            s->kernel->turn(width, width, P + u * width * width, width,
                            s->Lt + (u * s->block + before) * width, width, 1);
        NAME(solve_z)(s, P, t, i0);
        if (!s->inverse) memcpy(s->z + i0, s->y + before, (size_t)rows * sizeof(T));
    }
    return 0;
}

/* -- one step -------------------------------------------------------------------------------------------- */

/* Sliver number `sliver` of the panel: W for the update, what takes its place in A, and its share of z. */
static void NAME(panel)(const NAME(sweep) * s, int64_t k0, int64_t sliver, T *X)
{
    const int64_t width = s->kernel->width, w = padded_block(&s->A, k0, s->block, width), i0 = sliver * width;
    const int64_t rows = smaller(width, s->A.n - i0);
    const bool pivot = i0 >= k0 && i0 < k0 + w, above = i0 < k0;
    const T sign = above || pivot ? 1 : -1;
    if (!s->inverse && (above || pivot)) return;
    T *W = s->W + sliver * s->block * width, dot[LARGEST] = { 0 };
    if (pivot) {
        memset(W, 0, (size_t)(w * width) * sizeof(T));
        for (int64_t i = 0; i < width; i++) W[(i0 - k0 + i) * width + i] = 1;
    } else {
        NAME(move_sliver)(s, W, i0, k0, w, false, 1);
    }
    NAME(solve)(s, W, w);
    s->kernel->combine(w, W, s->y, dot, sign);
    for (int64_t i = 0; i < rows; i++) s->z[i0 + i] = (pivot ? 0 : s->z[i0 + i]) + dot[i];
    if (!s->inverse) {
        NAME(move_sliver)(s, W, i0, k0, w, true, 1);
        return;
    }
    NAME(solve_back)(s, W, X, w);
    if (!pivot)
        NAME(move_sliver)(s, X, i0, k0, w, true, sign);
    else
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = k0; k <= i0 + i; k++)
                s->data[element(&s->A, i0 + i, k)] = X[(k - k0) * width + i];
}

/* Rows p of the rectangle, `rank` of them, and the sliver from q0: what lies in the triangle. */
static void NAME(update_edge)(const NAME(sweep) * s, int64_t p0, int64_t q0, int64_t w, const T *a,
                              const T *b, T sign)
{
    const NAME(kernel) *q = s->kernel;
    T tile[LARGEST * LARGEST];
    q->multiply(w, a, b, q->width, tile, q->width, sign, false);
    for (int64_t r = 0; r < q->rank && p0 + r < s->A.n; r++) {
        const int64_t p = p0 + r, from = p < s->A.n1 ? p : s->A.n1, to = p < s->A.n1 ? s->A.n : p + 1;
        T *c = s->data + row_offset(&s->A, p);
        for (int64_t j = q0 > from ? q0 : from; j < to && j < q0 + q->width; j++)
            c[j] += tile[r * q->width + j - q0];
    }
}

/* A_pq -= W_p W_qᵀ for rows p of the rectangle in stretch P and columns q in stretch Q; += between rows
 * swept. */
static void NAME(update)(const NAME(sweep) * s, int64_t k0, int64_t P, int64_t Q)
{
    const NAME(kernel) *q = s->kernel;
    const int64_t width = q->width, rank = q->rank, w = padded_block(&s->A, k0, s->block, width);
    const int64_t n = s->A.n, n1 = s->A.n1, grain = s->grain;
    const T sign = P * grain < k0 && Q * grain < k0 ? 1 : -1;
    int64_t p0 = P * grain, p1 = smaller(p0 + grain, n), q1 = smaller((Q + 1) * grain, n);
    if (P < Q) p1 = smaller(p1, n1);
    if (P > Q && p0 < n1) p0 = n1 / rank * rank;
    for (int64_t q0 = Q * grain; q0 < q1; q0 += width) {
        const T *a = s->W + q0 / width * s->block * width;
        for (int64_t p = p0; p < p1; p += rank) {
            const int64_t last = p + rank - 1;
            const T *b = s->W + p / width * s->block * width + p % width;
            if (last < n1 ? q0 >= last && q0 + width <= n
                          : p >= n1 && last < n && q0 >= n1 && q0 + width <= p + 1)
                q->multiply(w, a, b, width, s->data + row_offset(&s->A, p) + q0, s->A.ld, sign, true);
            else if (p < n1 ? q0 + width > p : q0 + width > n1 && q0 <= last)
                NAME(update_edge)(s, p, q0, w, a, b, sign);
        }
    }
}

/* -- all steps ------------------------------------------------------------------------------------------- */

/* One piece of memory, cut where `block` is not NULL; returns its size. */
static size_t NAME(cut)(NAME(sweep) * s, char *block)
{
    const size_t width = (size_t)s->kernel->width, b = (size_t)s->block;
    const size_t slivers = ((size_t)s->A.n + width - 1) / width;
    size_t used = 0;
    s->W = take(block, &used, slivers * b * width * sizeof(T));
    s->L = take(block, &used, b * b * sizeof(T));
    s->Lt = take(block, &used, b * b * sizeof(T));
    s->y = take(block, &used, b * sizeof(T));
    s->spare = take(block, &used, (size_t)s->parts * b * width * sizeof(T));
    s->queues = take(block, &used, (size_t)s->parts * sizeof(queue));
    return used;
}

/* The pivots from k0 on, brought up to date with the step before, and factorised. */
static int64_t NAME(next)(const NAME(sweep) * s, int64_t k0)
{
    const int64_t first = k0 / s->grain, stretches = (s->A.n + s->grain - 1) / s->grain;
    const int64_t end = smaller(first + s->block / s->grain, stretches);
    for (int64_t P = first; P < end && k0; P++)
        for (int64_t Q = first; Q < end; Q++) NAME(update)(s, k0 - s->block, P, Q);
    return NAME(factor)(s, k0);
}

/* The panel of pivots from k0 on, as part `part` of all does it. */
static void NAME(panels)(const NAME(sweep) * s, int64_t k0, int part)
{
    const int64_t width = s->kernel->width, slivers = (s->A.n + width - 1) / width, each = s->grain / width;
    const int64_t across = stretches_of(s->A.n, s->grain, s->parts);
    atomic_store(&s->queues[part].tiles, 0);
    for (int k = 0; k < s->parts; k++) {
        const int owner = (part + k) % s->parts;
        for (int64_t task; (task = atomic_fetch_add(&s->queues[owner].slivers, 1)) < across * each;) {
            const int64_t P = owned(owner, s->parts, k0 / s->grain, task / each), i = P * each + task % each;
            if (i < slivers) NAME(panel)(s, k0, i, s->spare + part * s->block * width);
        }
    }
}

/* The update that follows, and the next pivots' factor; the failing minor goes to *failed, which all parts
 * share. */
static void NAME(updates)(const NAME(sweep) * s, int64_t k0, int part, int64_t *failed)
{
    const int64_t n = s->A.n, block = s->block, next = k0 + block, pivots = block / s->grain;
    const int64_t stretches = stretches_of(n, s->grain, 1), across = stretches_of(n, s->grain, s->parts);
    const int first = (int)(2 * (next / s->grain) % s->parts); /* who has the next pivots */
    atomic_store(&s->queues[part].slivers, 0);
    for (int k = 0; k < s->parts; k++) {
        const int owner = (part + k) % s->parts;
        for (int64_t task; (task = atomic_fetch_add(&s->queues[owner].tiles, 1)) <= stretches * across;) {
            if (!task && owner == first && next < n) *failed = NAME(next)(s, next);
            if (!task) continue;
            const int64_t P = (task - 1) / across, Q = owned(owner, s->parts, P, (task - 1) % across);
            const int64_t p = P / pivots * block, q = Q / pivots * block;
            if (Q >= stretches || p == k0 || q == k0 || (p == next && q == next)) continue;
            if (s->inverse || (p > k0 && q > k0)) NAME(update)(s, k0, P, Q);
        }
    }
}

static int64_t NAME(run)(const NAME(sweep) * s)
{
    for (int64_t k = 0; k < s->A.n; k++) s->diagonal[k] = s->data[element(&s->A, k, k)];
    for (int part = 0; part < s->parts; part++) atomic_init(&s->queues[part].slivers, 0);
    int64_t failed = NAME(next)(s, 0);
    ct__meeting meeting = CT__MEETING;
    /* also around one thread: the loops inside must not bind to a team that the caller is in */
#pragma omp parallel num_threads(s->team)
    for (int64_t k0 = 0; k0 < s->A.n && !failed; k0 += s->block) {
#pragma omp for schedule(static) nowait
        for (int part = 0; part < s->parts; part++) NAME(panels)(s, k0, part);
        ct__meet(&meeting);
#pragma omp for schedule(static) nowait
        for (int part = 0; part < s->parts; part++) NAME(updates)(s, k0, part, &failed);
        ct__meet(&meeting);
    }
    return failed;
}
