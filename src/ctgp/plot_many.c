/* ctgp plot of several inputs: predicted against observed, residuals, and the effect of each input. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

/* Predicted against observed, with 95 % bars. */
static void write_observed(ctgp *c, FILE *script, const char *name, const points *q)
{
    axis x = empty_axis, y;
    for (int64_t i = 0; i < q->n; i++)
        if (isfinite(q->x[i])) cover(&x, q->x[i]), cover(&x, q->low[i]), cover(&x, q->high[i]);
    y = x;
    widen(&x, 0.03, 0.03);
    widen(&y, 0.03, 0.2); /* above is the key */
    write_axis(c, script, 'x', &x, 4, name, ", observed");
    write_axis(c, script, 'y', &y, 6, name, ", predicted with 95 %");
    points_write(script, q, &x, &y);
    fprintf(script, "$exact << EOD\n0 %.17g\n1 %.17g\nEOD\n", share(&y, x.lo), share(&y, x.hi));
    fputs("plot $exact with lines lw 1 dt 2 lc rgb '#808080' notitle", script);
    points_plot(script, q, true, true);
    fputs("\n", script);
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
    write_axis(c, script, 'x', &x, 4, name, ", predicted");
    write_axis(c, script, 'y', &y, 6, name, ", residual");
    points_write(script, q, &x, &y);
    fprintf(script, "$exact << EOD\n0 %.17g\n1 %.17g\nEOD\n", share(&y, 0), share(&y, 0));
    fputs("plot $exact with lines lw 1 dt 2 lc rgb '#808080' notitle", script);
    points_plot(script, q, false, false);
    fputs("\n", script);
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
