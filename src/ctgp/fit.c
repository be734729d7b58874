/* ctgp fit: a model from a CSV file. */
#include "fit.h"

#include <stdlib.h>

/* -- one target ------------------------------------------------------------------------------------------ */

void lesson_free(lesson *l)
{
    free(l->f.rows);
    free(l->h.rows);
    ct_gp_free(l->gp);
    *l = (lesson){ 0 };
}

int fit_tell(ctgp *c, const settings *s, const lesson *l, const int64_t *cols, json *j)
{
    if (!going(c)) return c->code;
    trend t;
    score test = { 0 };
    outliers far = { 0 };
    int result = read_trend(c, l->gp, &t);
    if (result == GO_ON) result = fit_score(c, &l->f, &l->h, cols, l->gp, &test);
    if (result == GO_ON) result = outliers_find(c, &far, l->gp, &l->f);
    const fit_result r = { l->gp, &l->e, &t, &far, ct_gp_nlml_value(l->gp), test };
    if (result == GO_ON && s->json)
        fit_json_result(s, &r, j);
    else if (result == GO_ON)
        fit_print_result(s, &r);
    outliers_free(&far);
    return result;
}

/* What is fitted, and how. */
typedef struct plan {
    ct_kernel *kernel; /* NULL: one is chosen */
    ct_gp_options model;
    ct_gp_choose_options how;
} plan;

int fit_parse_kernel(ctgp *c, const settings *s, const ct_column *inputs, int64_t d, ct_kernel **kernel)
{
    if (!going(c)) return c->code;
    *kernel = s->kernel ? ct_kernel_parse_named(s->kernel, inputs, d) : NULL;
    if (!s->kernel || !ct_kernel_status(*kernel)) return GO_ON;
    const int result = fail_message(c, ct_kernel_status(*kernel) == CT_ENOMEM ? CODE_MEMORY : CODE_USAGE,
                                    NULL, ct_kernel_message(*kernel));
    ct_kernel_free(*kernel);
    *kernel = NULL;
    return result;
}

/* Learns the chosen rows: inputs cols[0..d), target cols[d], noise cols[d + 1] if a column gives it. Takes
 * the plan's kernel over. */
static int fit_rows(ctgp *c, const settings *s, lesson *l, const int64_t *cols, int64_t d, plan p)
{
    const frame *f = &l->f;
    ct_tensor *X = frame_tensor(f, cols, d, s->dtype),
              *y = target_tensor(f, cols[d], s->gp.transform, s->dtype), *noise = NULL;
    ct_column of_noise = { 0 };
    int result = X && y ? GO_ON : fail_device(c, f->device, NULL);
    if (result == GO_ON && noise_column(s->gp.noise, s->noise_name))
        result = frame_noise(c, f, cols[d + 1], s->gp.noise, s->noise_name, NULL, &noise);
    if (noise) {
        of_noise = *ct_table_column(f->table, cols[d + 1]);
        of_noise.name = s->noise_name;
        p.model.noise_column = &of_noise;
    }
    *(s->gp.noise == CT_NOISE_BY_LEVEL ? &p.model.noise_levels : &p.model.noise_variances) = noise;
    if (result == GO_ON) result = fit_check_held(c, s, f, &l->h, cols, d);
    if (result == GO_ON)
        result = train(c, X, y, p.kernel, &s->limits, &p.model, &p.how, s->patience, &l->gp, &l->e);
    else
        ct_kernel_free(p.kernel);
    if (result == CODE_DATA && p.model.basis && ct_last_status(f->device) == CT_EFORMAT)
        c->code = result = CODE_USAGE;
    if (result == GO_ON && !s->season && !l->e.seasons) season_hint(l->gp, X, y, s->kernel);
    ct_release(X);
    ct_release(y);
    ct_release(noise);
    return result;
}

int fit_learn(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
              ct_gp_options options, lesson *l)
{
    if (!going(c)) return c->code;
    const ct_column output = *ct_table_column(f->table, cols[d]);
    plan p = { .model = options, .how.fit = s->fit };
    *l = (lesson){ .f = *f };
    l->f.rows = NULL;
    p.model.output = &output;
    int result = fit_parse_kernel(c, s, options.inputs, d, &p.kernel);
    if (result == GO_ON) result = season_settings(c, s->season, options.inputs, d, &p.how);
    if (result == GO_ON) result = check_mean(c, &p.model, options.inputs, d);
    if (result == GO_ON)
        result = fit_choose_rows(c, s, &l->f, cols, d, 1, false, &l->h, &p.model.rows_of_table);
    if (result == GO_ON && p.kernel && !s->restarts_given) season_restarts(p.kernel, &p.how.fit);
    if (result == GO_ON) return fit_rows(c, s, l, cols, d, p);
    ct_kernel_free(p.kernel);
    return result;
}

/* The model is written before it is scored, so that a second Ctrl-C does not lose it. */
static int fit_one(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                   const ct_gp_options *options)
{
    lesson l;
    json j = { .to = stdout };
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    int result = fit_learn(c, s, f, cols, d, *options, &l);
    signals_hold(s->model);
    if (result == GO_ON && ct_gp_save_with(l.gp, s->model, &how)) result = fail_device(c, f->device, NULL);
    signals_release();
    if (result == GO_ON) {
        result = fit_tell(c, s, &l, cols, &j);
        if (result == GO_ON && s->json) json_end(&j, false);
        end_output_of_model(c, s->model);
        result = c->code;
    }
    lesson_free(&l);
    return result;
}

/* -- the file -------------------------------------------------------------------------------------------- */

static int fit_file(ctgp *c, settings *s, ct_device *device)
{
    frame f = { 0 };
    int64_t d = 0, *cols = NULL;
    ct_gp_options options = s->gp;
    int result = fit_read_columns(c, s, device, &f, &cols, &d);
    ct_column *inputs = malloc((size_t)(d + 1) * sizeof *inputs);
    if (result == GO_ON && !inputs) result = fail(c, CODE_MEMORY, "no memory for %lld columns", (long long)d);
    for (int64_t j = 0; j < d && result == GO_ON; j++) inputs[j] = *ct_table_column(f.table, cols[j]);
    options.inputs = inputs;
    if (result == GO_ON) result = (s->n_targets > 1 ? fit_outputs : fit_one)(c, s, &f, cols, d, &options);
    free(inputs);
    frame_close(&f);
    free(cols);
    free_names(s->targets);
    return result;
}

int run_fit(ctgp *c, int argc, char **argv)
{
    settings s = { 0 };
    int result = fit_read_settings(c, argc, argv, &s);
    if (result == GO_ON) result = ct_group_rank(many()) ? GO_ON : fit_check_writable(c, s.model);
    if (result == GO_ON) result = many_device(c, &s.device);
    if (result != GO_ON) return result;
    s.gp.group = many();
    ct_device *device = ct_device_open(s.device);
    result = ct_device_status(device) ? fail_device(c, device, NULL) : fit_file(c, &s, device);
    ct_device_close(device);
    return result;
}
