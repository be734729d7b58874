/* The loop driver: one kernel over strided tensors of one shape. */
#include "cpu.h"

typedef struct plan {
    ct__kernel kernel;
    const void *context;
    int operands;
    int64_t tile; /* the kernel's largest extent in each of the last two dimensions */
    int64_t ndim; /* >= 2 */
    ct__axis *axis;
    int64_t size[CT__OPERANDS]; /* bytes of an element */
} plan;

/* The one stride that leads from each element of t to the next in row-major order: 0 if all elements are the
 * same, 1 if there is one element, -1 if there is no such stride. */
static int64_t step_of(const ct_view *t)
{
    int64_t count = 1, step = 1;
    for (int d = t->ndim; d-- > 0;) {
        if (t->dim[d] == 1) continue;
        if (count == 1) step = t->stride[d];
        if (t->stride[d] != step * count) return -1;
        count *= t->dim[d];
    }
    return step;
}

/* Chooses tiles if an operand has a shorter stride along another dimension than along the last. That
 * dimension becomes the last but one. */
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
        p->tile = CT__LOOP_TILE;
        return;
    }
}

/* to: the operands, advanced by `index` along a dimension. */
static void advance(const plan *p, const ct__axis *axis, int64_t index, void *const *from, void **to)
{
    for (int k = 0; k < p->operands; k++) to[k] = (char *)from[k] + index * axis->stride[k] * p->size[k];
}

/* Runs over dimension d and all after it. */
static void run(const plan *p, int64_t d, void *const *data)
{
    const ct__axis *a = &p->axis[d], *b = a + 1;
    void *row[CT__OPERANDS], *tile[CT__OPERANDS];
    if (d < p->ndim - 2) {
        for (int64_t i = 0; i < a->dim; i++) {
            advance(p, a, i, data, row);
            run(p, d + 1, row);
        }
        return;
    }
    for (int64_t j = 0; j < a->dim; j += p->tile) {
        advance(p, a, j, data, row);
        for (int64_t i = 0; i < b->dim; i += p->tile) {
            advance(p, b, i, row, tile);
            p->kernel(ct__min(a->dim - j, p->tile), ct__min(b->dim - i, p->tile), tile, a->stride, b->stride,
                      p->context);
        }
    }
}

static void run_parallel(const plan *p, int threads, void *const *data)
{
    int64_t split = 0;
    for (int64_t d = 0; d < p->ndim && p->axis[split].dim < threads; d++)
        if (p->axis[d].dim > p->axis[split].dim) split = d;
    const int64_t n = p->axis[split].dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < threads; part++) {
        const int64_t from = ct__part(n, threads, part);
        void *at[CT__OPERANDS];
        ct__axis axis[CT_MAX_DIMS];
        memcpy(axis, p->axis, sizeof axis);
        axis[split].dim = ct__part(n, threads, part + 1) - from;
        plan mine = *p;
        mine.axis = axis;
        advance(p, &p->axis[split], from, data, at);
        run(&mine, 0, at);
    }
}

void ct__loop(ct_device *dev, int n, const ct_view *const *t, ct__kernel kernel, const void *context,
              int64_t grain)
{
    static const int64_t zero[CT__OPERANDS] = { 0 }, one[CT__OPERANDS] = { 1, 1, 1, 1 };
    const int64_t count = ct__count(t[0]);
    if (!count) return;
    void *data[CT__OPERANDS];
    for (int k = 0; k < n; k++) data[k] = t[k]->data;
    if (count == 1) {
        kernel(1, 1, data, zero, one, context);
        return;
    }
    int64_t step[CT__OPERANDS];
    bool flat = count < 2 * grain || dev->threads < 2;
    for (int k = 0; k < n && flat; k++) {
        step[k] = step_of(t[k]);
        flat = step[k] >= 0;
    }
    if (flat) {
        kernel(1, count, data, zero, step, context);
        return;
    }
    ct__axis axis[CT_MAX_DIMS];
    plan p = { .kernel = kernel, .context = context, .operands = n, .tile = INT64_MAX, .axis = axis };
    for (int k = 0; k < n; k++) p.size[k] = (int64_t)ct__size(t[k]->dtype);
    p.ndim = ct__axis_list(n, t, 0, t[0]->ndim, true, axis);
    for (; p.ndim < 2; p.ndim++) {
        axis[1] = axis[0];
        axis[0] = (ct__axis){ 1, { 0 } };
    }
    choose_tiles(&p);
    const int threads = ct__team(dev, (int)ct__min(count / grain, dev->threads));
    if (threads > 1)
        run_parallel(&p, threads, data);
    else
        run(&p, 0, data);
}
