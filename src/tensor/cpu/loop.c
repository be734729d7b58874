/* The loop driver: one kernel over strided tensors of one shape. */
#include "cpu.h"

typedef struct plan {
    int operands;
    bool tiled;   /* the last two dimensions in CT__LOOP_TILE x CT__LOOP_TILE blocks */
    int64_t ndim; /* >= 2 */
    ct__axis axis[CT_MAX_DIMS];
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

/* An operand that jumps along the inner dimension but has a shorter step along another asks for tiles. */
static void choose_tiles(plan *p)
{
    const int64_t last = p->ndim - 1;
    for (int k = 1; k < p->operands; k++) {
        int64_t best = last;
        for (int64_t d = 0; d < last; d++)
            if (p->axis[d].stride[k] > 0 && p->axis[d].stride[k] < p->axis[best].stride[k]) best = d;
        if (best == last) continue;
        const ct__axis moved = p->axis[best];
        for (; best < last - 1; best++) p->axis[best] = p->axis[best + 1];
        p->axis[last - 1] = moved;
        p->tiled = true;
        return;
    }
}

static void make_plan(plan *p, int n, const ct_view *const *t)
{
    p->operands = n;
    p->tiled = false;
    for (int k = 0; k < n; k++) {
        p->data[k] = t[k]->data;
        p->size[k] = (int64_t)ct__size(t[k]->dtype);
    }
    p->ndim = ct__axis_list(n, t, p->axis);
    for (; p->ndim < 2; p->ndim++) {
        p->axis[1] = p->axis[0];
        p->axis[0] = (ct__axis){ 1, { 0 } };
    }
    choose_tiles(p);
}

static void run_tiles(const plan *p, char *const *data, ct__kernel kernel, const void *context)
{
    const int64_t a = p->ndim - 2, b = p->ndim - 1;
    const int64_t *s1 = p->axis[a].stride, *s0 = p->axis[b].stride;
    for (int64_t j = 0; j < p->axis[a].dim; j += CT__LOOP_TILE)
        for (int64_t i = 0; i < p->axis[b].dim; i += CT__LOOP_TILE) {
            void *at[CT__OPERANDS];
            for (int k = 0; k < p->operands; k++) at[k] = data[k] + (j * s1[k] + i * s0[k]) * p->size[k];
            int64_t n1 = p->axis[a].dim - j, n0 = p->axis[b].dim - i;
            kernel(n1 < CT__LOOP_TILE ? n1 : CT__LOOP_TILE, n0 < CT__LOOP_TILE ? n0 : CT__LOOP_TILE, at, s1,
                   s0, context);
        }
}

static void run_serial(const plan *p, ct__kernel kernel, const void *context)
{
    const int64_t outer = p->ndim - 2;
    int64_t index[CT_MAX_DIMS] = { 0 };
    char *data[CT__OPERANDS];
    for (int k = 0; k < p->operands; k++) data[k] = p->data[k];
    for (;;) {
        if (p->tiled) {
            run_tiles(p, data, kernel, context);
        } else {
            void *at[CT__OPERANDS];
            for (int k = 0; k < p->operands; k++) at[k] = data[k];
            kernel(p->axis[outer].dim, p->axis[outer + 1].dim, at, p->axis[outer].stride,
                   p->axis[outer + 1].stride, context);
        }
        int64_t d = outer;
        while (d-- > 0) {
            index[d]++;
            for (int k = 0; k < p->operands; k++) data[k] += p->axis[d].stride[k] * p->size[k];
            if (index[d] < p->axis[d].dim) break;
            for (int k = 0; k < p->operands; k++)
                data[k] -= p->axis[d].dim * p->axis[d].stride[k] * p->size[k];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

static void run_parallel(const plan *p, int threads, ct__kernel kernel, const void *context)
{
    int64_t split = 0;
    for (int64_t d = 0; d < p->ndim && p->axis[split].dim < threads; d++)
        if (p->axis[d].dim > p->axis[split].dim) split = d;
    const int64_t n = p->axis[split].dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < threads; part++) {
        plan mine = *p;
        int64_t from = ct__part(n, threads, part);
        int64_t to = ct__part(n, threads, part + 1);
        mine.axis[split].dim = to - from;
        for (int k = 0; k < p->operands; k++) mine.data[k] += from * p->axis[split].stride[k] * p->size[k];
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
    make_plan(&p, n, t);
    int64_t threads = count / grain;
    if (threads > dev->threads) threads = dev->threads;
    threads = ct__team(dev, (int)threads);
    if (threads > 1)
        run_parallel(&p, (int)threads, kernel, context);
    else
        run_serial(&p, kernel, context);
}
