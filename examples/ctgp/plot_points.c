/* ctgp plot: rows of the table as points, those that the model learned and the others. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

int points_make(points *q, int64_t n, const bool *learned)
{
    *q = (points){ .n = n, .learned = learned, .x = malloc((size_t)(3 * n) * sizeof *q->x) };
    if (!q->x) return fail(CODE_MEMORY, "no memory for %lld points of a picture", (long long)n);
    q->y = q->x + n, q->width = q->y + n;
    for (int64_t i = 0; i < 3 * n; i++) q->x[i] = NAN;
    return GO_ON;
}

static bool is_learned(const points *q, int64_t i) { return q->learned && q->learned[i]; }

static bool is_shown(const points *q, int64_t i)
{
    return isfinite(q->x[i]) && isfinite(q->y[i]) && isfinite(q->width[i]);
}

void points_write(FILE *script, const points *q, const axis *x, const axis *y)
{
    for (int which = 0; which < 2; which++) {
        fprintf(script, "$%s << EOD\n", which ? "others" : "learned");
        for (int64_t i = 0; i < q->n; i++)
            if (is_shown(q, i) && is_learned(q, i) == !which)
                fprintf(script, "%.17g %.17g %.17g %.17g\n", share(x, q->x[i]), share(y, q->y[i]),
                        share(y, q->y[i] - q->width[i]), share(y, q->y[i] + q->width[i]));
        fputs("EOD\n", script);
    }
}

/* The more points, the smaller and the more transparent they are. */
void points_plot(FILE *script, const points *q, bool bars, bool key)
{
    static const char *const block[] = { "$learned", "$others" }, *const color[] = { "202020", "d9560b" },
                             *const pale[] = { "9fb3c4", "f0b48a" },
                             *const title[] = { "learned rows", "rows not learned" };
    long count[2] = { 0, 0 };
    for (int64_t i = 0; i < q->n; i++)
        if (is_shown(q, i)) count[!is_learned(q, i)]++;
    const long all = count[0] + count[1];
    const char *size = all <= 300 ? "0.5" : all <= 2000 ? "0.3" : "0.2";
    const char *clear = all <= 300 ? "00" : all <= 2000 ? "70" : "A0"; /* 00 is opaque, FF invisible */
    for (int k = 0; k < 2 && bars; k++)
        if (count[k])
            fprintf(script, ", %s using 1:3:(0):($4-$3) with vectors nohead lw 0.7 lc rgb '#%s%s' notitle",
                    block[k], clear, pale[k]);
    for (int k = 0; k < 2; k++) {
        if (!count[k]) continue;
        fprintf(script, ", %s using 1:2 with points pt 7 ps %s lc rgb '#%s%s' notitle", block[k], size, clear,
                color[k]);
        if (key) fprintf(script, ", NaN with points pt 7 ps 0.5 lc rgb '#%s' title '%s'", color[k], title[k]);
    }
}
