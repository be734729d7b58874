/* ctgp plot: a picture of a model and data, drawn by gnuplot. One input: data, mean and 95 % band. More:
 * predicted against observed, with 95 % bars. */
#include "ctgp.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* -- what gnuplot reads -- */

/* 'text' in single quotes: nothing is special there but the quote itself, which is doubled, and a line's end,
 * which becomes a space. */
static void quote(FILE *out, const char *text)
{
    fputc('\'', out);
    for (const char *p = text; *p; p++) {
        if (*p == '\'') fputc('\'', out);
        fputc((unsigned char)*p < 0x20 ? ' ' : *p, out);
    }
    fputc('\'', out);
}

static void write_header(FILE *script, const char *picture, bool png, const char *title)
{
    fprintf(script, "set encoding utf8\nset terminal %s\nset output ",
            png ? "pngcairo size 1600,1000 font 'Sans,22' linewidth 2 pointscale 2 noenhanced"
                : "svg size 800,500 font 'Sans,13' background rgb 'white' noenhanced");
    quote(script, picture);
    fputs("\nset border 3 lc rgb '#606060'\nset tics nomirror out scale 0.6 tc rgb '#303030'\n"
          "set grid lc rgb '#e4e4e4' lt 1 lw 0.6\nset style fill solid 1 noborder\n"
          "set key top left horizontal Left reverse samplen 2 width 2 opaque nobox\nset title ",
          script);
    quote(script, title);
    fputs("\n", script);
}

/* -- an axis -- */
/* Gnuplot loses digits of numbers that are nearly equal, or very large or small. It is sent shares of the
 * axis, in 0..1, and the tics with their labels. */

typedef struct axis {
    double lo, hi;
} axis;

static const axis empty_axis = { INFINITY, -INFINITY };

static void cover(axis *a, double value)
{
    if (isfinite(value)) a->lo = fmin(a->lo, value), a->hi = fmax(a->hi, value);
}

/* Adds shares of its length at the ends. A single value is given an axis of twice its own size. */
static void widen(axis *a, double below, double above)
{
    double length = a->hi - a->lo;
    if (length < DBL_MIN) {
        length = a->lo != 0 ? 2 * fmax(fabs(a->lo), DBL_MIN) : 2;
        below = above = 0.5;
    }
    a->lo -= below * length, a->hi += above * length;
}

static double share(const axis *a, double value) { return (value - a->lo) / (a->hi - a->lo); }

/* Prints the number in the fewest digits that read back as it. */
static void print_number(char *text, size_t size, double value)
{
    int digits = 1;
    do snprintf(text, size, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    if (digits > 3) snprintf(text, size, "%.*g", digits > 15 ? digits : 15, value);
}

/* The roundest number on the axis or before it: a multiple of the largest power of ten possible. */
static double round_number(const axis *a)
{
    double least = a->lo - (a->hi - a->lo);
    for (int zeros = 308; zeros > -308; zeros--) {
        double power = pow(10, abs(zeros)), whole = floor(zeros < 0 ? a->hi * power : a->hi / power);
        double multiple = zeros < 0 ? whole / power : whole * power;
        if (multiple >= least) return multiple;
    }
    return a->lo;
}

/* At most eight tics, at multiples of 1, 2 or 5 times a power of ten. Where labels would need more than six
 * digits they count from a round number, which the axis's name subtracts: "x - 1e+09". */
static int write_axis(FILE *script, char which, const axis *a, const char *name, const char *suffix)
{
    double length = a->hi - a->lo, power = pow(10, floor(log10(length / 7))), steps = length / 7 / power;
    if (!isfinite(length))
        return fail(CODE_DATA, "no picture: the numbers of '%s' are too large for an axis", name);
    double step = power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
    double base = fmax(fabs(a->lo), fabs(a->hi)) >= 1e6 * power ? round_number(a) : 0;
    double from = a->lo - base, to = a->hi - base;
    const char *comma = "";
    fprintf(script, "set %crange [0:1]\nset %ctics (", which, which);
    for (double i = ceil(from / step); i * step <= to; i++, comma = ", ")
        fprintf(script, "%s'%.6g' %.17g", comma, i * step + 0.0, (i * step - from) / length); /* no "-0" */
    char number[32] = "", label[512];
    if (base != 0) print_number(number, sizeof number, fabs(base));
    snprintf(label, sizeof label, "%.256s%s%s%s", name,
             base == 0  ? ""
             : base > 0 ? " - "
                        : " + ",
             number, suffix);
    fprintf(script, ")\nset %clabel ", which);
    quote(script, label);
    fputs("\n", script);
    return GO_ON;
}

/* -- one input: the curve over the data's range and a twentieth beyond -- */

typedef struct curve {
    int64_t n;
    double *x, *mean, *std; /* one allocation, that of x */
} curve;

/* MOST points are predicted, and COLUMNS of the picture drawn. */
enum { LEAST = 500, MOST = 20000, COLUMNS = 1600 };

/* The largest step that shows the kernel's fastest wave: ten to a lengthscale, twenty to a period p, and in a
 * periodic kernel also ten to l p / 2π, over which it falls as an rbf does over a lengthscale. */
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

static int ascending(const void *a, const void *b)
{
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* Chooses the points. Where the kernel asks for more than MOST, they lie at irregular distances, as equal
 * ones could show a slow wave that is not there, and where the data are, which such a curve visits by
 * spikes. */
static int curve_place(curve *c, const ct_gp *gp, const axis *x, const prediction *p, int64_t x_col)
{
    double length = x->hi - x->lo, wanted = ceil(length / finest_step(gp)) + 1, turn = (sqrt(5) - 1) / 2;
    bool regular = wanted <= MOST;
    int64_t n = regular ? (int64_t)fmax(wanted, LEAST) : MOST;
    c->n = regular ? n : n + p->data.n_rows;
    c->x = malloc((size_t)(3 * c->n) * sizeof *c->x);
    if (!c->x) return fail(CODE_MEMORY, "no memory for %lld points of a curve", (long long)c->n);
    c->mean = c->x + c->n, c->std = c->mean + c->n;
    for (int64_t i = 0; i < c->n; i++) {
        double at = (double)i;
        c->x[i] = i >= n    ? ct_table_at(p->data.table, p->data.rows[i - n], x_col)
                  : regular ? x->lo + length * at / (double)(n - 1)
                            : x->lo + length * (at + fmod(at * turn, 1)) / (double)n;
    }
    if (!regular) qsort(c->x, (size_t)c->n, sizeof *c->x, ascending);
    return GO_ON;
}

static int curve_predict(curve *c, ct_gp *gp)
{
    ct_device *device = ct_gp_device(gp);
    size_t bytes = (size_t)c->n * sizeof(double);
    ct_tensor *X = ct_from(device, CT_F64, ct_shape2(c->n, 1), c->x);
    ct_tensor *mean = ct_empty(device, CT_F64, ct_shape1(c->n));
    ct_tensor *variance = ct_empty(device, CT_F64, ct_shape1(c->n));
    bool good = X && mean && variance && !ct_gp_predict_noisy(gp, X, mean, variance) &&
                !ct_read(mean, c->mean, bytes) && !ct_read(variance, c->std, bytes);
    ct_release(X);
    ct_release(mean);
    ct_release(variance);
    if (!good) return fail_device(device, NULL);
    for (int64_t i = 0; i < c->n; i++) c->std[i] = sqrt(c->std[i]);
    return GO_ON;
}

/* Each column of the picture: its highest and lowest mean, in their order, and the band's outermost ends. */
static void curve_write(FILE *script, const curve *c, const axis *x, const axis *y)
{
    int64_t columns = c->n < COLUMNS ? c->n : COLUMNS;
    fputs("$curve << EOD\n", script);
    for (int64_t k = 0; k < columns; k++) {
        int64_t from = k * c->n / columns, to = (k + 1) * c->n / columns, low = from, high = from;
        axis band = empty_axis;
        for (int64_t i = from; i < to; i++) {
            cover(&band, c->mean[i] - Z95 * c->std[i]), cover(&band, c->mean[i] + Z95 * c->std[i]);
            if (c->mean[i] < c->mean[low]) low = i;
            if (c->mean[i] > c->mean[high]) high = i;
        }
        const int64_t shown[] = { low < high ? low : high, low < high ? high : low };
        for (int j = 0; j < (low == high ? 1 : 2); j++)
            fprintf(script, "%.17g %.17g %.17g %.17g\n", share(x, c->x[shown[j]]),
                    share(y, c->mean[shown[j]]), share(y, band.lo), share(y, band.hi));
    }
    fputs("EOD\n", script);
}

static int write_curve(FILE *script, ct_gp *gp, const prediction *p)
{
    int64_t x_col = ct_table_find(p->data.table, ct_gp_input(gp, 0)->name);
    axis x = empty_axis, y = empty_axis;
    for (int64_t i = 0; i < p->data.n_rows; i++)
        cover(&x, ct_table_at(p->data.table, p->data.rows[i], x_col));
    widen(&x, 0.05, 0.05);
    curve c = { 0 };
    int result = write_axis(script, 'x', &x, ct_gp_input(gp, 0)->name, "");
    if (result == GO_ON) result = curve_place(&c, gp, &x, p, x_col);
    if (result == GO_ON) result = curve_predict(&c, gp);
    for (int64_t i = 0; i < c.n && result == GO_ON; i++)
        cover(&y, c.mean[i] - Z95 * c.std[i]), cover(&y, c.mean[i] + Z95 * c.std[i]);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++)
        cover(&y, ct_table_at(p->data.table, p->data.rows[i], p->target));
    widen(&y, 0.03, 0.12); /* above is the key */
    if (result == GO_ON) result = write_axis(script, 'y', &y, ct_gp_output(gp)->name, "");
    if (result == GO_ON) curve_write(script, &c, &x, &y);
    free(c.x);
    if (result != GO_ON) return result;

    long points = 0;
    fputs("$data << EOD\n", script);
    for (int64_t i = 0; i < p->data.n_rows && p->target >= 0; i++) {
        double value = ct_table_at(p->data.table, p->data.rows[i], p->target);
        if (!isfinite(value)) continue;
        fprintf(script, "%.17g %.17g\n", share(&x, ct_table_at(p->data.table, p->data.rows[i], x_col)),
                share(&y, value));
        points++;
    }
    const ct_gp_noise noise = ct_gp_get_options(gp).noise;
    const bool average =
        noise == CT_NOISE_GIVEN || noise == CT_NOISE_GIVEN_PLUS || noise == CT_NOISE_BY_LEVEL;
    fprintf(script,
            "EOD\nplot $curve using 1:3:4 with filledcurves lc rgb '#bcd7ee' title '95 %% interval%s', "
            "$curve using 1:2 with lines lw 2 lc rgb '#1f5f99' title 'mean'",
            average ? " with the average noise" : "");
    if (points)
        fprintf(script, ", $data with points pt 7 ps %s lc rgb '#202020' title 'data'",
                points > 300 ? "0.25" : "0.5");
    fputs("\n", script);
    return GO_ON;
}

/* -- more inputs -- */

static int write_scatter(FILE *script, const ct_gp *gp, const prediction *p)
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

/* -- gnuplot, without a shell between -- */

/* Of gnuplot's output only the last line, the reason, is shown. */
static int wait_for_gnuplot(pid_t child, FILE *said)
{
    char line[512], reason[512] = "it gives no reason";
    int status;
    while (said && fgets(line, sizeof line, said)) {
        line[strcspn(line, "\r\n")] = 0;
        if (line[strspn(line, " ^")]) memcpy(reason, line, sizeof reason);
    }
    if (said) fclose(said);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return fail(CODE_IO, "gnuplot: %s", strerror(errno));
    if (WIFSIGNALED(status)) return fail(CODE_IO, "gnuplot was ended by signal %d", WTERMSIG(status));
    return status ? fail(CODE_IO, "gnuplot failed: %s", reason) : GO_ON;
}

/* -d: nobody's own settings. */
static int run_gnuplot(const char *script)
{
    char program[] = "gnuplot", defaults[] = "-d";
    char *arguments[] = { program, defaults, (char *)script, NULL };
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;
    if (pipe(ends)) return fail(CODE_IO, "gnuplot: %s", strerror(errno));
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        posix_spawn_file_actions_addclose(&actions, ends[1]);
        error = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (!error) return wait_for_gnuplot(child, fdopen(ends[0], "r"));
    close(ends[0]);
    if (error == ENOENT)
        return fail(CODE_UNSUPPORTED, "gnuplot is not installed; on Debian: apt-get install gnuplot-nox");
    return fail(CODE_IO, "gnuplot: %s", strerror(error));
}

/* Draws into a file beside `out` and renames it, so that `out` is the whole new picture or the old one. */
static int draw(ct_gp *gp, const prediction *p, const char *out, bool png)
{
    char script_path[4096], part[4096 + 16], title[256] = "";
    const char *folder = getenv("TMPDIR");
    snprintf(script_path, sizeof script_path, "%.4000s/ctgp-XXXXXX", folder && *folder ? folder : "/tmp");
    /* "./" before a name that gnuplot would take for a pipe */
    snprintf(part, sizeof part, "%s%s.part%ld", out[0] == '/' ? "" : "./", out, (long)getpid());
    int fd = mkstemp(script_path);
    FILE *script = fd < 0 ? NULL : fdopen(fd, "w");
    if (!script) return fail(CODE_IO, "%s: %s", script_path, strerror(errno));
    score s = prediction_score(p);
    if (s.n)
        snprintf(title, sizeof title, "n=%lld  rmse=%.4g  coverage95=%.3g", (long long)s.n, s.rmse,
                 s.coverage95);
    write_header(script, part, png, title);
    int result = ct_gp_dims(gp) == 1 ? write_curve(script, gp, p) : write_scatter(script, gp, p);
    bool written = !ferror(script);
    if ((fclose(script) || !written) && result == GO_ON)
        result = fail(CODE_IO, "%s: %s", script_path, strerror(errno));
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
    const char *out = NULL, *device_name = NULL, *unseen = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--out", "FILE.svg|png", "the picture (required)", &out },
        DIALECT_OPTIONS(d),
        UNSEEN_OPTION(unseen),
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
    if (result == GO_ON) result = parse_dialect(&d, &how);
    if (result == GO_ON) result = parse_unseen(unseen, &how);
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
    if (result == GO_ON) result = prediction_make(&p, gp, paths[1], &how);
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
