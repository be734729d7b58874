/* The factor over the processes of mpirun beside pdpotrf's on the same grid: the log-determinant, the
 * diagonal of L, and solutions, as the likelihood and the predictions have them. TAP on process 0. */
#include <cotangent/gp.h>
#include <cotangent/gp/mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gp/model/model.h"
#include "scalapack.h"

enum { D = 3, POINTS = 7, BLOCK = 32 };
static const double variance = 1.3, lengthscale = 0.7, noise = 0.1, tolerance = 1e-10;

static ct_comm *comm;
static ct_device *device;
static int tests, failures;

/* One line of TAP: whether `error` is within the tolerance on all processes. */
static void conclude(int n, const char *what, double error)
{
    double worst = isnan(error) ? INFINITY : error;
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    tests++;
    failures += worst > tolerance;
    if (!ct_comm_rank(comm))
        printf("%sok %d - %s of %d rows: %.1e\n", worst > tolerance ? "not " : "", tests, what, n, worst);
    fflush(stdout);
    alarm(600);
}

static double kernel(const double *x, const double *z)
{
    double squared = 0;
    for (int j = 0; j < D; j++) squared += (x[j] - z[j]) * (x[j] - z[j]);
    return variance * exp(-squared / (2 * lengthscale * lengthscale));
}

static double entry(void *X, int i, int j)
{
    return kernel((double *)X + i * D, (double *)X + j * D) + (i == j ? noise : 0);
}

static double distance(double a, double b) { return fabs(a - b) / fmax(1, fabs(b)); }

/* The largest error of this process's part of the diagonal of L. */
static double diagonal_error(const ct_gp *gp, const double *expected)
{
    const ct__factor L = ct__gp_factor_of(gp);
    double worst = 0;
    for (ct__block b = { .number = 0 }; L.in->next(&L, &b);)
        for (int64_t i = 0; i < ct_view_dim(b.M, 0) && b.row == b.col; i++) {
            const double l = ((const double *)b.M.data)[i * (b.M.stride[0] + b.M.stride[1])];
            worst = fmax(worst, distance(l, expected[b.row + i]));
        }
    return worst;
}

/* B (n, 1 + POINTS): y, then the columns k(X, x*). */
static void check(ct_gp *gp, scalapack *s, const double *X, const double *y, const double *Xs, double *B)
{
    const int n = s->n;
    double *diagonal = B + (size_t)n * (1 + POINTS), mean[POINTS], predicted[2][POINTS];
    scalapack_fill(s, entry, (void *)X);
    if (scalapack_factor(s)) return conclude(n, "pdpotrf", INFINITY);
    scalapack_diagonal(s, diagonal);
    for (int i = 0; i < n; i++) {
        B[i] = y[i];
        for (int k = 0; k < POINTS; k++)
            B[(size_t)(k + 1) * (size_t)n + (size_t)i] = kernel(X + i * D, Xs + k * D);
    }
    if (scalapack_solve(s, 1 + POINTS, B)) return conclude(n, "pdpotrs", INFINITY);

    double value = 0.5 * n * log(2 * 3.14159265358979323846), worst[2] = { 0 };
    for (int i = 0; i < n; i++) value += 0.5 * y[i] * B[i] + log(diagonal[i]);
    conclude(n, "the likelihood", distance(ct_gp_nlml_value(gp), value));
    conclude(n, "the diagonal of L", diagonal_error(gp, diagonal));

    ct_tensor *at = ct_from(device, CT_F64, ct_shape2(POINTS, D), Xs);
    ct_tensor *out[2] = { ct_zeros(device, CT_F64, ct_shape1(POINTS)),
                          ct_zeros(device, CT_F64, ct_shape1(POINTS)) };
    ct_status status = ct_gp_predict(gp, at, out[0], out[1]);
    for (int k = 0; k < 2; k++) {
        if (!status) status = ct_read(out[k], predicted[k], sizeof predicted[k]);
        ct_release(out[k]);
    }
    ct_release(at);
    for (int k = 0; k < POINTS; k++) {
        double less = 0;
        mean[k] = 0;
        for (int i = 0; i < n; i++) {
            const double c = kernel(X + i * D, Xs + k * D);
            mean[k] += c * B[i];
            less += c * B[(size_t)(k + 1) * (size_t)n + (size_t)i];
        }
        worst[0] = fmax(worst[0], status ? INFINITY : distance(predicted[0][k], mean[k]));
        worst[1] = fmax(worst[1], status ? INFINITY : distance(predicted[1][k], variance - less));
    }
    conclude(n, "the mean", worst[0]);
    conclude(n, "the variance", worst[1]);
}

static void rows(int n, int grid_rows, int grid_cols)
{
    const size_t count = (size_t)n;
    double *X = malloc(count * D * sizeof *X), *y = malloc(count * sizeof *y), Xs[POINTS * D];
    double *B = malloc(count * (2 + POINTS) * sizeof *B);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < D; j++) X[i * D + j] = fmod((i + 1) * sqrt(2 + 3 * j), 1);
        y[i] = sin(6 * X[i * D]) + X[i * D + 1];
    }
    for (int k = 0; k < POINTS * D; k++) Xs[k] = fmod((k + 1) * sqrt(13), 1.2);
    ct_tensor *tX = ct_from(device, CT_F64, ct_shape2(n, D), X),
              *ty = ct_from(device, CT_F64, ct_shape1(n), y);
    ct_gp *gp =
        ct_gp_new(tX, ty, ct_kernel_parse("scale(1.3) * rbf(lengthscale=0.7)"),
                  &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE, .comm = comm });
    const int64_t at = ct_gp_find(gp, "noise.variance");
    scalapack s;
    const bool open = scalapack_open(&s, n, BLOCK, grid_rows, grid_cols);
    if (gp && open && B) {
        ct_param p = *ct_gp_param(gp, at);
        p.value = noise;
        ct_gp_set_param(gp, at, &p);
        check(gp, &s, X, y, Xs, B);
    } else {
        conclude(n, "a model", INFINITY);
    }
    scalapack_close(&s);
    ct_gp_free(gp);
    ct_release(tX);
    ct_release(ty);
    free(X);
    free(y);
    free(B);
}

int main(void)
{
    static const int n[] = { 1, 33, 150, 500 };
    MPI_Init(NULL, NULL);
    alarm(600);
    comm = ct_comm_mpi(MPI_COMM_WORLD);
    device = ct_device_open("cpu");
    const ct__grid grid = ct__grid_of(comm, 1);
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        rows(n[i], grid.comm ? grid.rows : 1, grid.comm ? grid.cols : 1);
    if (!ct_comm_rank(comm)) printf("1..%d\n", tests);
    ct_device_close(device);
    ct_comm_free(comm);
    MPI_Finalize();
    return failures > 0;
}
