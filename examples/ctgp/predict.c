/* ctgp predict: mean, standard deviation and 95 % interval at the rows of a CSV file. */
#include "ctgp.h"

#include <math.h>
#include <stdlib.h>

static const char *const columns[] = { "mean", "std", "lower95", "upper95" };

/* One row for each row of the data; NaN where an input is missing. */
static double *output_rows(const prediction *p)
{
    int64_t all = ct_table_rows(p->data.table);
    double *rows = malloc((size_t)(4 * all) * sizeof *rows);
    if (!rows) return NULL;
    for (int64_t i = 0; i < 4 * all; i++) rows[i] = NAN;
    for (int64_t k = 0; k < p->data.n_rows; k++) {
        double *row = rows + 4 * p->data.rows[k], m = p->mean[k], s = p->std[k];
        row[0] = m, row[1] = s, row[2] = m - Z95 * s, row[3] = m + Z95 * s;
    }
    return rows;
}

static void print_rows(const double *rows, int64_t n)
{
    printf("%s,%s,%s,%s\n", columns[0], columns[1], columns[2], columns[3]);
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < 4; j++) {
            double value = rows[4 * i + j];
            if (!isnan(value)) printf("%.17g", value);
            putchar(j == 3 ? '\n' : ',');
        }
}

static int write_rows(const prediction *p, const char *out)
{
    int64_t n = ct_table_rows(p->data.table);
    double *rows = output_rows(p);
    if (!rows) return fail(CODE_MEMORY, "no memory for %lld predictions", (long long)n);
    int result = GO_ON;
    if (out) {
        ct_tensor *t = ct_from(p->data.device, CT_F64, ct_shape2(n, 4), rows);
        if (!t || ct_csv_save(t, columns, out)) result = fail_device(p->data.device, NULL);
        ct_release(t);
    } else
        print_rows(rows, n);
    free(rows);
    return result;
}

static void print_score(const score *s, bool json, FILE *out)
{
    long long n = s->n;
    if (json)
        fprintf(out, "{\"n\": %lld, \"rmse\": %.9g, \"mae\": %.9g, \"nlpd\": %.9g, \"coverage95\": %.6g}\n",
                n, s->rmse, s->mae, s->nlpd, s->coverage95);
    else
        fprintf(out, "n=%lld rmse=%.6g mae=%.6g nlpd=%.6g coverage95=%.4g\n", n, s->rmse, s->mae, s->nlpd,
                s->coverage95);
}

int run_predict(int argc, char **argv)
{
    const char *out = NULL, *device_name = NULL, *json = NULL, *paths[2];
    const option options[] = {
        { "--out", "FILE.csv", "where to write; standard output unless given", &out },
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &device_name },
        { "--json", NULL, "the score as JSON", &json },
    };
    const command c = {
        .name = "predict",
        .arguments = "MODEL DATA.csv",
        .summary = "Predicts a new observation at each row: columns mean, std, lower95, upper95.",
        .details = "Columns are found by their names, in any order. A row with a missing input gets empty "
                   "fields. Where the\n"
                   "target's column is there, a line n=... rmse=... mae=... nlpd=... coverage95=... is "
                   "printed as well:\n"
                   "on standard output with --out, else on standard error.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, paths);
    if (result == GO_ON) result = keep_apart("--out", out, "MODEL", paths[0]);
    if (result == GO_ON) result = keep_apart("--out", out, "DATA.csv", paths[1]);
    if (result != GO_ON) return result;
    ct_device *device;
    ct_gp *gp;
    prediction p = { 0 };
    result = model_load(device_name, paths[0], &device, &gp);
    if (result == GO_ON) result = prediction_make(&p, gp, paths[1]);
    if (result == GO_ON) result = write_rows(&p, out);
    if (result == GO_ON) {
        long long missing = ct_table_rows(p.data.table) - p.data.n_rows;
        if (missing)
            fprintf(stderr, "ctgp: %lld rows have a missing input: their prediction is empty\n", missing);
        score s = prediction_score(&p);
        if (s.n > 0) print_score(&s, json != NULL, out ? stdout : stderr);
        result = CODE_OK;
    }
    prediction_free(&p);
    ct_gp_free(gp);
    ct_device_close(device);
    return result;
}
