/* Forward rules that ops share. */
#ifndef CT_OPS_JVP_H
#define CT_OPS_JVP_H

#include <cotangent/op.h>

/* A copy of input i at the end of the tape, through which a gradient flows: to the input itself if the sweep
 * is recorded (transposed.c). */
ct_var ct__near(ct_rule *g, int i);
/* Adds a value with its cotangent to n such pairs of different values, for ct__pull_back. Returns their new
 * number. */
int ct__add_pair(ct_var *y, ct_var *y_bar, int n, ct_var value, ct_var bar);
/* The forward rule of an op that has none of its own (transposed.c). */
void ct__jvp_transposed(ct_rule *g);

/* For rules that take several tangents at once: their number, or 0 for one; the shape of v's tangents; a
 * dimension of input 0 counted from the end, where it is the same of tangents. */
int64_t ct__tangents(const ct_rule *g);
ct_shape ct__dot_shape(const ct_rule *g, ct_var v);
int ct__from_end(const ct_rule *g, int dim);
/* Σ over dimension dim of input 0, or all (CT_ALL), of terms of its shape or of its tangents'. */
ct_var ct__sum_terms(const ct_rule *g, ct_var terms, int dim, bool keep);
/* ct_jvp_multilinear of an op that computes the elements of a dimension `in` of each floating input
 * independently, as elements of the output's dimension `out`. So several tangents are part of these
 * dimensions, in one call of the op. A dimension after the last has one
 * element. The op's floating inputs have as many dimensions as the one that has the most. */
typedef struct ct__fold {
    int in, out;
} ct__fold;
void ct__jvp_folded(ct_rule *g, const ct__fold *fold);
/* The Jacobian J (M, N) of y with respect to x times directions v: row i of JV (count, M) is J v for row i of
 * `directions` (count, N), by forward sweeps; or of JV (count, N) Jᵀ v for row i of `directions` (count, M),
 * by backward sweeps. */
void ct__jacobian_forward(ct_var y, ct_var x, const ct_tensor *directions, ct_tensor *JV);
void ct__jacobian_backward(ct_var y, ct_var x, const ct_tensor *directions, ct_tensor *JV);
/* Whether there is a Jacobian of y with respect to x; its extents. */
bool ct__jacobian_extents(const char *call, ct_var y, ct_var x, int64_t *M, int64_t *N);

#endif
