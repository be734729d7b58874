/* ctgp plot of several inputs: predicted against observed, residuals, and the effect of each input. That is
 * the middle with its 95 % interval, without the noise, while the other inputs are held at their median in
 * the table, or at their most frequent level. */
#include "plot_many.h"

#include <math.h>

#include "context.h"
#include "failure.h"
#include "numbers.h"
#include "plot_band.h"
#include "plot_points.h"
#include "score.h"
#include "target.h"

/* Of a panel in pixels. */
enum { WIDTH = 400, HEIGHT = 310 };

/* -- rows ------------------------------------------------------------------------------------------------ */

/* Draws the points, with bars or without, and the line at which the model is exact, from y0 to y1. */
static void write_panel(page *g, const points *q, const axis *x, const axis *y, double y0, double y1,
                        bool bars)
{
    points_write(g, q, x, y, y);
    fprintf(g->script, "$exact << EOD\n0 %.17g\n1 %.17g\nEOD\nplot $exact with lines lw 1 dt 2 lc rgb c_ink",
            y0, y1);
    points_plot(g, q, bars);
    fputs("\n", g->script);
}

/* Predicted against observed, with 95 % bars. */
static void write_observed(page *g)
{
    const prediction *p = g->p;
    const char *name = ct_gp_output(g->gp)->name;
    points q = points_make(g, 0);
    axis a = target_axis(g->gp);
    for (int64_t i = 0; i < q.n; i++) {
        if (!isfinite(q.x[i] = q.y[i])) continue;
        q.y[i] = prediction_quantile(p, i, 0);
        q.low[i] = prediction_quantile(p, i, -Z95), q.high[i] = prediction_quantile(p, i, Z95);
        cover(&a, q.x[i]), cover(&a, q.low[i]), cover(&a, q.high[i]);
    }
    widen(&a, 0.03, 0.03);
    page_y(g, &a, name, ", predicted with 95 %");
    page_x(g, &a, name, ", observed");
    write_panel(g, &q, &a, &a, 0, 1, true);
}

/* Observed minus predicted, on the scale that the model has learned, against predicted. */
static void write_residuals(page *g)
{
    points q = points_make(g, 0);
    axis x = target_axis(g->gp), y = { .lo = 0, .hi = 0 };
    for (int64_t i = 0; i < q.n; i++) {
        q.y[i] = q.low[i] = q.high[i] = ct_transform_value(g->p->transform, q.y[i]) - g->p->mean[i];
        if (!isfinite(q.y[i])) continue;
        q.x[i] = prediction_quantile(g->p, i, 0);
        cover(&x, q.x[i]), cover(&y, q.y[i]);
    }
    widen(&x, 0.03, 0.03);
    widen(&y, 0.05, 0.05);
    page_y(g, &y, target_text(g->c, g->gp), ", residual");
    page_x(g, &x, ct_gp_output(g->gp)->name, ", predicted");
    write_panel(g, &q, &x, &y, share(&y, 0), share(&y, 0), false);
}

/* -- effects --------------------------------------------------------------------------------------------- */

/* Fills of[d] with the effects of the inputs that vary in the table, at most `most`: those over which the
 * middle ranges most, in the order of the inputs. Returns how many. */
static int64_t make_effects(page *g, int64_t most, band *of)
{
    const int64_t d = ct_gp_dims(g->gp);
    keyed *range = take(g->c, d, sizeof *range, "effects");
    int64_t constant = 0, n = 0, shown = 0;
    for (int64_t j = 0; j < d; j++) {
        const span *s = &g->spans[j];
        const band b =
            s->lo < s->hi ? band_make(g, j, s->lo, s->hi, WIDTH - LEFT - RIGHT, false) : (band){ 0 };
        const moments m = moments_of(b.p.mean, b.at.n, 1);
        constant += s->lo == s->hi;
        if (b.at.n) range[n] = (keyed){ m.low - m.high, n }, of[n++] = b;
    }
    sort_keyed(range, n);
    for (int64_t k = most; k < n; k++) of[range[k].index].at.n = 0;
    for (int64_t k = 0; k < n; k++)
        if (of[k].at.n) of[shown++] = of[k];
    if (constant)
        page_remark(
            g, text_of(g->c, "no effects of inputs with one value in the table: %lld", (long long)constant));
    if (n > most)
        page_remark(g, text_of(g->c,
                               "%lld of %lld effects, over which the %s ranges most; --panels %lld draws all",
                               (long long)most, (long long)n, middle_name(g->gp), (long long)n));
    return shown;
}

static void write_effect(page *g, const band *b)
{
    const span *s = &g->spans[b->at.j];
    const axis x = span_axis(s);
    axis y = target_axis(g->gp);
    band_cover(&y, b);
    widen(&y, 0.05, 0.05);
    page_y(g, &y, ct_gp_output(g->gp)->name, text_of(g->c, ", %s with 95 %%", middle_name(g->gp)));
    page_x(g, &x, s->input->name, "");
    band_write(g, "effect", b, &x, &y);
    fputs("plot NaN", g->script);
    band_plot_interval(g, "effect", b);
    band_plot_middle(g, "effect", b);
    fputs("\n", g->script);
}

/* -- the page -------------------------------------------------------------------------------------------- */

/* Panels lie in rows of three. */
static void next_panel(page *g)
{
    page_panel(g, WIDTH * (g->panels % 3), HEIGHT * (g->panels / 3), WIDTH, HEIGHT);
}

void write_panels(page *g, int64_t most)
{
    if (moments_of(points_make(g, 0).y, g->p->data.n_rows, 1).n == 0)
        fail(g->c, CODE_DATA,
             "%s: a model of several inputs is drawn against its target, which is missing here",
             g->p->data.path);
    band *effects = take(g->c, ct_gp_dims(g->gp), sizeof *effects, "effects");
    const int64_t n = make_effects(g, most, effects);
    page_begin(g, 3 * WIDTH, HEIGHT * (double)((n + 4) / 3));
    next_panel(g);
    write_observed(g);
    next_panel(g);
    write_residuals(g);
    for (int64_t k = 0; k < n; k++) next_panel(g), write_effect(g, &effects[k]);
}
