/* The report of a gradcheck: one line for each check, with its worst entry. */
#ifndef CT_AUTOGRAD_REPORT_H
#define CT_AUTOGRAD_REPORT_H

#include "autograd/internal.h"

typedef struct ct__report {
    ct__text text;
    int checks, failures;
    char first[200]; /* the first failure */
} ct__report;

/* The worst of many compared entries; ratio is its error in units of the allowed error. */
typedef struct ct__worst {
    double analytic, numeric, error, ratio; /* error is relative to the size of the terms */
    int64_t at;                             /* -1: nothing was compared */
} ct__worst;

static inline ct__worst ct__nothing_compared(void) { return (ct__worst){ .ratio = -1, .at = -1 }; }
/* Allows |analytic - numeric| <= tolerance * scale + floor, where floor covers rounding. */
void ct__compare(ct__worst *w, double analytic, double numeric, double scale, double tolerance, double floor,
                 int64_t at);
/* "[1,2]", the place of element `at` of a shape, "" for a scalar. */
const char *ct__place(ct_shape shape, int64_t at, char *buffer, size_t size);
/* Writes a check's line. `where` is the place of the worst entry, "" if there is only one entry. */
void ct__conclude(ct__report *r, const ct__worst *w, double tolerance, const char *what, const char *where);

#endif
