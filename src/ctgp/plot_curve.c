/* ctgp plot of one input: data, and the curve over their range and a twentieth beyond, or a point with its
 * interval for each level of a category. */
#include "plot_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "noise.h"
#include "numbers.h"
#include "plot_axis.h"
#include "plot_band.h"
#include "plot_points.h"

/* At least LEAST and at most MOST points are predicted. */
enum { LEAST = 500, MOST = 20000 };

/* The largest step that shows the kernel's fastest wave. It takes ten steps to a lengthscale, twenty to a
 * period p, and in a periodic kernel also ten to l p / 2π, over which that falls as an rbf does over a
 * lengthscale. */
static double finest_step(const ct_gp *gp)
{
    double step = INFINITY, round_lengthscale = INFINITY;
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        bool lengthscale = strstr(p->name, ".lengthscale"), period = strstr(p->name, ".period");
        if (!strncmp(p->name, "linear", 6) || !strncmp(p->name, "poly", 4)) continue;
        if (period) step = fmin(step, p->value / 20);
        if (period && !strncmp(p->name, "periodic", 8))
            step = fmin(step, round_lengthscale * p->value / (2 * acos(-1)) / 10);
        if (lengthscale && p->unit == CT_UNIT_INPUT) step = fmin(step, p->value / 10);
        if (lengthscale && p->unit != CT_UNIT_INPUT)
            round_lengthscale = p->value; /* comes before its period */
    }
    return step;
}

/* A point for each level. */
static curve curve_levels(ctgp *c, const ct_column *category)
{
    const curve of = curve_make(c, category->n_levels);
    for (int64_t i = 0; i < of.n; i++) of.x[i] = (double)i;
    return of;
}

/* Chooses the points. If the kernel asks for more than MOST, they lie at irregular distances. The rows of the
 * table are then points, too, as such a curve may reach them by spikes. */
static curve curve_place(ctgp *c, const ct_gp *gp, const axis *x, const prediction *p, int64_t x_col)
{
    const double length = x->hi - x->lo, wanted = ceil(length / finest_step(gp)) + 1;
    const bool regular = wanted <= MOST;
    const int64_t n = regular ? (int64_t)fmax(wanted, LEAST) : MOST;
    const curve of = curve_make(c, regular ? n : n + p->data.n_rows);
    for (int64_t i = 0; i < of.n; i++)
        of.x[i] = i >= n    ? ct_table_at(p->data.table, p->data.rows[i - n], x_col)
                  : regular ? x->lo + length * (double)i / (double)(n - 1)
                            : x->lo + length * irregular(i, n);
    if (!regular) qsort(of.x, (size_t)of.n, sizeof *of.x, ascending);
    return of;
}

/* Rows of one level lie beside each other, so that one can see each. */
static double spread(const ct_column *input, int64_t i)
{
    return input->kind == CT_COLUMN_CATEGORY ? 0.3 * fmod((double)i * (sqrt(5) - 1) / 2, 1) + 0.1 : 0;
}

static void write_plot(FILE *script, const ct_gp *gp, const points *q)
{
    const char *which = noise_needs_column(ct_gp_get_options(gp).noise) ? " with the average noise" : "";
    if (ct_gp_input(gp, 0)->kind == CT_COLUMN_CATEGORY) {
        fprintf(script,
                "plot $curve using 1:2:3:4 with yerrorbars pt 7 %s lc rgb '#1f5f99' "
                "title '%s, 95 %% interval%s'",
                ct_gp_input(gp, 0)->n_levels > 30 ? "ps 0.4 lw 0.7" : "ps 0.9 lw 2", middle_name(gp), which);
        points_plot(script, q, false, true);
    } else {
        fprintf(script, "plot $curve using 1:3:4 with filledcurves lc rgb '#bcd7ee' title '95 %% interval%s'",
                which);
        points_plot(script, q, false, true);
        fprintf(script, ", $curve using 1:2 with lines lw 2 lc rgb '#1f5f99' title '%s'", middle_name(gp));
    }
    fputs("\n", script);
}

void write_curve(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates)
{
    const ct_column *input = ct_gp_input(gp, 0);
    const int64_t x_col = ct_table_find(p->data.table, input->name);
    axis x = empty_axis, y = empty_axis;
    const points q = points_make(c, p->data.n_rows, fates);
    for (int64_t i = 0; i < q.n; i++) {
        q.x[i] = ct_table_at(p->data.table, p->data.rows[i], x_col);
        if (p->target >= 0) q.y[i] = ct_table_at(p->data.table, p->data.rows[i], p->target);
        q.low[i] = q.high[i] = q.y[i];
        cover(&x, q.x[i]), cover(&y, q.y[i]);
        q.x[i] += spread(input, i);
    }
    x = column_axis(input, x.lo, x.hi);
    write_column_axis(c, script, &x, 7, input);
    curve line =
        input->kind == CT_COLUMN_CATEGORY ? curve_levels(c, input) : curve_place(c, gp, &x, p, x_col);
    curve_predict(c, &line, gp, line.x, true);
    cover_band(&y, &line);
    widen(&y, 0.03, points_kinds(&q) > 2 ? 0.2 : 0.12); /* above is the key */
    write_axis(c, script, 'y', &y, 7, ct_gp_output(gp)->name, "");
    curve_write(script, "curve", &line, &x, &y);
    points_write(script, &q, &x, &y);
    write_plot(script, gp, &q);
}
