/* ctgp plot: the effect of each input. It is the middle with its 95 % interval over the range of the input,
 * while the others are held at their median in the table, or at their most frequent level. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

/* Points of a curve, about one per pixel. */
enum { CURVE = 301 };

typedef struct effect {
    int64_t input, n, from; /* its points are from, ..., from + n - 1 of all  */
    double lo, hi, median;  /* in the table; of a category the most frequent level */
    double range;           /* of the middle */
} effect;

typedef struct effects {
    int64_t d, n;
    effect *inputs; /* [d] */
    band y;         /* [n] */
} effects;

/* The values are sorted. */
static double most_frequent(const double *values, int64_t n)
{
    double best = values[0];
    for (int64_t i = 0, from = 0, longest = 0; i < n; i++) {
        if (values[i] != values[from]) from = i;
        if (i - from + 1 > longest) longest = i - from + 1, best = values[i];
    }
    return best;
}

static void summarise(ctgp *c, effects *e, const ct_gp *gp, const prediction *p)
{
    const int64_t rows = p->data.n_rows;
    for (int64_t j = 0; j < e->d; j++) {
        const ct_column *input = ct_gp_input(gp, j);
        const int64_t col = ct_table_find(p->data.table, input->name);
        const owned *before = c->owned;
        double *values = frame_values(c, &p->data, &col, 1);
        qsort(values, (size_t)rows, sizeof *values, ascending);
        const bool category = input->kind == CT_COLUMN_CATEGORY;
        e->inputs[j] = (effect){
            .input = j,
            .n = category ? input->n_levels : CURVE,
            .from = e->n,
            .lo = values[0],
            .hi = values[rows - 1],
            .median = category ? most_frequent(values, rows)
                               : 0.5 * values[(rows - 1) / 2] + 0.5 * values[rows / 2],
        };
        e->n += e->inputs[j].n;
        give_back(c, before);
    }
}

/* The input at point i of its effect. A curve's points lie at irregular distances, since equal ones could
 * show a slow wave that is not there. */
static double place(const effect *f, bool category, int64_t i)
{
    const double at = (double)i, turn = (sqrt(5) - 1) / 2;
    const double t = i == CURVE - 1 ? 1 : (at + fmod(at * turn, 1)) / CURVE;
    return category ? at : (1 - t) * f->lo + t * f->hi;
}

static void predict_effect(ctgp *c, effects *e, ct_gp *gp, effect *f)
{
    const bool category = ct_gp_input(gp, f->input)->kind == CT_COLUMN_CATEGORY;
    double *x = take(c, f->n, (size_t)e->d * sizeof *x, "points of an effect"); /* (n, d) */
    for (int64_t i = 0; i < f->n; i++) {
        for (int64_t k = 0; k < e->d; k++) x[i * e->d + k] = e->inputs[k].median;
        x[i * e->d + f->input] = place(f, category, i);
    }
    band_predict(c, &e->y, f->from, gp, f->n, x, false);
    axis range = empty_axis;
    for (int64_t i = 0; i < f->n; i++) cover(&range, e->y.middle[f->from + i]);
    f->range = range.hi - range.lo;
}

static effects effects_make(ctgp *c, ct_gp *gp, const prediction *p)
{
    const int64_t d = ct_gp_dims(gp);
    effects e = { .d = d, .inputs = take(c, d, sizeof *e.inputs, "effects") };
    summarise(c, &e, gp, p);
    e.y = band_make(c, e.n);
    for (int64_t j = 0; j < d; j++) predict_effect(c, &e, gp, &e.inputs[j]);
    return e;
}

/* The widest first. */
static int by_range(const void *a, const void *b)
{
    const effect *p = a, *q = b;
    return (p->range < q->range) - (p->range > q->range);
}

static int by_input(const void *a, const void *b)
{
    const effect *p = a, *q = b;
    return (p->input > q->input) - (p->input < q->input);
}

static void write_effect(ctgp *c, FILE *script, const effects *e, const effect *f, const ct_column *input,
                         const axis *y)
{
    const bool category = input->kind == CT_COLUMN_CATEGORY;
    const axis x = column_axis(input, f->lo, f->hi);
    write_column_axis(c, script, &x, 4, input);
    fputs("$effect << EOD\n", script);
    for (int64_t i = 0; i < f->n; i++) {
        const int64_t k = f->from + i;
        fprintf(script, "%.17g %.17g %.17g %.17g\n", share(&x, place(f, category, i)),
                share(y, e->y.middle[k]), share(y, e->y.low[k]), share(y, e->y.high[k]));
    }
    fputs(category
              ? "EOD\nplot $effect using 1:2:3:4 with yerrorbars pt 7 ps 0.6 lw 2 lc rgb '#1f5f99' notitle\n"
              : "EOD\nplot $effect using 1:3:4 with filledcurves lc rgb '#bcd7ee' notitle, "
                "$effect using 1:2 with lines lw 2 lc rgb '#1f5f99' notitle\n",
          script);
}

/* All panels have one y axis. */
void write_effects(ctgp *c, FILE *script, ct_gp *gp, const prediction *p)
{
    const effects e = effects_make(c, gp, p);
    const int64_t shown = e.d < MOST_EFFECTS ? e.d : MOST_EFFECTS;
    axis y = empty_axis;
    char suffix[32];
    qsort(e.inputs, (size_t)e.d, sizeof *e.inputs, by_range);
    qsort(e.inputs, (size_t)shown, sizeof *e.inputs, by_input);
    for (int64_t i = 0; i < e.n; i++) cover(&y, e.y.low[i]), cover(&y, e.y.high[i]);
    widen(&y, 0.03, 0.03);
    snprintf(suffix, sizeof suffix, ", %s with 95 %%", middle_name(gp));
    write_axis(c, script, 'y', &y, 6, ct_gp_output(gp)->name, suffix);
    for (int64_t j = 0; j < shown; j++)
        write_effect(c, script, &e, &e.inputs[j], ct_gp_input(gp, e.inputs[j].input), &y);
}
