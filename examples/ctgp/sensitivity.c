/* What a model owes to each of its features. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 10000 };

/* first, total and the loss, (3, d): malloc'ed; NULL after a failure, which is on the device. */
static double *compute(ct_gp *gp, uint64_t seed)
{
    const int64_t d = ct_gp_dims(gp);
    double *v = malloc(3 * (size_t)d * sizeof *v), all;
    if (!v || ct_gp_sobol(gp, SAMPLES, seed, v, v + d) || ct_gp_loo_without(gp, NULL, 0, &all)) {
        free(v);
        return NULL;
    }
    for (int64_t j = 0; j < d; j++) {
        double sum; /* NaN where there is no covariance without the feature */
        v[2 * d + j] = ct_gp_loo_without(gp, &j, 1, &sum) ? NAN : (all - sum) / (double)ct_gp_points(gp);
    }
    return v;
}

void print_sensitivity(ct_gp *gp, uint64_t seed)
{
    const int64_t d = ct_gp_dims(gp);
    double *v = compute(gp, seed);
    if (!v) {
        printf("sensitivity  %s\n",
               ct_last_status(ct_gp_device(gp)) ? ct_message(ct_gp_device(gp)) : "out of memory");
        return;
    }
    printf(
        "sensitivity of the mean to features drawn independently from the data (Sobol indices, to about "
        "%.2g), and\nhow far the leave-one-out nlpd rises where a feature is held at its mean, without a new "
        "fit:\n  %-28s %-12s %-12s %s\n",
        1 / sqrt(SAMPLES), "", "first order", "total", "nlpd");
    for (int64_t j = 0; j < d; j++)
        printf("  %-28s %-12.3f %-12.3f %+.4g\n", ct_gp_input_name(gp, j), v[j], v[d + j], v[2 * d + j]);
    free(v);
}

void json_sensitivity(ct_gp *gp, uint64_t seed)
{
    const int64_t d = ct_gp_dims(gp);
    double *v = compute(gp, seed);
    printf("\"sensitivity\": %s", v ? "[" : "null");
    for (int64_t j = 0; j < d && v; j++) {
        printf("%s{\"feature\": ", j ? ", " : "");
        json_string(stdout, ct_gp_input_name(gp, j));
        printf(", \"first\": ");
        json_number(stdout, v[j]);
        printf(", \"total\": ");
        json_number(stdout, v[d + j]);
        printf(", \"loo_nlpd_without\": ");
        json_number(stdout, v[2 * d + j]);
        printf("}");
    }
    if (v) printf("]");
    free(v);
}
