/* The determinant of an n×n matrix by expansion by minors, all minors of a size at once: level r has a value
 * for each ordered choice of r columns, and one for each column that is left after it. */
#include "gradbench.h"

#include <stdlib.h>

enum { MOST = CONSTANTS - 1 }; /* rows */

/* The columns that are left after each choice of r of n columns, (count, n - r), and the signs. */
static void setup(problem *p)
{
    const int64_t n = p->n;
    int64_t count = 1, *left = malloc((size_t)n * sizeof *left);
    for (int64_t j = 0; j < n; j++) left[j] = j;
    p->x = sines(p->device, ct_shape2(n, n), 1, 1);
    double sign[MOST];
    for (int64_t j = 0; j < n; j++) sign[j] = j % 2 ? -1 : 1;
    p->constant[0] = ct_from(p->device, CT_F64, ct_shape1(n), sign);
    for (int64_t r = 0; r < n; r++) {
        const int64_t k = n - r;
        p->constant[1 + r] = ct_from(p->device, CT_I64, ct_shape1(count * k), left);
        int64_t *next = malloc((size_t)(count * k * (k - 1) + 1) * sizeof *next), at = 0;
        for (int64_t c = 0; c < count; c++)
            for (int64_t j = 0; j < k; j++)
                for (int64_t l = 0; l < k; l++)
                    if (l != j) next[at++] = left[c * k + l];
        free(left);
        left = next;
        count *= k;
    }
    free(left);
}

/* D_r[c] = Σ_j (-1)^j A[r, left_j] D_{r+1}[c, j] */
static void run(problem *p)
{
    const int64_t n = p->n;
    ct_var A = ct_leaf(p->tape, p->x), signs = constant(p, 0), minors = ct_none();
    for (int64_t r = n - 1; r >= 0; r--) {
        ct_var a = ct_gather(ct_row(A, r), constant(p, 1 + (int)r));
        ct_var terms = ct_mul(ct_reshape(a, ct_shape2(-1, n - r)), ct_slice(signs, 0, 0, n - r, 1));
        if (minors.tape) terms = ct_mul(terms, ct_reshape(minors, ct_shape2(-1, n - r)));
        minors = ct_sum(terms, -1, false);
    }
    finish(p, A, ct_sum(minors, CT_ALL, false));
}

const problem det = { .name = "det", .setup = setup, .run = run };
