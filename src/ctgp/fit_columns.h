/* ctgp fit: the columns that it learns. */
#ifndef CTGP_FIT_COLUMNS_H
#define CTGP_FIT_COLUMNS_H

#include "ctgp.h"
#include "fit_options.h"
#include "frame.h"

/* A table, and its columns that a fit learns. */
typedef struct learned {
    frame f;
    int64_t d, *cols;       /* the features, [d] */
    int64_t noise;          /* the column of the noise, or -1 */
    const int64_t *targets; /* from the first that is learned */
} learned;

/* Finds the settings' targets and reads the table. The settings' model gets its inputs. */
learned fit_read_columns(ctgp *c, settings *s);

#endif
