/* Bayesian optimisation with the function outside: `bo TABLE.csv N`, on the CPU. TABLE has the first points
 * in the unit cube, and their values in the last column. N times the program prints the fitted model and the
 * point of the highest log EI, and reads the value there:
 *
 *     kernel TEXT noise S2 mean C nlml V log_ei A at X...
 *
 * bo.py evaluates the function, and runs the peer. */
#include "../examples/propose.h"
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

/* Reads the value at u and adds it to the model. */
static ct_status learn(ct_gp *gp, const double *u, double *best)
{
    double value;
    if (scanf("%lf", &value) != 1) return CT_EIO;
    ct_tensor *at = ct_from(ct_gp_device(gp), CT_F64, ct_shape2(1, ct_gp_dims(gp)), u),
              *seen = ct_from(ct_gp_device(gp), CT_F64, ct_shape1(1), &value);
    *best = fmin(*best, value);
    ct_status s = ct_gp_append(gp, at, seen, NULL);
    ct_release(at), ct_release(seen);
    return s;
}

static void tell(ct_gp *gp, double log_ei, const double *u)
{
    char kernel[1024];
    ct_kernel_print(ct_gp_kernel(gp), true, kernel, sizeof kernel);
    printf("kernel %s noise %.17g mean %.17g nlml %.17g log_ei %.17g at", kernel, ct_gp_noise_variance(gp),
           ct_gp_param(gp, ct_gp_params(gp) - 1)->value, ct_gp_nlml_value(gp), log_ei);
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) printf(" %.17g", u[j]);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 2;
    const bool usage = argc != 3 || b.queues;
    ct_tensor *table = usage ? NULL : ct_csv_load(b.dev, argv[1]);
    const int64_t d = table ? ct_tensor_dim(table, 1) - 1 : 0;
    ct_tensor *X = ct_tensor_slice(table, 1, 0, d, 1), *y = ct_tensor_slice(table, 1, d, d + 1, 1);
    ct_gp *gp = d > 0 && d <= MOST ? model_of(X, y) : NULL;
    ct_status s = gp ? CT_OK : CT_EINVAL;
    double best = INFINITY, u[MOST];
    for (int64_t i = 0; i < ct_gp_points(gp); i++)
        best = fmin(best, ((double *)ct_tensor_data(table))[i * (d + 1) + d]);
    for (int k = 0; !s && k < atoi(argv[2]); k++) {
        s = ct_gp_fit(gp, NULL);
        const double log_ei = s ? NAN : propose(gp, b.tape, best, (uint64_t)k, u);
        if (!s && isnan(log_ei)) s = CT_ENUMERIC;
        if (!s) tell(gp, log_ei, u);
        if (!s) s = learn(gp, u, &best);
    }
    if (s)
        fprintf(stderr, "bo: %s\n",
                usage         ? "usage: bo TABLE.csv N, on the CPU"
                : s == CT_EIO ? "a value is missing"
                              : ct_message(b.dev));
    ct_gp_free(gp);
    ct_release(table), ct_release(X), ct_release(y);
    bench_close(&b);
    return s != CT_OK;
}
