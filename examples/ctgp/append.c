/* ctgp append: adds rows to a model and keeps its parameters. */
#include "ctgp.h"

/* Adds the rows of `path` to the model and saves it, without a factor where its file had none. In place the
 * caller takes the lock before loading the model, so that of several appends at once each adds to what the
 * one before has saved. */
static int append(model_file *m, const char *path, const ct_csv_options *how, const char *out)
{
    source t;
    frame data = { 0 };
    ct_tensor *X = NULL, *Y = NULL, *noise = NULL;
    const ct_gp_save_options saving = { .no_factor = !m->factor };
    int result = source_open(&t, m->device, path);
    if (result == GO_ON) result = frame_outputs(&data, m, &t, how, &X, &Y, &noise);
    source_close(&t);
    if (result == GO_ON &&
        (ct_outputs_append(m->outputs, X, Y, noise) || ct_outputs_save(m->outputs, out, &saving)))
        result = fail_device(m->device, NULL);
    if (result == GO_ON) {
        frame_tell_missing(&data, "%lld of %lld rows are left out: a value is missing");
        printf("n=%lld appended=%lld nlml=%.6f model=%s\n", (long long)ct_outputs_values(m->outputs),
               (long long)data.n_rows, ct_outputs_nlml(m->outputs), out);
    }
    ct_release(X);
    ct_release(Y);
    ct_release(noise);
    frame_close(&data);
    return result;
}

int run_append(int argc, char **argv)
{
    const char *model_path = NULL, *device_name = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--model", "FILE", "where to write the new model; required, may be MODEL itself", &model_path },
        DIALECT_OPTIONS(d),
        { "--device", "NAME", "cpu, cuda:0, ...; the best there is unless given", &device_name },
    };
    const command c = {
        .name = "append",
        .arguments = "MODEL NEW.csv",
        .summary =
            "Adds rows to what a model knows. Nothing is fitted: parameters and scales stay as they are.",
        .details = "Columns are found by their names, in any order; rows with a missing value are left out. "
                   "The result "
                   "is the\n"
                   "model of all rows with these parameters, in time that goes with the square of the rows "
                   "instead of the "
                   "cube.",
        .n_positional = 2,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, paths);
    if (result == GO_ON) result = parse_dialect(&d, &how);
    if (result == GO_ON && !model_path)
        result = fail(CODE_USAGE, "--model FILE says where the new model goes");
    if (result == GO_ON) result = keep_apart("--model", model_path, "NEW.csv", paths[1]);
    if (result != GO_ON) return result;
    ct_device *device = ct_device_open(device_name);
    ct_file_lock *lock = NULL;
    model_file m = { 0 };
    /* Takes the lock of the output in any case, since whether the two paths are one file can change between
     * two calls of stat. */
    if (is_file(model_path) && !ct_device_status(device)) lock = ct_file_lock_take(device, model_path);
    result = ct_last_status(device) ? fail_device(device, NULL)
                                    : model_open(&m, device_name, paths[0], NULL, false);
    if (result == GO_ON) result = append(&m, paths[1], &how, model_path);
    model_close(&m);
    ct_file_lock_give(lock);
    ct_device_close(device);
    return result == GO_ON ? CODE_OK : result;
}
