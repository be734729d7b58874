/* A model on a tape, in standardised coordinates. */
#ifndef CT_GP_GRAPH_H
#define CT_GP_GRAPH_H

#include "model.h"

typedef struct ct__graph {
    ct_var theta, noise, mean;    /* leaves or constants; mean: c, then the slopes, as one vector */
    ct_var X, variance, residual; /* (n, d); of noise and jitter, (n) or (1); y - m(X), (n, 1) */
    double jitter;
    uint64_t draw; /* the stream of random signs, for a likelihood with a random error */
} ct__graph;

/* Builds the graph on gp's tape from the parameters s, with `jitter` on the diagonal. */
ct__graph ct__graph_of(const ct_gp *gp, const double *s, double jitter, bool leaves);
/* The graph at the present values, with constants only. */
ct__graph ct__gp_present(const ct_gp *gp, double jitter);
/* The diagonal of the covariance matrix, with noise and jitter: (n). */
ct_var ct__graph_diagonal(const ct_gp *gp, const ct__graph *g);
/* Makes t a leaf or a constant of the tape, and releases t. If t is NULL, the tape takes its device's
 * failure. */
ct_var ct__gp_input(ct_tape *tape, ct_tensor *t, bool leaf);
/* n numbers as a leaf or a constant of the tape, in gp's dtype. */
ct_var ct__gp_vector(const ct_gp *gp, ct_tape *tape, const double *s, int64_t n, bool leaf);
/* The kernel's parameters as a constant on a tape. */
ct_var ct__gp_theta(const ct_gp *gp, ct_tape *tape);
/* The mean function at standardised inputs (m, d): (m, 1), or a scalar constant. */
ct_var ct__gp_mean_at(const ct_gp *gp, ct_tape *tape, ct_var X);

#endif
