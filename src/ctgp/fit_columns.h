/* ctgp fit: the columns that it learns. */
#ifndef CTGP_FIT_COLUMNS_H
#define CTGP_FIT_COLUMNS_H

#include "ctgp.h"
#include "fit_options.h"
#include "frame.h"

/* A table, and its columns that a fit learns. */
typedef struct learned {
    frame f;
    int64_t d, *cols; /* d features, the target, the column of the noise or -1, and further targets */
} learned;

/* Finds the settings' targets and reads the table. The settings' model gets its inputs. */
learned fit_read_columns(ctgp *c, settings *s);

#endif
