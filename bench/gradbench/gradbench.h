/* The problems of GradBench [https://github.com/gradbench/gradbench] in ops of the library, on made inputs.
 * */
#ifndef GRADBENCH_H
#define GRADBENCH_H

#include <cotangent/cotangent.h>

enum { CONSTANTS = 12 };

typedef struct problem {
    const char *name;
    int64_t n, m; /* its sizes */
    /* Fills x and the constants. */
    void (*setup)(struct problem *p);
    /* Computes value and derivative on the reset tape. */
    void (*run)(struct problem *p);
    ct_device *device;
    ct_tape *tape;
    ct_tensor *x, *constant[CONSTANTS];
    double value;
    const ct_tensor *derivative; /* of the tape or of x's leaf */
} problem;

extern const problem lse, llsq, gmm, det, kmeans, ode, lstm, ht, ba;

/* A tensor of scale sin(first + i²/10), i = 0, 1, ... */
ct_tensor *sines(ct_device *device, ct_shape shape, double first, double scale);
ct_var constant(const problem *p, int i);
/* Sets value and derivative: of y, and by a backward sweep. */
void finish(problem *p, ct_var x, ct_var y);

#endif
