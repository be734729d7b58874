/* ctgp plot of one input: data and the curve over their range, or a bar for each level. */
#include "plot_curve.h"

#include <math.h>

#include "context.h"
#include "learned.h"
#include "noise.h"
#include "numbers.h"
#include "plot_band.h"
#include "plot_points.h"

/* Where the history before a forecast begins: twice as long as that, or a tenth of all. Without a forecast,
 * which is a table of rows that all come after the model's, INFINITY. */
static double history_start(page *g, const double *x)
{
    const span *s = &g->spans[0];
    const moments m = moments_of(x, ct_gp_points(g->gp), 1);
    if (s->levels || s->lo <= m.high) return INFINITY;
    return fmin(3 * m.high - 2 * s->hi, 0.9 * m.high + 0.1 * m.low);
}

/* The rows of the table, and before a forecast the model's last ones, to which the input is extended. Rows of
 * one level lie beside each other, so that one can see each. */
static points take_rows(page *g, span *s)
{
    const frame *f = &g->p->data;
    const double *x = model_inputs(g->c, g->gp), *y = model_targets(g->c, g->gp), start = history_start(g, x);
    points q = points_make(g, ct_gp_points(g->gp));
    for (int64_t i = 0; i < q.n; i++) {
        const int64_t k = i - f->n_rows;
        if (k < 0)
            q.x[i] = ct_table_at(f->table, f->rows[i], f->cols[1]);
        else if (x[k] >= start)
            q.x[i] = x[k], q.y[i] = y[k], s->lo = fmin(s->lo, x[k]);
        if (s->levels) q.x[i] += s->gap * (0.3 * fmod((double)i * (sqrt(5) - 1) / 2, 1) + 0.25);
        q.low[i] = q.high[i] = q.y[i];
    }
    return q;
}

/* Of the panel in pixels. */
enum { WIDTH = 800, HEIGHT = 440 };

void write_curve(page *g)
{
    span s = g->spans[0];
    const points q = take_rows(g, &s);
    const axis x = span_axis(&s);
    if (s.lo < g->spans[0].lo) page_line(g, "'#'.c_learned", "● the last learned rows");
    if (s.lo == s.hi) s.lo = x.lo, s.hi = x.hi;
    const band b = band_make(g, 0, s.lo, s.hi, WIDTH - LEFT - RIGHT, true);
    axis y = target_axis(g->gp);
    for (int64_t i = 0; i < q.n; i++) cover(&y, q.y[i]);
    band_cover(&y, &b);
    widen(&y, 0.03, 0.03);
    const char *average = noise_needs_column(ct_gp_get_options(g->gp).noise) ? " with the average noise" : "";
    page_begin(g, WIDTH, HEIGHT);
    page_panel(g, 0, 0, WIDTH, HEIGHT);
    page_y(g, &y, ct_gp_output(g->gp)->name,
           b.at.n ? text_of(g->c, ", %s with 95 %%%s", middle_name(g->gp), average) : "");
    page_x(g, &x, s.input->name, "");
    band_write(g, "curve", &b, &x, &y);
    points_write(g, &q, &x, &y, &y);
    fputs("plot NaN", g->script);
    band_plot_interval(g, "curve", &b);
    points_plot(g, &q, false);
    band_plot_middle(g, "curve", &b);
    fputs("\n", g->script);
}
