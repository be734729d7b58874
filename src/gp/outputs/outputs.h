/* Several outputs as an object, and the models of single outputs. */
#ifndef CT_GP_OUTPUTS_H
#define CT_GP_OUTPUTS_H

#include <cotangent/gp/outputs.h>

#include "gp/model/model.h"

struct ct_outputs {
    ct_device *device;
    ct_outputs_kind kind;
    int64_t p, d;      /* d: columns of X */
    ct_column *column; /* [p], in one block with their texts */
    double *shift;     /* [p], and scale: [p] after it; output = shift + scale s; SHARED and JOINT */
    double *scale;
    ct_gp *whole;        /* SHARED and JOINT */
    ct_gp **model;       /* [p], owned; with SHARED and JOINT NULL until requested */
    const ct_tensor *of; /* the whole's factor from which these were made */
};

/* Outputs without models; `columns` NULL: y0, y1, .... NULL with the reason on the device. */
ct_outputs *ct__outputs_blank(ct_device *device, ct_outputs_kind kind, int64_t p, int64_t d,
                              const ct_column *columns);
/* Drops the models that were made from the whole. */
void ct__outputs_changed(ct_outputs *o);
/* Also replaces the whole. */
void ct__outputs_replace(ct_outputs *o, ct_gp *whole);

#endif
