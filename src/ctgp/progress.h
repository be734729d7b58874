/* ctgp fit: how a search is watched, and what standard error shows of it. */
#ifndef CTGP_PROGRESS_H
#define CTGP_PROGRESS_H

#include "ctgp.h"
#include "fit_options.h"

typedef struct watch {
    const settings *s;
    double end;       /* of the time limit; 0: none */
    const char *late; /* NULL, or what the limit does */
    bool shown;       /* it is on the terminal */
    bool estimated;
    const char *checkpoint;          /* NULL: there is none, or the fit has said that it goes on from there */
    const ct_gp_choice *choice;      /* NULL: one model, whose kernel is given */
    int64_t n, rows;                 /* all rows; those of the choice once its candidates are listed */
    bool compared[CT_GP_CANDIDATES]; /* their criteria are printed */
    const ct_column *inputs;
    bool season_asked; /* by the option */
    int asked;         /* starts of each search, without those that ct_gp_fit adds where they cost little */
    int starts;        /* the most of a search */
    int *iteration;    /* (models, starts): last shown, plus 1. Starts may run side by side. */
} watch;

/* Watches searches of the rows X by `how`, whose callback it sets. Catches Ctrl-C, SIGTERM and SIGUSR1. */
void watch_begin(ctgp *c, watch *w, const settings *s, ct_fit_options *how, const ct_tensor *X, int models);
/* Whether Ctrl-C or a signal like it has ended a search. */
bool watch_stopped(void);
/* From now on, with the model written, Ctrl-C, SIGTERM and SIGUSR1 end the program. */
void watch_over(void);
/* Ends the line of progress, so that it stays on the terminal. */
void watch_end_line(watch *w);
/* A line for each candidate whose criterion is known and not yet printed. */
void watch_criteria(watch *w);

#endif
