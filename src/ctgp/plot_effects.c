/* ctgp plot: the effect of each input. It is the middle with its 95 % interval over the range of the input,
 * while the others are held at their median in the table, or at their most frequent level. */
#include "plot_effects.h"

#include <stdlib.h>

#include "context.h"
#include "numbers.h"
#include "plot_axis.h"
#include "plot_band.h"

/* Points of a curve, about one per pixel. */
enum { CURVE = 301 };

typedef struct effect {
    const ct_column *input;
    axis x;
    double median; /* in the table; of a category the most frequent level */
    curve of;
    bool shown;
} effect;

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

static bool is_category(const effect *e) { return e->input->kind == CT_COLUMN_CATEGORY; }

/* The range of input j, and where its curve has points. */
static effect effect_begin(ctgp *c, const ct_gp *gp, const prediction *p, int64_t j)
{
    const int64_t rows = p->data.n_rows, col = ct_table_find(p->data.table, ct_gp_input(gp, j)->name);
    double *values = frame_values(c, &p->data, &col, 1);
    qsort(values, (size_t)rows, sizeof *values, ascending);
    const double lo = values[0], hi = values[rows - 1];
    effect e = { .input = ct_gp_input(gp, j) };
    e.x = column_axis(e.input, lo, hi);
    e.median =
        is_category(&e) ? most_frequent(values, rows) : 0.5 * values[(rows - 1) / 2] + 0.5 * values[rows / 2];
    e.of = curve_make(c, is_category(&e) ? e.input->n_levels : CURVE);
    for (int64_t i = 0; i < e.of.n; i++) {
        const double t = i == CURVE - 1 ? 1 : irregular(i, CURVE);
        e.of.x[i] = is_category(&e) ? (double)i : (1 - t) * lo + t * hi;
    }
    return e;
}

/* Predicts effect j of d, and returns the range of its middle. */
static double effect_predict(ctgp *c, ct_gp *gp, effect *effects, int64_t d, int64_t j)
{
    curve *of = &effects[j].of;
    double *x = take(c, of->n, (size_t)d * sizeof *x, "points of an effect"); /* (n, d) */
    for (int64_t i = 0; i < of->n; i++)
        for (int64_t k = 0; k < d; k++) x[i * d + k] = k == j ? of->x[i] : effects[k].median;
    curve_predict(c, of, gp, x, false);
    const moments m = moments_of(of->middle, of->n, 1);
    return m.high - m.low;
}

static void write_effect(ctgp *c, FILE *script, const effect *e, const axis *y)
{
    write_column_axis(c, script, &e->x, 4, e->input);
    curve_write(script, "effect", &e->of, &e->x, y);
    fputs(is_category(e)
              ? "plot $effect using 1:2:3:4 with yerrorbars pt 7 ps 0.6 lw 2 lc rgb '#1f5f99' notitle\n"
              : "plot $effect using 1:3:4 with filledcurves lc rgb '#bcd7ee' notitle, "
                "$effect using 1:2 with lines lw 2 lc rgb '#1f5f99' notitle\n",
          script);
}

/* All panels have one y axis. Those with the widest range are shown, in the order of the inputs. */
void write_effects(ctgp *c, FILE *script, ct_gp *gp, const prediction *p)
{
    const int64_t d = ct_gp_dims(gp);
    effect *effects = take(c, d, sizeof *effects, "effects");
    keyed *widest = take(c, d, sizeof *widest, "effects");
    axis y = empty_axis;
    for (int64_t j = 0; j < d; j++) effects[j] = effect_begin(c, gp, p, j);
    for (int64_t j = 0; j < d; j++) {
        widest[j] = (keyed){ -effect_predict(c, gp, effects, d, j), j };
        cover_band(&y, &effects[j].of);
    }
    sort_keyed(widest, d);
    for (int64_t k = 0; k < d && k < MOST_EFFECTS; k++) effects[widest[k].index].shown = true;
    widen(&y, 0.03, 0.03);
    write_axis(c, script, 'y', &y, 6, ct_gp_output(gp)->name, text_of(c, ", %s with 95 %%", middle_name(gp)));
    for (int64_t j = 0; j < d; j++)
        if (effects[j].shown) write_effect(c, script, &effects[j], &y);
}
