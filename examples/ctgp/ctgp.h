/* ctgp, exact Gaussian processes from the command line: what its commands share. It uses the library's public
 * API alone. */
#ifndef CTGP_H
#define CTGP_H

#include <cotangent/cotangent.h>
#include <stdio.h>

/* Exit codes; the man page lists them. */
typedef enum code {
    CODE_OK = 0,
    CODE_USAGE = 1,       /* the command line is wrong, the kernel text included */
    CODE_DATA = 2,        /* a file is not what it should be                      */
    CODE_NUMERIC = 3,     /* no factorisation succeeded                            */
    CODE_IO = 4,          /* the operating system refused to read or write         */
    CODE_MEMORY = 5,      /* memory would not suffice                              */
    CODE_UNSUPPORTED = 6, /* this build or machine cannot do it                    */
    CODE_STOPPED = 7,     /* Ctrl-C or SIGTERM, before there was anything to keep  */
} code;

/* -- many.c: ctgp started by mpirun -- */

/* The processes that hold a model together: all that mpirun started, or NULL for this one alone. */
ct_group *many(void);
/* Begins a command. If only one process can run it, the others end; else they go on and print nothing. GO_ON
 * or a code. */
int many_begin(bool together);
/* Ends the command, and returns `result`. */
int many_end(int result);
/* Sets the device of many processes, "cpu". CODE_UNSUPPORTED if another one is asked for. */
int many_device(const char **name);
/* Gives all processes the result of process 0, GO_ON or a code. */
int many_share(int result);

/* -- options.c: the command line -- */

typedef struct option {
    const char *name;  /* "--target"           */
    const char *value; /* "NAME"; NULL: a flag  */
    const char *help;
    const char **text; /* where the value goes; a flag stores its own name */
} option;

typedef struct command {
    const char *name, *arguments, *summary, *details;
    int n_positional, n_optional; /* files; the optional ones follow, NULL if not given */
    const option *options;
    int n_options;
} command;

/* The option of every command that computes. */
#define DEVICE_OPTION(text)                                                             \
    {                                                                                   \
        "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &(text) \
    }

enum { GO_ON = -1 };

/* GO_ON, or the code to exit with: CODE_OK after --help, CODE_USAGE with a message. */
int parse_arguments(const command *c, int argc, char **argv, const char **positional);

/* A `text` of NULL leaves *out unchanged. GO_ON or CODE_USAGE. */
int parse_whole(const char *name, const char *text, long lowest, long highest, long *out);
/* A number between 0 and 1, neither included. */
int parse_share(const char *name, const char *text, double *out);
int parse_choice(const char *name, const char *text, const char *const *choices, int n, int *out);

/* Adds a name to a list for a message, "a, b, c", which ends in "..." where it is full. */
void add_name(char *list, size_t size, const char *name);

/* Whether the path leads to a regular file, through links or not. */
bool is_file(const char *path);
/* CODE_USAGE where an option's output (may be NULL) would overwrite the input of an argument, else GO_ON. */
int keep_apart(const char *name, const char *out, const char *argument, const char *in);

/* Prints "ctgp: " and one line on stderr, and returns `result`. */
int fail(int result, const char *format, ...) CT_PRINTF(2, 3);
/* The same with the message and the code of the device's last failure, never CODE_OK. `what` (may be NULL) is
 * printed before the message. */
int fail_device(const ct_device *device, const char *what);

/* -- names.c: words for what the library counts -- */

/* "scale * rbf(ard)", ...; into `text`. */
const char *kernel_text(const ct_gp *gp, char *text, size_t size);
const char *kind_name(ct_column_kind kind);
const char *outputs_name(ct_outputs_kind kind); /* "each", "shared", "joint" */
const char *precision_name(ct_precision precision);
const char *objective_name(ct_fit_objective objective);
const char *optimizer_name(ct_optimizer optimizer);
const char *standardize_name(ct_gp_standardize standardize);
const char *noise_kind(ct_gp_noise noise);
const char *prior_name(ct_prior_kind kind);

/* -- json.c: one line of JSON, its commas where they belong -- */

typedef struct json {
    FILE *to;
    bool more; /* a comma comes before the next value */
} json;

/* Each writes a value with its name, NULL for that of a list or for the whole line. */
void json_open(json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket);
void json_string(json *j, const char *name, const char *text); /* NULL: null */
void json_number(json *j, const char *name, double value);     /* null where it is not finite */
void json_whole(json *j, const char *name, int64_t value);
void json_flag(json *j, const char *name, bool value);
/* {"kind": "each", "outputs": [, without the kind for NULL. */
void json_outputs(json *j, const char *kind);
/* Ends the line, of several outputs with their list. */
void json_end(json *j, bool several);
/* A value as printf writes it. */
void json_print(json *j, const char *name, const char *format, ...) CT_PRINTF(3, 4);

/* -- dialect.c: how a table is written, if options say so -- */

typedef struct dialect {
    const char *separator, *decimal, *header, *unseen;
} dialect;

/* The options of every command that reads a table. */
#define DIALECT_OPTIONS(d)                                                                         \
    { "--separator", "SIGN", "comma, semicolon, tab, blanks, bar or colon; found unless given",    \
      &(d).separator },                                                                            \
        { "--decimal", "SIGN", "point or comma; found unless given", &(d).decimal },               \
    {                                                                                              \
        "--header", "yes|no", "whether the first row holds names; found unless given", &(d).header \
    }

/* That of commands that predict at rows of a table. */
#define UNSEEN_OPTION(d)                                                                            \
    {                                                                                               \
        "--unseen", "error|prior",                                                                  \
            "a level that the model has not seen: an error unless given, or the prior", &(d).unseen \
    }

/* Into *how. GO_ON or CODE_USAGE. */
int parse_dialect(const dialect *d, ct_csv_options *how);
/* The option that a message of the library asks for, to end its sentence: " with --separator"; "" for other
 * messages. */
const char *dialect_remedy(const char *message);

/* -- source.c: what a table is read from -- */

typedef struct source {
    const char *name; /* for messages: the path, or "standard input" */
    const char *data; /* [size], held by one of the members below               */
    size_t size;
    ct_device *device;
    ct_bytes file;
    char *input;
    bool told; /* the notes on the table are printed */
} source;

/* Reads a whole file or pipe, or for "-" standard input. Close it in any case. */
int source_open(source *t, ct_device *device, const char *path);
void source_close(source *t);

/* -- table.c: what predictions and draws are written to -- */

/* Whether a path is "-", which stands for standard input or output. */
bool is_standard(const char *path);
/* Whether it is one, or a shell's <(...): it has no name and can be read once. */
bool is_stream(const char *path);

/* Columns of text. */
typedef struct text_columns {
    int64_t n;
    const char **names; /* [n]       */
    const char **texts; /* (rows, n) */
} text_columns;

/* Writes columns of text (may be NULL), then values (rows, cols), below a header of names; NaN is an empty
 * field. `out`: a file, or "-" for standard output. */
int table_write(ct_device *device, const text_columns *texts, const double *values, int64_t rows,
                int64_t cols, const char *const *names, const char *out);

/* -- data.c: columns and rows of a CSV file -- */

typedef struct frame {
    const char *path;
    ct_device *device;
    ct_table *table;
    int64_t *rows, n_rows; /* the rows that are chosen */
} frame;

/* Parses a table; `t` is not needed afterwards. Text is an error in the columns `only` [n] and a missing
 * value in others. */
int frame_parse(frame *f, const source *t, const ct_csv_options *how, const char *const *only, int64_t n);
/* Prints the notes on the table on standard error. */
void frame_tell_notes(const frame *f);
void frame_close(frame *f);
/* Index of the column, or -1 after a message that lists the columns. */
int64_t frame_column(const frame *f, const char *name);
/* GO_ON where there is such a column, else CODE_DATA after that message. */
int frame_needs(const frame *f, const char *name);
/* Chooses the rows without a missing value in `cols`. CODE_MEMORY, or CODE_DATA where a value is infinite. */
int frame_complete(frame *f, const int64_t *cols, int64_t n);
/* If rows are not chosen, prints `text` on standard error with their number and that of all rows. */
void frame_tell_missing(const frame *f, const char *text);
/* The chosen rows of `cols`, (n_rows, n). NULL after a failure of the device. */
ct_tensor *frame_tensor(const frame *f, const int64_t *cols, int64_t n, ct_dtype dtype);
/* Numbers, for qsort and bsearch. */
int ascending(const void *a, const void *b);
/* GO_ON where no two chosen rows agree in all of `cols`, else CODE_DATA with their lines in the message; or
 * CODE_MEMORY. */
int frame_distinct(const frame *f, const int64_t *cols, int64_t n);

/* -- columns.c: columns by names and patterns -- */

/* Splits "a,b,c" at the commas into *list (free_names); the number of names, or -1: no memory. Blanks
 * around a name are left out. A name in quotes may hold commas and, doubled, quotes. */
int64_t split_names(const char *text, char ***list);
void free_names(char **list);

enum { OPTION_NAME = 256 };
/* A name as it can be pasted into the shell behind --drop, in quotes if it needs them; `name` itself if it is
 * too long. */
const char *option_name(const char *name, char text[OPTION_NAME]);

typedef struct pick {
    int64_t col;
    bool exact; /* by its own name, not by a pattern */
} pick;

/* The columns that such a list names, in its order (free *picks in any case). A name that no column has
 * may be a pattern with *, ? and [...]; it stands for the columns that fit and are not named before it. */
int frame_pick(const frame *f, const char *text, pick **picks, int64_t *n);

/* The texts of the columns that such a list names, in every row; no column for NULL. The table was read with
 * ct_csv_options.texts. Free *k in any case. */
int frame_keep(const frame *f, const char *list, text_columns *k);
void text_columns_free(text_columns *k);

/* -- noise.c: noise from a column of the table -- */

/* The kind that --noise, --noise-column and --noise-by ask for, NULL where they are not given; `name`: the
 * model's name of the column, or unchanged. */
int noise_settings(const char *noise, const char *column, const char *by, ct_gp_noise *kind, char name[4096]);
/* The table's column behind such a name, or NULL. */
const char *noise_column(ct_gp_noise kind, const char *name);
/* The model's name of its column, or "". */
const char *noise_name(const ct_gp *gp);
/* A model's noise in words: "given, standard deviations in err", ... */
void noise_text(const ct_gp *gp, char *text, size_t size);
/* The noise of the chosen rows from column `col`, as variances or levels. A model gp (may be NULL) refuses a
 * level that it does not have. */
int frame_noise(const frame *f, int64_t col, ct_gp_noise kind, const char *name, const ct_gp *gp,
                ct_tensor **noise);
/* Checks rows that are held back as frame_noise will, before a model of the others is learned. */
int check_noise(const frame *held, const frame *learned, int64_t col, ct_gp_noise kind, const char *name);

/* -- target.c: the target y on another scale, z = g(y) -- */

/* What --transform says; none for NULL. */
int transform_settings(const char *text, ct_transform_kind *kind);
/* The chosen rows of column `col`. A transform sees them in f64: f32 would make 1 of a share of 1 - 1e-8. */
ct_tensor *target_tensor(const frame *f, int64_t col, ct_transform_kind kind, ct_dtype dtype);
/* "log(y)", the function of the target that the model has learned; into `text`. */
const char *target_text(const ct_gp *gp, char *text, size_t size);
/* GO_ON where the transform takes every value of the chosen rows in column `col`, else CODE_DATA. */
int check_target(const frame *f, int64_t col, ct_transform_kind kind);
/* Suggests the log on standard error, if the target is positive and skewed. */
void tell_skewed(const frame *f, int64_t col);

/* -- open.c: a model's file -- */

/* A model's file, and the outputs that a command works on: all, or the one that --output names. */
typedef struct model_file {
    const char *path;
    ct_device *device;
    ct_outputs *outputs; /* owned; NULL for a model over many processes */
    ct_gp *single;       /* owned; that model */
    ct_gp **gp;          /* [n], borrowed */
    int64_t n;
    bool several; /* the file has more than one output */
    bool joint;   /* they learn from each other */
    bool factor;  /* the file has their factor */
} model_file;

/* The option of every command that reads a model. */
#define OUTPUT_OPTION(text)                                                               \
    {                                                                                     \
        "--output", "NAME", "which of the model's outputs, where it has several", &(text) \
    }

/* `output` NULL: all of them; with `one` there must be one. Close it in any case. */
int model_open(model_file *m, const char *device_name, const char *path, const char *output, bool one);
void model_close(model_file *m);
/* Says on standard error what leave-one-out means for joint outputs. */
void tell_joint(const model_file *m);

/* -- model.c: tables as a model reads them, and its predictions -- */

/* Parses a table by the model's columns. cols[0..d): the inputs; cols[d]: the target or -1; cols[d + 1]: the
 * column of the noise or -1. */
int frame_model(frame *f, const ct_gp *gp, source *t, const ct_csv_options *how, int64_t *cols);
/* Parses a table and reads the rows, at least one, whose inputs, and with `y` the target, are complete.
 * Unless `noise` is NULL, it takes their noise. */
int frame_inputs(frame *f, const ct_gp *gp, source *t, const ct_csv_options *how, ct_tensor **X,
                 ct_tensor **y, ct_tensor **noise);

/* The noise of the chosen rows from column `col`. If the table has none, -1, that is refused if `required`;
 * else *noise stays NULL, and a note says that new observations have the average noise. */
int frame_take_noise(const frame *f, const ct_gp *gp, int64_t col, bool required, ct_tensor **noise);

typedef struct prediction {
    frame data;             /* rows whose inputs are complete     */
    ct_transform transform; /* z = g(y) */
    double *mean, *std;     /* one a chosen row, of a new observation's z */
    int64_t target;         /* column of the target, -1 where there is none */
} prediction;

int prediction_make(prediction *p, ct_gp *gp, source *t, const ct_csv_options *how);
/* Mean and standard deviation of the chosen rows, whose inputs are X. */
int prediction_fill(prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *noise);
/* Chosen row i in the units of y: mean and standard deviation (either may be NULL), and the quantile at q
 * standard deviations of z. */
void prediction_moments(const prediction *p, int64_t i, double *mean, double *std);
double prediction_quantile(const prediction *p, int64_t i, double q);
void prediction_free(prediction *p);

/* Over the rows with a target. */
typedef struct score {
    int64_t n;
    double rmse, mae, nlpd, coverage95;
} score;

score prediction_score(const prediction *p);
/* n=20 rmse=0.1 ...; "n": 20, "rmse": 0.1, ... */
void print_score(score s, FILE *to);
void json_score(json *j, score s);
/* Squared error and minus the log density of each chosen row; NaN if the target has no value. */
void prediction_losses(const prediction *p, double *square, double *nlpd);

/* 97.5 % quantile of the standard normal */
#define Z95 1.959963984540054

/* -- learned.c: the rows of a table that a model has learned -- */

/* The model's inputs (n, d) and targets [n], malloc'ed; free *x and *y in any case. */
int model_rows(ct_gp *gp, double **x, double **y);
/* Parses a table and chooses the rows of the model, in the model's order, which is that of the table.
 * CODE_DATA where the table does not have all of them. */
int frame_learned(frame *f, ct_gp *gp, source *t, const ct_csv_options *how);

typedef enum fate {
    ROW_UNSEEN,
    ROW_HELD, /* held back in the fit */
    ROW_LEARNED,
} fate;

/* What the fit did with each chosen row. A row is learned if it agrees with one of the model, in any order.
 * Another row is held back if it is among the first rows_of_table complete ones, and most of the model's rows
 * are there. malloc'ed; free *fates in any case. */
int frame_fates(const frame *f, ct_gp *gp, fate **fates);

/* -- folds.c: which rows are left out together -- */

/* order[n]: 0, ..., n - 1 in an order that the seed draws; another stream gives an independent one. */
int rows_shuffled(ct_device *device, int64_t n, uint64_t seed, uint64_t stream, int64_t *order);
/* fold[n]: numbers 0, ..., count - 1, drawn by the seed; how often each occurs differs by one at most. */
int folds_drawn(ct_device *device, int64_t n, int64_t count, uint64_t seed, int64_t *fold);
/* One for each text of the column in the chosen rows; *count: how many. */
int folds_by(const frame *f, const char *column, int64_t *fold, int64_t *count);

/* -- loo.c -- */

typedef struct left_out {
    int64_t n;
    double *rows;            /* (n, 3): mean, standard deviation, log density of y            */
    double *square, *sigmas; /* [n]: (y - mean)²; how many standard deviations from it, as z */
} left_out;

/* Every row of the model as predicted from the rows of other folds; fold = NULL: from all others. Free it in
 * any case. */
int left_out_make(left_out *l, ct_gp *gp, const int64_t *fold);
/* The same without a message. */
ct_status left_out_read(left_out *l, ct_gp *gp, const int64_t *fold);
void left_out_free(left_out *l);

/* -- bounds.c -- */

/* What --lower and --upper say, "NAME=VALUE,..."; NULL: nothing. */
typedef struct bounds {
    const char *lower, *upper;
} bounds;

/* GO_ON, or CODE_USAGE for what no parameter has. A value outside moves to its bound. */
int set_bounds(ct_gp *gp, const bounds *b);

/* -- levels.c -- */

/* Prints the standard deviations and correlations of the levels of each `index` in the kernel. */
void print_levels(const ct_gp *gp);

/* -- kernels.c -- */

void print_kernels(void);

/* -- season.c -- */

/* --season: the name of an input, none, or NULL. GO_ON or CODE_USAGE. */
int season_settings(const char *name, const ct_column *inputs, int64_t d, ct_gp_choose_options *how);
/* Sets restarts, with a note, if the kernel has a period without a start. */
void season_restarts(const ct_kernel *kernel, ct_fit_options *how);
/* Prints each season on standard error and, if somebody asked for seasons, that there is none. */
void print_seasons(const ct_season *season, int count, const ct_column *column, bool asked);
/* "seasons": [{"period": 365.2, "power": 0.6, "false_alarm": 1e-20}, ...] */
void json_seasons(json *j, const ct_season *season, int count);
/* Prints a hint if the only input, or the only time, has a strong season for which the kernel has no part. */
void season_hint(const ct_gp *gp, const ct_tensor *X, const ct_tensor *y, bool given);

/* -- train.c: fits -- */

/* What all searches of a fit took, and the seasons that were found first. */
typedef struct effort {
    int iterations, evaluations, starts;
    double seconds;
    ct_season season[CT_SEASONS];
    int seasons;
} effort;

typedef enum progress {
    PROGRESS_LINE, /* on a terminal one line, which is rewritten */
    PROGRESS_NONE,
    PROGRESS_EACH, /* a line for each iteration */
} progress;

typedef struct patience {
    progress progress;
    long seconds; /* that all searches may take; 0: any time */
} patience;

/* Fits a model of `kernel`, which it takes over, by how->fit within the limits, or chooses a covariance where
 * `kernel` is NULL. Ctrl-C, SIGTERM or the end of the time ends the fit with the best model so far. Returns
 * GO_ON with *gp, or the code to exit with. */
int train(ct_tensor *X, ct_tensor *y, ct_kernel *kernel, const bounds *limits, const ct_gp_options *options,
          const ct_gp_choose_options *how, patience most, ct_gp **gp, effort *e);

/* The same for outputs with one model, whose kernel is given. */
int train_outputs(ct_tensor *X, ct_tensor *Y, ct_kernel *kernel, const bounds *limits,
                  const ct_outputs_options *options, const ct_fit_options *how, patience most, ct_outputs **o,
                  effort *e);

/* -- advice.c -- */

/* The option that raises a noise that is too low; NULL where the data determine the noise. */
const char *more_noise(const ct_gp *gp);
/* Prints the lines of advice under "advice:", where there are any. */
void print_advice(ct_gp *gp, const ct_gp_numerics *numerics);

/* -- outliers.c: rows more than 4 standard deviations from what all others predict -- */

typedef struct outlier {
    int64_t place; /* line of the table, or row of the model, from 1 */
    double sigmas;
} outlier;

typedef struct outliers {
    int64_t count;     /* -1: the model cannot tell */
    outlier *list;     /* the farthest first        */
    const char *where; /* "line" or "row"           */
} outliers;

/* By their lines in the table whose rows the model has learned, or with f = NULL by their rows. GO_ON or
 * CODE_MEMORY. Free it in any case. */
int outliers_find(outliers *o, ct_gp *gp, const frame *f);
void outliers_free(outliers *o);
/* One line, where there are such rows. */
void print_outliers(const outliers *o, const char *heading);
/* "outliers": [{"line": 17, "sigmas": 4.5}, ...], or with "row" */
void json_outliers(json *j, const outliers *o);

/* -- sensitivity.c: how much each feature matters -- */

/* For each feature: Sobol indices of the mean, and how far the leave-one-out NLPD rises if the feature is
 * held at its mean; NaN if there is no covariance then. */
typedef struct sensitivity {
    double *first, *total, *loss;
    char why[256]; /* why there are none, or "" */
} sensitivity;

/* Free it in any case. */
int sensitivity_make(sensitivity *s, ct_gp *gp, uint64_t seed);
void sensitivity_free(sensitivity *s);
void print_sensitivity(const sensitivity *s, const ct_gp *gp);
/* "sensitivity": [{"feature": "a", "first": 0.7, "total": 0.8, "loo_nlpd_without": 0.5}, ...] */
void json_sensitivity(json *j, const sensitivity *s, const ct_gp *gp);

/* -- info_columns.c: what the inputs stand for -- */

typedef struct column_range {
    double low, high;
} column_range;

/* Of each input in the model's rows, [d]; free it in any case. GO_ON or a code. */
int read_ranges(ct_gp *gp, column_range **range);
/* A parameter's value, with its unit where that is a time: "22.06 days". */
const char *value_text(const ct_gp *gp, const ct_param *p, char text[64]);
/* "parameters": { name: value, ... } */
void json_parameters(json *j, const ct_gp *gp);
void print_columns(const ct_gp *gp, const column_range *range);
void json_columns(json *j, const ct_gp *gp, const column_range *range);

/* -- trend.c: the mean -- */

/* "constant" (NULL), "zero", "linear", or the text of a basis, which stays the caller's. */
void read_mean(const char *text, ct_gp_options *options);
/* CODE_USAGE for a single word that is neither one of these nor a column. */
int check_mean(const ct_gp_options *options, const ct_column *inputs, int64_t d);
/* The mean of a model as such a text. */
const char *mean_text(const ct_gp *gp, char *text, size_t size);

/* The coefficients of a basis. */
typedef struct trend {
    int64_t count; /* 0 without a basis, or a factor */
    double value[CT_GP_FUNCTIONS], error[CT_GP_FUNCTIONS];
} trend;

/* GO_ON or CODE_MEMORY. */
int read_trend(ct_gp *gp, trend *t);
/* A line for each; "coefficients": {"x^2": {"value": ..., "error": ...}, ...} */
void print_trend(const ct_gp *gp, const trend *t);
void json_trend(json *j, const ct_gp *gp, const trend *t);

/* -- the commands; each returns GO_ON for success, or an exit code -- */

int run_fit(int argc, char **argv);
int run_predict(int argc, char **argv);
int run_info(int argc, char **argv);
int run_plot(int argc, char **argv);
int run_loo(int argc, char **argv);
int run_compare(int argc, char **argv);
int run_sample(int argc, char **argv);
int run_append(int argc, char **argv);

/* "scale * rbf(ard)", ...; into `text`. */

#endif
