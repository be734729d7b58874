/* ctgp fit: learns a target. */
#include "fit_learn.h"

#include "fit_rows.h"
#include "fit_test.h"
#include "season.h"
#include "train.h"
#include "trend.h"

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
    if (s->kernel) season_hint(c, l->gp, X);
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
    return l;
}
