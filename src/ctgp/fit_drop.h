/* ctgp fit: columns that cannot help to predict. */
#ifndef CTGP_FIT_DROP_H
#define CTGP_FIT_DROP_H

#include "fit_options.h"
#include "frame.h"

/* Leaves out of cols [d], features of a table, those that are constant, that are another column on another
 * scale, or whose texts name the rows, each with a note; not those that --features or --categorical asks for.
 * Returns how many are left, one at least. */
int64_t drop_columns(ctgp *c, const settings *s, const frame *f, int64_t *cols, int64_t d);
/* A note on columns of a few whole numbers, which may stand for classes. */
void note_codes(const settings *s, const frame *f, const int64_t *cols, int64_t d);

#endif
