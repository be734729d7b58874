/* ctgp append: adds rows to a model and keeps its parameters. */
#include "commands.h"

#include <stdio.h>
#include <sys/stat.h>

#include "context.h"
#include "failure.h"
#include "frame.h"
#include "missing.h"
#include "model.h"
#include "open.h"
#include "options.h"
#include "score.h"
#include "source.h"
#include "target.h"
#include "text.h"

/* -- rows of all outputs --------------------------------------------------------------------------------- */

/* New rows, as the model learns them. */
typedef struct new_rows {
    frame data;
    ct_tensor *X, *Y, *noise; /* Y (rows, p) is NaN where a value is missing; noise may be NULL */
} new_rows;

/* Rows without any value are left out; for shared outputs, rows without all values. */
static new_rows read_rows(ctgp *c, const model_file *m, source *t)
{
    ct_gp *const *gp = m->gp;
    const int64_t d = ct_gp_dims(gp[0]), p = m->n;
    new_rows r = { .data = frame_model(c, gp, p, t) };
    const int64_t *targets = r.data.cols, *inputs = targets + p, of_noise = inputs[d];
    for (int64_t j = 0; j < p; j++) frame_column(c, &r.data, ct_gp_output(gp[j])->name);
    frame_complete(c, &r.data, inputs, of_noise < 0 ? d : d + 1);
    frame_keep(c, &r.data, targets, p, ct_outputs_kind_of(m->outputs) == CT_OUTPUTS_SHARED ? p : 1);
    for (int64_t j = 0; j < p; j++) check_target(c, &r.data, targets[j], ct_gp_transform(gp[j]).kind);
    if (r.data.n_rows == 0)
        fail(c, CODE_DATA, "%s: no row has a value in every column that the model uses", r.data.path);
    r.X = frame_tensor(c, &r.data, inputs, d, ct_gp_dtype(gp[0]));
    r.Y = frame_tensor(c, &r.data, targets, p, CT_F64);
    r.noise = frame_take_noise(c, &r.data, gp[0], of_noise, true);
    return r;
}

/* Fails for a value further than 8 standard deviations from its prediction. */
static void check_values(ctgp *c, const model_file *m, const new_rows *r)
{
    const double most = 8;
    for (int64_t j = 0; j < m->n; j++) {
        prediction p = { .data = r->data, .target = r->data.cols[j] };
        prediction_fill(c, &p, m->gp[j], r->X, r->noise);
        const row_loss *l = prediction_losses(c, &p);
        for (int64_t i = 0; i < r->data.n_rows; i++)
            if (l[i].sigmas > most)
                fail_cell(c, &r->data, r->data.rows[i], p.target,
                          text_of(c,
                                  "%s is %.3g standard deviations from what the model predicts; --force "
                                  "takes it",
                                  number_text(c, l[i].y), l[i].sigmas));
    }
}

/* -- the command ----------------------------------------------------------------------------------------- */

/* Adds the rows of `path` to the model and saves it, without a factor if its file had none. If it is saved in
 * place, the caller took the lock before loading it, so that each of several appends at once adds to what the
 * one before has saved. */
static void append(ctgp *c, const model_file *m, const char *path, const char *out, bool force)
{
    const ct_gp_save_options saving = { .no_factor = !m->factor };
    source *t = source_open(c, path);
    const new_rows r = read_rows(c, m, t);
    source_close(c, t);
    if (!force) check_values(c, m, &r);
    check(c, ct_outputs_append(m->outputs, r.X, r.Y, r.noise));
    save_outputs(c, m->outputs, out, &saving);
    print_missing(c, &r.data, NULL, 0, "%lld of %lld rows are left out, a value is missing: %s%s");
    say(stdout, "n=%lld appended=%lld nlml=%.6f model=%s\n", (long long)ct_outputs_values(m->outputs),
        (long long)r.data.n_rows, ct_outputs_nlml(m->outputs), out);
}

static void release_lock(void *lock) { ct_file_lock_give(lock); }

/* Only a regular file, through links or not, has a lock. */
static void take_lock(ctgp *c, const char *path)
{
    struct stat info;
    if (stat(path, &info) || !S_ISREG(info.st_mode)) return;
    ct_file_lock *lock = ct_file_lock_take(c->device, path);
    if (lock) own(c, lock, release_lock);
    check(c, ct_last_status(c->device));
}

void run_append(ctgp *c, int argc, char **argv)
{
    const char *files[MOST_FILES], *out = NULL;
    bool force = false;
    const option options[] = {
        { "--model", "FILE", "where to write the new model; required, may be MODEL itself", .text = &out,
          .output = true, .required = "--model FILE says where the new model goes" },
        { "--force", NULL, "append values that lie far from what the model predicts, too", .flag = &force },
    };
    const command usage = {
        .name = "append",
        .files = { "MODEL", "NEW.csv" },
        .needed = 2,
        .inputs_from = 1,
        .summary = "Adds rows to a model. Nothing is fitted: parameters and scales stay as they are.",
        .details =
            "Columns are found by their names, in any order. Rows with a missing value are left out.\n"
            "A value further than 8 standard deviations from its prediction is refused without --force.\n"
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
    take_lock(c, out);
    const model_file m = model_open(c, files[0], false);
    append(c, &m, files[1], out, force);
}
