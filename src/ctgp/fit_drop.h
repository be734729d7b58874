/* ctgp fit: columns that cannot help to predict. */
#ifndef CTGP_FIT_DROP_H
#define CTGP_FIT_DROP_H

#include "fit_columns.h"

/* Leaves out columns that are constant, that are another column on another scale, or whose texts name the
 * rows, each with a note; not those that --features or --categorical asks for. Fails where none is left. */
void drop_columns(ctgp *c, const settings *s, learned *t);
/* A note on columns of a few whole numbers, which may stand for classes. */
void note_codes(const settings *s, const learned *t);

#endif
