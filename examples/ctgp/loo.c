/* ctgp loo: every row of the training data as predicted from the others. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

static const char *const columns[] = { "mean", "std", "log_density" };

typedef struct left_out {
    int64_t n;
    ct_tensor *mean, *variance, *density;
    double *rows; /* (n, 3): mean, standard deviation, log density */
} left_out;

static int leave_out(left_out *l, ct_gp *gp)
{
    ct_device *device = ct_gp_device(gp);
    *l = (left_out){ .n = ct_gp_points(gp) };
    size_t bytes = (size_t)l->n * sizeof(double);
    ct_tensor **part[] = { &l->mean, &l->variance, &l->density };
    double *column = malloc(bytes);
    l->rows = malloc(3 * bytes);
    if (!column || !l->rows) {
        free(column);
        return fail(CODE_MEMORY, "no memory for %lld predictions", (long long)l->n);
    }
    bool good = true;
    for (int k = 0; k < 3; k++) good &= (*part[k] = ct_empty(device, CT_F64, ct_shape1(l->n))) != NULL;
    good = good && !ct_gp_loo(gp, l->mean, l->variance, l->density);
    for (int k = 0; k < 3 && good; k++) {
        good = !ct_read(*part[k], column, bytes);
        for (int64_t i = 0; i < l->n && good; i++) l->rows[3 * i + k] = k == 1 ? sqrt(column[i]) : column[i];
    }
    free(column);
    return good ? GO_ON : fail_device(device, NULL);
}

static void release(left_out *l)
{
    ct_release(l->mean);
    ct_release(l->variance);
    ct_release(l->density);
    free(l->rows);
}

/* ½ log 2πs² + ½ z² is minus the log density, which gives z, and with it y. */
static void print_score(const left_out *l, bool optimised, bool json, FILE *to)
{
    double square = 0, nlpd = 0, inside = 0, n = (double)l->n;
    for (int64_t i = 0; i < l->n; i++) {
        double s = l->rows[3 * i + 1], density = l->rows[3 * i + 2];
        double z2 = fmax(0, -2 * density - log(2 * acos(-1) * s * s));
        square += z2 * s * s;
        nlpd -= density;
        inside += z2 <= Z95 * Z95;
    }
    fprintf(to,
            json ? "{\"n\": %lld, \"rmse\": %.9g, \"nlpd\": %.9g, \"coverage95\": %.6g"
                 : "n=%lld rmse=%.6g nlpd=%.6g coverage95=%.4g",
            (long long)l->n, sqrt(square / n), nlpd / n, inside / n);
    if (json)
        fprintf(to, ", \"optimised_on\": %s}\n", optimised ? "true" : "false");
    else
        fprintf(to, optimised ? " (optimised on: new rows do worse)\n" : "\n");
}

int run_loo(int argc, char **argv)
{
    const char *out = NULL, *device_name = NULL, *json = NULL, *path;
    const option options[] = {
        { "--out", "FILE.csv",
          "where to write columns mean, std, log_density, a row for each row; - is standard output", &out },
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &device_name },
        { "--json", NULL, "the score as JSON", &json },
    };
    const command c = {
        .name = "loo",
        .arguments = "MODEL",
        .summary =
            "Leave-one-out: predicts every row that the model learned from by all others, and scores that.",
        .details =
            "The parameters are those of the fit to all rows. A line n=... rmse=... nlpd=... coverage95=... "
            "is printed,\n"
            "with --out - on standard error; rows of the training file that had a missing value are not in "
            "the model.\n"
            "After fit --objective loo it ends in \"optimised on\": the parameters were chosen by this "
            "score, "
            "and new rows do worse.",
        .n_positional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, &path);
    if (result == GO_ON) result = keep_apart("--out", out, "MODEL", path);
    if (result != GO_ON) return result;
    ct_device *device;
    ct_gp *gp;
    left_out l = { 0 };
    result = model_load(device_name, path, &device, &gp);
    if (result == GO_ON) result = leave_out(&l, gp);
    if (result == GO_ON && out) result = table_write(device, l.rows, l.n, 3, columns, out);
    if (result == GO_ON) {
        print_score(&l, ct_gp_report(gp).objective_of == CT_OBJECTIVE_LOO, json != NULL,
                    out && is_standard(out) ? stderr : stdout);
        result = CODE_OK;
    }
    release(&l);
    ct_gp_free(gp);
    ct_device_close(device);
    return result;
}
