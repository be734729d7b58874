/* Noise from a column of the table. */
#ifndef CTGP_NOISE_H
#define CTGP_NOISE_H

#include "ctgp.h"
#include "frame.h"

typedef struct noise_source {
    ct_gp_noise kind;
    const char *name; /* the model's name of the column, or "" */
} noise_source;

/* What --noise asks for by its number among learned, none, inputs; --noise-column and --noise-by, NULL where
 * they are not given. `given`: --noise is. */
noise_source noise_settings(ctgp *c, int learned, bool given, const char *column, const char *by);
noise_source noise_of(const ct_gp *gp);
/* The table's column, or NULL. */
const char *noise_column(noise_source n);
/* Whether a column has the noise of each row, as deviations or variances; the same, or the row's level. */
bool noise_is_given(ct_gp_noise kind);
bool noise_needs_column(ct_gp_noise kind);
/* A model's noise in words: "given, standard deviations in err", ... */
const char *noise_text(ctgp *c, const ct_gp *gp);
/* The noise of the chosen rows from column `col`, as variances or levels. A model gp (may be NULL) refuses a
 * level that it does not have. */
ct_tensor *frame_noise(ctgp *c, const frame *f, int64_t col, noise_source n, const ct_gp *gp);
/* Checks rows that are held back as frame_noise will, before a model of the others is learned. */
void check_noise(ctgp *c, const frame *held, const frame *learned, int64_t col, noise_source n);

#endif
