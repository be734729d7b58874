/* What the files of ctgp fit share. */
#ifndef CTGP_FIT_H
#define CTGP_FIT_H

#include "ctgp.h"

typedef struct settings {
    const char *path, *target, *features, *drop, *categorical, *time, *kernel, *season, *model;
    ct_gp_options gp;
    ct_fit_options fit;
    dialect written;
    ct_csv_options table;
    ct_dtype dtype;
    patience patience;
    bounds limits;
    double test;    /* the share of the rows that is held back */
    bool test_last; /* they are the last ones */
    bool restarts_given;
    long max_rows;  /* 0: all */
    char **targets; /* [n_targets], of `target` */
    int64_t n_targets;
    ct_outputs_kind outputs; /* of several */
    long rank;
    const char *device, *no_factor, *json;
    char default_model[4096], noise_name[4096];
} settings;

void fit_read_settings(ctgp *c, int argc, char **argv, settings *s);
/* Checks before hours of work that the model can be written to its folder. */
void fit_check_writable(ctgp *c, const char *path);

/* Finds the settings' targets and reads the table into *f. *cols: the features [*d], the target, the column
 * of the noise or -1, and further targets. */
void fit_read_columns(ctgp *c, settings *s, ct_device *device, frame *f, int64_t **cols, int64_t *d);
/* The place of target j among cols. */
static inline int64_t fit_place(int64_t d, int64_t j) { return j ? d + 1 + j : d; }

/* Rows that the model does not learn and is scored on. */
typedef struct held {
    int64_t *rows, n; /* as those of a frame */
} held;

/* Moves rows of the frame to *h, and says so on standard error. */
void fit_hold_rows(ctgp *c, const settings *s, frame *f, held *h);
/* Fails if a model of the frame's rows cannot be scored on the rows that are held back. */
void fit_check_held(ctgp *c, const settings *s, const frame *f, const held *h, const int64_t *cols,
                    int64_t d);
/* The model's score on them. */
void fit_score(ctgp *c, const frame *f, const held *h, const int64_t *cols, ct_gp *gp, score *found);

/* Chooses the rows, holds some back, and refuses data of which no model can be made. With `missing` a row
 * needs the value of one of the targets only. *all: the number of complete rows if the model does not learn
 * them all, else 0. */
void fit_choose_rows(ctgp *c, const settings *s, frame *f, const int64_t *cols, int64_t d, int64_t targets,
                     bool missing, held *h, int64_t *all);

void fit_print_parameters(const ct_gp *gp);

/* What is told of one output. */
typedef struct fit_result {
    ct_gp *gp;
    const effort *e;
    const trend *t;
    const outliers *far;
    double nlml;
    score test; /* n = 0: no row is held back */
} fit_result;

/* Without the parameters where those are of all outputs. */
void fit_print_result(const settings *s, const fit_result *of);
void fit_json_result(const settings *s, const fit_result *of, json *j);

/* -- fit_outputs.c: several targets -- */

void fit_outputs(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                 const ct_gp_options *options);

/* -- fit.c -- */

/* What a fit has learned of a target. */
typedef struct lesson {
    frame f;
    held h;
    ct_gp *gp; /* owned */
    effort e;
} lesson;

/* Learns cols[d], with options for its rows. */
void fit_learn(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
               ct_gp_options options, lesson *l);
/* Scores and prints a model that is saved. */
void fit_tell(ctgp *c, const settings *s, const lesson *l, const int64_t *cols, json *j);
/* *kernel: NULL if none is given. */
void fit_parse_kernel(ctgp *c, const settings *s, const ct_column *inputs, int64_t d, ct_kernel **kernel);

#endif
