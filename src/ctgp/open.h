/* A model's file. */
#ifndef CTGP_OPEN_H
#define CTGP_OPEN_H

#include "ctgp.h"

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
void note_joint(const model_file *m);

#endif
