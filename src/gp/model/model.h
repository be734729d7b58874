/* A model: its ideas side by side, each a struct with a header of its own. */
#ifndef CT_GP_MODEL_H
#define CT_GP_MODEL_H

#include <cotangent/gp/fit.h>
#include <cotangent/op.h>

#include "gp/comm/comm.h"
#include "gp/data/mean.h"
#include "gp/data/noise.h"
#include "gp/data/rows.h"
#include "gp/data/target.h"
#include "gp/factor/kept.h"
#include "gp/factor/place.h"
#include "likelihood_of.h"
#include "one_output.h"
#include "params.h"

struct ct_gp {
    ct_device *device; /* kept alive by the tape */
    ct_tape *tape;
    ct_gp_options options; /* without what it borrowed */
    ct__data_rows rows;
    ct__target target;
    ct_kernel *kernel; /* values v */
    ct__noise noise;
    ct__mean mean;
    ct__params params;
    ct__likelihood_of likelihood;
    ct__kept factor;
    ct__one_output *one_output; /* NULL: the model is of all its rows */
    ct_fit_report report;
    ct_fit_start *starts;
};

/* Begins and ends a collective call on a model (comm/comm.h). */
static inline void ct__gp_enter(const ct_gp *gp) { ct__comm_enter(gp->options.comm); }
static inline ct_status ct__gp_leave(const ct_gp *gp, ct_status status)
{
    return ct__comm_leave(gp->options.comm, gp->device, status);
}

/* The rows, and columns of X, that callers see. */
static inline int64_t ct__gp_rows(const ct_gp *gp) { return gp->one_output ? gp->one_output->n : gp->rows.n; }
static inline int64_t ct__gp_cols(const ct_gp *gp) { return gp->rows.d - (gp->one_output != NULL); }

/* An empty model with device, tape, kernel, extents, options and columns, and room for units. Takes ownership
 * of the kernel. */
ct_gp *ct__gp_blank(ct_device *device, ct_kernel *kernel, int64_t n, int64_t d, ct_dtype dtype,
                    const ct_gp_options *options);
/* Releases the model's data and its factor. */
void ct__gp_drop_rows(ct_gp *gp);
/* The grid of the model's communicator, and the factor on it. */
ct__grid ct__gp_grid(const ct_gp *gp);
ct__factor ct__gp_factor_of(const ct_gp *gp);
/* Copies the tape's failure to the device and resets the tape. Returns the status. */
ct_status ct__gp_tape_failed(ct_gp *gp, const char *what);

#endif
