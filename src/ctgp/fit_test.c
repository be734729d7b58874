/* ctgp fit: rows that are held back, and the model's score on them. */
#include "fit_test.h"

#include <math.h>

#include "failure.h"
#include "folds.h"
#include "text.h"

/* Moves `count` of the chosen rows, the last or drawn ones, to *h, or with `drop` nowhere. */
static void move_rows(ctgp *c, const settings *s, frame *f, frame *h, int64_t count, bool last,
                      uint64_t stream, bool drop)
{
    const int64_t n = f->n_rows, *order = last ? NULL : rows_shuffled(c, n, s->fit.seed, stream);
    bool *moved = take(c, n, sizeof *moved, "rows");
    for (int64_t i = 0; i < count; i++) moved[last ? n - 1 - i : order[i]] = true;
    f->n_rows = 0;
    for (int64_t k = 0; k < n; k++) {
        if (!moved[k])
            f->rows[f->n_rows++] = f->rows[k];
        else if (!drop)
            h->rows[h->n_rows++] = f->rows[k];
    }
}

/* Holds back the share of the rows that --test-fraction or --test-last gives. */
static void hold_share(ctgp *c, const settings *s, frame *f, frame *h)
{
    const long long n = f->n_rows, count = llround(s->test * (double)n);
    if (count < 1 || n - count < 2)
        fail(c, CODE_DATA, "%s: %s of %.6g holds back %lld of %lld rows: one at least, and two must stay",
             f->path, s->test_last ? "--test-last" : "--test-fraction", s->test, count, n);
    move_rows(c, s, f, h, count, s->test_last, 0, false);
    note("%lld of %lld rows are held back, %s; the model learns the other %lld", count, n,
         s->test_last ? "the last of the table" : "drawn", n - count);
}

/* Keeps --max-rows of the rows. The others are held back, unless an option holds rows back already. */
static void hold_rest(ctgp *c, const settings *s, frame *f, frame *h)
{
    const long long n = f->n_rows;
    const bool drop = h->n_rows > 0;
    move_rows(c, s, f, h, n - s->max_rows, false, 1, drop);
    note("the model learns %ld of %lld rows, drawn%s", s->max_rows, n,
         drop ? "" : "; the others are held back");
}

/* Keeps MOST of the rows that are held back, which tell the scores to a hundredth. */
static void thin_out(frame *h)
{
    enum { MOST = 5000 };
    const int64_t n = h->n_rows;
    if (n <= MOST) return;
    for (int64_t i = 0; i < MOST; i++) h->rows[i] = h->rows[i * n / MOST];
    h->n_rows = MOST;
    note("%d of the rows held back are scored", MOST);
}

void fit_hold_rows(ctgp *c, const settings *s, frame *f, frame *h)
{
    *h = (frame){ .path = f->path, .table = f->table };
    h->rows = take(c, f->n_rows, sizeof *h->rows, "rows");
    if (s->test > 0) hold_share(c, s, f, h);
    if (s->max_rows && f->n_rows > s->max_rows) hold_rest(c, s, f, h);
    thin_out(h);
}

void fit_check_held(ctgp *c, const settings *s, const learned *t, const frame *h)
{
    if (h->n_rows && t->noise >= 0) check_noise(c, h, &t->f, t->noise, s->noise);
}

score fit_score(ctgp *c, const learned *t, const frame *h, ct_gp *gp)
{
    if (!h->n_rows) return (score){ 0 };
    prediction p = { .data = *h, .target = t->targets[0] };
    ct_tensor *X = frame_tensor(c, &p.data, t->cols, t->d, ct_gp_dtype(gp));
    ct_tensor *noise = t->noise < 0 ? NULL : frame_noise(c, &p.data, t->noise, noise_of(gp), gp);
    prediction_fill(c, &p, gp, X, noise);
    return prediction_score(c, &p);
}
