/* ctgp plot: rows of the table as points, which the model learned, which the fit held back, or neither. */
#include "plot_points.h"

#include <math.h>

#include "context.h"

points points_make(ctgp *c, int64_t n, const fate *fates)
{
    double *x = take(c, n, 4 * sizeof *x, "points of a picture");
    for (int64_t i = 0; i < 4 * n; i++) x[i] = NAN;
    return (points){ .n = n, .fates = fates, .x = x, .y = x + n, .low = x + 2 * n, .high = x + 3 * n };
}

/* By fate. */
enum { FATES = 3 };
static const char *const block[FATES] = { "others", "held", "learned" };

static bool is_shown(const points *q, int64_t i)
{
    return isfinite(q->x[i]) && isfinite(q->y[i]) && isfinite(q->low[i]) && isfinite(q->high[i]);
}

void points_write(FILE *script, const points *q, const axis *x, const axis *y)
{
    for (int k = 0; k < FATES; k++) {
        fprintf(script, "$%s << EOD\n", block[k]);
        for (int64_t i = 0; i < q->n; i++)
            if (is_shown(q, i) && (int)q->fates[i] == k)
                fprintf(script, "%.17g %.17g %.17g %.17g\n", share(x, q->x[i]), share(y, q->y[i]),
                        share(y, q->low[i]), share(y, q->high[i]));
        fputs("EOD\n", script);
    }
}

int points_kinds(const points *q)
{
    bool there[FATES] = { false };
    for (int64_t i = 0; i < q->n; i++) there[q->fates[i]] |= is_shown(q, i);
    return there[ROW_UNSEEN] + there[ROW_HELD] + there[ROW_LEARNED];
}

/* Many points are small and transparent. */
void points_plot(FILE *script, const points *q, bool bars, bool key)
{
    static const char *const color[] = { "8a2bb0", "d9560b", "202020" },
                             *const pale[] = { "d2b0de", "f0b48a", "9fb3c4" },
                             *const title[] = { "rows never seen", "held-back rows", "learned rows" };
    long count[FATES] = { 0 }, all = 0;
    for (int64_t i = 0; i < q->n; i++)
        if (is_shown(q, i)) count[q->fates[i]]++, all++;
    const char *size = all <= 300 ? "0.5" : all <= 2000 ? "0.3" : "0.2";
    const char *clear = all <= 300 ? "00" : all <= 2000 ? "70" : "A0"; /* 00 is opaque, FF invisible */
    for (int k = FATES; k-- > 0 && bars;)
        if (count[k])
            fprintf(script, ", $%s using 1:3:(0):($4-$3) with vectors nohead lw 0.7 lc rgb '#%s%s' notitle",
                    block[k], clear, pale[k]);
    for (int k = FATES; k-- > 0;) {
        if (!count[k]) continue;
        fprintf(script, ", $%s using 1:2 with points pt 7 ps %s lc rgb '#%s%s' notitle", block[k], size,
                clear, color[k]);
        if (key) fprintf(script, ", NaN with points pt 7 ps 0.5 lc rgb '#%s' title '%s'", color[k], title[k]);
    }
}
