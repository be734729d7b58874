/* A symmetric positive definite matrix over the processes of MPI_COMM_WORLD in ScaLAPACK: the reference of
 * the tests and the rival of the benchmark. Each function is collective. */
#ifndef SCALAPACK_H
#define SCALAPACK_H

#include <stdbool.h>

typedef struct scalapack {
    int n, block; /* block-cyclic, tiles of block × block */
    int context, grid[2], place[2];
    int local[2], descriptor[9];
    double *a; /* (local[0], local[1]), column-major; the lower triangle counts */
} scalapack;

/* Entry (i, j) of the matrix, i >= j. */
typedef double (*scalapack_entry)(void *context, int i, int j);

/* On a grid of rows × cols processes, in the order of their ranks, row by row. False without memory. */
bool scalapack_open(scalapack *s, int n, int block, int rows, int cols);
void scalapack_close(scalapack *s);
void scalapack_fill(scalapack *s, scalapack_entry entry, void *context);
/* pdpotrf, and pdpotri after it. They return info, 0 for success. */
int scalapack_factor(scalapack *s);
int scalapack_invert(scalapack *s);
/* Columns of B (n, m), column-major and the same everywhere, become C⁻¹ times them: pdpotrs after pdpotrf. */
int scalapack_solve(const scalapack *s, int m, double *B);
/* out (n) = the diagonal, everywhere. */
void scalapack_diagonal(const scalapack *s, double *out);

#endif
