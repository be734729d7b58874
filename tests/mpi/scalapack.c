#include "scalapack.h"

#include <mpi.h>
#include <stdlib.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_gridexit(int context);
int numroc_(const int *n, const int *block, const int *place, const int *first, const int *count);
void descinit_(int *descriptor, const int *m, const int *n, const int *mb, const int *nb, const int *row,
               const int *col, const int *context, const int *leading, int *info);
void pdpotrf_(const char *uplo, const int *n, double *a, const int *ia, const int *ja, const int *descriptor,
              int *info);
void pdpotri_(const char *uplo, const int *n, double *a, const int *ia, const int *ja, const int *descriptor,
              int *info);
void pdpotrs_(const char *uplo, const int *n, const int *m, const double *a, const int *ia, const int *ja,
              const int *a_descriptor, double *b, const int *ib, const int *jb, const int *b_descriptor,
              int *info);

static const int zero = 0, one = 1;

/* Rows (dim = 0) or columns of n that this process has. */
static int count_of(const scalapack *s, int n, int block, int dim)
{
    return numroc_(&n, &block, &s->place[dim], &zero, &s->grid[dim]);
}

static int describe(const scalapack *s, int m, int n, int mb, int nb, int descriptor[9])
{
    const int rows = count_of(s, m, mb, 0), leading = rows > 1 ? rows : 1;
    int info;
    descinit_(descriptor, &m, &n, &mb, &nb, &zero, &zero, &s->context, &leading, &info);
    return info;
}

/* The index in the whole of local row or column k. */
static int global(const scalapack *s, int k, int dim)
{
    return (k / s->block * s->grid[dim] + s->place[dim]) * s->block + k % s->block;
}

bool scalapack_open(scalapack *s, int n, int block, int rows, int cols)
{
    *s = (scalapack){ .n = n, .block = block };
    Cblacs_get(-1, 0, &s->context);
    Cblacs_gridinit(&s->context, "Row", rows, cols);
    Cblacs_gridinfo(s->context, &s->grid[0], &s->grid[1], &s->place[0], &s->place[1]);
    for (int dim = 0; dim < 2; dim++) s->local[dim] = count_of(s, n, block, dim);
    s->a = malloc(((size_t)s->local[0] * (size_t)s->local[1] + 1) * sizeof *s->a);
    int good = s->a && !describe(s, n, n, block, block, s->descriptor);
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return good;
}

void scalapack_close(scalapack *s)
{
    free(s->a);
    Cblacs_gridexit(s->context);
}

void scalapack_fill(scalapack *s, scalapack_entry entry, void *context)
{
    for (int c = 0; c < s->local[1]; c++)
        for (int r = 0; r < s->local[0]; r++) {
            const int i = global(s, r, 0), j = global(s, c, 1);
            s->a[(size_t)c * (size_t)s->local[0] + (size_t)r] = i < j ? 0 : entry(context, i, j);
        }
}

int scalapack_factor(scalapack *s)
{
    int info;
    pdpotrf_("L", &s->n, s->a, &one, &one, s->descriptor, &info);
    return info;
}

int scalapack_invert(scalapack *s)
{
    int info;
    pdpotri_("L", &s->n, s->a, &one, &one, s->descriptor, &info);
    return info;
}

int scalapack_solve(const scalapack *s, int m, double *B)
{
    const int count = s->place[1] ? 0 : s->local[0]; /* the first column of the grid has all columns of B */
    double *own = calloc((size_t)s->local[0] * (size_t)m + 1, sizeof *own);
    int descriptor[9], info = !own || describe(s, s->n, m, s->block, m, descriptor);
    MPI_Allreduce(MPI_IN_PLACE, &info, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int c = 0; c < m && !info; c++)
        for (int r = 0; r < count; r++)
            own[c * s->local[0] + r] = B[(size_t)c * (size_t)s->n + (size_t)global(s, r, 0)];
    if (!info) pdpotrs_("L", &s->n, &m, s->a, &one, &one, s->descriptor, own, &one, &one, descriptor, &info);
    for (size_t k = 0; k < (size_t)s->n * (size_t)m; k++) B[k] = 0;
    for (int c = 0; c < m && !info; c++)
        for (int r = 0; r < count; r++)
            B[(size_t)c * (size_t)s->n + (size_t)global(s, r, 0)] = own[c * s->local[0] + r];
    MPI_Allreduce(MPI_IN_PLACE, B, s->n * m, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(own);
    return info;
}

void scalapack_diagonal(const scalapack *s, double *out)
{
    for (int i = 0; i < s->n; i++) out[i] = 0;
    for (int c = 0; c < s->local[1]; c++)
        for (int r = 0; r < s->local[0]; r++)
            if (global(s, r, 0) == global(s, c, 1))
                out[global(s, r, 0)] = s->a[(size_t)c * (size_t)s->local[0] + (size_t)r];
    MPI_Allreduce(MPI_IN_PLACE, out, s->n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
