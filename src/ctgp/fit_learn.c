/* ctgp fit: learns a target. */
#include "fit_learn.h"

#include <math.h>

#include "context.h"
#include "fit_rows.h"
#include "fit_test.h"
#include "loo.h"
#include "numbers.h"
#include "progress.h"
#include "season.h"
#include "target.h"
#include "text.h"
#include "train.h"
#include "trend.h"

/* A density that is better may not cost more of the error; fewer rows cannot tell (docs/gp.md). */
#define WORSE 1.05
enum { FEW_ROWS = 60 };

/* Keeps the model of the target or that of a transform, which needs a better density, by more than the
 * standard error of the difference. */
static void try_transform(ctgp *c, const settings *s, fit_output *l, const ct_tensor *X, ct_gp_options *model,
                          const ct_gp_choose_options *how)
{
    const frame *f = &l->t.f;
    const ct_transform_kind kind = likely_transform(c, f, l->t.targets[0]);
    if (!kind || f->n_rows < FEW_ROWS || ct_gp_points(l->gp) < f->n_rows || watch_stopped()) return;
    ct_gp_choice choice;
    left_out as_is, other;
    note("%s of '%s' is less skewed: it is tried, too", ct_transform_name(kind), model->output->name);
    model->transform = kind;
    ct_gp *gp = train(c, s, X, frame_tensor(c, f, l->t.targets, 1, CT_F64), NULL, model, how, &choice);
    if (!gp || watch_stopped()) return;
    if (left_out_read(c, &as_is, l->gp, NULL) || left_out_read(c, &other, gp, NULL)) return;
    double *gain = take(c, other.n, sizeof *gain, "rows");
    for (int64_t i = 0; i < other.n; i++) gain[i] = as_is.loss[i].nlpd - other.loss[i].nlpd;
    const moments m = moments_of(gain, other.n, 1);
    const double error = sqrt(m.variance / m.n);
    const score before = score_of(as_is.loss, as_is.n), after = score_of(other.loss, other.n);
    const bool better = m.mean > error && after.rmse <= WORSE * before.rmse;
    note("%s of '%s' is%s learned: leave-one-out gains %.2g nats a row (error %.2g), and its rmse is %.4g "
         "after %.4g; --transform decides otherwise",
         ct_transform_name(kind), model->output->name, better ? "" : " not", m.mean, error, after.rmse,
         before.rmse);
    if (better) l->gp = gp, l->choice = choice;
}

/* The rows that are chosen, with their noise where a column gives it. */
static void fit_rows(ctgp *c, const settings *s, fit_output *l, ct_kernel *kernel, ct_gp_options *model,
                     const ct_gp_choose_options *how)
{
    const frame *f = &l->t.f;
    const int64_t noise = l->t.noise;
    ct_tensor *X = frame_tensor(c, f, l->t.cols, l->t.d, s->dtype);
    /* A transform sees f64: f32 would make 1 of a share of 1 - 1e-8. */
    ct_tensor *y = frame_tensor(c, f, l->t.targets, 1, s->gp.transform ? CT_F64 : s->dtype);
    ct_column of_noise;
    if (noise >= 0) {
        of_noise = *ct_table_column(f->table, noise);
        of_noise.name = s->noise.name;
        model->noise_column = &of_noise;
        *(s->gp.noise == CT_NOISE_BY_LEVEL ? &model->noise_levels : &model->noise_variances) =
            frame_noise(c, f, noise, s->noise, NULL);
    }
    fit_check_held(c, s, &l->t, &l->h);
    l->gp = train(c, s, X, y, kernel, model, how, &l->choice);
    if (s->any_transform) try_transform(c, s, l, X, model, how);
    if (s->kernel) season_hint(c, l->gp, X, y, model);
}

fit_output fit_learn(ctgp *c, const settings *s, const learned *t)
{
    const ct_column output = *ct_table_column(t->f.table, t->targets[0]);
    ct_gp_options model = s->gp;
    ct_gp_choose_options how = { .fit = s->fit };
    fit_output l = { .t = *t };
    l.t.f.rows = NULL;
    model.output = &output;
    ct_kernel *kernel = s->kernel ? parse_kernel(c, s->kernel, model.inputs, t->d) : NULL;
    season_settings(c, s->season, model.inputs, t->d, &how);
    check_mean(c, &model, t->d);
    model.rows_of_table = fit_choose_rows(c, s, &l.t, 1, false, &l.h);
    if (kernel && !s->restarts_given) season_restarts(kernel, &how.fit);
    fit_rows(c, s, &l, kernel, &model, &how);
    if (!ct_gp_transform(l.gp).kind) note_range(c, &l.t.f, l.t.targets[0]);
    return l;
}
