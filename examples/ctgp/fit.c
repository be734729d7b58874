/* ctgp fit: a model from a CSV file. */
#include "fit.h"

#include <stdlib.h>

/* The model is written before it is scored, so that a second Ctrl-C does not lose it. */
static int save(const settings *s, const frame *f, const held *h, const int64_t *cols, ct_gp *gp,
                const effort *e)
{
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    trend t;
    score test = { 0 };
    outliers far = { 0 };
    int result = read_trend(gp, &t);
    if (result == GO_ON && ct_gp_save_with(gp, s->model, &how)) result = fail_device(ct_gp_device(gp), NULL);
    if (result == GO_ON) result = fit_score(f, h, cols, gp, &test);
    if (result == GO_ON) result = outliers_find(&far, gp, f);
    if (result == GO_ON) {
        fit_print_result(s, gp, e, &t, &far, ct_gp_nlml_value(gp), test);
        result = CODE_OK;
    }
    outliers_free(&far);
    return result;
}

/* What is fitted to the data, and how. */
typedef struct plan {
    ct_kernel *kernel; /* NULL: one is chosen */
    ct_gp_options model;
    ct_gp_choose_options how;
} plan;

static int parse_kernel(const settings *s, const ct_column *inputs, int64_t d, ct_kernel **kernel)
{
    *kernel = s->kernel ? ct_kernel_parse_named(s->kernel, inputs, d) : NULL;
    if (!s->kernel || !ct_kernel_status(*kernel)) return GO_ON;
    const int result = fail(ct_kernel_status(*kernel) == CT_ENOMEM ? CODE_MEMORY : CODE_USAGE, "%s",
                            ct_kernel_message(*kernel));
    ct_kernel_free(*kernel);
    *kernel = NULL;
    return result;
}

/* Model of the chosen rows of cols[0..d), the target cols[d], and cols[d + 1] where a column tells the noise;
 * scored on the rows that are held back. Takes the plan's kernel over. */
static int fit_frame(const settings *s, frame *f, const held *h, const int64_t *cols, int64_t d, plan p)
{
    ct_tensor *X = frame_tensor(f, cols, d, s->dtype),
              *y = target_tensor(f, cols[d], s->gp.transform, s->dtype), *noise = NULL;
    ct_column of_noise = { 0 };
    ct_gp *gp = NULL;
    effort e;
    int result = X && y ? GO_ON : fail_device(f->device, NULL);
    if (result == GO_ON && noise_column(s->gp.noise, s->noise_name))
        result = frame_noise(f, cols[d + 1], s->gp.noise, s->noise_name, NULL, &noise);
    if (noise) {
        of_noise = *ct_table_column(f->table, cols[d + 1]);
        of_noise.name = s->noise_name;
        p.model.noise_column = &of_noise;
    }
    *(s->gp.noise == CT_NOISE_BY_LEVEL ? &p.model.noise_levels : &p.model.noise_variances) = noise;
    if (result == GO_ON) result = fit_check_held(s, f, h, cols, d);
    if (result == GO_ON)
        result = train(X, y, p.kernel, &s->limits, &p.model, &p.how, s->patience, &gp, &e);
    else
        ct_kernel_free(p.kernel);
    if (result == CODE_DATA && p.model.basis && ct_last_status(f->device) == CT_EFORMAT) result = CODE_USAGE;
    if (result == GO_ON && !s->season && !e.seasons) season_hint(gp, X, y, s->kernel);
    ct_release(X);
    ct_release(y);
    ct_release(noise);
    if (result == GO_ON) result = save(s, f, h, cols, gp, &e);
    ct_gp_free(gp);
    return result;
}

static int fit_file(const settings *s, ct_device *device)
{
    frame f = { 0 };
    held h = { 0 };
    int64_t d = 0, *cols = NULL;
    plan p = { .model = s->gp, .how.fit = s->fit };
    int result = fit_read_columns(s, device, &f, &cols, &d);
    ct_column *inputs = malloc((size_t)(d + 1) * sizeof *inputs);
    if (result == GO_ON && !inputs) result = fail(CODE_MEMORY, "no memory for %lld columns", (long long)d);
    for (int64_t j = 0; j <= d && result == GO_ON; j++) inputs[j] = *ct_table_column(f.table, cols[j]);
    p.model.inputs = inputs;
    p.model.output = inputs + d;
    if (result == GO_ON) result = parse_kernel(s, inputs, d, &p.kernel);
    if (result == GO_ON) result = season_settings(s->season, inputs, d, &p.how);
    if (result == GO_ON) result = check_mean(&p.model, inputs, d);
    if (result == GO_ON) result = fit_choose_rows(s, &f, cols, d, &h, &p.model.rows_of_table);
    if (result == GO_ON && p.kernel && !s->restarts_given) season_restarts(p.kernel, &p.how.fit);
    if (result == GO_ON)
        result = fit_frame(s, &f, &h, cols, d, p);
    else
        ct_kernel_free(p.kernel);
    free(inputs);
    free(h.rows);
    frame_close(&f);
    free(cols);
    return result;
}

int run_fit(int argc, char **argv)
{
    settings s = { 0 };
    int result = fit_read_settings(argc, argv, &s);
    if (result == GO_ON) result = many_share(ct_group_rank(many()) ? GO_ON : fit_check_writable(s.model));
    if (result == GO_ON) result = many_device(&s.device);
    if (result != GO_ON) return result;
    s.gp.group = many();
    ct_device *device = ct_device_open(s.device);
    result = ct_device_status(device) ? fail_device(device, NULL) : fit_file(&s, device);
    ct_device_close(device);
    return result;
}
