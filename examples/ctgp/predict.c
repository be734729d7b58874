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

static int write_rows(const prediction *p, const char *out)
{
    int64_t n = ct_table_rows(p->data.table);
    double *rows = output_rows(p);
    if (!rows) return fail(CODE_MEMORY, "no memory for %lld predictions", (long long)n);
    int result = table_write(p->data.device, rows, n, 4, columns, out);
    free(rows);
    return result;
}

/* Without a target the numbers of JSON are null. */
static void print_score(const prediction *p, const char *target, bool json, FILE *out)
{
    score s = prediction_score(p);
    long long n = s.n, rows = p->data.n_rows;
    if (json) {
        const char *name[] = { "rmse", "mae", "nlpd", "coverage95" };
        const double value[] = { s.rmse, s.mae, s.nlpd, s.coverage95 };
        fprintf(out, "{\"n\": %lld, ", n);
        for (int k = 0; k < 4; k++) {
            fprintf(out, "\"%s\": ", name[k]);
            json_number(out, value[k]);
            fputs(", ", out);
        }
        fprintf(out, "\"rows\": %lld, \"target\": ", rows);
        if (p->target < 0)
            fputs("null", out);
        else
            json_string(out, target);
        fputs("}\n", out);
    } else if (n)
        fprintf(out, "n=%lld rmse=%.6g mae=%.6g nlpd=%.6g coverage95=%.4g\n", n, s.rmse, s.mae, s.nlpd,
                s.coverage95);
    else if (out == stdout)
        printf("n=0 rows=%lld: there is no value of the target '%s' to score by\n", rows, target);
}

int run_predict(int argc, char **argv)
{
    const char *out = NULL, *device_name = NULL, *json = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--out", "FILE.csv", "where to write; standard output unless given, or for -", &out },
        DIALECT_OPTIONS(d),
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &device_name },
        { "--json", NULL, "the score as JSON", &json },
    };
    const command c = {
        .name = "predict",
        .arguments = "MODEL DATA.csv",
        .summary = "Predicts a new observation at each row: columns mean, std, lower95, upper95.",
        .details =
            "Columns are found by their names, in any order. A row with a missing input gets empty fields.\n"
            "DATA.csv may be a pipe, or - for standard input. Where the target's column is there, a line\n"
            "n=... rmse=... mae=... nlpd=... coverage95=... is printed as well: on standard output with\n"
            "--out FILE.csv, else on standard error.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, paths);
    if (result == GO_ON) result = parse_dialect(&d, &how);
    if (result == GO_ON) result = keep_apart("--out", out, "MODEL", paths[0]);
    if (result == GO_ON) result = keep_apart("--out", out, "DATA.csv", paths[1]);
    if (result != GO_ON) return result;
    if (!out) out = "-";
    ct_device *device;
    ct_gp *gp;
    prediction p = { 0 };
    result = model_load(device_name, paths[0], &device, &gp);
    if (result == GO_ON) result = prediction_make(&p, gp, paths[1], &how);
    if (result == GO_ON) result = write_rows(&p, out);
    if (result == GO_ON) {
        frame_tell_missing(&p.data, "%lld rows have a missing input: their prediction is empty");
        print_score(&p, ct_gp_output_name(gp), json != NULL, is_standard(out) ? stderr : stdout);
        result = CODE_OK;
    }
    prediction_free(&p);
    ct_gp_free(gp);
    ct_device_close(device);
    return result;
}
