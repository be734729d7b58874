/* Several outputs for the tests: of the reference's rows and parameters, and fitted. */
#ifndef TESTS_GP_OUTPUTS_H
#define TESTS_GP_OUTPUTS_H

#include "gp_device.h"

#include <cotangent/gp.h>

#include "reference/outputs_tables.h"

enum { N = OUTPUTS_N, P = OUTPUTS_P, NEW = OUTPUTS_NEW, ROWS = sizeof outputs_table / sizeof *outputs_table };

extern const ct_column outputs_names[P]; /* a, b, c */

ct_tensor *ones(ct_shape shape);

/* Eigenvectors are the CPU's. */
bool on_cpu(void);

void assert_outputs(const ct_outputs *o);

/* |a - b| <= tolerance max(|b|, unit), where b is not NaN */
void assert_near(const char *what, const double *a, const double *b, int64_t n, double tolerance,
                 double unit);

/* Outputs of the table's first rows with the parameters of a row of it. */
ct_outputs *outputs_make(const struct outputs_row *row, int64_t rows);

/* Three outputs of n rows, fitted. */
ct_outputs *outputs_fitted(ct_outputs_kind kind, int64_t n);

#endif
