/* ctgp: models, their files, and what they predict of a table. */
#ifndef CTGP_MODEL_H
#define CTGP_MODEL_H

#include "frame.h"

#include <math.h>

/* -- names.c: words for what the library counts -- */

/* "scale * rbf(ard)", .... */
const char *kernel_text(ctgp *c, const ct_gp *gp);
const char *kind_name(ct_column_kind kind);
const char *outputs_name(ct_outputs_kind kind); /* "each", "shared", "joint" */
const char *precision_name(ct_precision precision);
const char *objective_name(ct_fit_objective objective);
const char *optimizer_name(ct_optimizer optimizer);
const char *standardize_name(ct_gp_standardize standardize);
const char *noise_kind(ct_gp_noise noise);
const char *prior_name(ct_prior_kind kind);

/* -- noise.c: noise from a column of the table -- */

typedef struct noise_source {
    ct_gp_noise kind;
    const char *name; /* the model's name of the column, or "" */
} noise_source;

/* What --noise asks for by its number among learned, none, inputs; --noise-column and --noise-by, NULL where
 * they are not given. `given`: --noise is. */
noise_source noise_settings(ctgp *c, int learned, bool given, const char *column, const char *by);
noise_source noise_of(const ct_gp *gp);
/* The table's column, or NULL. */
const char *noise_column(noise_source n);
/* Whether a column has the noise of each row, as deviations or variances. */
bool noise_is_given(ct_gp_noise kind);
/* A model's noise in words: "given, standard deviations in err", ... */
const char *noise_text(ctgp *c, const ct_gp *gp);
/* The noise of the chosen rows from column `col`, as variances or levels. A model gp (may be NULL) refuses a
 * level that it does not have. */
ct_tensor *frame_noise(ctgp *c, const frame *f, int64_t col, noise_source n, const ct_gp *gp);
/* Checks rows that are held back as frame_noise will, before a model of the others is learned. */
void check_noise(ctgp *c, const frame *held, const frame *learned, int64_t col, noise_source n);

/* -- target.c: the target y on another scale, z = g(y) -- */

/* "log(y)", the function of the target that the model has learned. */
const char *target_text(ctgp *c, const ct_gp *gp);
/* Fails with CODE_DATA where the transform does not take a value of the chosen rows in column `col`. */
void check_target(ctgp *c, const frame *f, int64_t col, ct_transform_kind kind);
/* Suggests the log on standard error, if the target is positive and skewed. */
void tell_skewed(ctgp *c, const frame *f, int64_t col);

/* -- open.c: a model's file -- */

/* A model's file, and the outputs that a command works on: all, or the one that --output names. */
typedef struct model_file {
    const char *path;
    ct_outputs *outputs; /* NULL for a model over many processes */
    ct_gp **gp;          /* [n] */
    int64_t n;
    bool several; /* the file has more than one output */
    bool joint;   /* they learn from each other */
    bool factor;  /* the file has their factor */
} model_file;

/* With `one` there must be one output: the only one, or that of --output. */
model_file model_open(ctgp *c, const char *path, bool one);
ct_outputs *own_outputs(ctgp *c, ct_outputs *o);
ct_gp *own_gp(ctgp *c, ct_gp *gp);
/* Each writes a model whole, or leaves the old file. Of a failure afterwards it says that the model is kept.
 * */
void save_outputs(ctgp *c, ct_outputs *o, const char *path, const ct_gp_save_options *how);
void save_gp(ctgp *c, ct_gp *gp, const char *path, const ct_gp_save_options *how);
/* Says on standard error what leave-one-out means for joint outputs. */
void tell_joint(const model_file *m);

/* -- model.c: tables as a model reads them, and its predictions -- */

/* Columns of a table: inputs 0 to d - 1, the target, the noise, and further targets. This is the place of
 * target j.
 */
static inline int64_t target_place(int64_t d, int64_t j) { return j ? d + 1 + j : d; }

/* Parses a table by the columns of models of p outputs, [d + 1 + p], -1 for a target or a noise that is not
 * there.
 */
frame frame_model(ctgp *c, ct_gp *const *gp, int64_t p, source *t, int64_t *cols);
/* The inputs of the rows of a table, at least one, that are complete. Unless `noise` is NULL, *noise is the
 * noise of these rows. */
ct_tensor *frame_inputs(ctgp *c, frame *f, ct_gp *gp, source *t, ct_tensor **noise);

/* The noise of the chosen rows from column `col`; NULL if the model has no such column. If the table has
 * none, -1, that is refused if `required`; else it is NULL, and a note says that new observations have the
 * average noise. */
ct_tensor *frame_take_noise(ctgp *c, const frame *f, const ct_gp *gp, int64_t col, bool required);

typedef struct prediction {
    frame data;             /* rows whose inputs are complete     */
    ct_transform transform; /* z = g(y) */
    double *mean, *std;     /* one for each chosen row, of a new observation's z */
    int64_t target;         /* column of the target, -1 where there is none */
} prediction;

prediction prediction_make(ctgp *c, ct_gp *gp, source *t);
/* Mean and standard deviation of the chosen rows, whose inputs are X. */
void prediction_fill(ctgp *c, prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *given);
/* Chosen row i in the units of y: mean and standard deviation (either may be NULL), and the quantile at q
 * standard deviations of z. */
void prediction_moments(const prediction *p, int64_t i, double *mean, double *std);
double prediction_quantile(const prediction *p, int64_t i, double q);

/* -- score.c -- */

/* Of a row: squared error, minus the log density, and how many standard deviations lie between, as z. NaN
 * where the target has no value. */
typedef struct row_loss {
    double square, nlpd, sigmas;
} row_loss;

static const row_loss no_loss = { NAN, NAN, NAN };

/* Over the rows with a target. */
typedef struct score {
    int64_t n;
    double rmse, mae, nlpd, coverage95; /* the share of z within 1.96 standard deviations */
} score;

score score_of(const row_loss *l, int64_t rows);
/* Of each chosen row. */
row_loss *prediction_losses(ctgp *c, const prediction *p);
score prediction_score(ctgp *c, const prediction *p);
/* The line n=20 rmse=0.1 ..., or these fields of JSON. */
void write_score(writer *w, score s);

/* 97.5 % quantile of the standard normal */
#define Z95 1.959963984540054

/* -- learned.c: the rows of a table that a model has learned -- */

/* The model's inputs (n, d), and its targets [n]. */
double *model_inputs(ctgp *c, ct_gp *gp);
double *model_targets(ctgp *c, ct_gp *gp);
/* Parses a table and chooses the rows of the model, in the model's order, which is that of the table.
 * CODE_DATA where the table does not have all of them. */
frame frame_learned(ctgp *c, ct_gp *gp, source *t);

typedef enum fate {
    ROW_UNSEEN,
    ROW_HELD, /* held back in the fit */
    ROW_LEARNED,
} fate;

/* What the fit did with each chosen row. A row is learned if it agrees with one of the model, in any order.
 * Another row is held back if it is among the first rows_of_table complete ones, and most of the model's rows
 * are there. */
fate *frame_fates(ctgp *c, const frame *f, ct_gp *gp);

/* -- loo.c -- */

typedef struct left_out {
    int64_t n;
    double *mean, *std; /* of y */
    row_loss *loss;
} left_out;

/* Every row of the model as predicted from the rows of other folds; fold = NULL: from all others. */
left_out left_out_make(ctgp *c, ct_gp *gp, const int64_t *fold);
/* The same, with the status of the model instead of a failure. */
ct_status left_out_read(ctgp *c, left_out *l, ct_gp *gp, const int64_t *fold);

#endif
