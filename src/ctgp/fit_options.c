/* ctgp fit: its command line. */
#include "fit.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT(CODE, name, text, ...) text " "
#define KERNELS                     CT_PROFILES(TEXT) "constant white"

/* train.csv -> train.ctgp in the working directory. Standard input and a shell's <(...) have no name. */
static void name_model(ctgp *c, settings *s)
{
    if (!going(c)) return;
    const char *path = s->path;
    if (is_stream(path)) {
        fail(c, CODE_USAGE, "%s gives the model no name: --model FILE says where it goes",
             is_standard(path) ? "standard input" : path);
        return;
    }
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    snprintf(s->default_model, sizeof s->default_model, "%.*s.ctgp", stem, base);
    s->model = s->default_model;
}

/* Options as they are given, NULL if not. */
typedef struct words {
    const char *mean, *noise, *noise_in, *noise_by, *transform, *outputs, *rank, *priors;
    const char *optimizer, *objective, *precision, *restarts, *iterations, *seed, *dtype, *standardize;
    const char *fraction, *last, *most, *limit, *quiet, *verbose;
} words;

static void parse_model(ctgp *c, const words *w, settings *s)
{
    if (!going(c)) return;
    static const char *const kinds[] = { "each", "shared", "joint" };
    static const char *const priors[] = { "weak", "none" };
    static const char *const dtypes[] = { "f64", "f32" };
    static const char *const yes_no[] = { "yes", "no" };
    int kind = 0, prior = s->kernel ? 1 : 0, narrow = 0, as_is = 0;
    noise_settings(c, w->noise, w->noise_in, w->noise_by, &s->gp.noise, s->noise_name);
    parse_choice(c, "--outputs", w->outputs, kinds, 3, &kind);
    parse_whole(c, "--rank", w->rank, 1, CT_COV_MOST_RANK, &s->rank);
    transform_settings(c, w->transform, &s->gp.transform);
    parse_choice(c, "--priors", w->priors, priors, 2, &prior);
    parse_choice(c, "--dtype", w->dtype, dtypes, 2, &narrow);
    parse_choice(c, "--standardize", w->standardize, yes_no, 2, &as_is);
    read_mean(w->mean, &s->gp);
    s->outputs = (ct_outputs_kind)kind;
    s->gp.priors = prior ? CT_PRIORS_NONE : CT_PRIORS_WEAK;
    s->gp.standardize = as_is ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH;
    s->dtype = narrow ? CT_F32 : CT_F64;
}

static void parse_search(ctgp *c, const words *w, settings *s)
{
    if (!going(c)) return;
    static const char *const optimizers[] = { "lbfgs", "adam" };
    static const char *const objectives[] = { "likelihood", "loo" };
    static const char *const precisions[] = { "full", "mixed" };
    int optimizer = -1, loo = 0, mixed = 0;
    long restarts = 0, iterations = 0, seed = 0;
    parse_choice(c, "--optimizer", w->optimizer, optimizers, 2, &optimizer);
    parse_choice(c, "--objective", w->objective, objectives, 2, &loo);
    parse_choice(c, "--precision", w->precision, precisions, 2, &mixed);
    parse_whole(c, "--restarts", w->restarts, 0, 1000, &restarts);
    parse_whole(c, "--max-iter", w->iterations, 1, 1000000, &iterations);
    parse_whole(c, "--seed", w->seed, 0, 2147483647, &seed);
    parse_whole(c, "--time-limit", w->limit, 1, 100000000, &s->patience.seconds);
    s->fit.optimizer = optimizer == 0   ? CT_OPTIMIZER_LBFGS
                       : optimizer == 1 ? CT_OPTIMIZER_ADAM
                                        : CT_OPTIMIZER_DEFAULT;
    s->fit.objective = loo ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD;
    s->fit.precision = mixed ? CT_PRECISION_MIXED : CT_PRECISION_FULL;
    s->fit.restarts = (int)restarts;
    s->fit.max_iterations = (int)iterations;
    s->fit.seed = (uint64_t)seed;
    s->restarts_given = w->restarts;
    s->patience.progress = w->quiet ? PROGRESS_NONE : w->verbose ? PROGRESS_EACH : PROGRESS_LINE;
}

static void parse_rows(ctgp *c, const words *w, settings *s)
{
    if (!going(c)) return;
    parse_share(c, "--test-fraction", w->fraction, &s->test);
    parse_share(c, "--test-last", w->last, &s->test);
    parse_whole(c, "--max-rows", w->most, 2, LONG_MAX, &s->max_rows);
    s->test_last = w->last;
}

/* What shared and joint outputs cannot do. */
static void check_outputs(ctgp *c, const words *w, const settings *s)
{
    if (!going(c)) return;
    if (w->rank && s->outputs != CT_OUTPUTS_COREGIONALISED)
        fail(c, CODE_USAGE, "--rank is of the covariance between outputs: it needs --outputs joint");
    if (!s->outputs) return;
    if (s->gp.transform || s->season)
        fail(c, CODE_USAGE, "--outputs %s has no %s: leave it out, or take --outputs each", w->outputs,
             s->season ? "--season" : "--transform");
    if (s->gp.mean == CT_MEAN_LINEAR || s->gp.basis)
        fail(c, CODE_USAGE,
             "--outputs %s has the averages as the mean: leave --mean out, or take --outputs each",
             w->outputs);
    if (w->noise || w->noise_in || w->noise_by)
        fail(c, CODE_USAGE, "--outputs %s learns its noise: leave %s out, or take --outputs each", w->outputs,
             w->noise      ? "--noise"
             : w->noise_in ? "--noise-column"
                           : "--noise-by");
    if (s->outputs == CT_OUTPUTS_SHARED && (s->fit.objective || s->fit.precision))
        fail(c, CODE_USAGE, "--outputs shared is fitted by the likelihood in full precision: leave %s out",
             s->fit.objective ? "--objective" : "--precision");
}

static void check_together(ctgp *c, const words *w, const settings *s)
{
    if (!going(c)) return;
    if (!s->target) fail(c, CODE_USAGE, "which column is to be learned? --target NAME");
    if (w->fraction && w->last)
        fail(c, CODE_USAGE, "--test-fraction draws the rows and --test-last takes the last: one of them");
    if (w->quiet && w->verbose) fail(c, CODE_USAGE, "--quiet and --verbose: give one of them");
    if ((s->limits.lower || s->limits.upper) && !s->kernel)
        fail(c, CODE_USAGE, "%s needs --kernel, which says what parameters there are",
             s->limits.lower ? "--lower" : "--upper");
    if (s->gp.transform && w->noise_in)
        fail(c, CODE_USAGE,
             "--noise-column tells the noise of the target, not of its %s: leave --transform out, or learn "
             "the noise, as by --noise-by",
             w->transform);
    if (s->season && s->kernel)
        fail(c, CODE_USAGE,
             "--season is for a covariance that is chosen; --kernel has a season where its "
             "text has one, such as periodic(period=7)");
    if (s->gp.basis && (s->fit.objective || s->fit.precision))
        fail(c, CODE_USAGE, "--mean with a trend is fitted by the likelihood in full precision: leave %s out",
             s->fit.objective ? "--objective loo" : "--precision mixed");
    if (s->fit.precision && (s->fit.objective || s->dtype == CT_F32))
        fail(c, CODE_USAGE, "--precision mixed is for the likelihood of models in f64: leave %s out",
             s->fit.objective ? "--objective loo" : "--dtype f32");
    if (s->fit.checkpoint && !strcmp(s->fit.checkpoint, s->model))
        fail(c, CODE_USAGE, "--checkpoint %s is the model's file, too: give it another name", s->model);
    check_outputs(c, w, s);
}

void fit_read_settings(ctgp *c, int argc, char **argv, settings *s)
{
    if (!going(c)) return;
    words w = { 0 };
    const option options[] = {
        { "--target", "A,B,...", "column to learn, or several (required)", &s->target },
        { "--outputs", "KIND",
          "several targets: each by itself (default), shared: one covariance, or joint: they learn from each "
          "other",
          &w.outputs },
        { "--rank", "R", "rank of the covariance between joint outputs (default 1)", &w.rank },
        { "--features", "A,B*,...", "columns to learn from; all others unless given", &s->features },
        { "--drop", "A,B*,...", "columns to leave out", &s->drop },
        { "--categorical", "A,B*,...",
          "columns of numbers that are codes of a category; columns of text need no option",
          &s->categorical },
        { "--time", "A,B*,...",
          "columns of seconds or milliseconds since 1970; columns of dates need no option", &s->time },
        DIALECT_OPTIONS(s->written),
        { "--kernel", "TEXT", "covariance; chosen for the data unless given", &s->kernel },
        { "--season", "NAME|none",
          "feature that may have seasons if the covariance is chosen; unless given, the only one if it is a "
          "time",
          &s->season },
        { "--lower", "NAME=V,...", "least values of parameters of --kernel, the mean and the noise",
          &s->limits.lower },
        { "--upper", "NAME=V,...", "their largest values", &s->limits.upper },
        { "--transform", "KIND",
          "learn log, logit or sqrt of the target; predictions and scores are of the target", &w.transform },
        { "--mean", "KIND", "zero, constant (default), linear, or a trend such as \"1 + x + x^2\"", &w.mean },
        { "--noise", "KIND",
          "learned (default), none: the model passes through the data, or inputs: it changes with them",
          &w.noise },
        { "--noise-column", "NAME", "column of standard deviations, or variance:NAME; no feature",
          &w.noise_in },
        { "--noise-by", "NAME", "a noise for each level of this column; no feature", &w.noise_by },
        { "--priors", "KIND",
          "weak against tiny lengthscales and noise, or none; weak unless --kernel is given", &w.priors },
        { "--model", "FILE", "where to write the model; TRAIN.ctgp unless given", &s->model },
        { "--no-factor", NULL, "write the model without its factor, which is computed when needed",
          &s->no_factor },
        { "--checkpoint", "FILE", "keep every evaluation there; the same command goes on from it",
          &s->fit.checkpoint },
        { "--optimizer", "NAME", "lbfgs (default) or adam", &w.optimizer },
        { "--objective", "NAME", "likelihood (default), or loo: the leave-one-out density", &w.objective },
        { "--precision", "NAME",
          "full (default), or mixed: evaluations from a factor in f32, corrected in f64", &w.precision },
        { "--restarts", "R",
          "further starts from random parameters (default 0; 4 for a period without a start)", &w.restarts },
        { "--max-iter", "I", "iterations per start (default 200 for lbfgs, 1000 for adam)", &w.iterations },
        { "--seed", "S", "seed of the random starts and of drawn rows (default 0)", &w.seed },
        { "--test-fraction", "F", "hold back this share of the rows, drawn, and score the model on them",
          &w.fraction },
        { "--test-last", "F", "hold back the last rows of the table instead", &w.last },
        { "--max-rows", "N", "learn N drawn rows at most, and score the model on the rest", &w.most },
        { "--time-limit", "SECONDS", "then the search ends, and the best model so far is kept", &w.limit },
        { "--quiet", NULL, "no progress on standard error", &w.quiet },
        { "--verbose", NULL, "a line of progress for each iteration, also where there is no terminal",
          &w.verbose },
        { "--dtype", "TYPE", "f64 (default) or f32", &w.dtype },
        DEVICE_OPTION(s->device),
        { "--standardize", "yes|no", "scale columns to mean 0, deviation 1 inside (default yes)",
          &w.standardize },
        { "--json", NULL, "the result as one line of JSON on standard output", &s->json },
    };
    const command usage = {
        .name = "fit",
        .arguments = "TRAIN.csv --target NAME",
        .summary = "Trains an exact Gaussian process on the rows without missing values.",
        .details =
            "Kernels: " KERNELS ", combined by\n"
            "+, *, scale and brackets: \"scale * rbf(ard) + scale * periodic(period=1!) * rbf + linear\".\n"
            "'ctgp help kernels' tells what they are, with recipes.\n"
            "Progress is shown on a terminal. Ctrl-C ends the search and keeps the best model so far.\n"
            "TRAIN.csv may be a pipe, or - for standard input; then --model FILE says where the model goes.",
        .n_positional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, &s->path);
    parse_dialect(c, &s->written, &s->table);
    parse_model(c, &w, s);
    parse_search(c, &w, s);
    parse_rows(c, &w, s);
    if (going(c) && !s->model) name_model(c, s);
    check_together(c, &w, s);
    keep_apart(c, "--model", s->model, "TRAIN.csv", s->path);
}

void fit_check_writable(ctgp *c, const char *path)
{
    if (!going(c)) return;
    char folder[4096];
    struct stat st;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (!folder[0]) strcpy(folder, "/");
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) fail(c, CODE_IO, "--model: %s is a directory", path);
    if (access(folder, W_OK)) fail(c, CODE_IO, "--model: the folder %s cannot be written to", folder);
}
