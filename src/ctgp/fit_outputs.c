/* ctgp fit with several targets: a model of each, or one of all of them. */
#include "fit_outputs.h"

#include <stdio.h>
#include <string.h>

#include "context.h"
#include "failure.h"
#include "fit_learn.h"
#include "fit_report.h"
#include "fit_rows.h"
#include "many.h"
#include "names.h"
#include "open.h"
#include "parameters.h"
#include "progress.h"
#include "result.h"
#include "season.h"
#include "text.h"
#include "train.h"

/* -- the report ------------------------------------------------------------------------------------------ */

/* Scores and describes output j, which a fit has learned, alone or with the others. */
static void report_output(ctgp *c, writer *w, const settings *s, ct_outputs *o, int64_t j, fit_output one)
{
    const owned *before = c->owned;
    one.t.targets = &s->targets[j];
    one.gp = ct_outputs_model(o, j);
    if (!one.gp) fail_device(c);
    frame_keep(c, &one.t.f, one.t.targets, 1, 1); /* a joint output learns no others */
    WRITE(w, field_text("%s:\n", ct_gp_output(one.gp)->name));
    fit_report(w, s, &one);
    give_back(c, before);
}

/* Saves the outputs before they are scored. In text the parameters of one model of all outputs come first, in
 * the units of the standardised outputs. */
static void conclude(ctgp *c, const settings *s, ct_outputs *o, const fit_output *l)
{
    const ct_gp_save_options how = { .no_factor = s->no_factor };
    const ct_gp *whole = ct_outputs_joint_model(o);
    writer w = result_begin(c, stdout);
    save_outputs(c, o, s->model, &how);
    watch_over();
    if (s->outputs && !w.json) {
        say(w.to, "%s, of outputs divided by their standard deviation:\n", outputs_name(s->outputs));
        write_parameters(&w, whole, false);
        print_levels(w.to, whole);
    }
    begin_outputs(&w, outputs_name(s->outputs));
    for (int64_t j = 0; j < s->n_targets; j++) report_output(c, &w, s, o, j, l[s->outputs ? 0 : j]);
    end_outputs(&w);
    result_end(&w);
}

/* -- a model of each ------------------------------------------------------------------------------------- */

/* Learns each target by itself, from the rows that have its value. */
static ct_outputs *learn_each(ctgp *c, const settings *s, const learned *t, fit_output *l)
{
    const int64_t p = s->n_targets;
    ct_gp **models = take(c, p, sizeof *models, "models");
    for (int64_t j = 0; j < p; j++) {
        learned one = *t;
        one.targets = &s->targets[j];
        if (s->progress != PROGRESS_NONE) note("%s", ct_table_name(t->f.table, s->targets[j]));
        l[j] = fit_learn(c, s, &one);
        models[j] = l[j].gp;
    }
    ct_outputs *o = ct_outputs_of(models, p);
    for (int64_t j = 0; j < p && o; j++) disown(c, models[j]);
    return own_outputs(c, o);
}

/* -- a model of all -------------------------------------------------------------------------------------- */

/* A kernel of joint outputs may name the column of the output, which follows the inputs. */
static ct_kernel *kernel_of(ctgp *c, const settings *s, int64_t d, bool joint)
{
    ct_column *columns = take(c, d + 1, sizeof *columns, "columns");
    memcpy(columns, s->gp.inputs, (size_t)d * sizeof *columns);
    columns[d] = (ct_column){ .name = "output", .kind = CT_COLUMN_CATEGORY };
    return parse_kernel(c, s->kernel, columns, joint ? d + 1 : d);
}

/* A rough function of the numbers, for each level of the categories. */
static ct_kernel *usual_kernel(ctgp *c, const ct_column *inputs, int64_t d, bool joint)
{
    int64_t categories = 0;
    for (int64_t j = 0; j < d; j++) categories += inputs[j].kind == CT_COLUMN_CATEGORY;
    const char *text = text_of(c, "%s%s%s%s", joint ? "" : "scale * ", categories < d ? "matern32(ard)" : "",
                               categories && categories < d ? " * " : "", categories ? "category(ard)" : "");
    return parse_kernel(c, text, inputs, d);
}

/* Learns all targets by one model: shared from the rows with all values, joint from those with any. */
static ct_outputs *learn_all(ctgp *c, const settings *s, const learned *t, fit_output *l)
{
    const bool joint = s->outputs == CT_OUTPUTS_COREGIONALISED;
    const int64_t p = s->n_targets, d = t->d;
    ct_outputs_options how = { .kind = s->outputs, .model = s->gp, .rank = (int)s->rank };
    ct_column *columns = take(c, p, sizeof *columns, "outputs");
    ct_fit_options search = s->fit;
    l->t = *t;
    l->t.f.rows = NULL;
    for (int64_t j = 0; j < p; j++) columns[j] = *ct_table_column(t->f.table, t->targets[j]);
    how.outputs = columns;
    how.model.rows_of_table = fit_choose_rows(c, s, &l->t, p, joint, &l->h);
    ct_tensor *X = frame_tensor(c, &l->t.f, t->cols, d, s->dtype);
    ct_tensor *Y = frame_tensor(c, &l->t.f, t->targets, p, s->dtype);
    ct_kernel *kernel = s->kernel ? kernel_of(c, s, d, joint) : usual_kernel(c, s->gp.inputs, d, joint);
    if (s->kernel && !s->restarts_given) season_restarts(kernel, &search);
    return train_outputs(c, s, X, Y, kernel, &how, &search, &l->choice);
}

void fit_outputs(ctgp *c, const settings *s, const learned *t)
{
    if (many())
        fail(c, CODE_UNSUPPORTED, "over many processes a model has one target: run ctgp fit for each");
    if (s->fit.checkpoint && s->outputs == CT_OUTPUTS_EACH)
        fail(c, CODE_USAGE,
             "--checkpoint is of one fit: run ctgp fit for each target, or take --outputs shared");
    fit_output *l = take(c, s->n_targets, sizeof *l, "targets");
    ct_outputs *o = (s->outputs == CT_OUTPUTS_EACH ? learn_each : learn_all)(c, s, t, l);
    conclude(c, s, o, l);
}
