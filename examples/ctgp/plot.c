/* ctgp plot: a picture of a model and data, drawn by gnuplot. One input: data, mean and 95 % band. More: predicted
 * against observed, with 95 % bars. */
#include "ctgp.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* 'text' for gnuplot: in single quotes nothing is special but the quote itself, which is doubled. */
static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (const char *p = text; *p; p++) {
        if (*p == '\'') fputc('\'', out);
        fputc(*p, out);
    }
    fputc('\'', out);
}

static void write_header(FILE *script, const char *picture, bool png, const char *xlabel, const char *ylabel,
                         const char *title)
{
    fprintf(script, "set encoding utf8\nset terminal %s\nset output ",
            png ? "pngcairo size 1600,1000 font 'Sans,22' linewidth 2 noenhanced"
                : "svg size 800,500 font 'Sans,13' background rgb 'white' noenhanced");
    quote(script, picture);
    fputs("\nset border 3 lc rgb '#606060'\nset tics nomirror out scale 0.6 tc rgb '#303030'\n"
          "set grid lc rgb '#e4e4e4' lt 1 lw 0.6\nset style fill solid 1 noborder\n"
          "set key top left Left reverse samplen 2 width 1 opaque nobox\nset xlabel ",
          script);
    quote(script, xlabel);
    fputs("\nset ylabel ", script);
    quote(script, ylabel);
    fputs("\nset title ", script);
    quote(script, title);
    fputs("\n", script);
}

/* -- one input: the curve over the data's range and a twentieth beyond -- */

enum { GRID = 500 };

static int write_curve(FILE *script, ct_gp *gp, const prediction *p)
{
    ct_device *device = ct_gp_device(gp);
    int64_t x_col = ct_table_find(p->data.table, ct_gp_input_name(gp, 0));
    double lo = INFINITY, hi = -INFINITY, x[GRID], mean[GRID], variance[GRID];
    for (int64_t i = 0; i < p->data.n_rows; i++) {
        double value = ct_table_at(p->data.table, p->data.rows[i], x_col);
        lo = fmin(lo, value), hi = fmax(hi, value);
    }
    double margin = hi > lo ? 0.05 * (hi - lo) : 1;
    for (int i = 0; i < GRID; i++) x[i] = lo - margin + (hi - lo + 2 * margin) * i / (GRID - 1);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(GRID, 1), x);
    ct_tensor *m = ct_wrap(device, CT_F64, ct_shape1(GRID), mean, NULL, NULL);
    ct_tensor *v = ct_wrap(device, CT_F64, ct_shape1(GRID), variance, NULL, NULL);
    bool good = X && m && v && !ct_gp_predict_noisy(gp, X, m, v);
    ct_release(X);
    ct_release(m);
    ct_release(v);
    if (!good) return fail_device(device, NULL);

    fputs("$curve << EOD\n", script);
    for (int i = 0; i < GRID; i++) {
        double s = sqrt(variance[i]);
        fprintf(script, "%.9g %.9g %.9g %.9g\n", x[i], mean[i], mean[i] - Z95 * s, mean[i] + Z95 * s);
    }
    fputs("EOD\n$data << EOD\n", script);
    long points = 0;
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double y = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (isnan(y)) continue;
        fprintf(script, "%.9g %.9g\n", ct_table_at(p->data.table, p->data.rows[i], x_col), y);
        points++;
    }
    fprintf(script,
            "EOD\nset xrange [%.9g:%.9g]\nset yrange [*:*]\nset offsets 0, 0, graph 0.14, graph 0.03\n", x[0],
            x[GRID - 1]);
    fputs("plot $curve using 1:3:4 with filledcurves lc rgb '#bcd7ee' title '95 % interval', "
          "$curve using 1:2 with lines lw 2 lc rgb '#1f5f99' title 'mean'",
          script);
    if (points)
        fprintf(script, ", $data with points pt 7 ps %s lc rgb '#202020' title 'data'",
                points > 300 ? "0.25" : "0.5");
    fputs("\n", script);
    return GO_ON;
}

/* -- more inputs -- */

static int write_scatter(FILE *script, const prediction *p)
{
    double lo = INFINITY, hi = -INFINITY;
    long points = 0;
    fputs("$data << EOD\n", script);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double y = ct_table_at(p->data.table, p->data.rows[i], p->target), bar = Z95 * p->std[i];
        if (isnan(y)) continue;
        fprintf(script, "%.9g %.9g %.9g\n", y, p->mean[i], bar);
        lo = fmin(lo, fmin(y, p->mean[i] - bar)), hi = fmax(hi, fmax(y, p->mean[i] + bar));
        points++;
    }
    if (!points)
        return fail(CODE_DATA,
                    "%s: a model of several inputs is drawn against its target, which is missing here",
                    p->data.path);
    double margin = hi > lo ? 0.03 * (hi - lo) : 1;
    fprintf(script, "EOD\nset xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\n", lo - margin, hi + margin,
            lo - margin, hi + margin);
    fprintf(script,
            "plot x with lines lw 1 dt 2 lc rgb '#808080' title 'exact', $data using 1:2:3 with yerrorbars "
            "pt 7 ps %s "
            "lw 0.7 lc rgb '#4a90c8' title '95 %% interval', $data using 1:2 with points pt 7 ps %s lc rgb "
            "'#1f5f99' title 'mean'\n",
            points > 300 ? "0.2" : "0.4", points > 300 ? "0.25" : "0.5");
    return GO_ON;
}

/* -- gnuplot, without a shell between -- */

static int run_gnuplot(const char *script)
{
    char program[] = "gnuplot";
    char *arguments[] = { program, (char *)script, NULL };
    pid_t child;
    int status, error = posix_spawnp(&child, program, NULL, NULL, arguments, environ);
    if (error == ENOENT)
        return fail(CODE_UNSUPPORTED, "gnuplot is not installed; on Debian: apt-get install gnuplot-nox");
    if (error) return fail(CODE_IO, "gnuplot: %s", strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return fail(CODE_IO, "gnuplot: %s", strerror(errno));
    if (status) return fail(CODE_IO, "gnuplot failed, see above");
    return GO_ON;
}

/* Draws into a file beside `out` and renames it, so that `out` is a whole picture or what it was. */
static int draw(ct_gp *gp, const prediction *p, const char *out, bool png)
{
    char script_path[4096], part[4096 + 16], title[256], ylabel[256];
    const char *folder = getenv("TMPDIR");
    snprintf(script_path, sizeof script_path, "%.4000s/ctgp-XXXXXX", folder && *folder ? folder : "/tmp");
    /* "./" before a name that gnuplot would take for a pipe */
    snprintf(part, sizeof part, "%s%s.part%ld", out[0] == '/' ? "" : "./", out, (long)getpid());
    int fd = mkstemp(script_path);
    FILE *script = fd < 0 ? NULL : fdopen(fd, "w");
    if (!script) return fail(CODE_IO, "%s: %s", script_path, strerror(errno));
    bool curve = ct_gp_dims(gp) == 1;
    const char *target = ct_gp_output_name(gp);
    score s = prediction_score(p);
    title[0] = 0;
    if (s.n)
        snprintf(title, sizeof title, "n=%lld  rmse=%.4g  coverage95=%.3g", (long long)s.n, s.rmse,
                 s.coverage95);
    snprintf(ylabel, sizeof ylabel, curve ? "%s" : "%s, predicted", target);
    char xlabel[256];
    snprintf(xlabel, sizeof xlabel, curve ? "%s" : "%s, observed", curve ? ct_gp_input_name(gp, 0) : target);
    write_header(script, part, png, xlabel, ylabel, title);
    int result = curve ? write_curve(script, gp, p) : write_scatter(script, p);
    bool written = !ferror(script);
    if (fclose(script) || !written) result = fail(CODE_IO, "%s: %s", script_path, strerror(errno));
    if (result == GO_ON) result = run_gnuplot(script_path);
    if (result == GO_ON && rename(part, out)) result = fail(CODE_IO, "%s: %s", out, strerror(errno));
    unlink(script_path);
    unlink(part);
    return result;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

int run_plot(int argc, char **argv)
{
    const char *out = NULL, *device_name = NULL, *paths[2];
    const option options[] = {
        { "--out", "FILE.svg|png", "the picture (required)", &out },
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &device_name },
    };
    const command c = {
        .name = "plot",
        .arguments = "MODEL DATA.csv --out FILE.svg|png",
        .summary = "Draws a model and data with gnuplot.",
        .details =
            "A model of one input: data, mean and 95 % interval. Of several: predicted against observed.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, paths);
    if (result != GO_ON) return result;
    if (!out) return fail(CODE_USAGE, "where to? --out FILE.svg or FILE.png");
    bool png = ends_with(out, ".png");
    if (!png && !ends_with(out, ".svg"))
        return fail(CODE_USAGE, "--out: '%s' ends neither in .svg nor in .png", out);
    for (const char *q = out; *q; q++)
        if ((unsigned char)*q < 0x20)
            return fail(CODE_USAGE, "--out: a control character in the file's name");
    if (strlen(out) > 4000) return fail(CODE_USAGE, "--out: the name is too long");
    result = keep_apart("--out", out, "MODEL", paths[0]);
    if (result == GO_ON) result = keep_apart("--out", out, "DATA.csv", paths[1]);
    if (result != GO_ON) return result;
    ct_device *device;
    ct_gp *gp;
    prediction p = { 0 };
    result = model_load(device_name, paths[0], &device, &gp);
    if (result == GO_ON) result = prediction_make(&p, gp, paths[1]);
    if (result == GO_ON) result = draw(gp, &p, out, png);
    if (result == GO_ON) {
        printf("picture=%s\n", out);
        result = CODE_OK;
    }
    prediction_free(&p);
    ct_gp_free(gp);
    ct_device_close(device);
    return result;
}
