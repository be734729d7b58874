/* ctgp fit with several targets: a model of each, or one of all of them. */
#include "fit.h"

#include <math.h>
#include <string.h>

/* The columns of target j as if it were the only one. */
static void columns_of(const int64_t *cols, int64_t d, int64_t j, int64_t *mine)
{
    memcpy(mine, cols, (size_t)(d + 2) * sizeof *mine);
    mine[d] = cols[fit_place(d, j)];
}

/* Prints what stands before output j. Outputs with one model have its parameters first, in the units of the
 * standardised outputs. */
static void begin(const settings *s, const ct_outputs *o, int64_t j, json *to)
{
    if (s->json) {
        if (!j) json_outputs(to, outputs_name(s->outputs));
        return;
    }
    if (!j && s->outputs) {
        printf("%s, of outputs divided by their standard deviation:\n", outputs_name(s->outputs));
        fit_print_parameters(ct_outputs_joint_model(o));
        print_levels(ct_outputs_joint_model(o));
    }
    say_line("%s:", s->targets[j]);
}

/* Keeps the rows that have a value of the target: a joint output learns no others. */
static void keep_known(ctgp *c, frame *f, int64_t target)
{
    int64_t kept = 0, *rows = take(c, f->n_rows, sizeof *rows, "rows");
    for (int64_t k = 0; k < f->n_rows && rows; k++)
        if (!isnan(ct_table_at(f->table, f->rows[k], target))) rows[kept++] = f->rows[k];
    f->rows = rows, f->n_rows = kept;
}

/* Scores and prints output j, whose columns are `mine`. */
static void tell_output(ctgp *c, const settings *s, ct_outputs *o, int64_t j, lesson one, const int64_t *mine,
                        int64_t d, json *to)
{
    const owned *before = c->owned;
    one.gp = ct_outputs_model(o, j);
    if (!one.gp) fail_device(c, ct_outputs_device(o), NULL);
    keep_known(c, &one.f, mine[d]);
    if (going(c)) begin(s, o, j, to);
    fit_tell(c, s, &one, mine, to);
    give_back(c, before);
}

/* Scores and prints each output. */
static void tell(ctgp *c, const settings *s, ct_outputs *o, lesson *l, const int64_t *cols, int64_t d)
{
    json to = { .to = stdout };
    int64_t *mine = take(c, d + 2, sizeof *mine, "columns");
    for (int64_t j = 0; j < s->n_targets && going(c); j++) {
        columns_of(cols, d, j, mine);
        tell_output(c, s, o, j, l[s->outputs ? 0 : j], mine, d, &to);
    }
    if (s->json && going(c)) json_end(&to, true);
}

/* Saves the outputs before they are scored. */
static void conclude(ctgp *c, const settings *s, ct_outputs *o, lesson *l, const int64_t *cols, int64_t d)
{
    if (!going(c)) return;
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    signals_hold(s->model);
    const ct_status status = ct_outputs_save(o, s->model, &how);
    signals_release();
    if (status) fail_device(c, ct_outputs_device(o), NULL);
    if (!going(c)) return;
    tell(c, s, o, l, cols, d);
    end_output_of_model(c, s->model);
}

/* Learns each target by itself, from the rows that have its value. */
static void learn_each(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                       const ct_gp_options *options, lesson *l, ct_outputs **o)
{
    if (!going(c)) return;
    const int64_t p = s->n_targets;
    int64_t *mine = take(c, d + 2, sizeof *mine, "columns");
    ct_gp **models = take(c, p, sizeof *models, "models");
    for (int64_t j = 0; j < p && going(c); j++) {
        columns_of(cols, d, j, mine);
        if (s->patience.progress != PROGRESS_NONE) note("%s", s->targets[j]);
        fit_learn(c, s, f, mine, d, *options, &l[j]);
        models[j] = l[j].gp;
    }
    if (going(c) && !(*o = ct_outputs_of(models, p))) fail_device(c, f->device, NULL);
    for (int64_t j = 0; j < p && *o; j++) l[j].gp = NULL; /* the outputs own them */
}

/* A kernel of joint outputs may name the column of the output, which follows the inputs. */
static void parse_kernel(ctgp *c, const settings *s, const ct_column *inputs, int64_t d, bool joint,
                         ct_kernel **kernel)
{
    if (!going(c)) return;
    ct_column *columns = take(c, d + 1, sizeof *columns, "columns");
    if (!columns) return;
    memcpy(columns, inputs, (size_t)d * sizeof *columns);
    columns[d] = (ct_column){ .name = "output", .kind = CT_COLUMN_CATEGORY };
    fit_parse_kernel(c, s, columns, joint ? d + 1 : d, kernel);
}

/* A rough function of the numbers, for each level of the categories. */
static ct_kernel *usual_kernel(const ct_column *inputs, int64_t d, bool joint)
{
    int64_t categories = 0;
    char text[64];
    for (int64_t j = 0; j < d; j++) categories += inputs[j].kind == CT_COLUMN_CATEGORY;
    snprintf(text, sizeof text, "%s%s%s%s", joint ? "" : "scale * ", categories < d ? "matern32(ard)" : "",
             categories && categories < d ? " * " : "", categories ? "category(ard)" : "");
    return ct_kernel_parse(text);
}

/* Learns all targets by one model: shared from the rows with all values, joint from those with any. */
static void learn_all(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                      const ct_gp_options *options, lesson *l, ct_outputs **o)
{
    if (!going(c)) return;
    const bool joint = s->outputs == CT_OUTPUTS_COREGIONALISED;
    const int64_t p = s->n_targets;
    ct_outputs_options how = { .kind = s->outputs, .model = *options, .rank = (int)s->rank };
    int64_t *targets = take(c, p, sizeof *targets, "outputs");
    ct_column *columns = take(c, p, sizeof *columns, "outputs");
    ct_fit_options search = s->fit;
    ct_kernel *kernel = NULL;
    l->f = *f;
    l->f.rows = NULL;
    for (int64_t j = 0; j < p && going(c); j++) {
        targets[j] = cols[fit_place(d, j)];
        columns[j] = *ct_table_column(f->table, targets[j]);
    }
    how.outputs = columns;
    fit_choose_rows(c, s, &l->f, cols, d, p, joint, &l->h, &how.model.rows_of_table);
    ct_tensor *X = frame_tensor(c, &l->f, cols, d, s->dtype),
              *Y = frame_tensor(c, &l->f, targets, p, s->dtype);
    parse_kernel(c, s, options->inputs, d, joint, &kernel);
    if (going(c) && s->kernel && !s->restarts_given) season_restarts(kernel, &search);
    if (going(c) && !s->kernel) kernel = usual_kernel(options->inputs, d, joint);
    train_outputs(c, X, Y, kernel, &s->limits, &how, &search, s->patience, o, &l->e);
}

void fit_outputs(ctgp *c, const settings *s, const frame *f, const int64_t *cols, int64_t d,
                 const ct_gp_options *options)
{
    if (!going(c)) return;
    if (many())
        fail(c, CODE_UNSUPPORTED, "over many processes a model has one target: run ctgp fit for each");
    if (s->fit.checkpoint && s->outputs == CT_OUTPUTS_EACH)
        fail(c, CODE_USAGE,
             "--checkpoint is of one fit: run ctgp fit for each target, or take --outputs shared");
    lesson *l = take(c, s->n_targets, sizeof *l, "targets");
    ct_outputs *o = NULL;
    (s->outputs == CT_OUTPUTS_EACH ? learn_each : learn_all)(c, s, f, cols, d, options, l, &o);
    conclude(c, s, o, l, cols, d);
    for (int64_t j = 0; j < s->n_targets && l; j++) ct_gp_free(l[j].gp);
    ct_outputs_free(o);
}
