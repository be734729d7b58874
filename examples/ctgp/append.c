/* ctgp append: adds rows to a model and keeps its parameters. */
#include "ctgp.h"

/* Adds the rows of `path` to the model and saves it, without a factor where its file had none. In place the
 * caller takes the lock before loading the model, so that of several appends at once each adds to what the
 * one before has saved. */
static int append(ct_gp *gp, const char *path, const ct_csv_options *how, const char *model)
{
    frame data = { 0 };
    ct_tensor *X = NULL, *y = NULL, *noise = NULL;
    const ct_gp_save_options saving = { .no_factor = !ct_gp_has_factor(gp) };
    int result = frame_inputs(&data, gp, path, how, &X, &y, &noise);
    if (result == GO_ON && (ct_gp_append(gp, X, y, noise) || ct_gp_save_with(gp, model, &saving)))
        result = fail_device(ct_gp_device(gp), NULL);
    if (result == GO_ON) {
        frame_tell_missing(&data, "%lld of %lld rows are left out: a value is missing");
        printf("n=%lld appended=%lld nlml=%.6f model=%s\n", (long long)ct_gp_points(gp),
               (long long)data.n_rows, ct_gp_nlml_value(gp), model);
    }
    ct_release(X);
    ct_release(y);
    ct_release(noise);
    frame_close(&data);
    return result;
}

int run_append(int argc, char **argv)
{
    const char *model = NULL, *device_name = NULL, *paths[2];
    dialect d = { 0 };
    ct_csv_options how;
    const option options[] = {
        { "--model", "FILE", "where to write the new model; required, may be MODEL itself", &model },
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
    if (result == GO_ON && !model) result = fail(CODE_USAGE, "--model FILE says where the new model goes");
    if (result == GO_ON) result = keep_apart("--model", model, "NEW.csv", paths[1]);
    if (result != GO_ON) return result;
    ct_device *device = ct_device_open(device_name);
    ct_file_lock *lock = NULL;
    ct_gp *gp = NULL;
    /* Takes the lock of the output in any case, since whether the two paths are one file can change between
     * two calls of stat. */
    if (is_file(model) && !ct_device_status(device)) lock = ct_file_lock_take(device, model);
    if (!ct_last_status(device)) gp = ct_gp_load(device, paths[0]);
    result = gp ? append(gp, paths[1], &how, model) : fail_device(device, NULL);
    ct_gp_free(gp);
    ct_file_lock_give(lock);
    ct_device_close(device);
    return result == GO_ON ? CODE_OK : result;
}
