/* ScaLAPACK's part of the likelihood, over the processes of mpirun: `scalapack ROUNDS BLOCK N...`. It times
 * only the factorisation: pdpotrf (pass=forward), and pdpotrf with pdpotri (pass=training), without building
 * the matrix or contracting the gradient. value is the likelihood, computed outside the clock. */
#include <mpi.h>

#include <stdio.h>

#include "mpi/scalapack.h"
#include "ranks.h"

static double entry(void *X, int i, int j)
{
    const double *x = (double *)X + (size_t)i * RANKS_D, *z = (double *)X + (size_t)j * RANKS_D;
    double squared = 0;
    for (int k = 0; k < RANKS_D; k++) squared += (x[k] - z[k]) * (x[k] - z[k]);
    return ranks_variance * exp(-squared / (2 * ranks_lengthscale * ranks_lengthscale)) +
           (i == j ? ranks_noise : 0);
}

/* The most square grid with rows <= columns. */
static void grid_of(int size, int *rows, int *cols)
{
    *rows = 1;
    for (int r = 1; r * r <= size; r++)
        if (size % r == 0) *rows = r;
    *cols = size / *rows;
}

static double seconds_of(int (*run)(scalapack *), scalapack *s, int *info)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = ranks_now(), took;
    *info |= run(s);
    took = ranks_now() - start;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

/* The likelihood from the factor of pdpotrf. */
static double likelihood(const scalapack *s, const double *y, int *info)
{
    const int n = s->n;
    double *alpha = malloc((size_t)n * 2 * sizeof *alpha), *diagonal = alpha + n, value = NAN;
    for (int i = 0; alpha && i < n; i++) alpha[i] = y[i];
    if (alpha) *info |= scalapack_solve(s, 1, alpha);
    if (alpha) scalapack_diagonal(s, diagonal);
    if (alpha) value = 0.5 * n * log(2 * 3.14159265358979323846);
    for (int i = 0; alpha && i < n; i++) value += 0.5 * y[i] * alpha[i] + log(diagonal[i]);
    free(alpha);
    return value;
}

static int measure(int n, int block, int rounds, int rank, int size)
{
    double *X = ranks_data(n), best[2] = { 1e300, 1e300 }, value = NAN;
    int rows, cols, info = 0;
    scalapack s;
    grid_of(size, &rows, &cols);
    if (!scalapack_open(&s, n, block, rows, cols) || !X) return fprintf(stderr, "scalapack: no memory\n"), 1;
    for (int i = 0; i < rounds && !info; i++) {
        scalapack_fill(&s, entry, X);
        double factor = seconds_of(scalapack_factor, &s, &info);
        if (!i) value = likelihood(&s, X + (size_t)n * RANKS_D, &info);
        const double both = factor + seconds_of(scalapack_invert, &s, &info);
        if (factor < best[0]) best[0] = factor;
        if (both < best[1]) best[1] = both;
    }
    for (int training = 0; training < 2 && !info && !rank; training++)
        printf("bench=mpi case=rbf who=scalapack-%d n=%d d=%d dtype=f64 pass=%s ranks=%d seconds=%.6g "
               "value=%.12g\n",
               block, n, RANKS_D, training ? "training" : "forward", size, best[training], value);
    fflush(stdout);
    if (info) fprintf(stderr, "scalapack: info = %d\n", info);
    scalapack_close(&s);
    free(X);
    return info;
}

int main(int argc, char **argv)
{
    int rank, size, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 4) return fprintf(stderr, "scalapack ROUNDS BLOCK N...\n"), 1;
    for (int i = 3; i < argc && !failed; i++)
        failed = measure(atoi(argv[i]), atoi(argv[2]), atoi(argv[1]), rank, size);
    MPI_Finalize();
    return failed;
}
