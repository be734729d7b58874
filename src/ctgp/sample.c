/* ctgp sample: joint draws at the rows of a CSV file. */
#include "commands.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "context.h"
#include "failure.h"
#include "frame.h"
#include "missing.h"
#include "model.h"
#include "open.h"
#include "options.h"
#include "source.h"
#include "table.h"
#include "text.h"

/* What a command line asks for. */
typedef struct request {
    const char *files[MOST_FILES], *out; /* the model, the table; where the draws go */
    long count, seed;
    bool noisy;
} request;

/* Writes a row for each row of the data and a column for each draw, empty where an input is missing. */
static void write_draws(ctgp *c, const frame *data, const ct_tensor *samples, const char *out)
{
    const int64_t draws = ct_tensor_dim(samples, 0), m = data->n_rows;
    sheet to = { .rows = ct_table_rows(data->table) };
    const double *drawn = tensor_values(c, samples);
    for (int64_t j = 0; j < draws; j++) {
        double *x = sheet_values(c, &to, "draw%lld", (long long)j);
        for (int64_t k = 0; k < m; k++) x[data->rows[k]] = drawn[j * m + k];
    }
    sheet_write(c, &to, out);
}

/* Adds the noise of each row to the draws of the function. */
static void add_noise(ctgp *c, ct_gp *gp, const ct_tensor *X, const ct_tensor *given, long seed,
                      ct_tensor *samples)
{
    const int64_t draws = ct_tensor_dim(samples, 0), m = ct_tensor_dim(samples, 1);
    ct_tensor *noise = new_tensor(c, ct_shape1(m));
    check(c, ct_gp_noise_at(gp, X, given, noise));
    double *x = tensor_values(c, samples);
    const double *variance = tensor_values(c, noise);
    for (int64_t i = 0; i < draws; i++) { /* ct_gp_sample counts its streams from 0 */
        const owned *before = c->owned;
        const double *e = tensor_values(
            c, own_tensor(c, ct_rand_normal(c->device, CT_F64, ct_shape1(m), (uint64_t)seed, ~(uint64_t)i)));
        for (int64_t j = 0; j < m; j++) x[i * m + j] += sqrt(variance[j]) * e[j];
        give_back(c, before);
    }
    check(c, ct_write(samples, x, (size_t)(draws * m) * sizeof *x));
}

static void draw(ctgp *c, const request *r)
{
    const model_file model = model_open(c, r->files[0], true);
    ct_gp *gp = model.gp[0];
    frame data;
    ct_tensor *given = NULL;
    source *t = source_open(c, r->files[1]);
    const ct_tensor *X = frame_inputs(c, &data, gp, t, r->noisy ? &given : NULL);
    source_close(c, t);
    ct_tensor *samples = new_tensor(c, ct_shape2(r->count, data.n_rows));
    check(c, ct_gp_sample(gp, X, r->noisy && !given, (uint64_t)r->seed, samples));
    if (given) add_noise(c, gp, X, given, r->seed, samples);
    check(c, ct_gp_untransform(gp, samples));
    write_draws(c, &data, samples, r->out);
    print_missing(c, &data, NULL, 0, "%lld of %lld rows lack an input, so that their draws are empty: %s%s");
    say(is_standard(r->out) ? stderr : stdout, "samples=%ld of=%s rows=%lld out=%s\n", r->count,
        r->noisy ? "observations" : "function", (long long)data.n_rows, r->out);
}

void run_sample(ctgp *c, int argc, char **argv)
{
    request r = { .count = 1 };
    const option options[] = {
        { "--samples", "S", "number of draws; 1 unless given", .whole = &r.count, .least = 1,
          .most = 1000000 },
        { "--seed", "K", "the same seed gives the same draws; 0 unless given", .whole = &r.seed,
          .most = LONG_MAX },
        { "--out", "FILE.csv", "where to write the columns draw0, draw1, ...; required; - is standard output",
          .text = &r.out, .output = true, .required = "--out FILE.csv says where the draws go" },
        { "--noisy", NULL, "draw new observations, with noise, instead of the function", .flag = &r.noisy },
    };
    const command usage = {
        .name = "sample",
        .files = { "MODEL", "DATA.csv" },
        .needed = 2,
        .summary = "Draws the function, without noise, at all rows together: a column for each draw.",
        .details =
            "The draws scatter less than the intervals of predict, which are of new observations; --noisy\n"
            "draws those. The line that is printed says which: of=function or of=observations.\n"
            "Rows are drawn together, so that differences between them mean something. That takes memory\n"
            "with the square of their number. A row with a missing input gets empty fields.",
        .shared = OF_TABLES | OF_OUTPUTS | OF_ROWS | OF_DEVICE,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, r.files);
    draw(c, &r);
}
