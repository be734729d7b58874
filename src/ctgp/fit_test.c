/* ctgp fit: rows that are held back, and the model's score on them. */
#include "fit.h"

#include <math.h>
#include <string.h>

/* Moves the chosen rows k with held_back[k] to *h, or drops them. */
static void move_rows(frame *f, const bool *held_back, held *h, bool drop)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < f->n_rows; k++) {
        if (!held_back[k])
            f->rows[kept++] = f->rows[k];
        else if (!drop)
            h->rows[h->n++] = f->rows[k];
    }
    f->n_rows = kept;
}

/* Marks `count` of n rows: the last or drawn ones. */
static void mark(ctgp *c, ct_device *device, int64_t n, int64_t count, bool last, uint64_t seed,
                 uint64_t stream, bool *marked)
{
    int64_t *order = take(c, n, sizeof *order, "rows");
    if (!last) rows_shuffled(c, device, n, seed, stream, order);
    if (going(c)) memset(marked, 0, (size_t)n * sizeof *marked);
    for (int64_t i = 0; i < count && going(c); i++) marked[last ? n - 1 - i : order[i]] = true;
}

/* Holds back the share of the rows that --test-fraction or --test-last gives. */
static void hold_share(ctgp *c, const settings *s, frame *f, bool *marked, held *h)
{
    if (!going(c)) return;
    const long long n = f->n_rows, count = llround(s->test * (double)n);
    if (count < 1 || n - count < 2)
        fail(c, CODE_DATA, "%s: %s of %.6g holds back %lld of %lld rows: one at least, and two must stay",
             f->path, s->test_last ? "--test-last" : "--test-fraction", s->test, count, n);
    mark(c, f->device, n, count, s->test_last, s->fit.seed, 0, marked);
    if (!going(c)) return;
    move_rows(f, marked, h, false);
    note("%lld of %lld rows are held back, %s; the model learns the other %lld", count, n,
         s->test_last ? "the last of the table" : "drawn", n - count);
}

/* Keeps --max-rows of the rows. The others are held back, unless an option holds rows back already. */
static void hold_rest(ctgp *c, const settings *s, frame *f, bool *marked, held *h)
{
    if (!going(c)) return;
    const long long n = f->n_rows;
    const bool drop = h->n > 0;
    mark(c, f->device, n, n - s->max_rows, false, s->fit.seed, 1, marked);
    if (!going(c)) return;
    move_rows(f, marked, h, drop);
    note("the model learns %ld of %lld rows, drawn%s", s->max_rows, n,
         drop ? "" : "; the others are held back");
}

void fit_hold_rows(ctgp *c, const settings *s, frame *f, held *h)
{
    if (!going(c)) return;
    const bool some = s->max_rows && f->n_rows > s->max_rows;
    if (!(s->test > 0) && !some) return;
    bool *marked = take(c, f->n_rows, sizeof *marked, "rows");
    h->rows = take(c, f->n_rows, sizeof *h->rows, "rows");
    if (s->test > 0) hold_share(c, s, f, marked, h);
    if (s->max_rows && f->n_rows > s->max_rows) hold_rest(c, s, f, marked, h);
}

void fit_check_held(ctgp *c, const settings *s, const frame *f, const held *h, const int64_t *cols, int64_t d)
{
    if (!going(c)) return;
    if (!h->n || cols[d + 1] < 0) return;
    frame held_back = *f;
    held_back.rows = h->rows, held_back.n_rows = h->n;
    check_noise(c, &held_back, f, cols[d + 1], s->gp.noise, s->noise_name);
}

void fit_score(ctgp *c, const frame *f, const held *h, const int64_t *cols, ct_gp *gp, score *found)
{
    if (!going(c)) return;
    const int64_t d = ct_gp_dims(gp);
    *found = (score){ 0 };
    if (!h->n) return;
    prediction p = { .data = *f, .target = cols[d] };
    p.data.rows = h->rows, p.data.n_rows = h->n;
    ct_tensor *X = frame_tensor(c, &p.data, cols, d, ct_gp_dtype(gp)), *noise = NULL;
    if (cols[d + 1] >= 0)
        frame_noise(c, &p.data, cols[d + 1], ct_gp_get_options(gp).noise, noise_name(gp), gp, &noise);
    prediction_fill(c, &p, gp, X, noise);
    if (going(c)) *found = prediction_score(&p);
}
