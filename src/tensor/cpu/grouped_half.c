/* Grouped products of bf16 and f16. Rows and parts of a matrix are converted to f32 in the cache and
 * multiplied by the f32 kernel; each result is rounded once. */
#include "grouped_half.h"
#include "half.h"

/* A part of the matrices (J x K) spans the whole inner extent. It is a range of C's columns forward, and of
 * the rows of C and D backward. */
typedef struct cutting {
    int64_t rows, inner, outer, step; /* step: the part's share of outer */
} cutting;

static cutting cut(const ct__grouped *q)
{
    cutting t = { .inner = q->G ? q->K : q->J, .outer = q->G ? q->J : q->K };
    t.step = ct__max(1, ct__min(t.outer, CT__GROUP_PART / ct__max(1, t.inner)));
    t.rows = ct__max(1, ct__min(CT__GROUP_ROWS, CT__GROUP_PART / ct__max(1, ct__max(t.inner, t.step))));
    return t;
}

/* The workspace in f32: rows of A (backward, only the part's columns), of G and of out; the parts of C and D,
 * and a term to add to D. */
typedef struct workspace {
    float *a, *g, *y, *C, *D, *more;
    int64_t offset[2], order[CT__GROUP_ROWS];
} workspace;

static size_t numbers_of_rows(const cutting *t) { return (size_t)(t->rows * ct__max(t->inner, t->step)); }

size_t ct__grouped_half_scratch(const ct__grouped *q)
{
    const cutting t = cut(q);
    size_t numbers = 3 * numbers_of_rows(&t) + 3 * (size_t)(t.inner * t.step);
    return ct__aligned(sizeof(workspace) + CT__ALIGNMENT + numbers * sizeof(float));
}

static workspace *furnish(void *scratch, const cutting *t)
{
    workspace *r = scratch;
    const size_t part = (size_t)(t->inner * t->step);
    r->a = (float *)(void *)((char *)scratch + ct__aligned(sizeof *r));
    r->g = r->a + numbers_of_rows(t);
    r->y = r->g + numbers_of_rows(t);
    r->C = r->y + numbers_of_rows(t);
    r->D = r->C + part;
    r->more = r->D + part;
    r->offset[0] = 0;
    for (int64_t i = 0; i < t->rows; i++) r->order[i] = i;
    return r;
}

/* Computes one part of the matrices, at `at` of the outer extent, for all rows. */
static void run_part(const ct__grouped *q, const cutting *t, int64_t m, int64_t start, int64_t stop,
                     int64_t at, uint16_t *D, float *D_wide, workspace *r)
{
    const int64_t outer = ct__min(t->step, t->outer - at), *order = q->order + q->offset[m];
    ct__grouped s = { .M = 1,
                      .I = 1,
                      .J = q->G ? outer : q->J,
                      .K = q->G ? q->K : outer,
                      .offset = r->offset,
                      .order = r->order,
                      .A = q->A ? r->a : NULL,
                      .C = q->C ? r->C : NULL,
                      .G = q->G ? r->g : NULL,
                      .out = q->out ? r->y : NULL,
                      .dtype = CT_F32,
                      .isa = q->isa };
    ct__run_rows *run = ct__group_code_f32(q->isa)->run_rows;
    const int64_t first = q->G ? at * q->K : at; /* offset of the part in a matrix */
    void *panel = (char *)r + ct__grouped_half_scratch(q);
    if (q->C)
        ct__widen_tile(q->isa, q->dtype, s.J, s.K, (const uint16_t *)q->C + m * q->J * q->K + first, q->K, 1,
                       r->C, s.K);
    for (int64_t done = start, i = start / q->I, sub = start % q->I; done < stop;) {
        const int64_t rows = ct__min(t->rows, stop - done);
        int64_t row[CT__GROUP_ROWS];
        for (int64_t k = 0; k < rows; k++) {
            row[k] = order[i] * q->I + sub;
            if (++sub == q->I) sub = 0, i++;
            if (q->A)
                ct__widen(q->isa, q->dtype, s.J, (const uint16_t *)q->A + row[k] * q->J + (q->G ? at : 0),
                          r->a + k * s.J);
            if (q->G)
                ct__widen(q->isa, q->dtype, s.K, (const uint16_t *)q->G + row[k] * q->K, r->g + k * s.K);
        }
        s.N = r->offset[1] = rows;
        run(&s, 0, 0, rows, !q->D ? NULL : done > start ? r->more : r->D, panel);
        for (int64_t k = 0; q->D && done > start && k < s.J * s.K; k++) r->D[k] += r->more[k];
        for (int64_t k = 0; q->out && k < rows; k++)
            ct__narrow(q->isa, q->dtype, outer, r->y + k * outer,
                       (uint16_t *)q->out + row[k] * t->outer + at);
        done += rows;
    }
    if (D_wide)
        memcpy(D_wide + first, r->D, (size_t)(s.J * s.K) * sizeof(float));
    else if (D)
        ct__narrow(q->isa, q->dtype, s.J * s.K, r->D, D + first);
}

void ct__grouped_half(const ct__grouped *q, int64_t m, int64_t start, int64_t stop, void *D, void *scratch)
{
    const cutting t = cut(q);
    const bool whole = start == 0 && stop == ct__group_rows(q, m);
    workspace *r = furnish(scratch, &t);
    for (int64_t at = 0; at < t.outer; at += t.step)
        run_part(q, &t, m, start, stop, at, whole ? D : NULL, whole ? NULL : D, r);
}
