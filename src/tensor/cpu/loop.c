/* The loop driver: one kernel over strided tensors of one shape. */
#include "cpu.h"

typedef struct plan {
    int operands, ndim; /* ndim >= 2 */
    bool tiled;         /* the last two dimensions in CT__LOOP_TILE x CT__LOOP_TILE blocks */
    int64_t count;
    int64_t dim[CT_MAX_DIMS];
    int64_t stride[CT_MAX_DIMS][CT__OPERANDS];
    int64_t size[CT__OPERANDS]; /* bytes of an element */
    char *data[CT__OPERANDS];
} plan;

static bool is_flat(const ct_view *t)
{
    int64_t expected = 1;
    for (int d = t->ndim; d-- > 0;) {
        if (t->dim[d] != 1 && t->stride[d] != expected) return false;
        expected *= t->dim[d];
    }
    return true;
}

static void move_dim(plan *p, int from, int to)
{
    int64_t dim = p->dim[from], stride[CT__OPERANDS];
    for (int k = 0; k < p->operands; k++) stride[k] = p->stride[from][k];
    for (int d = from; d != to; d += from < to ? 1 : -1) {
        int e = from < to ? d + 1 : d - 1;
        p->dim[d] = p->dim[e];
        for (int k = 0; k < p->operands; k++) p->stride[d][k] = p->stride[e][k];
    }
    p->dim[to] = dim;
    for (int k = 0; k < p->operands; k++) p->stride[to][k] = stride[k];
}

static bool mergeable(const plan *p, int outer, int inner)
{
    for (int k = 0; k < p->operands; k++)
        if (p->stride[outer][k] != p->stride[inner][k] * p->dim[inner]) return false;
    return true;
}

/* An operand that jumps along the inner dimension but has a shorter step along another asks for tiles. */
static void choose_tiles(plan *p)
{
    int last = p->ndim - 1;
    for (int k = 1; k < p->operands; k++) {
        int best = last;
        for (int d = 0; d < last; d++)
            if (p->stride[d][k] > 0 && p->stride[d][k] < p->stride[best][k]) best = d;
        if (best == last) continue;
        move_dim(p, best, last - 1);
        p->tiled = true;
        return;
    }
}

static void make_plan(plan *p, int n, const ct_view *const *t, int64_t count)
{
    p->operands = n;
    p->ndim = 0;
    p->tiled = false;
    p->count = count;
    for (int k = 0; k < n; k++) {
        p->data[k] = t[k]->data;
        p->size[k] = (int64_t)ct__size(t[k]->dtype);
    }
    for (int d = 0; d < t[0]->ndim; d++) {
        if (t[0]->dim[d] == 1) continue;
        int at = p->ndim++;
        p->dim[at] = t[0]->dim[d];
        for (int k = 0; k < n; k++) p->stride[at][k] = t[k]->stride[d];
        int to = at;
        while (to > 0 && p->stride[to - 1][0] < t[0]->stride[d]) to--;
        if (to != at) move_dim(p, at, to);
    }
    int kept = 0;
    for (int d = 1; d < p->ndim; d++) {
        if (mergeable(p, kept, d)) {
            p->dim[kept] *= p->dim[d];
        } else {
            kept++;
            p->dim[kept] = p->dim[d];
        }
        for (int k = 0; k < n; k++) p->stride[kept][k] = p->stride[d][k];
    }
    if (p->ndim) p->ndim = kept + 1;
    while (p->ndim < 2) {
        int at = p->ndim++;
        p->dim[at] = 1;
        for (int k = 0; k < n; k++) p->stride[at][k] = 0;
        move_dim(p, at, 0);
    }
    choose_tiles(p);
}

static void run_tiles(const plan *p, char *const *data, ct__kernel kernel, const void *context)
{
    int a = p->ndim - 2, b = p->ndim - 1;
    const int64_t *s1 = p->stride[a], *s0 = p->stride[b];
    for (int64_t j = 0; j < p->dim[a]; j += CT__LOOP_TILE)
        for (int64_t i = 0; i < p->dim[b]; i += CT__LOOP_TILE) {
            void *at[CT__OPERANDS];
            for (int k = 0; k < p->operands; k++) at[k] = data[k] + (j * s1[k] + i * s0[k]) * p->size[k];
            int64_t n1 = p->dim[a] - j, n0 = p->dim[b] - i;
            kernel(n1 < CT__LOOP_TILE ? n1 : CT__LOOP_TILE, n0 < CT__LOOP_TILE ? n0 : CT__LOOP_TILE, at, s1,
                   s0, context);
        }
}

static void run_serial(const plan *p, ct__kernel kernel, const void *context)
{
    int outer = p->ndim - 2;
    int64_t index[CT_MAX_DIMS] = { 0 };
    char *data[CT__OPERANDS];
    for (int k = 0; k < p->operands; k++) data[k] = p->data[k];
    for (;;) {
        if (p->tiled) {
            run_tiles(p, data, kernel, context);
        } else {
            void *at[CT__OPERANDS];
            for (int k = 0; k < p->operands; k++) at[k] = data[k];
            kernel(p->dim[outer], p->dim[outer + 1], at, p->stride[outer], p->stride[outer + 1], context);
        }
        int d = outer;
        while (d-- > 0) {
            index[d]++;
            for (int k = 0; k < p->operands; k++) data[k] += p->stride[d][k] * p->size[k];
            if (index[d] < p->dim[d]) break;
            for (int k = 0; k < p->operands; k++) data[k] -= p->dim[d] * p->stride[d][k] * p->size[k];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

static void run_parallel(const plan *p, int threads, ct__kernel kernel, const void *context)
{
    int split = 0;
    for (int d = 0; d < p->ndim && p->dim[split] < threads; d++)
        if (p->dim[d] > p->dim[split]) split = d;
    const int64_t n = p->dim[split];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < threads; part++) {
        plan mine = *p;
        int64_t from = ct__part(n, threads, part);
        int64_t to = ct__part(n, threads, part + 1);
        mine.dim[split] = to - from;
        for (int k = 0; k < p->operands; k++) mine.data[k] += from * p->stride[split][k] * p->size[k];
        if (to > from) run_serial(&mine, kernel, context);
    }
}

void ct__loop(ct_device *dev, int n, const ct_view *const *t, ct__kernel kernel, const void *context,
              int64_t grain)
{
    static const int64_t zero[CT__OPERANDS] = { 0 }, one[CT__OPERANDS] = { 1, 1, 1, 1 };
    int64_t count = ct__count(t[0]);
    if (!count) return;
    if (count == 1) {
        void *data[CT__OPERANDS];
        for (int k = 0; k < n; k++) data[k] = t[k]->data;
        kernel(1, 1, data, zero, one, context);
        return;
    }
    if (count < 2 * grain || dev->threads < 2) {
        bool flat = true;
        for (int k = 0; k < n && flat; k++) flat = is_flat(t[k]);
        if (flat) {
            void *data[CT__OPERANDS];
            for (int k = 0; k < n; k++) data[k] = t[k]->data;
            kernel(1, count, data, zero, one, context);
            return;
        }
    }
    plan p;
    make_plan(&p, n, t, count);
    int64_t threads = count / grain;
    if (threads > dev->threads) threads = dev->threads;
    threads = ct__team(dev, (int)threads);
    if (threads > 1)
        run_parallel(&p, (int)threads, kernel, context);
    else
        run_serial(&p, kernel, context);
}
