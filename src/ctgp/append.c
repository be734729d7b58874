/* ctgp append: adds rows to a model and keeps its parameters. */
#include "ctgp.h"

#include <math.h>
#include <string.h>

/* -- rows of all outputs --------------------------------------------------------------------------------- */

/* Reads the table by the model of output j, whose values in all rows go to y (rows, p), which the first call
 * allocates. */
static frame read_output(ctgp *c, const model_file *m, source *t, int64_t j, int64_t *cols, double **y)
{
    const ct_gp *gp = m->gp[j];
    const int64_t d = ct_gp_dims(gp);
    frame f = frame_model(c, gp, t, cols);
    frame_column(c, &f, ct_gp_output(gp)->name);
    frame_complete(c, &f, cols, d + 1);
    check_target(c, &f, cols[d], ct_gp_transform(gp).kind);
    const int64_t rows = ct_table_rows(f.table);
    if (!*y) *y = take(c, rows, (size_t)m->n * sizeof **y, "rows");
    for (int64_t i = 0; i < rows; i++) (*y)[i * m->n + j] = ct_table_at(f.table, i, cols[d]);
    return f;
}

/* Keeps the chosen rows that an output can learn. y: the values of all rows of the table, then of these. */
static void keep_learnable(frame *f, const model_file *m, double *y)
{
    const bool all = ct_outputs_kind_of(m->outputs) == CT_OUTPUTS_SHARED;
    int64_t kept = 0;
    for (int64_t k = 0; k < f->n_rows; k++) {
        const double *row = y + f->rows[k] * m->n;
        int64_t there = 0;
        for (int64_t j = 0; j < m->n; j++) there += !isnan(row[j]);
        if (there < (all ? m->n : 1)) continue;
        memmove(y + kept * m->n, row, (size_t)m->n * sizeof *y);
        f->rows[kept++] = f->rows[k];
    }
    f->n_rows = kept;
}

/* New rows, as the model learns them. */
typedef struct new_rows {
    frame data;
    ct_tensor *X, *Y, *noise; /* Y (rows, p) is NaN where a value is missing; noise may be NULL */
} new_rows;

/* Rows without any value are left out; for shared outputs, rows without all values. */
static new_rows read_rows(ctgp *c, const model_file *m, source *t)
{
    const ct_gp *gp = m->gp[0];
    const int64_t d = ct_gp_dims(gp);
    double *y = NULL;
    new_rows r;
    int64_t *cols = take(c, d + 2, sizeof *cols, "columns");
    for (int64_t j = m->n - 1; j >= 0; j--) r.data = read_output(c, m, t, j, cols, &y);
    frame *f = &r.data;
    const int64_t of_noise = cols[d + 1];
    cols[d] = of_noise;
    frame_complete(c, f, cols, of_noise >= 0 ? d + 1 : d);
    keep_learnable(f, m, y);
    if (f->n_rows == 0)
        fail(c, CODE_DATA, "%s: no row has a value in every column that the model uses", f->path);
    r.X = frame_tensor(c, f, cols, d, ct_gp_dtype(gp));
    r.Y = own_tensor(c, ct_from(c->device, CT_F64, ct_shape2(f->n_rows, m->n), y));
    r.noise = frame_take_noise(c, f, gp, of_noise, true);
    return r;
}

/* -- the command ----------------------------------------------------------------------------------------- */

/* Adds the rows of `path` to the model and saves it, without a factor if its file had none. If it is saved in
 * place, the caller took the lock before loading it, so that each of several appends at once adds to what the
 * one before has saved. */
static void append(ctgp *c, const model_file *m, const char *path, const char *out)
{
    const ct_gp_save_options saving = { .no_factor = !m->factor };
    source *t = source_open(c, path);
    const new_rows r = read_rows(c, m, t);
    source_close(c, t);
    check(c, ct_outputs_append(m->outputs, r.X, r.Y, r.noise));
    save_outputs(c, m->outputs, out, &saving);
    frame_tell_missing(&r.data, "%lld of %lld rows are left out: a value is missing");
    say(stdout, "n=%lld appended=%lld nlml=%.6f model=%s\n", (long long)ct_outputs_values(m->outputs),
        (long long)r.data.n_rows, ct_outputs_nlml(m->outputs), out);
}

static void release_lock(void *lock) { ct_file_lock_give(lock); }

static void take_lock(ctgp *c, const char *path)
{
    ct_file_lock *lock = ct_file_lock_take(c->device, path);
    if (lock) own(c, lock, release_lock);
    check(c, ct_last_status(c->device));
}

void run_append(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL;
    const option options[] = {
        { "--model", "FILE", "where to write the new model; required, may be MODEL itself", .text = &out,
          .output = true, .required = "--model FILE says where the new model goes" },
    };
    const command usage = {
        .name = "append",
        .files = { "MODEL", "NEW.csv" },
        .needed = 2,
        .inputs_from = 1,
        .summary = "Adds rows to a model. Nothing is fitted: parameters and scales stay as they are.",
        .details = "Columns are found by their names, in any order. Rows with a missing value are left out.\n"
                   "The result is the model of all rows with these parameters. The time grows with the "
                   "square of the\n"
                   "rows instead of the cube.",
        .shared = OF_TABLES | OF_DEVICE,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, files);
    open_device(c);
    /* Takes the lock of the output in any case, since whether the two paths are one file can change between
     * two calls of stat. */
    if (is_file(out)) take_lock(c, out);
    const model_file m = model_open(c, files[0], false);
    append(c, &m, files[1], out);
}
