/* A model's tensors in a stream. Numbers that are not finite are `bad`. */
#ifndef CT_GP_TENSORS_H
#define CT_GP_TENSORS_H

#include "gp/model/model.h"
#include "stream.h"

/* Writes *t, or reads it into a new tensor. */
void ct__stream_tensor(ct__stream *s, ct_tensor **t, ct_dtype dtype, ct_shape shape);
/* The lower triangle of L by rows. */
void ct__stream_factor(ct__stream *s, ct_gp *gp);

#endif
