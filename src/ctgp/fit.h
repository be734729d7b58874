/* What the files of ctgp fit share. */
#ifndef CTGP_FIT_H
#define CTGP_FIT_H

#include "ctgp.h"

typedef enum progress {
    PROGRESS_LINE, /* on a terminal one line, which is rewritten */
    PROGRESS_NONE,
    PROGRESS_EACH, /* a line for each iteration */
} progress;

typedef struct settings {
    const char *path, *target, *features, *drop, *categorical, *time, *kernel, *season, *model;
    ct_gp_options gp;
    ct_fit_options fit;
    ct_dtype dtype;
    noise_source noise;
    const char *lower, *upper; /* bounds of parameters, "NAME=VALUE,..."; NULL: none */
    progress progress;
    long time_limit; /* seconds that all searches may take; 0: any time */
    double test;     /* the share of the rows that is held back */
    bool test_last;  /* they are the last ones */
    bool restarts_given;
    long max_rows;               /* 0: all */
    int64_t n_targets, *targets; /* columns of the table, [n_targets], that `target` names */
    ct_outputs_kind outputs;     /* of several */
    long rank;
    bool no_factor;
} settings;

settings fit_read_settings(ctgp *c, int argc, char **argv);

/* -- fit_columns.c -- */

/* A table, and its columns that a fit learns. */
typedef struct learned {
    frame f;
    int64_t d, *cols; /* d features, the target, the column of the noise or -1, and further targets */
} learned;

/* Finds the settings' targets and reads the table. The settings' model gets its inputs. */
learned fit_read_columns(ctgp *c, settings *s);

/* -- fit_test.c, fit_rows.c -- */

/* Moves rows of the table, which the model does not learn and is scored on, to *h, and says so on standard
 * error. */
void fit_hold_rows(ctgp *c, const settings *s, frame *f, frame *h);
/* Fails if a model of the table's rows cannot be scored on the rows that are held back. */
void fit_check_held(ctgp *c, const settings *s, const learned *t, const frame *h);
/* The model's score on them; n = 0 where there are none. */
score fit_score(ctgp *c, const learned *t, const frame *h, ct_gp *gp);

/* Chooses the rows, holds some back, and refuses data of which no model can be made. With `missing` a row
 * needs the value of one of the targets only. Returns the number of complete rows if the model does not learn
 * them all, else 0. */
int64_t fit_choose_rows(ctgp *c, const settings *s, learned *t, int64_t targets, bool missing, frame *h);

/* -- season.c -- */

/* --season: the name of an input, none, or NULL. */
void season_settings(ctgp *c, const char *name, const ct_column *inputs, int64_t d,
                     ct_gp_choose_options *how);
/* Sets restarts, with a note, if the kernel has a period without a start. */
void season_restarts(const ct_kernel *kernel, ct_fit_options *how);
/* Prints each season on standard error and, if seasons were asked for, that there is none. */
void print_seasons(const ct_season *season, int count, const ct_column *column, bool asked);
/* Prints a hint if the only input, or the only time, has a strong season for which the kernel has no part. */
void season_hint(ctgp *c, ct_gp *gp, const ct_tensor *X, bool given);

/* -- bounds.c -- */

/* Fails with CODE_USAGE for what no parameter has. A value outside moves to its bound. */
void set_bounds(ctgp *c, ct_gp *gp, const settings *s);

/* -- train.c -- */

/* A kernel of these inputs that the context owns. Text that is none is CODE_USAGE. */
ct_kernel *parse_kernel(ctgp *c, const char *text, const ct_column *inputs, int64_t d);

/* Fits a model of `kernel`, which it takes over, within the bounds, or chooses a covariance where `kernel` is
 * NULL. Ctrl-C, SIGTERM or the end of the time ends the fit with the best model so far. */
ct_gp *train(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *y, ct_kernel *kernel,
             const ct_gp_options *model, const ct_gp_choose_options *how, ct_gp_choice *choice);

/* The same for outputs with one model, whose kernel is given. */
ct_outputs *train_outputs(ctgp *c, const settings *s, const ct_tensor *X, const ct_tensor *Y,
                          ct_kernel *kernel, const ct_outputs_options *options, const ct_fit_options *how,
                          ct_gp_choice *choice);

/* -- fit.c -- */

/* What a fit has learned of a target. */
typedef struct fit_output {
    learned t;
    frame h; /* the rows that are held back */
    ct_gp *gp;
    ct_gp_choice choice; /* what all searches took, and the seasons that were found first */
} fit_output;

/* Learns the target of the table's columns. */
fit_output fit_learn(ctgp *c, const settings *s, const learned *t);

/* -- fit_report.c -- */

/* Scores and describes a model that is saved. In text, the parameters of a model of all outputs are left out.
 * */
void fit_report(writer *w, const settings *s, const fit_output *l);

/* -- fit_outputs.c: several targets -- */

void fit_outputs(ctgp *c, const settings *s, const learned *t);

#endif
