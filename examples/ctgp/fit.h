/* What the files of ctgp fit share: fit_options.c, fit_data.c, fit.c, fit_report.c. */
#ifndef CTGP_FIT_H
#define CTGP_FIT_H

#include "ctgp.h"

typedef struct settings {
    const char *path, *target, *features, *drop, *categorical, *time, *kernel, *model;
    ct_gp_options gp;
    ct_fit_options fit;
    dialect written;
    ct_csv_options table;
    ct_dtype dtype;
    patience patience;
    bounds limits;
    double test;    /* the share of the rows that is held back */
    bool test_last; /* they are the last ones */
    long max_rows;  /* 0: all */
    const char *device, *no_factor, *json;
    char default_model[4096], noise_name[4096];
} settings;

/* GO_ON, or the code to exit with. */
int fit_read_settings(int argc, char **argv, settings *s);
/* Checks before hours of work that the model can be written to its folder. */
int fit_check_writable(const char *path);

/* Indices of the features, of the target at *d, and of the noise's column behind it, if there is one, of the
 * table in *f. The text is parsed for its header, then for those columns' values. Close the frame and free
 * *cols in any case. */
int fit_read_columns(const settings *s, ct_device *device, frame *f, int64_t **cols, int64_t *d);

/* Rows that the model does not learn and is scored on. */
typedef struct held {
    int64_t *rows, n; /* as those of a frame */
} held;

/* Moves rows of the frame to *h, which is freed by free(h->rows), and says so on standard error. */
int fit_hold_rows(const settings *s, frame *f, held *h);
/* GO_ON where a model of the frame's rows, whose columns are cols, can be scored on them. */
int fit_check_held(const settings *s, const frame *f, const held *h, const int64_t *cols, int64_t d);
/* The model's score on them. */
int fit_score(const frame *f, const held *h, const int64_t *cols, ct_gp *gp, score *found);

/* Chooses the rows, holds some back, and refuses data that no model can be made of. *all: how many rows there
 * are where some of them are not learned. */
int fit_choose_rows(const settings *s, frame *f, const int64_t *cols, int64_t d, held *h, int64_t *all);

/* test.n = 0: no row is held back. */
void fit_print_result(const settings *s, ct_gp *gp, const effort *e, const trend *t, const outliers *far,
                      double nlml, score test);

#endif
