/* ctgp append: adds rows to a model and keeps its parameters. */
#include "ctgp.h"

#include <math.h>
#include <string.h>

/* -- rows of all outputs --------------------------------------------------------------------------------- */

/* The values of output j in all rows of the table, into *y (rows, p), which the first call allocates. */
static void read_output(ctgp *c, frame *f, const model_file *m, source *t, const ct_csv_options *how,
                        int64_t j, int64_t *cols, double **y)
{
    const ct_gp *gp = m->gp[j];
    const int64_t d = ct_gp_dims(gp);
    frame_model(c, f, gp, t, how, cols);
    frame_needs(c, f, ct_gp_output(gp)->name);
    frame_complete(c, f, cols, d + 1);
    if (!going(c)) return;
    check_target(c, f, cols[d], ct_gp_transform(gp).kind);
    const int64_t rows = ct_table_rows(f->table);
    if (!*y) *y = take(c, rows, (size_t)m->n * sizeof **y, "rows");
    for (int64_t i = 0; i < rows && going(c); i++) (*y)[i * m->n + j] = ct_table_at(f->table, i, cols[d]);
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

/* *Y (rows, p), NaN where a value is missing. Rows without any value are left out; for shared outputs, rows
 * without all values. */
static void frame_outputs(ctgp *c, frame *f, const model_file *m, source *t, const ct_csv_options *how,
                          ct_tensor **X, ct_tensor **Y, ct_tensor **noise)
{
    if (!going(c)) return;
    const int64_t d = ct_gp_dims(m->gp[0]);
    double *y = NULL;
    int64_t *cols = take(c, d + 2, sizeof *cols, "columns");
    for (int64_t j = m->n - 1; j >= 0; j--) read_output(c, f, m, t, how, j, cols, &y);
    if (!going(c)) return;
    const int64_t told = cols[d + 1];
    if (told >= 0) cols[d] = told;
    frame_complete(c, f, cols, told >= 0 ? d + 1 : d);
    if (going(c)) keep_learnable(f, m, y);
    if (f->n_rows == 0)
        fail(c, CODE_DATA, "%s: no row has a value in every column that the model uses", f->path);
    *X = frame_tensor(c, f, cols, d, ct_gp_dtype(m->gp[0]));
    if (going(c)) *Y = own_tensor(c, m->device, ct_from(m->device, CT_F64, ct_shape2(f->n_rows, m->n), y));
    frame_take_noise(c, f, m->gp[0], told, true, noise);
}

/* -- the command ----------------------------------------------------------------------------------------- */

/* Adds the rows of `path` to the model and saves it, without a factor if its file had none. If it is saved in
 * place, the caller took the lock before loading it, so that each of several appends at once adds to what the
 * one before has saved. */
static void append(ctgp *c, model_file *m, const char *path, const ct_csv_options *how, const char *out)
{
    if (!going(c)) return;
    source t;
    frame data = { 0 };
    ct_tensor *X = NULL, *Y = NULL, *noise = NULL;
    const ct_gp_save_options saving = { .no_factor = !m->factor };
    source_open(c, &t, m->device, path);
    frame_outputs(c, &data, m, &t, how, &X, &Y, &noise);
    source_close(&t);
    if (going(c) && ct_outputs_append(m->outputs, X, Y, noise)) fail_device(c, m->device, NULL);
    signals_hold(out);
    if (going(c) && ct_outputs_save(m->outputs, out, &saving)) fail_device(c, m->device, NULL);
    signals_release();
    if (!going(c)) return;
    frame_tell_missing(&data, "%lld of %lld rows are left out: a value is missing");
    say_line("n=%lld appended=%lld nlml=%.6f model=%s", (long long)ct_outputs_values(m->outputs),
             (long long)data.n_rows, ct_outputs_nlml(m->outputs), out);
    end_output_of_model(c, out);
}

static void release_lock(void *lock) { ct_file_lock_give(lock); }

static void take_lock(ctgp *c, ct_device *device, const char *path)
{
    ct_file_lock *lock = ct_file_lock_take(device, path);
    if (lock) own(c, lock, release_lock);
    if (ct_last_status(device)) fail_device(c, device, NULL);
}

void run_append(ctgp *c, int argc, char **argv)
{
    const char *model_path = NULL, *device_name = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--model", "FILE", "where to write the new model; required, may be MODEL itself", &model_path },
        DIALECT_OPTIONS(d),
        DEVICE_OPTION(device_name),
    };
    const command usage = {
        .name = "append",
        .arguments = "MODEL NEW.csv",
        .summary = "Adds rows to a model. Nothing is fitted: parameters and scales stay as they are.",
        .details = "Columns are found by their names, in any order. Rows with a missing value are left out.\n"
                   "The result is the model of all rows with these parameters. The time grows with the "
                   "square of the\n"
                   "rows instead of the cube.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    parse_arguments(c, &usage, argc, argv, paths);
    parse_dialect(c, &d, &how);
    if (going(c) && !model_path) fail(c, CODE_USAGE, "--model FILE says where the new model goes");
    keep_apart(c, "--model", model_path, "NEW.csv", paths[1]);
    if (!going(c)) return;
    ct_device *device = open_device(c, device_name);
    model_file m;
    /* Takes the lock of the output in any case, since whether the two paths are one file can change between
     * two calls of stat. */
    if (going(c) && is_file(model_path)) take_lock(c, device, model_path);
    model_open(c, &m, device_name, paths[0], NULL, false);
    append(c, &m, paths[1], &how, model_path);
}
