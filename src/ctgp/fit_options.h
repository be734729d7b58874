/* ctgp fit: its command line. */
#ifndef CTGP_FIT_OPTIONS_H
#define CTGP_FIT_OPTIONS_H

#include "ctgp.h"
#include "noise.h"

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
    int keep_missing;            /* 1: rows with missing cells of features are learned, too */
    long max_rows;               /* 0: all */
    int64_t n_targets, *targets; /* columns of the table, [n_targets], that `target` names */
    ct_outputs_kind outputs;     /* of several */
    long rank;
    bool no_factor;
    bool any_transform; /* it is chosen by leave-one-out */
} settings;

settings fit_read_settings(ctgp *c, int argc, char **argv);

#endif
