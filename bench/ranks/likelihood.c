/* The likelihood of an exact GP, without and with its gradient, over the processes of mpirun or in this
 * process alone: `likelihood ROUNDS N...`. Process 0 prints the lines of bench.h: the seconds of the slowest
 * process, bytes_per_8n2 of all processes together, and, with layer.c preloaded, the bytes received and sent
 * and the CPU seconds, each of the process that has most. All are of one evaluation. */
#include <cotangent/gp.h>
#include <cotangent/gp/mpi.h>

#include <stdio.h>
#include <string.h>

#include "ranks.h"

enum { MOST_PARAMETERS = 32 };

static ct_comm *comm;
static ct_device *device;

static ct_gp *model(int n)
{
    double *data = ranks_data(n);
    ct_tensor *X = data ? ct_from(device, CT_F64, ct_shape2(n, RANKS_D), data) : NULL;
    ct_tensor *y = data ? ct_from(device, CT_F64, ct_shape1(n), data + (size_t)n * RANKS_D) : NULL;
    ct_gp *gp =
        ct_gp_new(X, y, ct_kernel_parse(RANKS_KERNEL),
                  &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE, .comm = comm });
    ct_release(X);
    ct_release(y);
    free(data);
    return gp;
}

/* *x = the maximum or the sum over all processes. */
static void over_all(double *x, MPI_Op op)
{
    if (ct_comm_size(comm) > 1) PMPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
}

static int measure(int n, int rounds, bool training)
{
    ct_gp *gp = model(n);
    double u[MOST_PARAMETERS], gradient[MOST_PARAMETERS], value = 0, seconds = 1e300,
                                                          counted[] = { -1, -1, -1 };
    const int64_t count = ct_gp_params(gp), noise = ct_gp_find(gp, "noise.variance");
    ct_status status = gp ? CT_OK : ct_last_status(device);
    for (int64_t i = 0; i < count; i++) u[i] = log(i == noise ? ranks_noise : ct_gp_param(gp, i)->value);
    const uint64_t before = ct_memory(device).bytes_now;
    ct_memory_mark(device);
    for (int i = 0; i <= rounds && !status; i++) { /* the first round warms up */
        if (ct_comm_size(comm) > 1) MPI_Pcontrol(1);
        double start = ranks_now(), took;
        status = ct_gp_objective(gp, u, &value, training ? gradient : NULL);
        took = ranks_now() - start;
        if (ct_comm_size(comm) > 1) MPI_Pcontrol(2, counted);
        over_all(&took, MPI_MAX);
        if ((i || !rounds) && took < seconds) seconds = took;
    }
    double bytes = (double)(ct_memory(device).bytes_peak - before);
    over_all(&bytes, MPI_SUM);
    over_all(&counted[0], MPI_MAX);
    over_all(&counted[1], MPI_MAX);
    over_all(&counted[2], MPI_MAX);
    if (status) fprintf(stderr, "likelihood: %s\n", ct_message(device));
    if (!status && !ct_comm_rank(comm)) {
        printf("bench=mpi case=rbf who=cotangent n=%d d=%d dtype=f64 pass=%s ranks=%d seconds=%.6g "
               "bytes_per_8n2=%.4f value=%.12g",
               n, RANKS_D, training ? "training" : "forward", ct_comm_size(comm), seconds,
               bytes / (8.0 * n * n), value);
        if (counted[0] >= 0)
            printf(" received=%.0f sent=%.0f cpu_seconds=%.3g", counted[0], counted[1], counted[2]);
        printf("\n");
        fflush(stdout);
    }
    ct_gp_free(gp);
    return status;
}

int main(int argc, char **argv)
{
    int failed = 0;
    comm = ct_comm_world();
    device = ct_device_open("cpu");
    if (argc < 3 || ct_comm_status(comm)) {
        fprintf(stderr, "%s\n", argc < 3 ? "likelihood ROUNDS N..." : ct_comm_message(comm));
        return 1;
    }
    if (!ct_comm_rank(comm)) printf("# %s\n", ct_device_description(device));
    for (int i = 2; i < argc && !failed; i++)
        for (int training = 0; training < 2 && !failed; training++)
            failed = measure(atoi(argv[i]), atoi(argv[1]), training);
    ct_device_close(device);
    ct_comm_free(comm);
    return failed;
}
