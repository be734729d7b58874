/* ctgp fit: what it learns of a target. */
#ifndef CTGP_FIT_LEARN_H
#define CTGP_FIT_LEARN_H

#include "ctgp.h"
#include "fit_columns.h"
#include "fit_options.h"
#include "frame.h"

/* What a fit has learned of a target. */
typedef struct fit_output {
    learned t;
    frame h; /* the rows that are held back */
    ct_gp *gp;
    ct_gp_choice choice; /* what all searches took, and the seasons that were found first */
} fit_output;

/* Learns the target of the table's columns. */
fit_output fit_learn(ctgp *c, const settings *s, const learned *t);

#endif
