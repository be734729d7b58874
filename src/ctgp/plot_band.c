/* ctgp plot: a prediction over one input, as a curve with its interval, or as bars of levels. */
#include "plot_band.h"

#include <math.h>

#include "context.h"
#include "score.h"

/* A curve has at least LEAST points and at most MOST, and a wave at least `shortest` pixels. */
enum { LEAST = 500, MOST = 20000 };
static const double shortest = 2.5;

band band_make(page *g, int64_t j, double lo, double hi, double pixels, bool noise)
{
    const span *s = &g->spans[j];
    const double asked = ceil((hi - lo) / s->step) + 1, waves = (hi - lo) / s->wave;
    band b = { .at.n = 0 };
    if (!s->levels && (asked > MOST || waves * shortest > pixels)) {
        page_remark(g, text_of(g->c,
                               "no curve over %s: %.4g waves, %.4g points, do not fit into %.0f pixels; "
                               "draw fewer rows",
                               s->input->name, waves, asked, pixels));
        return b;
    }
    b.at = side_make(g->c, s, j, lo, hi, (int64_t)fmax(asked, LEAST));
    b.p = slice_predict(g->c, g->gp, g->spans, &b.at, NULL, noise);
    return b;
}

void band_cover(axis *y, const band *b)
{
    for (int64_t i = 0; i < b->at.n; i++)
        cover(y, prediction_quantile(&b->p, i, -Z95)), cover(y, prediction_quantile(&b->p, i, Z95));
}

void band_write(page *g, const char *name, const band *b, const axis *x, const axis *y)
{
    fprintf(g->script, "$%s << EOD\n", name);
    for (int64_t i = 0; i < b->at.n; i++)
        fprintf(g->script, "%.17g %.17g %.17g %.17g\n", share(x, b->at.at[i]),
                share(y, prediction_quantile(&b->p, i, 0)), share(y, prediction_quantile(&b->p, i, -Z95)),
                share(y, prediction_quantile(&b->p, i, Z95)));
    fputs("EOD\n", g->script);
}

static int64_t levels_of(const page *g, const band *b) { return b->at.n ? g->spans[b->at.j].levels : 0; }

void band_plot_interval(page *g, const char *name, const band *b)
{
    const int64_t levels = levels_of(g, b);
    if (levels)
        fprintf(g->script, ", $%s using 1:2:($1-%.6f):($1+%.6f):3:4 with boxxyerror lc rgb c_band", name,
                0.2 / (double)levels, 0.2 / (double)levels);
    else if (b->at.n)
        fprintf(g->script, ", $%s using 1:3:4 with filledcurves lc rgb c_band", name);
}

void band_plot_middle(page *g, const char *name, const band *b)
{
    const int64_t levels = levels_of(g, b);
    if (levels)
        fprintf(g->script, ", $%s using 1:2 with points pt 7 ps %s lc rgb c_line", name,
                levels > 30 ? "0.4" : "0.9");
    else if (b->at.n)
        fprintf(g->script, ", $%s using 1:2 with lines lw 2 lc rgb c_line", name);
}

const char *middle_name(const ct_gp *gp) { return ct_gp_transform(gp).kind ? "median" : "mean"; }
