/* ctgp sample: joint draws at the rows of a CSV file. */
#include "ctgp.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The names draw0, draw1, ... */
static char **draw_names(ctgp *c, int64_t n)
{
    enum { LONGEST = 24 };
    char **names = take(c, n, sizeof *names, "names"), *text = take(c, n, LONGEST, "names");
    for (int64_t i = 0; i < n && text; i++) {
        names[i] = text + i * LONGEST;
        snprintf(names[i], LONGEST, "draw%lld", (long long)i);
    }
    return names;
}

/* Writes a row for each row of the data and a column for each draw, empty where an input is missing. */
static void write_draws(ctgp *c, const frame *data, const ct_tensor *samples, const char *out)
{
    if (!going(c)) return;
    int64_t draws = ct_tensor_dim(samples, 0), m = data->n_rows, all = ct_table_rows(data->table);
    double *drawn = take(c, m, (size_t)draws * sizeof *drawn, "rows of draws");
    double *rows = take(c, all, (size_t)draws * sizeof *rows, "rows of draws");
    char **names = draw_names(c, draws);
    if (!going(c)) return;
    if (ct_read(samples, drawn, (size_t)(draws * m) * sizeof *drawn)) fail_device(c, data->device, NULL);
    for (int64_t i = 0; i < draws * all; i++) rows[i] = NAN;
    for (int64_t k = 0; k < m; k++)
        for (int64_t j = 0; j < draws; j++) rows[data->rows[k] * draws + j] = drawn[j * m + k];
    table_write(c, data->device, NULL, rows, all, draws, (const char *const *)names, out);
}

/* Adds the noise of each row to the draws of the function. */
static ct_status add_noise(ct_gp *gp, const ct_tensor *X, const ct_tensor *given, long seed,
                           ct_tensor *samples)
{
    ct_device *device = ct_gp_device(gp);
    const int64_t draws = ct_tensor_dim(samples, 0), m = ct_tensor_dim(samples, 1);
    double *x = malloc((size_t)((draws + 2) * m + 1) * sizeof *x);
    ct_tensor *noise = ct_empty(device, CT_F64, ct_shape1(m));
    if (!x || !noise) {
        free(x);
        ct_release(noise);
        return ct_device_fail(device, CT_ENOMEM, "no memory for %lld draws", (long long)draws);
    }
    double *variance = x + draws * m, *e = variance + m;
    const size_t row = (size_t)m * sizeof *x;
    ct_status s = ct_gp_noise_at(gp, X, given, noise);
    if (!s) s = ct_read(noise, variance, row);
    if (!s) s = ct_read(samples, x, (size_t)draws * row);
    for (int64_t i = 0; i < draws && !s; i++) { /* ct_gp_sample counts its streams from 0 */
        ct_tensor *normal = ct_rand_normal(device, CT_F64, ct_shape1(m), (uint64_t)seed, ~(uint64_t)i);
        s = normal ? ct_read(normal, e, row) : ct_last_status(device);
        for (int64_t j = 0; j < m && !s; j++) x[i * m + j] += sqrt(variance[j]) * e[j];
        ct_release(normal);
    }
    if (!s) s = ct_write(samples, x, (size_t)draws * row);
    free(x);
    ct_release(noise);
    return s;
}

static void draw(ctgp *c, const model_file *m, const char *path, const ct_csv_options *how, long count,
                 long seed, bool noisy, const char *out)
{
    if (!going(c)) return;
    ct_gp *gp = m->gp[0];
    ct_device *device = m->device;
    frame data = { 0 };
    ct_tensor *X = NULL, *given = NULL;
    source t;
    source_open(c, &t, device, path);
    frame_inputs(c, &data, gp, &t, how, &X, NULL, noisy ? &given : NULL);
    source_close(&t);
    if (!going(c)) return;
    ct_tensor *samples = own_tensor(c, device, ct_empty(device, CT_F64, ct_shape2(count, data.n_rows)));
    if (samples && (ct_gp_sample(gp, X, noisy && !given, (uint64_t)seed, samples) ||
                    (given && add_noise(gp, X, given, seed, samples)) || ct_gp_untransform(gp, samples)))
        fail_device(c, device, NULL);
    write_draws(c, &data, samples, out);
    if (!going(c)) return;
    frame_tell_missing(&data, "%lld rows have a missing input: their draws are empty");
    FILE *to = is_standard(out) ? stderr : stdout;
    say(to, "samples=%ld of=%s rows=%lld out=%s", count, noisy ? "observations" : "function",
        (long long)data.n_rows, out);
    fputc('\n', to);
}

void run_sample(ctgp *c, int argc, char **argv)
{
    const char *count_text = NULL, *seed_text = NULL, *out = NULL, *device_name = NULL, *noisy = NULL,
               *output = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--samples", "S", "number of draws; 1 unless given", &count_text },
        { "--seed", "K", "the same seed gives the same draws; 0 unless given", &seed_text },
        { "--out", "FILE.csv", "where to write the columns draw0, draw1, ...; required; - is standard output",
          &out },
        { "--noisy", NULL, "draw new observations, with noise, instead of the function", &noisy },
        DIALECT_OPTIONS(d),
        OUTPUT_OPTION(output),
        UNSEEN_OPTION(d),
        DEVICE_OPTION(device_name),
    };
    const command usage = {
        .name = "sample",
        .arguments = "MODEL DATA.csv",
        .summary = "Draws the function, without noise, at all rows together: a column for each draw.",
        .details =
            "The draws scatter less than the intervals of predict, which are of new observations; --noisy\n"
            "draws those. The line that is printed says which: of=function or of=observations.\n"
            "Rows are drawn together, so that differences between them mean something. That takes memory\n"
            "with the square of their number. A row with a missing input gets empty fields.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    long count = 1, seed = 0;
    parse_arguments(c, &usage, argc, argv, paths);
    parse_dialect(c, &d, &how);
    parse_whole(c, "--samples", count_text, 1, 1000000, &count);
    parse_whole(c, "--seed", seed_text, 0, LONG_MAX, &seed);
    if (going(c) && !out) fail(c, CODE_USAGE, "--out FILE.csv says where the draws go");
    keep_apart(c, "--out", out, "MODEL", paths[0]);
    keep_apart(c, "--out", out, "DATA.csv", paths[1]);
    model_file m;
    model_open(c, &m, device_name, paths[0], output, true);
    draw(c, &m, paths[1], &how, count, seed, noisy != NULL, out);
}
