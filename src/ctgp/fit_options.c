/* ctgp fit: its command line. */
#include "fit_options.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "failure.h"
#include "many.h"
#include "names.h"
#include "options.h"
#include "table.h"
#include "trend.h"

#define TEXT(CODE, name, text, ...) text " "
#define KERNELS                     CT_PROFILES(TEXT) "constant white"

/* What the command line of this process says. Most options are settings as they stand. */
static settings given;

/* Of the others, one may decide several settings, or several one. -1: not given. */
static struct {
    const char *mean, *noise_in, *noise_by;
    int noise, transform, outputs, priors, narrow, as_is, optimizer, objective, precision;
    long restarts, iterations, seed;
    double fraction, last;
    bool quiet, verbose;
} words = { .noise = -1, .transform = -1, .priors = -1, .optimizer = -1, .restarts = -1 };

static const option options[] = {
    { "--target", "A,B,...", "column to learn, or several (required)", .text = &given.target,
      .required = "which column is to be learned? --target NAME" },
    { "--outputs", "KIND",
      "several targets: each by itself (default), shared: one covariance, or joint: they learn from each "
      "other",
      .choice = &words.outputs, .choices = "each shared joint" },
    { "--rank", "R", "rank of the covariance between joint outputs (default 1)", .whole = &given.rank,
      .least = 1, .most = CT_COV_MOST_RANK },
    { "--features", "A,B*,...", "columns to learn from; all others unless given", .text = &given.features },
    { "--drop", "A,B*,...", "columns to leave out", .text = &given.drop },
    { "--categorical", "A,B*,...",
      "columns of numbers that are codes of a category; columns of text need no option",
      .text = &given.categorical },
    { "--time", "A,B*,...",
      "columns of seconds or milliseconds since 1970, or of Excel's days; columns of dates need no option",
      .text = &given.time },
    { "--missing", "drop|keep",
      "rows with a missing cell in a feature: left out (default), or kept, with a column that says where",
      .choice = &given.keep_missing, .choices = "drop keep" },
    { "--kernel", "TEXT", "covariance; chosen for the data unless given", .text = &given.kernel },
    { "--season", "NAME|none",
      "feature that may have seasons if the covariance is chosen; unless given, the only time or the only "
      "one",
      .text = &given.season },
    { "--lower", "NAME=V,...", "least values of parameters of --kernel, the mean and the noise",
      .text = &given.lower },
    { "--upper", "NAME=V,...", "their largest values", .text = &given.upper },
    { "--transform", "KIND",
      "learn log, logit or sqrt of the target, or none; unless given, what leave-one-out prefers",
      .choice = &words.transform, .choices = "none log logit sqrt" },
    { "--mean", "KIND", "zero, constant (default), linear, or a trend such as \"1 + x + x^2\"",
      .text = &words.mean },
    { "--noise", "KIND",
      "learned (default), none: the model passes through the data, or inputs: it changes with them",
      .choice = &words.noise, .choices = "learned none inputs" },
    { "--noise-column", "NAME", "column of standard deviations, or variance:NAME; no feature",
      .text = &words.noise_in },
    { "--noise-by", "NAME", "a noise for each level of this column; no feature", .text = &words.noise_by },
    { "--priors", "KIND", "weak against tiny lengthscales and noise, or none; weak unless --kernel is given",
      .choice = &words.priors, .choices = "weak none" },
    { "--model", "FILE", "where to write the model; TRAIN.ctgp unless given", .text = &given.model },
    { "--no-factor", NULL, "write the model without its factor, which is computed when needed",
      .flag = &given.no_factor },
    { "--checkpoint", "FILE", "keep every evaluation there; the same command goes on from it",
      .text = &given.fit.checkpoint },
    { "--optimizer", "NAME", "lbfgs (default) or adam", .choice = &words.optimizer, .choices = "lbfgs adam" },
    { "--objective", "NAME", "likelihood (default), or loo: the leave-one-out density",
      .choice = &words.objective, .choices = "likelihood loo" },
    { "--precision", "NAME", "full (default), or mixed: evaluations from a factor in f32, corrected in f64",
      .choice = &words.precision, .choices = "full mixed" },
    { "--restarts", "R",
      "further starts from random parameters (default: up to 9, what takes about a second; 4 for a period "
      "without a start)",
      .whole = &words.restarts, .most = 1000 },
    { "--max-iter", "I", "iterations per start (default 200 for lbfgs, 1000 for adam)",
      .whole = &words.iterations, .least = 1, .most = 1000000 },
    { "--seed", "S", "seed of the random starts and of drawn rows (default 0)", .whole = &words.seed,
      .most = 2147483647 },
    { "--test-fraction", "F", "hold back this share of the rows, drawn, and score the model on them",
      .share = &words.fraction },
    { "--test-last", "F", "hold back the last rows of the table instead", .share = &words.last },
    { "--max-rows", "N", "learn N drawn rows at most, and score the model on the rest",
      .whole = &given.max_rows, .least = 2, .most = LONG_MAX },
    { "--time-limit", "SECONDS", "then the search ends, and the best model so far is kept",
      .whole = &given.time_limit, .least = 1, .most = 100000000 },
    { "--quiet", NULL, "no progress on standard error", .flag = &words.quiet },
    { "--verbose", NULL, "a line of progress for each iteration, also where there is no terminal",
      .flag = &words.verbose },
    { "--dtype", "TYPE", "f64 (default) or f32", .choice = &words.narrow, .choices = "f64 f32" },
    { "--standardize", "yes|no", "scale columns to mean 0, deviation 1 inside (default yes)",
      .choice = &words.as_is, .choices = "yes no" },
};

static const command usage = {
    .name = "fit",
    .files = { "TRAIN.csv" },
    .needed = 1,
    .also = "--target NAME",
    .summary = "Trains an exact Gaussian process on the rows without missing values.",
    .details =
        "Kernels: " KERNELS ", combined by\n"
        "+, *, scale and brackets: \"scale * rbf(ard) + scale * periodic(period=1!) * rbf + linear\".\n"
        "'ctgp help kernels' tells what they are, with recipes.\n"
        "Progress is shown on a terminal. Ctrl-C ends the search and keeps the best model so far.\n"
        "TRAIN.csv may be a pipe, or - for standard input; then --model FILE says where the model goes.",
    .shared = OF_TABLES | OF_DEVICE | OF_RESULT,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
};

/* train.csv or train.csv.gz -> train.ctgp in the working directory. Standard input and a shell's <(...) have
 * no name. */
static const char *name_model(ctgp *c, const char *path)
{
    if (is_stream(path))
        fail(c, CODE_USAGE, "%s gives the model no name: --model FILE says where it goes",
             is_standard(path) ? "standard input" : path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t size = strlen(base);
    if (size > 3 && !strcmp(base + size - 3, ".gz")) size -= 3;
    size_t stem = size;
    while (stem && base[--stem] != '.') continue;
    return text_of(c, "%.*s.ctgp", (int)(stem ? stem : size), base);
}

static void set_model(ctgp *c, settings *s)
{
    s->noise = noise_settings(c, words.noise > 0 ? words.noise : 0, words.noise >= 0, words.noise_in,
                              words.noise_by);
    s->gp.noise = s->noise.kind;
    s->gp.transform = words.transform > 0 ? (ct_transform_kind)words.transform : CT_TRANSFORM_NONE;
    s->gp.priors = words.priors < 0 ? (s->kernel ? CT_PRIORS_NONE : CT_PRIORS_WEAK)
                                    : (words.priors ? CT_PRIORS_NONE : CT_PRIORS_WEAK);
    s->gp.standardize = words.as_is ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH;
    s->dtype = words.narrow ? CT_F32 : CT_F64;
    s->outputs = (ct_outputs_kind)words.outputs;
    s->any_transform = words.transform < 0 && !s->kernel && !s->time_limit && !s->fit.checkpoint &&
                       !noise_is_given(s->gp.noise);
    read_mean(words.mean, &s->gp);
}

static void set_search(settings *s)
{
    s->fit.optimizer = (ct_optimizer)(words.optimizer + 1);
    s->fit.objective = (ct_fit_objective)words.objective;
    s->fit.precision = (ct_precision)words.precision;
    s->fit.restarts = words.restarts < 0 ? 0 : words.restarts ? (int)words.restarts : CT_FIT_NO_RESTARTS;
    s->fit.max_iterations = (int)words.iterations;
    s->fit.seed = (uint64_t)words.seed;
    s->restarts_given = words.restarts >= 0;
    s->progress = words.quiet ? PROGRESS_NONE : words.verbose ? PROGRESS_EACH : PROGRESS_LINE;
    s->test_last = words.last > 0;
    s->test = s->test_last ? words.last : words.fraction;
}

/* What shared and joint outputs cannot do. */
static void check_outputs(ctgp *c, const settings *s)
{
    const char *kind = outputs_name(s->outputs);
    if (s->rank && s->outputs != CT_OUTPUTS_COREGIONALISED)
        fail(c, CODE_USAGE, "--rank is of the covariance between outputs: it needs --outputs joint");
    if (!s->outputs) return;
    if (s->gp.transform || s->season)
        fail(c, CODE_USAGE, "--outputs %s has no %s: leave it out, or take --outputs each", kind,
             s->season ? "--season" : "--transform");
    if (s->gp.mean == CT_MEAN_LINEAR || s->gp.basis)
        fail(c, CODE_USAGE,
             "--outputs %s has the averages as the mean: leave --mean out, or take --outputs each", kind);
    if (words.noise >= 0 || words.noise_in || words.noise_by)
        fail(c, CODE_USAGE, "--outputs %s learns its noise: leave %s out, or take --outputs each", kind,
             words.noise >= 0 ? "--noise"
             : words.noise_in ? "--noise-column"
                              : "--noise-by");
    if (s->outputs == CT_OUTPUTS_SHARED && (s->fit.objective || s->fit.precision))
        fail(c, CODE_USAGE, "--outputs shared is fitted by the likelihood in full precision: leave %s out",
             s->fit.objective ? "--objective" : "--precision");
}

static void check_search(ctgp *c, const settings *s)
{
    const bool loo = s->fit.objective, mixed = s->fit.precision;
    if (s->season && s->kernel)
        fail(c, CODE_USAGE,
             "--season is for a covariance that is chosen; --kernel has a season where its "
             "text has one, such as periodic(period=7)");
    if (s->gp.basis && (loo || mixed))
        fail(c, CODE_USAGE, "--mean with a trend is fitted by the likelihood in full precision: leave %s out",
             loo ? "--objective loo" : "--precision mixed");
    if (mixed && (loo || s->dtype == CT_F32))
        fail(c, CODE_USAGE, "--precision mixed is for the likelihood of models in f64: leave %s out",
             loo ? "--objective loo" : "--dtype f32");
    if (s->fit.checkpoint && !strcmp(s->fit.checkpoint, s->model))
        fail(c, CODE_USAGE, "--checkpoint %s is the model's file, too: give it another name", s->model);
}

static void check_together(ctgp *c, const settings *s)
{
    if (words.fraction > 0 && words.last > 0)
        fail(c, CODE_USAGE, "--test-fraction draws the rows and --test-last takes the last: one of them");
    if (words.quiet && words.verbose) fail(c, CODE_USAGE, "--quiet and --verbose: give one of them");
    if ((s->lower || s->upper) && !s->kernel)
        fail(c, CODE_USAGE, "%s needs --kernel, which says what parameters there are",
             s->lower ? "--lower" : "--upper");
    if (s->gp.transform && words.noise_in)
        fail(c, CODE_USAGE,
             "--noise-column tells the noise of the target, not of its %s: leave --transform out, or learn "
             "the noise, as by --noise-by",
             ct_transform_name(s->gp.transform));
    check_search(c, s);
    check_outputs(c, s);
}

/* Before hours of work: whether the model can be written to its folder. */
static void check_writable(ctgp *c, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    const char *folder = !slash ? "." : slash == path ? "/" : text_of(c, "%.*s", (int)(slash - path), path);
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) fail(c, CODE_IO, "--model: %s is a directory", path);
    if (access(folder, W_OK)) fail(c, CODE_IO, "--model: the folder %s cannot be written to", folder);
}

settings fit_read_settings(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES];
    parse_arguments(c, &usage, argc, argv, files);
    settings s = given;
    s.path = files[0];
    set_model(c, &s);
    set_search(&s);
    if (!s.model) s.model = name_model(c, s.path);
    check_together(c, &s);
    keep_apart(c, "--model", s.model, "TRAIN.csv", s.path);
    if (!ct_comm_rank(many())) check_writable(c, s.model);
    return s;
}
