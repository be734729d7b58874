/* The layout of a model's file (layout.c), for both directions. */
#ifndef CT_GP_LAYOUT_H
#define CT_GP_LAYOUT_H

#include "model.h"
#include "stream.h"

/* The versions that are read, and those that are written, from CT__COLUMNS on. From CT__BARE on even
 * ones have no factor. CT__EXTRAS and CT__TRANSFORM are for models with something that the versions before
 * them do not hold. */
enum {
    CT__OLDEST = 2,
    CT__BARE = 4,
    CT__COLUMNS = 5,
    CT__EXTRAS = 7,
    CT__TRANSFORM = 9,
    CT__NEWEST = 10,
    CT__CHECKSUM = 8
};

/* The version that a model is written as. */
int ct__model_version(const ct_gp *gp, bool bare);
/* Magic and version; `bad` where it is not a model's file. */
void ct__model_begin(ct__stream *s);
void ct__model_header(ct__stream *s, ct_dtype *dtype, int64_t *n, int64_t *d, ct_gp_options *o);
/* Everything between extents and parameters. Kernel text and parameters are there when it returns. */
void ct__model_middle(ct__stream *s, ct_gp *gp, char **kernel);
void ct__model_parameters(ct__stream *s, ct_gp *gp);
/* Report, data, and the factor; a group's processes do not read it, and each computes its share. */
void ct__model_body(ct__stream *s, ct_gp *gp);
/* Of that the data alone. */
void ct__model_data(ct__stream *s, ct_gp *gp);

#endif
