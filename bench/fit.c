/* One fit to convergence: `fit TABLE.csv [--device NAME]`. The table is standardised, and its last column is
 * the target. Each evaluation prints "at SECONDS NLML": the time since the fit began, and the likelihood.
 * fit.py has the peers do the same. */
#include "bench.h"

#include <cotangent/gp.h>
#include <cotangent/io.h>

#include <math.h>
#include <stdio.h>

static int tell(void *context, const ct_fit_progress *p)
{
    (void)context;
    printf("at %.6f %.12g\n", p->seconds, p->objective);
    fflush(stdout);
    return 0;
}

/* The start and the bounds that all contenders share. */
static ct_status set(ct_gp *gp, const char *name, double value, double lower, double upper)
{
    ct_param p = *ct_gp_param(gp, ct_gp_find(gp, name));
    p.value = value, p.lower = lower, p.upper = upper;
    return ct_gp_set_param(gp, ct_gp_find(gp, name), &p);
}

static ct_gp *model(const ct_tensor *table)
{
    const int64_t d = ct_tensor_dim(table, 1) - 1;
    ct_tensor *X = ct_tensor_slice(table, 1, 0, d, 1), *y = ct_tensor_slice(table, 1, d, d + 1, 1);
    ct_gp *gp = ct_gp_new(X, y, ct_kernel_parse("scale * rbf(ard)"),
                          &(ct_gp_options){ .mean = CT_MEAN_ZERO, .standardize = CT_STANDARDIZE_NONE });
    ct_release(X);
    ct_release(y);
    ct_status s = gp ? set(gp, "noise.variance", 0.1, 1e-6, 1e2) : CT_ENOMEM;
    for (int64_t i = 0; !s && i < ct_gp_params(gp) - 1; i++) {
        const char *name = ct_gp_param(gp, i)->name;
        const bool variance = i == 0;
        s = variance ? set(gp, name, 1, 1e-6, 1e6) : set(gp, name, sqrt((double)d), 1e-4, 1e4);
    }
    if (!s) return gp;
    ct_gp_free(gp);
    return NULL;
}

int main(int argc, char **argv)
{
    bench b;
    if (bench_open(&b, &argc, argv)) return 2;
    ct_tensor *table = argc == 2 ? ct_csv_load(b.dev, argv[1]) : NULL;
    ct_gp *gp = table ? model(table) : NULL;
    ct_status s = gp ? ct_gp_fit(gp, &(ct_fit_options){ .progress = tell }) : CT_EINVAL;
    if (s) fprintf(stderr, "fit: %s\n", argc == 2 ? ct_message(b.dev) : "usage: fit TABLE.csv");
    if (!s) printf("ended %s\n", ct_fit_end_text(ct_gp_report(gp).end));
    ct_gp_free(gp);
    ct_release(table);
    bench_close(&b);
    return s != CT_OK;
}
