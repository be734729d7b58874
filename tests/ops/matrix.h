/* The op matrix: every op of the list × its variants × dtype × size × batch × device, and what the checks of
 * test_matrix.c and test_matrix_robust.c need at each point of it. */
#ifndef TESTS_MATRIX_H
#define TESTS_MATRIX_H

#include "check.h"

#include <cotangent/gradcheck.h>

#include "autograd/check/sample.h"
#include "reference/reference.h"

/* One point of the matrix, with its inputs drawn. */
typedef struct point {
    ct_device *device;
    ct_tape *tape;
    const ct_op *op;
    const reference *ref;
    ct_sample s;
    char name[200];
} point;

typedef struct axes {
    const int64_t *sizes; /* ended by -1                        */
    const int *batches;   /* -1: no batch dimension; ended by -2 */
    bool f32;             /* f64 alone, or both                 */
} axes;

extern const axes matrix_all;   /* {0, 1, 2, 3, 5, 17, 64} × {none, 0, 1, 3} × {f64, f32} */
extern const axes matrix_small; /* {0, 1, 3} × {none, 3} × {f64, f32}                     */

/* One cmocka test per op of the list, which visits each point; prints the number of checks. The exit
 * status. */
int matrix_run(const char *title, void (*visit)(point *p), const axes *axes);

/* Counts a check; a failed one is printed with the point's name, and fails the op's test at its end. Returns
 * ok. */
bool matrix_check(const point *p, bool ok, const char *format, ...) CT_PRINTF(3, 4);

typedef enum layout { CONTIGUOUS, TRANSPOSED, STRIDED, BROADCAST, MIXED, LAYOUTS } layout;
extern const char *const layout_names[LAYOUTS];

/* Input i of the point as a new view in that layout; a broadcast one repeats the values at index 0 of its
 * first dimension. NULL where the input cannot have the layout. */
ct_tensor *matrix_layout(const point *p, int i, layout l);

/* One forward and backward pass, read back to the host: y, and with it x_bar = ct_backward of Σ c y for a
 * random c that depends on y's shape alone. */
typedef struct pass {
    ct_status status;
    char message[512];
    ct_shape shape; /* of y */
    ct_dtype dtype;
    int64_t n;
    double *y;
    bool flows; /* whether y needs a gradient */
    int n_in;
    double *bar[CT_MAX_INPUTS]; /* NULL where no cotangent arrived */
    int64_t count[CT_MAX_INPUTS];
} pass;

/* `leaves`: bit i makes tensor i a leaf. `use` (n_use entries; NULL: all in order) says which tensor is the
 * k-th input. The tape is reset first. */
void pass_run(pass *r, const point *p, ct_tensor *const *in, int n, uint64_t leaves, const int *use,
              int n_use);
void pass_free(pass *r);

/* The elements of t as doubles; NaN where it cannot be read. malloc'ed. */
double *matrix_read(const ct_tensor *t);
/* The reference's answer for these inputs: an array of .n, malloc'ed. */
ref_array matrix_reference(const point *p, ct_tensor *const *in);

/* Whether |a - b| <= tolerance (1 + max |b|) everywhere, with NaN only where b has it; *at is the worst
 * place. */
bool matrix_agree(const double *a, const double *b, int64_t n, double tolerance, int64_t *at);
/* The tolerance for rounding in results of this dtype. */
double matrix_tolerance(ct_dtype dtype);

#endif
