/* The report of a gradcheck: one line a check, with its worst entry. */
#ifndef CT_AUTOGRAD_REPORT_H
#define CT_AUTOGRAD_REPORT_H

#include "autograd/internal.h"

typedef struct ct__report {
    ct__text text;
    int checks, failures;
    char first[200]; /* the first failure */
} ct__report;

/* One comparison of many entries: the worst of them, in units of what is allowed. */
typedef struct ct__worst {
    double analytic, numeric, error, ratio; /* error is relative to the size of the terms */
    int64_t at;                             /* -1: nothing was compared */
} ct__worst;

static inline ct__worst ct__nothing_compared(void) { return (ct__worst){ .ratio = -1, .at = -1 }; }
/* Allowed: |a - b| <= tolerance * scale + floor, where floor is what rounding explains. */
void ct__compare(ct__worst *w, double analytic, double numeric, double scale, double tolerance, double floor,
                 int64_t at);
/* "[1,2]", the place of element `at` of a shape, "" for a scalar. */
const char *ct__place(ct_shape shape, int64_t at, char *buffer, size_t size);
/* The line of a check; `where` is the place of the worst entry, "" where there is but one. */
void ct__conclude(ct__report *r, const ct__worst *w, double tolerance, const char *what, const char *where);

#endif
