/* A model over all processes that mpirun or srun has started; without them, a model like any other.
 *
 *     mpirun -n 4 build/examples/many_machines 5000 */
#include <cotangent/gp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Every process has the same data. */
static ct_tensor *outputs(ct_tensor *X)
{
    const int64_t n = ct_tensor_count(X) / 2;
    ct_tensor *y = X ? ct_zeros(ct_tensor_device(X), CT_F64, ct_shape1(n)) : NULL;
    const double *x = X ? ct_tensor_data(X) : NULL;
    for (int64_t i = 0; y && i < n; i++)
        ((double *)ct_tensor_data(y))[i] = sin(6 * x[2 * i]) + x[2 * i + 1] + 0.1 * sin(1000 * (double)i);
    return y;
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 300;
    const double middle[] = { 0.5, 0.5 };
    ct_device *device = ct_device_open("cpu");
    ct_tensor *X = ct_rand_uniform(device, CT_F64, ct_shape2(n, 2), 1, 0), *y = outputs(X);
    ct_tensor *new_X = ct_from(device, CT_F64, ct_shape2(1, 2), middle);
    ct_tensor *mean = ct_zeros(device, CT_F64, ct_shape1(1)),
              *variance = ct_zeros(device, CT_F64, ct_shape1(1));

    ct_comm *comm = ct_comm_world(); /* if it fails, ct_gp_new says why */
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"), &(ct_gp_options){ .comm = comm });
    bool good = gp && !ct_gp_fit(gp, NULL) && !ct_gp_predict(gp, new_X, mean, variance);
    if (!good) fprintf(stderr, "process %d: %s\n", ct_comm_rank(comm), ct_message(device));
    if (good && !ct_comm_rank(comm))
        printf("f(0.5, 0.5) = %.3f, deviation %.3f, by %d processes\n", ct_tensor_item(mean),
               sqrt(ct_tensor_item(variance)), ct_comm_size(comm));
    ct_gp_free(gp);
    ct_comm_free(comm);

    ct_release(X), ct_release(y), ct_release(new_X), ct_release(mean), ct_release(variance);
    ct_device_close(device);
    return !good;
}
