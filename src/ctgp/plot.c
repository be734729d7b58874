/* ctgp plot: a picture of a model and data, drawn by gnuplot. */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "learned.h"
#include "model.h"
#include "names.h"
#include "open.h"
#include "options.h"
#include "plot_curve.h"
#include "plot_gnuplot.h"
#include "plot_many.h"
#include "plot_map.h"
#include "plot_page.h"
#include "plot_points.h"
#include "plot_tics.h"
#include "score.h"
#include "table.h"
#include "target.h"
#include "text.h"

/* Effects that are drawn unless --panels says how many. */
enum { PANELS = 10 };

/* "model.ctgp: scale * rbf(ard)", "model.ctgp, of log(y): scale * rbf(ard)" */
static const char *title_of(ctgp *c, const ct_gp *gp, const char *model)
{
    const char *slash = strrchr(model, '/'), *name = shortened(c, slash ? slash + 1 : model, 40);
    const char *of =
        ct_gp_transform(gp).kind ? text_of(c, ", of %s", shortened(c, target_text(c, gp), 40)) : "";
    return text_of(c, "%s%s: %s", name, of, kernel_text(c, gp));
}

/* What the rows of each colour are, and their score. */
static void write_legend(page *g)
{
    static const char *const what[FATES] = { "rows never seen", "held-back rows", "learned rows" },
                             *const colour[FATES] = { "'#'.c_others", "'#'.c_held", "'#'.c_learned" };
    const int64_t n = g->p->data.n_rows;
    for (int k = FATES; k-- > 0;) {
        row_loss *loss = prediction_losses(g->c, g->p);
        for (int64_t i = 0; i < n; i++)
            if ((int)g->fates[i] != k) loss[i] = no_loss;
        const score s = score_of(loss, n);
        if (s.n)
            page_line(g, colour[k],
                      text_of(g->c, "● %s: n=%lld  rmse=%.4g  coverage95=%.3g", what[k], (long long)s.n,
                              s.rmse, s.coverage95));
    }
}

typedef struct request {
    const char *files[MOST_FILES], *out, *map;
    long panels; /* -1: not given */
    bool dark;
    int format;
} request;

/* Writes gnuplot's script. */
static void write_page(page *g, const request *r)
{
    int64_t sides[2];
    page_line(g, "c_ink", title_of(g->c, g->gp, r->files[0]));
    write_legend(g);
    if (ct_gp_dims(g->gp) == 1 && !r->map)
        write_curve(g);
    else if ((!r->map && r->panels >= 0) || !find_map(g, r->map, sides) || !write_map(g, sides))
        write_panels(g, r->panels < 0 ? PANELS : r->panels);
}

/* Whether it ends as such a picture does. gnuplot may succeed without one. */
static bool is_whole(const char *picture, size_t size, int format)
{
    const char *const ends[] = { "</svg>", "IEND\xae\x42\x60\x82", "%%EOF" }, *end = ends[format];
    const size_t n = strlen(end);
    while (size && picture[size - 1] == '\n') size--;
    return size >= n && !memcmp(picture + size - n, end, n);
}

static void draw(ctgp *c, const request *r)
{
    const model_file m = model_open(c, r->files[0], true);
    ct_gp *gp = m.gp[0];
    memory_file *script = memory_open(c, "the picture");
    page g = { .c = c, .gp = gp, .script = script->to, .format = r->format, .dark = r->dark };
    g.p = prediction_make(c, m.gp, 1, r->files[1]);
    g.fates = frame_fates(c, &g.p->data, gp);
    g.spans = spans_of(c, &g.p->data, gp);
    write_page(&g, r);
    memory_end(c, script, "the picture");
    const memory_file *picture = run_gnuplot(c, script);
    if (!is_whole(picture->text, picture->size, r->format))
        fail(c, CODE_IO, "%s: gnuplot has drawn no whole picture", r->out);
    file_write(c, r->out, picture->text, picture->size);
    say(stdout, "picture=%s\n", r->out);
}

/* By its ending. */
static int format_of(ctgp *c, const char *out)
{
    static const char *const endings[] = { ".svg", ".png", ".pdf" };
    const size_t n = strlen(out);
    for (int k = 0; k < 3; k++)
        if (n > 4 && !strcmp(out + n - 4, endings[k])) return k;
    fail(c, CODE_USAGE, "--out: '%s' ends neither in .svg nor in .png or .pdf", out);
}

void run_plot(ctgp *c, int argc, char **argv)
{
    request r = { .panels = -1 };
    const option options[] = {
        { "--out", "FILE.svg|png|pdf", "the picture (required)", .text = &r.out, .output = true,
          .required = "where to? --out FILE.svg, FILE.png or FILE.pdf" },
        { "--map", "A,B", "a map over these inputs; unless given, over two numbers if no other input varies",
          .text = &r.map },
        { "--panels", "N", "effects to draw, in place of a map; 10 unless given", .whole = &r.panels,
          .most = 1000 },
        { "--dark", NULL, "on a dark ground", .flag = &r.dark },
    };
    const command usage = {
        .name = "plot",
        .files = { "MODEL", "DATA.csv" },
        .needed = 2,
        .also = "--out FILE.svg|png|pdf",
        .summary = "Draws a model and data with gnuplot.",
        .details =
            "A model of one input: data, mean and 95 % interval. If two numeric inputs vary in the table: a\n"
            "map of the mean, and one of its standard deviation. Else: predicted against observed, "
            "residuals,\n"
            "and the effect of each input. Rows that the model learned, rows that were held back and rows "
            "that\n"
            "it never saw have colours of their own. ctgp grid writes a map as a table.",
        .shared = OF_OUTPUTS | OF_TABLES | OF_ROWS | OF_DEVICE,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    if (r.map && r.panels >= 0) fail(c, CODE_USAGE, "--map and --panels are two kinds of pictures: give one");
    r.format = format_of(c, r.out);
    draw(c, &r);
}
