/* Tables as a model reads them, and its predictions. */
#ifndef CTGP_MODEL_H
#define CTGP_MODEL_H

#include "ctgp.h"
#include "frame.h"
#include "source.h"

/* Parses a table by the columns of models of p outputs. The frame's cols are the targets, the d inputs and
 * the noise, [p + d + 1], -1 for a target or a noise that is not there. */
frame frame_model(ctgp *c, ct_gp *const *gp, int64_t p, source *t);
/* The inputs of the rows of a table, at least one, that are complete. Unless `noise` is NULL, *noise is the
 * noise of these rows. */
ct_tensor *frame_inputs(ctgp *c, frame *f, ct_gp *gp, source *t, ct_tensor **noise);

/* The noise of the chosen rows from column `col`; NULL if the model has no such column. If the table has
 * none, -1, that is refused if `required`; else it is NULL, and a note says that new observations have the
 * average noise. */
ct_tensor *frame_take_noise(ctgp *c, const frame *f, const ct_gp *gp, int64_t col, bool required);

typedef struct prediction {
    frame data;             /* rows whose inputs are complete     */
    ct_transform transform; /* z = g(y) */
    double *mean, *std;     /* one for each chosen row, of z, as a rule that of a new observation */
    int64_t target;         /* column of the target, -1 where there is none */
    const double *known;    /* the targets of rows that are of no table; else NULL */
} prediction;

/* Of n models at the rows of a table, which is read once. */
prediction *prediction_make(ctgp *c, ct_gp *const *gp, int64_t n, const char *path);
/* At n values of a model's only feature, which are of no table; `known` [n] may be NULL. */
prediction prediction_of(ctgp *c, ct_gp *gp, const double *x, const double *known, int64_t n);
/* Mean and standard deviation of z at the points X, as many as there are chosen rows: of a new observation,
 * or without `noise` of the function. */
void prediction_at(ctgp *c, prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *given, bool noise);
/* Of the chosen rows, whose inputs are X. */
void prediction_fill(ctgp *c, prediction *p, ct_gp *gp, const ct_tensor *X, const ct_tensor *given);
/* Chosen row i in the units of y: mean and standard deviation (either may be NULL), and the quantile at q
 * standard deviations of z. */
void prediction_moments(const prediction *p, int64_t i, double *mean, double *std);
double prediction_quantile(const prediction *p, int64_t i, double q);

#endif
