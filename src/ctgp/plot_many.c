/* ctgp plot of several inputs: predicted against observed, residuals, and the effect of each input. */
#include "plot_many.h"

#include <math.h>

#include "failure.h"
#include "plot_axis.h"
#include "plot_effects.h"
#include "plot_points.h"
#include "score.h"

/* Draws points, with bars and a key or without, and the line at which the model is exact, from y0 to y1. */
static void write_panel(ctgp *c, FILE *script, const points *q, const char *name, const axis *x,
                        const char *of_x, const axis *y, const char *of_y, double y0, double y1, bool bars)
{
    write_axis(c, script, 'x', x, 4, name, of_x);
    write_axis(c, script, 'y', y, 6, name, of_y);
    points_write(script, q, x, y);
    fprintf(script, "$exact << EOD\n0 %.17g\n1 %.17g\nEOD\n", share(y, y0), share(y, y1));
    fputs("plot $exact with lines lw 1 dt 2 lc rgb '#808080' notitle", script);
    points_plot(script, q, bars, bars);
    fputs("\n", script);
}

/* Predicted against observed, with 95 % bars. */
static void write_observed(ctgp *c, FILE *script, const char *name, const points *q)
{
    axis x = empty_axis, y;
    for (int64_t i = 0; i < q->n; i++)
        if (isfinite(q->x[i])) cover(&x, q->x[i]), cover(&x, q->low[i]), cover(&x, q->high[i]);
    y = x;
    widen(&x, 0.03, 0.03);
    widen(&y, 0.03, 0.2); /* above is the key */
    write_panel(c, script, q, name, &x, ", observed", &y, ", predicted with 95 %", x.lo, x.hi, true);
}

/* Observed minus predicted, against predicted. */
static void write_residuals(ctgp *c, FILE *script, const char *name, points *q)
{
    axis x = empty_axis, y = { 0, 0 };
    for (int64_t i = 0; i < q->n; i++) {
        const double residual = q->x[i] - q->y[i];
        q->x[i] = q->y[i], q->y[i] = q->low[i] = q->high[i] = residual;
        if (isfinite(residual)) cover(&x, q->x[i]), cover(&y, residual);
    }
    widen(&x, 0.03, 0.03);
    widen(&y, 0.05, 0.05);
    write_panel(c, script, q, name, &x, ", predicted", &y, ", residual", 0, 0, false);
}

void write_scatter(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates)
{
    const char *name = ct_gp_output(gp)->name;
    points q = points_make(c, p->data.n_rows, fates);
    bool any = false;
    for (int64_t i = 0; i < q.n && p->target >= 0; i++) {
        q.x[i] = ct_table_at(p->data.table, p->data.rows[i], p->target);
        q.y[i] = prediction_quantile(p, i, 0);
        q.low[i] = prediction_quantile(p, i, -Z95), q.high[i] = prediction_quantile(p, i, Z95);
        any |= isfinite(q.x[i]);
    }
    if (!any)
        fail(c, CODE_DATA, "%s: a model of several inputs is drawn against its target, which is missing here",
             p->data.path);
    write_observed(c, script, name, &q);
    write_residuals(c, script, name, &q);
    write_effects(c, script, gp, p);
}
