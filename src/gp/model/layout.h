/* The layout of a model's file (layout.c), for both directions. */
#ifndef CT_GP_LAYOUT_H
#define CT_GP_LAYOUT_H

#include "model.h"
#include "stream.h"

/* 5 and 6 are 3 and 4 with the noise's name and levels. A model that has neither is written without, for
 * older libraries to read. */
enum { CT__OLDEST = 2, CT__WITH_FACTOR = 3, CT__WITHOUT_FACTOR = 4, CT__NEWEST = 6 };
enum { CT__PLUS_NOISE = 2 };
enum { CT__CHECKSUM = 8 };

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
