/* ctgp plot: rows of the table as points, which the model learned, which the fit held back, or neither. */
#include "plot_points.h"

#include <math.h>

#include "context.h"

const char *const block_of[FATES] = { "others", "held", "learned" };

points points_make(page *g, int64_t more)
{
    const prediction *p = g->p;
    const int64_t rows = p->data.n_rows, n = rows + more;
    double *x = take(g->c, n, 4 * sizeof *x, "points of a picture");
    points q = { .n = n, .x = x, .y = x + n, .low = x + 2 * n, .high = x + 3 * n };
    q.fates = take(g->c, n, sizeof *q.fates, "points of a picture");
    for (int64_t i = 0; i < 4 * n; i++) x[i] = NAN;
    for (int64_t i = 0; i < n; i++) {
        q.fates[i] = i < rows ? g->fates[i] : ROW_LEARNED;
        if (i < rows && p->target >= 0) q.y[i] = ct_table_at(p->data.table, p->data.rows[i], p->target);
    }
    return q;
}

static bool is_shown(const points *q, int64_t i)
{
    return isfinite(q->x[i]) && isfinite(q->y[i]) && isfinite(q->low[i]) && isfinite(q->high[i]);
}

void points_write(page *g, const points *q, const axis *x, const axis *y, const axis *z)
{
    for (int k = 0; k < FATES; k++) {
        fprintf(g->script, "$%s << EOD\n", block_of[k]);
        for (int64_t i = 0; i < q->n; i++)
            if (is_shown(q, i) && (int)q->fates[i] == k)
                fprintf(g->script, "%.17g %.17g %.17g %.17g\n", share(x, q->x[i]), share(y, q->y[i]),
                        share(z, q->low[i]), share(z, q->high[i]));
        fputs("EOD\n", g->script);
    }
}

/* Many points are small and transparent. */
void points_plot(page *g, const points *q, bool bars)
{
    long count[FATES] = { 0 }, all = 0;
    for (int64_t i = 0; i < q->n; i++)
        if (is_shown(q, i)) count[q->fates[i]]++, all++;
    const char *size = all <= 300 ? "0.5" : all <= 2000 ? "0.3" : "0.2";
    const char *clear = all <= 300 ? "00" : all <= 2000 ? "70" : "A0"; /* 00 is opaque, FF invisible */
    for (int k = FATES; k-- > 0 && bars;)
        if (count[k])
            fprintf(g->script, ", $%s using 1:3:(0):($4-$3) with vectors nohead lw 0.7 lc rgb '#%s'.p_%s",
                    block_of[k], clear, block_of[k]);
    for (int k = FATES; k-- > 0;)
        if (count[k])
            fprintf(g->script, ", $%s using 1:2 with points pt 7 ps %s lc rgb '#%s'.c_%s", block_of[k], size,
                    clear, block_of[k]);
}
