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
#include "plot_effects.h"
#include "plot_gnuplot.h"
#include "plot_many.h"
#include "score.h"
#include "table.h"
#include "target.h"
#include "text.h"

/* "model.ctgp: scale * rbf(ard)", "model.ctgp: scale * rbf(ard), of log(y)" */
static const char *title_of(ctgp *c, const ct_gp *gp, const char *model, bool panels)
{
    const char *slash = strrchr(model, '/'), *name = shortened(c, slash ? slash + 1 : model, 40);
    const char *kernel = shortened(c, kernel_text(c, gp), panels ? 120 : 80);
    if (!ct_gp_transform(gp).kind) return text_of(c, "%s: %s", name, kernel);
    return text_of(c, "%s: %s, of %s", name, kernel, shortened(c, target_text(c, gp), 60));
}

/* gnuplot's script, in memory. */
static memory_file *write_script(ctgp *c, ct_gp *gp, const char *model, const prediction *p,
                                 const fate *fates, bool png)
{
    memory_file *script = memory_open(c, "the picture");
    const score s = prediction_score(c, p);
    const char *scores =
        !s.n ? "" : text_of(c, "n=%lld  rmse=%.4g  coverage95=%.3g", (long long)s.n, s.rmse, s.coverage95);
    const int64_t d = ct_gp_dims(gp), effects = d < MOST_EFFECTS ? d : MOST_EFFECTS;
    write_header(script->to, png, title_of(c, gp, model, d > 1), scores, d == 1 ? 1 : 2 + effects);
    (d == 1 ? write_curve : write_scatter)(c, script->to, gp, p, fates);
    memory_end(c, script, "the picture");
    return script;
}

/* Whether it ends as such a picture does. gnuplot may succeed without one. */
static bool is_whole(const char *picture, size_t size, bool png)
{
    const char *end = png ? "IEND\xae\x42\x60\x82" : "</svg>";
    const size_t n = strlen(end);
    while (!png && size && picture[size - 1] == '\n') size--;
    return size >= n && !memcmp(picture + size - n, end, n);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static void draw(ctgp *c, const char *files[MOST_FILES], const char *out, bool png)
{
    const model_file m = model_open(c, files[0], true);
    ct_gp *gp = m.gp[0];
    const prediction *p = prediction_make(c, m.gp, 1, files[1]);
    const memory_file *script = write_script(c, gp, files[0], p, frame_fates(c, &p->data, gp), png);
    const memory_file *picture = run_gnuplot(c, script);
    if (!is_whole(picture->text, picture->size, png))
        fail(c, CODE_IO, "%s: gnuplot has drawn no whole picture", out);
    file_write(c, out, picture->text, picture->size);
    say(stdout, "picture=%s\n", out);
}

void run_plot(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL;
    const option options[] = {
        { "--out", "FILE.svg|png", "the picture (required)", .text = &out, .output = true,
          .required = "where to? --out FILE.svg or FILE.png" },
    };
    const command usage = {
        .name = "plot",
        .files = { "MODEL", "DATA.csv" },
        .needed = 2,
        .also = "--out FILE.svg|png",
        .summary = "Draws a model and data with gnuplot.",
        .details =
            "A model of one input: data, mean and 95 % interval. Of several inputs: predicted against\n"
            "observed, residuals, and the effect of each input. Rows that the model learned, rows that were\n"
            "held back and rows that it never saw have colours of their own.",
        .shared = OF_OUTPUTS | OF_TABLES | OF_ROWS | OF_DEVICE,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, files);
    const bool png = ends_with(out, ".png");
    if (!png && !ends_with(out, ".svg"))
        fail(c, CODE_USAGE, "--out: '%s' ends neither in .svg nor in .png", out);
    draw(c, files, out, png);
}
