/* ctgp fit: a model from a CSV file. */
#include "fit.h"

/* -- one target ------------------------------------------------------------------------------------------ */

void fit_tell(ctgp *c, const settings *s, const lesson *l, const int64_t *cols, json *j)
{
    if (!going(c)) return;
    trend t;
    score test = { 0 };
    outliers far = { 0 };
    read_trend(c, l->gp, &t);
    fit_score(c, &l->f, &l->h, cols, l->gp, &test);
    outliers_find(c, &far, l->gp, &l->f);
    const fit_result r = { l->gp, &l->e, &t, &far, ct_gp_nlml_value(l->gp), test };
    if (!going(c)) return;
    if (s->json)
        fit_json_result(s, &r, j);
    else
        fit_print_result(s, &r);
}

/* What is fitted, and how. */
typedef struct plan {
    ct_kernel *kernel; /* NULL: one is chosen */
    ct_gp_options model;
    ct_gp_choose_options how;
} plan;

void fit_parse_kernel(ctgp *c, const settings *s, const ct_column *inputs, int64_t d, ct_kernel **kernel)
{
    if (!going(c)) return;
    *kernel = s->kernel ? ct_kernel_parse_named(s->kernel, inputs, d) : NULL;
    if (!s->kernel || !ct_kernel_status(*kernel)) return;
    fail_message(c, ct_kernel_status(*kernel) == CT_ENOMEM ? CODE_MEMORY : CODE_USAGE, NULL,
                 ct_kernel_message(*kernel));
    ct_kernel_free(*kernel);
    *kernel = NULL;
}

/* Learns the chosen rows: inputs cols[0..d), target cols[d], noise cols[d + 1] if a column gives it. Takes
 * the plan's kernel over. */
static void fit_rows(ctgp *c, const settings *s, lesson *l, const int64_t *cols, int64_t d, plan p)
{
    if (!going(c)) return;
    const frame *f = &l->f;
    ct_tensor *X = frame_tensor(c, f, cols, d, s->dtype),
              *y = target_tensor(c, f, cols[d], s->gp.transform, s->dtype), *noise = NULL;
    ct_column of_noise = { 0 };
    if (noise_column(s->gp.noise, s->noise_name))
        frame_noise(c, f, cols[d + 1], s->gp.noise, s->noise_name, NULL, &noise);
    if (noise) {
        of_noise = *ct_table_column(f->table, cols[d + 1]);
        of_noise.name = s->noise_name;
        p.model.noise_column = &of_noise;
    }
    *(s->gp.noise == CT_NOISE_BY_LEVEL ? &p.model.noise_levels : &p.model.noise_variances) = noise;
    fit_check_held(c, s, f, &l->h, cols, d);
    train(c, X, y, p.kernel, &s->limits, &p.model, &p.how, s->patience, &l->gp, &l->e);
    if (c->code == CODE_DATA && p.model.basis && ct_last_status(f->device) == CT_EFORMAT)
        c->code = CODE_USAGE; /* the text of --mean */
    if (going(c) && !s->season && !l->e.seasons) season_hint(l->gp, X, y, s->kernel);
}

void fit_learn(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
               ct_gp_options options, lesson *l)
{
    if (!going(c)) return;
    const ct_column output = *ct_table_column(f->table, cols[d]);
    plan p = { .model = options, .how.fit = s->fit };
    *l = (lesson){ .f = *f };
    l->f.rows = NULL;
    p.model.output = &output;
    fit_parse_kernel(c, s, options.inputs, d, &p.kernel);
    season_settings(c, s->season, options.inputs, d, &p.how);
    check_mean(c, &p.model, options.inputs, d);
    fit_choose_rows(c, s, &l->f, cols, d, 1, false, &l->h, &p.model.rows_of_table);
    if (going(c) && p.kernel && !s->restarts_given) season_restarts(p.kernel, &p.how.fit);
    if (!going(c)) ct_kernel_free(p.kernel);
    fit_rows(c, s, l, cols, d, p);
}

/* The model is written before it is scored, so that a second Ctrl-C does not lose it. */
static void fit_one(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                    const ct_gp_options *options)
{
    if (!going(c)) return;
    lesson l;
    json j = { .to = stdout };
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    fit_learn(c, s, f, cols, d, *options, &l);
    signals_hold(s->model);
    if (going(c) && ct_gp_save_with(l.gp, s->model, &how)) fail_device(c, f->device, NULL);
    signals_release();
    if (going(c)) {
        fit_tell(c, s, &l, cols, &j);
        if (going(c) && s->json) json_end(&j, false);
        end_output_of_model(c, s->model);
    }
    ct_gp_free(l.gp);
}

/* -- the file -------------------------------------------------------------------------------------------- */

static void fit_file(ctgp *c, settings *s, ct_device *device)
{
    if (!going(c)) return;
    frame f = { 0 };
    int64_t d = 0, *cols = NULL;
    ct_gp_options options = s->gp;
    fit_read_columns(c, s, device, &f, &cols, &d);
    ct_column *inputs = take(c, d, sizeof *inputs, "columns");
    for (int64_t j = 0; j < d && going(c); j++) inputs[j] = *ct_table_column(f.table, cols[j]);
    options.inputs = inputs;
    (s->n_targets > 1 ? fit_outputs : fit_one)(c, s, &f, cols, d, &options);
}

void run_fit(ctgp *c, int argc, char **argv)
{
    settings s = { 0 };
    fit_read_settings(c, argc, argv, &s);
    if (!ct_comm_rank(many())) fit_check_writable(c, s.model);
    many_device(c, &s.device);
    s.gp.comm = many();
    fit_file(c, &s, open_device(c, s.device));
}
