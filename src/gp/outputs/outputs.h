/* Several outputs as an object, and the models of single outputs. */
#ifndef CT_GP_OUTPUTS_H
#define CT_GP_OUTPUTS_H

#include <cotangent/gp/outputs.h>

#include "gp/model/model.h"

struct ct_outputs {
    ct_device *device;
    ct_outputs_kind kind;
    int64_t p, d;      /* d: columns of X */
    ct_column *column; /* [p], owned */
    double shift[CT_OUTPUTS_MOST],
        scale[CT_OUTPUTS_MOST];    /* output = shift + scale s of the whole; else 0, 1 */
    ct_gp *whole;                  /* the model of all outputs; NULL for CT_OUTPUTS_EACH */
    ct_gp *model[CT_OUTPUTS_MOST]; /* owned; with a whole NULL until requested */
    const ct_tensor *of;           /* the whole's factor from which these were made */
};

/* Outputs without models; `columns` NULL: y0, y1, .... NULL with the reason on the device. */
ct_outputs *ct__outputs_blank(ct_device *device, ct_outputs_kind kind, int64_t p, int64_t d,
                              const ct_column *columns);
/* The models that are fitted, saved and appended to: the whole, or each; *count of them. */
static inline ct_gp **ct__outputs_fitted(ct_outputs *o, int64_t *count)
{
    *count = o->whole ? 1 : o->p;
    return o->whole ? &o->whole : o->model;
}
/* Drops the models that were made from the whole. */
void ct__outputs_changed(ct_outputs *o);
/* Whether two models have the same device, dtype and names of inputs. */
bool ct__outputs_alike(const ct_gp *a, const ct_gp *b);

#endif
