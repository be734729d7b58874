/* ctgp predict: mean, standard deviation, intervals and quantiles at the rows of a CSV file. */
#include "ctgp.h"

#include <math.h>
#include <string.h>

/* -- intervals and quantiles ----------------------------------------------------------------------------- */

/* Column `name` is the quantile that is z for a standard normal. */
typedef struct band {
    double z;
    char name[40];
} band;

/* z with Φ(z) = p, 0 < p < 1, by bisection. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    if (p > 0.5) return -normal_quantile(1 - p);
    for (int i = 0; i < 100; i++) {
        const double z = 0.5 * (low + high);
        *(0.5 * erfc(-z * sqrt(0.5)) < p ? &low : &high) = z;
    }
    return 0.5 * (low + high);
}

/* Adds a band to bands[0..n), unless one of them has its name. */
static void add_band(ctgp *c, const char *flag, const char *text, band b, band *bands, int64_t *n)
{
    if (!going(c)) return;
    for (int64_t i = 0; i < *n; i++)
        if (!strcmp(bands[i].name, b.name)) {
            fail(c, CODE_USAGE, "%s: '%s' would be a second column %s", flag, text, b.name);
            return;
        }
    bands[(*n)++] = b;
}

/* Writes p, or 100 p, with the fewest digits, but at least 12, that tell it from any other p. */
static void write_share(double p, bool percent, char text[CT_NUMBER_TEXT])
{
    char share[CT_NUMBER_TEXT + 4];
    double read = NAN;
    for (int digits = 12; digits <= 17 && read != p; digits++) {
        ct_number_write(percent ? 100 * p : p, digits, text);
        const int size = snprintf(share, sizeof share, "%s%s", text, percent ? "e-2" : "");
        ct_number_read(share, (size_t)size, &read);
    }
}

/* Adds the bands of one number in an option's list. A level has two, the ends of its interval. */
static void add_bands(ctgp *c, const char *flag, const char *text, bool level, band *bands, int64_t *n)
{
    if (!going(c)) return;
    double p = NAN;
    char number[CT_NUMBER_TEXT];
    parse_share(c, flag, text, &p);
    write_share(p, level, number);
    for (int side = -1; side <= 1 && going(c); side += 2) {
        band b = { .z = level ? side * -normal_quantile(0.5 * (1 - p)) : normal_quantile(p) };
        snprintf(b.name, sizeof b.name, "%s%s", !level ? "q" : side < 0 ? "lower" : "upper", number);
        if (level || side > 0) add_band(c, flag, text, b, bands, n);
    }
}

/* *bands has room for one more. `quantiles` may be NULL. */
static void read_bands(ctgp *c, const char *levels, const char *quantiles, band **bands, int64_t *n)
{
    const char *const name[] = { "--level", "--quantiles" }, *const text[] = { levels, quantiles };
    char **list[2] = { NULL, NULL };
    int64_t count[2] = { 0, 0 };
    for (int k = 0; k < 2; k++)
        if (text[k]) count[k] = split_names(c, text[k], &list[k]);
    *n = 0;
    *bands = take(c, 2 * count[0] + count[1] + 1, sizeof **bands, "intervals");
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < count[k]; i++) add_bands(c, name[k], list[k][i], k == 0, *bands, n);
}

/* With a transform the mean is not the median, which then comes first. */
static void add_median(const ct_gp *gp, band *bands, int64_t *n)
{
    if (!ct_gp_transform(gp).kind) return;
    memmove(bands + 1, bands, (size_t)(*n)++ * sizeof *bands);
    bands[0] = (band){ 0, "median" };
}

/* -- the table ------------------------------------------------------------------------------------------- */

/* Fills one output's columns of rows (all, cols): mean, std, and the bands; NaN where an input is missing. */
static void fill_rows(const prediction *p, const band *bands, int64_t n, int64_t cols, double *rows)
{
    for (int64_t i = 0; i < ct_table_rows(p->data.table); i++)
        for (int64_t c = 0; c < 2 + n; c++) rows[cols * i + c] = NAN;
    for (int64_t k = 0; k < p->data.n_rows; k++) {
        double *row = rows + cols * p->data.rows[k];
        prediction_moments(p, k, &row[0], &row[1]);
        for (int64_t i = 0; i < n; i++) row[2 + i] = prediction_quantile(p, k, bands[i].z);
    }
}

/* Columns of several outputs begin with the output's name. */
static char *column_name(ctgp *c, const model_file *m, int64_t j, const char *what)
{
    const char *name = m->n > 1 ? ct_gp_output(m->gp[j])->name : "";
    const size_t size = strlen(name) + strlen(what) + 2;
    char *text = take(c, (int64_t)size, 1, "letters of a name");
    if (text) snprintf(text, size, "%s%s%s", name, m->n > 1 ? "_" : "", what);
    return text;
}

/* A table that has a column twice could not be read again. */
static void check_kept(ctgp *c, const text_columns *kept, char *const *columns, int64_t cols)
{
    for (int64_t j = 0; j < kept->n && going(c); j++)
        for (int64_t i = 0; i < cols; i++)
            if (!strcmp(kept->names[j], columns[i]))
                fail(c, CODE_USAGE, "--keep: the prediction has a column '%s', too: rename it in DATA.csv",
                     columns[i]);
}

static void write_rows(ctgp *c, const model_file *m, const prediction *p, const text_columns *kept,
                       const band *bands, int64_t n, const char *out)
{
    if (!going(c)) return;
    const int64_t all = ct_table_rows(p->data.table), cols = m->n * (2 + n);
    char **columns = take(c, cols, sizeof *columns, "columns");
    double *rows = take(c, all, (size_t)cols * sizeof *rows, "predictions");
    for (int64_t i = 0; i < cols && going(c); i++) {
        const int64_t k = i % (2 + n);
        columns[i] = column_name(c, m, i / (2 + n), k == 0 ? "mean" : k == 1 ? "std" : bands[k - 2].name);
    }
    for (int64_t j = 0; j < m->n && going(c); j++) fill_rows(&p[j], bands, n, cols, rows + j * (2 + n));
    check_kept(c, kept, columns, cols);
    table_write(c, p->data.device, kept, rows, all, cols, (const char *const *)columns, out);
}

/* Without a target the numbers are null. */
static void json_prediction(json *j, const prediction *p, const char *target)
{
    json_open(j, NULL, '{');
    write_score(prediction_score(p), j, NULL);
    json_whole(j, "rows", p->data.n_rows);
    json_string(j, "target", p->target < 0 ? NULL : target);
    json_close(j, '}');
}

/* A line that begins with the output's name if there are several. */
static void print_prediction(const prediction *p, const char *target, bool several, FILE *out)
{
    const score s = prediction_score(p);
    if (several && (s.n || out == stdout)) say(out, "%s: ", target);
    if (s.n)
        write_score(s, NULL, out);
    else if (out == stdout)
        say_line("n=0 rows=%lld: there is no value of the target '%s' to score by", (long long)p->data.n_rows,
                 target);
}

/* A line for each output, or "outputs": [...] */
static void print_scores(const model_file *m, const prediction *p, bool as_json, FILE *out)
{
    json j = { .to = out };
    const bool several = m->n > 1;
    if (as_json && several) json_outputs(&j, NULL);
    for (int64_t k = 0; k < m->n; k++) {
        const char *name = ct_gp_output(m->gp[k])->name;
        if (as_json)
            json_prediction(&j, &p[k], name);
        else
            print_prediction(&p[k], name, several, out);
    }
    if (as_json) json_end(&j, several);
}

/* What a command line asks for. */
typedef struct request {
    const char *paths[2]; /* the model, the table */
    const char *output, *out, *device_name, *keep, *as_json;
    ct_csv_options how;
    band *bands; /* [n] */
    int64_t n;
} request;

/* Predicts all outputs, and reads the table once. */
static void predict_all(ctgp *c, const model_file *m, const request *r, prediction *p)
{
    if (!going(c)) return;
    source t;
    source_open(c, &t, m->device, r->paths[1]);
    for (int64_t j = 0; j < m->n && going(c); j++) prediction_make(c, &p[j], m->gp[j], &t, &r->how);
    source_close(&t);
}

static void answer(ctgp *c, request *r)
{
    const char *out = r->out ? r->out : "-";
    model_file m;
    text_columns kept;
    model_open(c, &m, r->device_name, r->paths[0], r->output, false);
    prediction *p = take(c, m.n, sizeof *p, "outputs");
    if (!going(c)) return;
    add_median(m.gp[0], r->bands, &r->n);
    predict_all(c, &m, r, p);
    frame_keep(c, &p->data, r->keep, &kept);
    write_rows(c, &m, p, &kept, r->bands, r->n, out);
    if (!going(c)) return;
    frame_tell_missing(&p->data, "%lld rows have a missing input: their prediction is empty");
    print_scores(&m, p, r->as_json != NULL, is_standard(out) ? stderr : stdout);
}

void run_predict(ctgp *c, int argc, char **argv)
{
    const char *levels = NULL, *quantiles = NULL;
    dialect d = { 0 };
    request r = { .output = NULL };
    const option options[] = {
        { "--out", "FILE.csv", "where to write; standard output unless given, or for -", &r.out },
        { "--level", "P,...", "intervals to write: columns lower95, upper95 for 0.95, the default", &levels },
        { "--quantiles", "P,...", "quantiles to write: column q0.1 for 0.1", &quantiles },
        { "--keep", "A,B*,...", "columns of DATA.csv to write before them, as they are written there",
          &r.keep },
        DIALECT_OPTIONS(d),
        OUTPUT_OPTION(r.output),
        UNSEEN_OPTION(d),
        DEVICE_OPTION(r.device_name),
        { "--json", NULL, "the score as JSON", &r.as_json },
    };
    const command usage = {
        .name = "predict",
        .arguments = "MODEL DATA.csv",
        .summary =
            "Predicts a new observation, noise included, at each row: columns mean, std, lower95, upper95.",
        .details =
            "Columns are found by their names, in any order. A row with a missing input gets empty fields.\n"
            "DATA.csv may be a pipe, or - for standard input. If the target's column is there, a line\n"
            "n=... rmse=... mae=... nlpd=... coverage95=... is printed as well: on standard output with\n"
            "--out FILE.csv, else on standard error. After fit --transform there is a column median, too.\n"
            "If a model has several outputs, each column and line begins with the output's name: y1_mean, "
            "...",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.paths);
    parse_dialect(c, &d, &r.how);
    keep_apart(c, "--out", r.out, "MODEL", r.paths[0]);
    keep_apart(c, "--out", r.out, "DATA.csv", r.paths[1]);
    read_bands(c, levels ? levels : "0.95", quantiles, &r.bands, &r.n);
    r.how.texts = r.keep != NULL;
    answer(c, &r);
}
