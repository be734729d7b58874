/* The target y on another scale, z = g(y). */
#ifndef CTGP_TARGET_H
#define CTGP_TARGET_H

#include "ctgp.h"
#include "frame.h"

/* "log(y)", the function of the target that the model has learned. */
const char *target_text(ctgp *c, const ct_gp *gp);
/* Fails with CODE_DATA where the transform does not take a value of the chosen rows in column `col`. */
void check_target(ctgp *c, const frame *f, int64_t col, ct_transform_kind kind);
/* A note where the target is 0 or 1, or a count that reaches 0, so that intervals leave its range. */
void note_range(ctgp *c, const frame *f, int64_t col);
/* The transform that makes a skewed target, or one of shares, least skewed, by half at least; else none. */
ct_transform_kind likely_transform(ctgp *c, const frame *f, int64_t col);

#endif
