/* The columns of a prediction: mean, standard deviation, intervals and quantiles. */
#include "bands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "context.h"
#include "failure.h"
#include "options.h"

/* z with Φ(z) = p, 0 < p < 1, by bisection. */
static double normal_quantile(double p)
{
    double low = -40, high = 40;
    if (p > 0.5) return -normal_quantile(1 - p);
    for (int i = 0; i < 100; i++) {
        const double z = 0.5 * (low + high);
        *(0.5 * erfc(-z * sqrt(0.5)) < p ? &low : &high) = z;
    }
    return 0.5 * (low + high);
}

/* Writes p, or 100 p, with the fewest digits, but at least 12, that tell it from any other p. */
static void write_share(double p, bool percent, char text[CT_NUMBER_TEXT])
{
    char share[CT_NUMBER_TEXT + 4];
    double read = NAN;
    for (int digits = 12; digits <= 17 && read != p; digits++) {
        ct_number_write(percent ? 100 * p : p, digits, text);
        const int size = snprintf(share, sizeof share, "%s%s", text, percent ? "e-2" : "");
        ct_number_read(share, (size_t)size, &read);
    }
}

/* No two bands have one name. */
static void add_band(ctgp *c, const char *flag, const char *text, bands *to, double z, const char *side,
                     const char *number)
{
    band b = { .z = z };
    snprintf(b.name, sizeof b.name, "%s%s", side, number);
    for (int64_t i = 0; i < to->n; i++)
        if (!strcmp(to->at[i].name, b.name))
            fail(c, CODE_USAGE, "%s: '%s' would be a second column %s", flag, text, b.name);
    to->at[to->n++] = b;
}

bands read_bands(ctgp *c, const char *levels, const char *quantiles)
{
    const name_list level = split_names(c, levels), quantile = split_names(c, quantiles);
    bands b = { .at = take(c, 2 * level.n + quantile.n, sizeof *b.at, "intervals") };
    char number[CT_NUMBER_TEXT];
    for (int64_t i = 0; i < level.n; i++) {
        const double p = parse_share(c, "--level", level.name[i]), z = -normal_quantile(0.5 * (1 - p));
        write_share(p, true, number);
        add_band(c, "--level", level.name[i], &b, -z, "lower", number);
        add_band(c, "--level", level.name[i], &b, z, "upper", number);
    }
    for (int64_t i = 0; i < quantile.n; i++) {
        const double p = parse_share(c, "--quantiles", quantile.name[i]);
        write_share(p, false, number);
        add_band(c, "--quantiles", quantile.name[i], &b, normal_quantile(p), "q", number);
    }
    return b;
}

/* With a transform the mean is not the median. */
static void add_output(ctgp *c, sheet *to, const prediction *p, const char *prefix, const bands *b)
{
    const int64_t n = p->data.n_rows, *rows = p->data.rows;
    double *mean = sheet_values(c, to, "%smean", prefix), *std = sheet_values(c, to, "%sstd", prefix);
    for (int64_t k = 0; k < n; k++) prediction_moments(p, k, &mean[rows[k]], &std[rows[k]]);
    for (int64_t i = p->transform.kind ? -1 : 0; i < b->n; i++) {
        const band of = i < 0 ? (band){ 0, "median" } : b->at[i];
        double *x = sheet_values(c, to, "%s%s", prefix, of.name);
        for (int64_t k = 0; k < n; k++) x[rows[k]] = prediction_quantile(p, k, of.z);
    }
}

void add_outputs(ctgp *c, sheet *to, const model_file *m, const prediction *p, const bands *b)
{
    for (int64_t j = 0; j < m->n; j++) {
        const char *prefix = m->n > 1 ? text_of(c, "%s_", ct_gp_output(m->gp[j])->name) : "";
        add_output(c, to, &p[j], prefix, b);
    }
}
