/* ctgp fit: its command line. */
#include "fit.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT(CODE, name, text, ...) text " "
#define KERNELS                     CT_PROFILES(TEXT) "constant white"

/* train.csv -> train.ctgp in the working directory. Standard input and a shell's <(...) have no name. */
static int name_model(settings *s)
{
    const char *path = s->path;
    if (is_stream(path))
        return fail(CODE_USAGE, "%s gives the model no name: --model FILE says where it goes",
                    is_standard(path) ? "standard input" : path);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    int stem = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    snprintf(s->default_model, sizeof s->default_model, "%.*s.ctgp", stem, base);
    s->model = s->default_model;
    return GO_ON;
}

int fit_read_settings(int argc, char **argv, settings *s)
{
    const char *mean = NULL, *noise = NULL, *noise_in = NULL, *noise_by = NULL, *priors = NULL,
               *optimizer = NULL, *objective = NULL, *precision = NULL, *restarts = NULL, *iterations = NULL,
               *seed = NULL, *dtype = NULL, *standardize = NULL, *quiet = NULL, *verbose = NULL,
               *limit = NULL, *fraction = NULL, *last = NULL, *most = NULL, *outputs = NULL, *rank = NULL,
               *transform = NULL;
    const option options[] = {
        { "--target", "A,B,...", "column to learn, or several (required)", &s->target },
        { "--outputs", "KIND",
          "several targets: each by itself (default), shared: one covariance, or joint: they learn from each "
          "other",
          &outputs },
        { "--rank", "R", "rank of the covariance between joint outputs (default 1)", &rank },
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
          "learn log, logit or sqrt of the target; predictions and scores are of the target", &transform },
        { "--mean", "KIND", "zero, constant (default), linear, or a trend such as \"1 + x + x^2\"", &mean },
        { "--noise", "KIND",
          "learned (default), none: the model passes through the data, or inputs: it changes with them",
          &noise },
        { "--noise-column", "NAME", "column of standard deviations, or variance:NAME; no feature",
          &noise_in },
        { "--noise-by", "NAME", "a noise for each level of this column; no feature", &noise_by },
        { "--priors", "KIND",
          "weak against tiny lengthscales and noise, or none; weak unless --kernel is given", &priors },
        { "--model", "FILE", "where to write the model; TRAIN.ctgp unless given", &s->model },
        { "--no-factor", NULL, "write the model without its factor, which is computed when needed",
          &s->no_factor },
        { "--checkpoint", "FILE", "keep every evaluation there; the same command goes on from it",
          &s->fit.checkpoint },
        { "--optimizer", "NAME", "lbfgs (default) or adam", &optimizer },
        { "--objective", "NAME", "likelihood (default), or loo: the leave-one-out density", &objective },
        { "--precision", "NAME",
          "full (default), or mixed: evaluations from a factor in f32, corrected in f64", &precision },
        { "--restarts", "R",
          "further starts from random parameters (default 0; 4 for a period without a start)", &restarts },
        { "--max-iter", "I", "iterations a start (default 200 for lbfgs, 1000 for adam)", &iterations },
        { "--seed", "S", "seed of the random starts and of drawn rows (default 0)", &seed },
        { "--test-fraction", "F", "hold back this share of the rows, drawn, and score the model on them",
          &fraction },
        { "--test-last", "F", "hold back the last rows of the table instead", &last },
        { "--max-rows", "N", "learn N drawn rows at most, and score the model on the rest", &most },
        { "--time-limit", "SECONDS", "then the search ends, and the best model so far is kept", &limit },
        { "--quiet", NULL, "no progress on standard error", &quiet },
        { "--verbose", NULL, "a line of progress for each iteration, also where there is no terminal",
          &verbose },
        { "--dtype", "TYPE", "f64 (default) or f32", &dtype },
        DEVICE_OPTION(s->device),
        { "--standardize", "yes|no", "scale columns to mean 0, deviation 1 inside (default yes)",
          &standardize },
        { "--json", NULL, "the result as one line of JSON on standard output", &s->json },
    };
    static const char *const kinds[] = { "weak", "none" };
    static const char *const optimizers[] = { "lbfgs", "adam" };
    static const char *const objectives[] = { "likelihood", "loo" };
    static const char *const precisions[] = { "full", "mixed" };
    static const char *const dtypes[] = { "f64", "f32" };
    static const char *const yes_no[] = { "yes", "no" };
    static const char *const kinds_of_outputs[] = { "each", "shared", "joint" };
    const command c = {
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
    int result = parse_arguments(&c, argc, argv, &s->path);
    if (result == GO_ON) result = parse_dialect(&s->written, &s->table);
    int kind = 0, w = 0, o = -1, t = 0, z = 0, by = 0, p = 0;
    long r = 0, n = 0, d = 0;
    if (result == GO_ON) result = noise_settings(noise, noise_in, noise_by, &s->gp.noise, s->noise_name);
    if (result == GO_ON) result = parse_choice("--outputs", outputs, kinds_of_outputs, 3, &kind);
    if (result == GO_ON) result = parse_whole("--rank", rank, 1, CT_COV_MOST_RANK, &s->rank);
    if (result == GO_ON) result = transform_settings(transform, &s->gp.transform);
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
    if (result == GO_ON) result = parse_share("--test-fraction", fraction, &s->test);
    if (result == GO_ON) result = parse_share("--test-last", last, &s->test);
    if (result == GO_ON) result = parse_whole("--max-rows", most, 2, LONG_MAX, &s->max_rows);
    if (result == GO_ON && fraction && last)
        result =
            fail(CODE_USAGE, "--test-fraction draws the rows and --test-last takes the last: one of them");
    if (result != GO_ON) return result;
    if (quiet && verbose) return fail(CODE_USAGE, "--quiet and --verbose: give one of them");
    if ((s->limits.lower || s->limits.upper) && !s->kernel)
        return fail(CODE_USAGE, "%s needs --kernel, which says what parameters there are",
                    s->limits.lower ? "--lower" : "--upper");
    s->outputs = (ct_outputs_kind)kind;
    if (rank && s->outputs != CT_OUTPUTS_JOINT)
        return fail(CODE_USAGE, "--rank is of the covariance between outputs: it needs --outputs joint");
    if (s->outputs && (s->gp.transform || s->season))
        return fail(CODE_USAGE, "--outputs %s has no %s: leave it out, or take --outputs each", outputs,
                    s->season ? "--season" : "--transform");
    if (s->gp.transform && noise_in)
        return fail(
            CODE_USAGE,
            "--noise-column tells the noise of the target, not of its %s: leave --transform out, or learn "
            "the noise, as by --noise-by",
            transform);
    if (s->season && s->kernel)
        return fail(CODE_USAGE,
                    "--season is for a covariance that is chosen; --kernel has a season where its "
                    "text has one, such as periodic(period=7)");
    s->test_last = last;
    s->restarts_given = restarts;
    if (!s->target) return fail(CODE_USAGE, "which column is to be learned? --target NAME");
    read_mean(mean, &s->gp);
    if (s->outputs && (s->gp.mean == CT_MEAN_LINEAR || s->gp.basis))
        return fail(CODE_USAGE,
                    "--outputs %s has the averages as the mean: leave --mean out, or take --outputs each",
                    outputs);
    if (s->outputs && (noise || noise_in || noise_by))
        return fail(CODE_USAGE, "--outputs %s learns its noise: leave %s out, or take --outputs each",
                    outputs,
                    noise      ? "--noise"
                    : noise_in ? "--noise-column"
                               : "--noise-by");
    if (s->outputs == CT_OUTPUTS_SHARED && (by || p))
        return fail(CODE_USAGE,
                    "--outputs shared is fitted by the likelihood in full precision: leave %s out",
                    by ? "--objective" : "--precision");
    if (s->gp.basis && (by || p))
        return fail(CODE_USAGE,
                    "--mean with a trend is fitted by the likelihood in full precision: leave %s out",
                    by ? "--objective loo" : "--precision mixed");
    s->gp.priors = w || (s->kernel && !priors) ? CT_PRIORS_NONE : CT_PRIORS_WEAK;
    s->gp.standardize = z ? CT_STANDARDIZE_NONE : CT_STANDARDIZE_BOTH;
    s->fit.objective = by ? CT_OBJECTIVE_LOO : CT_OBJECTIVE_LIKELIHOOD;
    s->fit.precision = p ? CT_PRECISION_MIXED : CT_PRECISION_FULL;
    s->fit.optimizer = o == 0 ? CT_OPTIMIZER_LBFGS : o == 1 ? CT_OPTIMIZER_ADAM : CT_OPTIMIZER_DEFAULT;
    s->fit.restarts = (int)r;
    s->fit.max_iterations = (int)n;
    s->fit.seed = (uint64_t)d;
    s->patience.progress = quiet ? PROGRESS_NONE : verbose ? PROGRESS_EACH : PROGRESS_LINE;
    s->dtype = t ? CT_F32 : CT_F64;
    result = s->model ? GO_ON : name_model(s);
    if (result == GO_ON) result = keep_apart("--model", s->model, "TRAIN.csv", s->path);
    if (result == GO_ON && s->fit.checkpoint && !strcmp(s->fit.checkpoint, s->model))
        result = fail(CODE_USAGE, "--checkpoint %s is the model's file, too: give it another name", s->model);
    return result;
}

int fit_check_writable(const char *path)
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
