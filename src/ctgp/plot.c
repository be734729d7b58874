/* ctgp plot: a picture of a model and data, drawn by gnuplot. */
#include "plot.h"

#include <stdlib.h>
#include <string.h>

/* "model.ctgp: scale * rbf(ard)", "model.ctgp: scale * rbf(ard), of log(y)" */
static void write_title(const ct_gp *gp, const char *model, bool panels, char *title, size_t size)
{
    char kernel[1024], name[256], of[256];
    const char *slash = strrchr(model, '/');
    snprintf(name, sizeof name, "%s", slash ? slash + 1 : model);
    shorten(name, 40);
    kernel_text(gp, kernel, sizeof kernel);
    shorten(kernel, panels ? 120 : 80);
    target_text(gp, of, sizeof of);
    shorten(of, 60);
    const bool plain = !ct_gp_transform(gp).kind;
    snprintf(title, size, "%.160s: %.240s%s%.80s", name, kernel, plain ? "" : ", of ", plain ? "" : of);
}

/* gnuplot's script, in memory. */
static void write_script(ctgp *c, ct_gp *gp, const char *model, const prediction *p, const fate *fates,
                         bool png, char **text, size_t *size)
{
    if (!going(c)) return;
    char title[512], scores[256] = "";
    FILE *script = open_memstream(text, size);
    if (!script) {
        fail(c, CODE_MEMORY, "no memory for the picture");
        return;
    }
    const score s = prediction_score(p);
    if (s.n)
        snprintf(scores, sizeof scores, "n=%lld  rmse=%.4g  coverage95=%.3g", (long long)s.n, s.rmse,
                 s.coverage95);
    const int64_t d = ct_gp_dims(gp), effects = d < MOST_EFFECTS ? d : MOST_EFFECTS;
    write_title(gp, model, d > 1, title, sizeof title);
    write_header(script, png, title, scores, d == 1 ? 1 : 2 + effects);
    (d == 1 ? write_curve : write_scatter)(c, script, gp, p, fates);
    const bool whole = !ferror(script);
    if (fclose(script) || !whole) fail(c, CODE_MEMORY, "no memory for the picture");
}

/* Whether it ends as such a picture does. gnuplot may succeed without one. */
static bool is_whole(const char *picture, size_t size, bool png)
{
    const char *end = png ? "IEND\xae\x42\x60\x82" : "</svg>";
    const size_t n = strlen(end);
    while (!png && size && picture[size - 1] == '\n') size--;
    return size >= n && !memcmp(picture + size - n, end, n);
}

static void draw(ctgp *c, ct_gp *gp, const char *model, const prediction *p, const fate *fates,
                 const char *out, bool png)
{
    if (!going(c)) return;
    char *script = NULL, *picture = NULL;
    size_t size = 0, bytes = 0;
    write_script(c, gp, model, p, fates, png, &script, &size);
    run_gnuplot(c, script, size, &picture, &bytes);
    if (!is_whole(picture, bytes, png)) fail(c, CODE_IO, "%s: gnuplot has drawn no whole picture", out);
    file_write(c, ct_gp_device(gp), out, picture, bytes);
    free(script);
    free(picture);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

void run_plot(ctgp *c, int argc, char **argv)
{
    const char *out = NULL, *device_name = NULL, *output = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--out", "FILE.svg|png", "the picture (required)", &out },
        OUTPUT_OPTION(output),
        DIALECT_OPTIONS(d),
        UNSEEN_OPTION(d),
        DEVICE_OPTION(device_name),
    };
    const command usage = {
        .name = "plot",
        .arguments = "MODEL DATA.csv --out FILE.svg|png",
        .summary = "Draws a model and data with gnuplot.",
        .details =
            "A model of one input: data, mean and 95 % interval. Of several inputs: predicted against\n"
            "observed, residuals, and the effect of each input. Rows that the model learned, rows that were\n"
            "held back and rows that it never saw have colours of their own.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, paths);
    parse_dialect(c, &d, &how);
    if (!going(c)) return;
    const bool png = out && ends_with(out, ".png");
    if (!out)
        fail(c, CODE_USAGE, "where to? --out FILE.svg or FILE.png");
    else if (!png && !ends_with(out, ".svg"))
        fail(c, CODE_USAGE, "--out: '%s' ends neither in .svg nor in .png", out);
    keep_apart(c, "--out", out, "MODEL", paths[0]);
    keep_apart(c, "--out", out, "DATA.csv", paths[1]);
    model_file m;
    source t;
    prediction p;
    fate *fates = NULL;
    model_open(c, &m, device_name, paths[0], output, true);
    if (!going(c)) return;
    ct_gp *gp = m.gp[0];
    source_open(c, &t, m.device, paths[1]);
    prediction_make(c, &p, gp, &t, &how);
    source_close(&t);
    frame_fates(c, &p.data, gp, &fates);
    draw(c, gp, paths[0], &p, fates, out, png);
    if (going(c)) say_line("picture=%s", out);
}
