/* ctgp plot of several inputs: predicted against observed. */
#include "plot.h"

#include <math.h>

int write_scatter(FILE *script, const ct_gp *gp, const prediction *p)
{
    axis x = empty_axis, y = empty_axis;
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double value = ct_table_at(p->data.table, p->data.rows[i], p->target), bar = Z95 * p->std[i];
        if (isfinite(value)) cover(&x, value), cover(&x, p->mean[i] - bar), cover(&x, p->mean[i] + bar);
    }
    if (x.lo > x.hi)
        return fail(CODE_DATA,
                    "%s: a model of several inputs is drawn against its target, which is missing here",
                    p->data.path);
    y = x;
    widen(&x, 0.03, 0.03);
    widen(&y, 0.03, 0.12);
    int result = write_axis(script, 'x', &x, ct_gp_output(gp)->name, ", observed");
    if (result == GO_ON) result = write_axis(script, 'y', &y, ct_gp_output(gp)->name, ", predicted");
    if (result != GO_ON) return result;
    long points = 0;
    fputs("$data << EOD\n", script);
    for (int64_t i = 0; i < p->data.n_rows; i++) {
        double value = ct_table_at(p->data.table, p->data.rows[i], p->target), bar = Z95 * p->std[i];
        if (!isfinite(value)) continue;
        fprintf(script, "%.17g %.17g %.17g %.17g\n", share(&x, value), share(&y, p->mean[i]),
                share(&y, p->mean[i] - bar), share(&y, p->mean[i] + bar));
        points++;
    }
    fprintf(script, "EOD\n$exact << EOD\n0 %.17g\n1 %.17g\nEOD\n", share(&y, x.lo), share(&y, x.hi));
    fprintf(script,
            "plot $exact with lines lw 1 dt 2 lc rgb '#808080' title 'exact', "
            "$data using 1:2:3:4 with yerrorbars pt 7 ps %s lw 0.7 lc rgb '#4a90c8' title '95 %% interval', "
            "$data using 1:2 with points pt 7 ps %s lc rgb '#1f5f99' title 'mean'\n",
            points > 300 ? "0.2" : "0.4", points > 300 ? "0.25" : "0.5");
    return GO_ON;
}
