/* ctgp fit: a model from a CSV file. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT(CODE, name, text, ...) text " "
#define KERNELS                     CT_PROFILES(TEXT) "constant white"

typedef struct settings {
    const char *path, *target, *features, *drop, *kernel, *model;
    ct_gp_options gp;
    ct_fit_options fit;
    dialect written;
    ct_csv_options table;
    ct_dtype dtype;
    patience patience;
    const char *device, *no_factor, *json;
    char default_model[4096];
} settings;

/* -- the command line -- */

/* train.csv -> train.ctgp in the working directory. Standard input and a shell's <(...) have no name. */
static int name_model(settings *s)
{
    const char *path = s->path;
    if (is_standard(path) || !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
        return fail(CODE_USAGE, "%s gives the model no name: --model FILE says where it goes",
                    is_standard(path) ? "standard input" : path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    snprintf(s->default_model, sizeof s->default_model, "%.*s.ctgp", stem, base);
    s->model = s->default_model;
    return GO_ON;
}

static int read_settings(int argc, char **argv, settings *s)
{
    const char *mean = NULL, *noise = NULL, *priors = NULL, *optimizer = NULL, *objective = NULL,
               *precision = NULL, *restarts = NULL, *iterations = NULL, *seed = NULL, *dtype = NULL,
               *standardize = NULL, *quiet = NULL, *limit = NULL;
    const option options[] = {
        { "--target", "NAME", "column to learn (required)", &s->target },
        { "--features", "A,B*,...", "columns to learn it from; all others unless given", &s->features },
        { "--drop", "A,B*,...", "columns to leave out", &s->drop },
        DIALECT_OPTIONS(s->written),
        { "--kernel", "TEXT", "covariance; chosen for the data unless given", &s->kernel },
        { "--mean", "KIND", "zero, constant (default), linear, or a trend such as \"1 + x + x^2\"", &mean },
        { "--noise", "KIND", "learned (default), or none: the model passes through the data", &noise },
        { "--priors", "KIND",
          "weak against tiny lengthscales and noise, or none; weak unless --kernel is given", &priors },
        { "--model", "FILE", "where to write the model; TRAIN.ctgp unless given", &s->model },
        { "--no-factor", NULL, "write the model without its factor, which is computed anew when needed",
          &s->no_factor },
        { "--checkpoint", "FILE", "keep every evaluation there; the same command goes on from it",
          &s->fit.checkpoint },
        { "--optimizer", "NAME", "lbfgs (default) or adam", &optimizer },
        { "--objective", "NAME", "likelihood (default), or loo: the leave-one-out density", &objective },
        { "--precision", "NAME",
          "full (default), or mixed: evaluations from a factor in f32, corrected in f64", &precision },
        { "--restarts", "R", "further starts from random parameters (default 0)", &restarts },
        { "--max-iter", "I", "iterations a start (default 200 for lbfgs, 1000 for adam)", &iterations },
        { "--seed", "S", "of the random starts (default 0)", &seed },
        { "--time-limit", "SECONDS", "then the search ends, and the best model so far is kept", &limit },
        { "--quiet", NULL, "no progress on standard error", &quiet },
        { "--dtype", "TYPE", "f64 (default) or f32", &dtype },
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &s->device },
        { "--standardize", "yes|no", "scale columns to mean 0, deviation 1 inside (default yes)",
          &standardize },
        { "--json", NULL, "the result as one line of JSON on standard output", &s->json },
    };
    static const char *const noises[] = { "learned", "none" };
    static const char *const kinds[] = { "weak", "none" };
    static const char *const optimizers[] = { "lbfgs", "adam" };
    static const char *const objectives[] = { "likelihood", "loo" };
    static const char *const precisions[] = { "full", "mixed" };
    static const char *const dtypes[] = { "f64", "f32" };
    static const char *const yes_no[] = { "yes", "no" };
    const command c = {
        .name = "fit",
        .arguments = "TRAIN.csv --target NAME",
        .summary = "Trains an exact Gaussian process on the rows without missing values.",
        .details =
            "Kernels: " KERNELS ", combined by\n"
            "+, *, scale and brackets: \"scale * rbf(ard) + scale * periodic(period=1!) * rbf + linear\".\n"
            "Progress goes to standard error. Ctrl-C ends the search and keeps the best model so far.\n"
            "TRAIN.csv may be a pipe, or - for standard input; then --model FILE says where the model goes.",
        .n_positional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, &s->path);
    if (result == GO_ON) result = parse_dialect(&s->written, &s->table);
    int v = 0, w = 0, o = -1, t = 0, z = 0, by = 0, p = 0;
    long r = 0, n = 0, d = 0;
    if (result == GO_ON) result = parse_choice("--noise", noise, noises, 2, &v);
    if (result == GO_ON) result = parse_choice("--priors", priors, kinds, 2, &w);
    if (result == GO_ON) result = parse_choice("--optimizer", optimizer, optimizers, 2, &o);
    if (result == GO_ON) result = parse_choice("--objective", objective, objectives, 2, &by);
    if (result == GO_ON) result = parse_choice("--precision", precision, precisions, 2, &p);
    if (result == GO_ON) result = parse_choice("--dtype", dtype, dtypes, 2, &t);
    if (result == GO_ON) result = parse_choice("--standardize", standardize, yes_no, 2, &z);
    if (result == GO_ON) result = parse_whole("--restarts", restarts, 0, 1000, &r);
    if (result == GO_ON) result = parse_whole("--max-iter", iterations, 1, 1000000, &n);
    if (result == GO_ON) result = parse_whole("--seed", seed, 0, 2147483647, &d);
    if (result == GO_ON) result = parse_whole("--time-limit", limit, 1, 100000000, &s->patience.seconds);
    if (result != GO_ON) return result;
    if (!s->target) return fail(CODE_USAGE, "which column is to be learned? --target NAME");
    read_mean(mean, &s->gp);
    s->gp.noise = v ? CT_NOISE_NONE : CT_NOISE_LEARNED;
    s->gp.priors = w || (s->kernel && !priors) ? CT_PRIORS_NONE : CT_PRIORS_WEAK;
    s->gp.standardize = z ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH;
    s->fit.objective = by ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD;
    s->fit.precision = p ? CT_PRECISION_MIXED : CT_PRECISION_FULL;
    s->fit.optimizer = o == 0 ? CT_OPTIMIZER_LBFGS : o == 1 ? CT_OPTIMIZER_ADAM : CT_OPTIMIZER_DEFAULT;
    s->fit.restarts = (int)r;
    s->fit.max_iterations = (int)n;
    s->fit.seed = (uint64_t)d;
    s->patience.quiet = quiet;
    s->dtype = t ? CT_F32 : CT_F64;
    result = s->model ? GO_ON : name_model(s);
    if (result == GO_ON) result = keep_apart("--model", s->model, "TRAIN.csv", s->path);
    if (result == GO_ON && s->fit.checkpoint && !strcmp(s->fit.checkpoint, s->model))
        result = fail(CODE_USAGE, "--checkpoint %s is the model's file, too: give it another name", s->model);
    return result;
}

/* Checks before hours of work that the model can be written to its folder. */
static int check_writable(const char *path)
{
    char folder[4096];
    struct stat st;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (!folder[0]) strcpy(folder, "/");
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) return fail(CODE_IO, "--model: %s is a directory", path);
    if (access(folder, W_OK)) return fail(CODE_IO, "--model: the folder %s cannot be written to", folder);
    return GO_ON;
}

/* -- columns -- */

static bool named(const char *const *names, int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static bool picked(const pick *picks, int64_t n, const frame *f, const char *name)
{
    for (int64_t i = 0; i < n; i++)
        if (!strcmp(ct_table_name(f->table, picks[i].col), name)) return true;
    return false;
}

/* Features in the order of --features, or all columns. The unnamed first column that counts the rows is
 * one where there is no other. */
static int list_features(const settings *s, const frame *f, int64_t target, const char **names, int64_t *n)
{
    pick *features = NULL, *drop = NULL;
    int64_t wanted = ct_table_cols(f->table), dropped = 0;
    bool counts = !s->features && target != 0 && ct_table_counts_rows(f->table, 0);
    int result = s->features ? frame_pick(f, s->features, &features, &wanted) : GO_ON;
    if (s->drop && result == GO_ON) result = frame_pick(f, s->drop, &drop, &dropped);
    counts = counts && result == GO_ON && !picked(drop, dropped, f, ct_table_name(f->table, 0));
    for (int64_t i = counts ? 1 : 0; i < wanted && result == GO_ON; i++) {
        const pick p = features ? features[i] : (pick){ .col = i };
        const char *name = ct_table_name(f->table, p.col);
        if (p.col == target && p.exact)
            result = fail(CODE_USAGE, "--features names the target '%s'", name);
        else if (p.col == target || picked(drop, dropped, f, name))
            continue;
        else if (named(names, *n, name) || !strcmp(name, s->target))
            result = fail(features ? CODE_USAGE : CODE_DATA, "%s: column '%s' is there twice",
                          features ? "--features" : f->path, name);
        else
            names[(*n)++] = name;
    }
    if (counts && *n)
        fprintf(stderr, "ctgp: %s: the first column has no name and counts the rows: it is left out\n",
                f->path);
    else if (counts)
        names[(*n)++] = ct_table_name(f->table, 0);
    free(features);
    free(drop);
    return result;
}

/* Names of the features, then of the target; they point into the table. */
static int choose_columns(const settings *s, const frame *f, const char **names, int64_t *n_features)
{
    int64_t n = 0, target = frame_column(f, s->target);
    int result = target < 0 ? CODE_DATA : list_features(s, f, target, names, &n);
    if (result == GO_ON && n == 0)
        result = fail(CODE_DATA, "%s: no column is left to learn '%s' from", f->path, s->target);
    names[n] = ct_table_name(f->table, target);
    *n_features = n;
    return result;
}

/* Refuses a column whose values are all the same, or all the same to the model. */
static int check_values(const frame *f, int64_t col, bool target)
{
    const char *name = ct_table_name(f->table, col);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < f->n_rows; i++) {
        double value = ct_table_at(f->table, f->rows[i], col);
        low = fmin(low, value), high = fmax(high, value);
    }
    double largest = fmax(fabs(low), fabs(high)), half = high / 2 - low / 2;
    if (low == high && target)
        return fail(CODE_DATA,
                    "%s: the target '%s' has the same value in every row, there is nothing to learn", f->path,
                    name);
    if (low == high)
        return fail(CODE_DATA, "%s: column '%s' has the same value in every row; leave it out: --drop %s",
                    f->path, name, name);
    if (largest > 1e150 || half < 1e-150)
        return fail(
            CODE_DATA,
            "%s: column '%s' goes from %.3g to %.3g, whose squares are out of range: multiply it by a power "
            "of ten",
            f->path, name, low, high);
    if (half < 1e-14 * largest)
        return fail(
            CODE_DATA,
            "%s: column '%s' goes from %.17g to %.17g, equal but for rounding: subtract a constant from it",
            f->path, name, low, high);
    return GO_ON;
}

/* Chooses the rows and refuses data that no model can be made of. */
static int choose_rows(const settings *s, frame *f, const int64_t *cols, int64_t d)
{
    for (int64_t j = 0; j <= d; j++) {
        int result = frame_complete(f, &cols[j], 1);
        if (result != GO_ON) return result;
        const char *name = ct_table_name(f->table, cols[j]);
        if (f->n_rows == 0)
            return fail(CODE_DATA, "%s: column '%s' has no value in any row%s%s", f->path, name,
                        j < d ? "; leave it out: --drop " : "", j < d ? name : "");
    }
    int result = frame_complete(f, cols, d + 1);
    if (result != GO_ON) return result;
    long long kept = f->n_rows;
    frame_tell_missing(f, "%lld of %lld rows are left out: a value is missing");
    if (kept < 2)
        return fail(CODE_DATA, "%s: %lld complete row%s; it takes at least 2", f->path, kept,
                    kept == 1 ? "" : "s");
    for (int64_t j = d; j >= 0 && result == GO_ON; j--) result = check_values(f, cols[j], j == d);
    if (result == GO_ON && s->gp.noise == CT_NOISE_NONE) result = frame_distinct(f, cols, d);
    return result;
}

/* -- the result -- */

/* Whether rounding moves the gradient by more than a search tolerates. */
static void print_rounding(ct_gp *gp)
{
    const double most = 0.01; /* of the objective, where a parameter grows by a factor of e */
    ct_gp_numerics q;
    if (ct_gp_inspect(gp, &q) || q.gradient_error <= most) return;
    const char *remedy = ct_gp_dtype(gp) == CT_F32 ? "--dtype f64" : more_noise(gp);
    printf("  %-28s %.1g, so that the search cannot end well: %s\n", "rounding of the gradient",
           q.gradient_error, remedy ? remedy : "leave out rows that are alike, see ctgp info");
}

static void print_result(const settings *s, const frame *f, ct_gp *gp, const effort *e, const trend *t,
                         double nlml)
{
    ct_fit_report r = ct_gp_report(gp);
    long long n = ct_gp_points(gp), d = ct_gp_dims(gp);
    char text[1024];
    if (s->json) {
        printf("{\"model\": ");
        json_string(stdout, s->model);
        printf(", \"kernel\": ");
        json_string(stdout, kernel_text(gp, text, sizeof text));
        printf(", \"mean\": ");
        json_string(stdout, mean_text(gp, text, sizeof text));
        printf(", \"n\": %lld, \"features\": %lld, \"nlml\": ", n, d);
        json_number(stdout, nlml);
        printf(", \"iterations\": %d, \"evaluations\": %d, \"converged\": %s, \"end\": \"%s\"", r.iterations,
               r.evaluations, ct_fit_converged(r.end) ? "true" : "false", ct_fit_end_text(r.end));
        printf(", \"starts\": %d, \"in_all\": {\"iterations\": %d, \"evaluations\": %d, \"starts\": %d}, "
               "\"seconds\": ",
               r.starts, e->iterations, e->evaluations, e->starts);
        json_number(stdout, e->seconds);
        printf(", \"precision\": \"%s\", \"objective_error\": ", precision_name(r.precision));
        json_number(stdout, r.objective_error);
        printf(", \"failed\": %d, \"jitter\": ", r.failed);
        json_number(stdout, r.jitter);
        printf(", ");
        json_outliers(gp, f);
        printf(", ");
        json_trend(gp, t);
        printf(", ");
        json_parameters(stdout, gp);
        printf("}\n");
        return;
    }
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        printf("  %-28s %.6g%s\n", p->name, p->value, p->fixed ? "  (fixed)" : "");
    }
    print_trend(gp, t);
    printf("  %-28s %s: %s\n", "end of the search", ct_fit_converged(r.end) ? "converged" : "not converged",
           ct_fit_end_text(r.end));
    if (r.precision == CT_PRECISION_MIXED)
        printf("  %-28s %.6f, to about %.1g\n", "objective in mixed precision", r.objective,
               r.objective_error);
    if (r.precision == CT_PRECISION_MIXED && r.failed)
        printf("  %-28s %d: beyond f32; where the fit ended beside them, --precision full\n",
               "evaluations refused", r.failed);
    if (r.jitter > 0) printf("  %-28s %.3g\n", "jitter (added to the noise)", r.jitter);
    print_rounding(gp);
    print_outliers(gp, f, 30);
    printf("n=%lld features=%lld nlml=%.6f iterations=%d evaluations=%d seconds=%.2f model=%s\n", n, d, nlml,
           r.iterations, r.evaluations, e->seconds, s->model);
}

static int save(const settings *s, const frame *f, ct_gp *gp, const char *const *names, const effort *e)
{
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    trend t;
    int result = read_trend(gp, &t);
    if (result != GO_ON) return result;
    if (ct_gp_set_names(gp, names, s->target) || ct_gp_save_with(gp, s->model, &how))
        return fail_device(ct_gp_device(gp), NULL);
    print_result(s, f, gp, e, &t, ct_gp_nlml_value(gp));
    return CODE_OK;
}

/* Model of the chosen rows of cols[0..d) and the target cols[d]. */
static int fit_frame(const settings *s, frame *f, const int64_t *cols, const char *const *names, int64_t d,
                     ct_kernel **kernel)
{
    ct_gp_options options = s->gp;
    if (options.basis) options.input_names = names;
    int result = check_mean(&options, names, d);
    if (result == GO_ON) result = choose_rows(s, f, cols, d);
    if (result != GO_ON) return result;
    ct_tensor *X = frame_tensor(f, cols, d, s->dtype), *y = frame_tensor(f, &cols[d], 1, s->dtype);
    ct_gp *gp = NULL;
    effort e;
    if (X && y)
        result = train(X, y, *kernel, &options, &s->fit, s->patience, &gp, &e), *kernel = NULL;
    else
        result = fail_device(f->device, NULL);
    if (result == CODE_DATA && options.basis && ct_last_status(f->device) == CT_EFORMAT) result = CODE_USAGE;
    ct_release(X);
    ct_release(y);
    if (result == GO_ON) result = save(s, f, gp, names, &e);
    ct_gp_free(gp);
    return result;
}

/* Names and indices of the columns of *f. The text is parsed for its header, then for those columns'
 * numbers. */
static int read_columns(const settings *s, ct_device *device, frame *header, frame *f, const char ***names,
                        int64_t **cols, int64_t *d)
{
    source t;
    const char *none = NULL;
    int result = source_open(&t, device, s->path);
    if (result == GO_ON) result = frame_parse(header, &t, &s->table, &none, 0);
    size_t columns = (size_t)ct_table_cols(header->table) + 1;
    *names = calloc(columns, sizeof **names);
    *cols = calloc(columns, sizeof **cols);
    if (result == GO_ON && (!*names || !*cols))
        result = fail(CODE_MEMORY, "no memory for %zu columns", columns);
    if (result == GO_ON) result = choose_columns(s, header, *names, d);
    if (result == GO_ON) result = frame_parse(f, &t, &s->table, *names, *d + 1);
    for (int64_t j = 0; j <= *d && result == GO_ON; j++) {
        (*cols)[j] = frame_column(f, (*names)[j]);
        if ((*cols)[j] < 0) result = CODE_DATA;
    }
    if (result == GO_ON) frame_tell_notes(f);
    source_close(&t);
    return result;
}

static int fit_file(const settings *s, ct_device *device, ct_kernel **kernel)
{
    frame header = { 0 }, f = { 0 };
    const char **names = NULL;
    int64_t d = 0, *cols = NULL;
    int result = read_columns(s, device, &header, &f, &names, &cols, &d);
    if (result == GO_ON) result = fit_frame(s, &f, cols, names, d, kernel);
    frame_close(&header);
    frame_close(&f);
    free(names);
    free(cols);
    return result;
}

int run_fit(int argc, char **argv)
{
    settings s = { 0 };
    int result = read_settings(argc, argv, &s);
    if (result == GO_ON) result = many_share(ct_group_rank(many()) ? GO_ON : check_writable(s.model));
    if (result == GO_ON) result = many_device(&s.device);
    if (result != GO_ON) return result;
    s.gp.group = many();
    ct_kernel *kernel = s.kernel ? ct_kernel_parse(s.kernel) : NULL;
    if (s.kernel && ct_kernel_status(kernel)) {
        result = fail(ct_kernel_status(kernel) == CT_ENOMEM ? CODE_MEMORY : CODE_USAGE, "%s",
                      ct_kernel_message(kernel));
        ct_kernel_free(kernel);
        return result;
    }
    ct_device *device = ct_device_open(s.device);
    result = ct_device_status(device) ? fail_device(device, NULL) : fit_file(&s, device, &kernel);
    ct_kernel_free(kernel);
    ct_device_close(device);
    return result;
}
