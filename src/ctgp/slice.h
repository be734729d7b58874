/* A slice of a model: its function over one or two inputs, while the others are held. */
#ifndef CTGP_SLICE_H
#define CTGP_SLICE_H

#include "ctgp.h"
#include "frame.h"
#include "model.h"

/* An input in the chosen rows of frame_model's. A category has levels, and so has a number if the table and
 * the model have the same two: level i is first + i gap. */
typedef struct span {
    const ct_column *input;
    double lo, hi, held;      /* held: the median, of a category the most frequent level */
    int64_t levels;           /* 0: none */
    const char *const *names; /* of the levels */
    double first, gap;
    double wave, step; /* the kernel's shortest wave, and the largest step that shows it; INFINITY: none */
} span;

/* Of all inputs, [d]. */
span *spans_of(ctgp *c, const frame *f, ct_gp *gp);
double span_level(const span *s, int64_t i);
/* The one or two inputs that the value of `option` names, or with names = NULL those that vary in the table,
 * the first two of them in which[]. Returns how many. */
int64_t spans_choose(ctgp *c, const span *s, int64_t d, const char *option, const char *names,
                     int64_t which[2]);
/* Values of input j. */
typedef struct side {
    int64_t j, n;
    double *at; /* [n] */
} side;

/* All levels of input j, or n values at equal distances from lo to hi. */
side side_make(ctgp *c, const span *s, int64_t j, double lo, double hi, int64_t n);
/* The function at all (a.n, b.n) values of two sides, the last side the fastest, or with b = NULL of one;
 * with `noise` a new observation. */
prediction slice_predict(ctgp *c, ct_gp *gp, const span *s, const side *a, const side *b, bool noise);

#endif
