/* ctgp fit: its result. */
#include "fit_report.h"

#include <stdio.h>

#include "advice.h"
#include "fit_test.h"
#include "found.h"
#include "names.h"
#include "outliers.h"
#include "parameters.h"
#include "score.h"
#include "target.h"
#include "text.h"
#include "trend.h"

/* Whether rounding moves the gradient by more than a search tolerates. */
static void print_rounding(FILE *to, ct_gp *gp)
{
    const double most = 0.01; /* of the objective, where a parameter grows by a factor of e */
    ct_gp_numerics q;
    if (ct_gp_inspect(gp, &q) || q.gradient_error <= most) return;
    const char *remedy = ct_gp_dtype(gp) == CT_F32 ? "--dtype f64" : more_noise(gp);
    say(to, "  %-28s %.1g, so that the search cannot end well: %s\n", "rounding of the gradient",
        q.gradient_error, remedy ? remedy : "leave out rows that are alike, see ctgp info");
}

static void write_model(writer *w, ct_gp *gp, bool parameters)
{
    ctgp *c = w->c;
    const bool transformed = ct_gp_transform(gp).kind;
    WRITE(w, field_word("kernel", NULL, kernel_text(c, gp)), field_word("mean", NULL, mean_text(c, gp)),
          field_word("transform", NULL, ct_transform_name(ct_gp_transform(gp).kind)),
          field_text("  parameters are of            %s\n", transformed ? target_text(c, gp) : NULL));
    if (parameters) write_parameters(w, gp, false);
    write_trend(w, gp);
}

/* How the search ended; in text only what is unusual. `asked`: the optimizer was. */
static void write_end(writer *w, const ct_fit_report *r, bool asked)
{
    const bool mixed = r->precision == CT_PRECISION_MIXED, converged = ct_fit_converged(r->end);
    const char *no_lbfgs =
        r->optimizer == CT_OPTIMIZER_ADAM && !asked
            ? "  optimizer                    Adam: this build has no L-BFGS, as it has no "
              "NLopt\n"
            : NULL;
    WRITE(w, field_label("end of the search"), field_text(converged ? "converged: " : "not converged: ", ""),
          field_flag("converged", NULL, converged), field_word("end", "%s\n", ct_fit_end_text(r->end)),
          field_word("optimizer", no_lbfgs, optimizer_name(r->optimizer)),
          field_word("precision", NULL, precision_name(r->precision)),
          field_number("objective", mixed ? "  objective in mixed precision %.6f, " : NULL, r->objective),
          field_number("objective_error", mixed ? "to about %.1g\n" : NULL, r->objective_error),
          field_number("failed",
                       mixed && r->failed ? "  evaluations refused          %.0f: beyond f32; where the fit "
                                            "ended beside them, --precision full\n"
                                          : NULL,
                       r->failed),
          field_number("jitter", r->jitter > 0 ? "  jitter (added to the noise)  %.3g\n" : NULL, r->jitter),
          field_number("starts", r->starts > 1 ? "  starts                       %.0f" : NULL, r->starts),
          field_number("starts_agreed",
                       r->starts == 1   ? NULL
                       : r->agreed == 1 ? ", %.0f of which ended here: --restarts 50 may find a better one\n"
                                        : ", %.0f of which ended here\n",
                       r->agreed));
}

/* "seasons": [{"period": 365.2, "power": 0.6, "false_alarm": 1e-20}, ...]; the text has said them before. */
static void write_seasons(writer *w, const ct_season *season, int count)
{
    WRITE(w, field_begin("seasons", '[', NULL));
    for (int i = 0; i < count; i++)
        WRITE(w, field_begin(NULL, '{', NULL), field_number("period", NULL, season[i].period),
              field_number("power", NULL, season[i].power),
              field_number("false_alarm", NULL, season[i].false_alarm), field_end('}', NULL));
    WRITE(w, field_end(']', NULL));
}

/* The score on the rows that are held back. */
static void write_test(writer *w, score test)
{
    if (!test.n) WRITE(w, field_word("test", NULL, NULL));
    if (!test.n) return;
    WRITE(w, field_begin("test", '{', "  rows held back               "));
    write_score(w, test);
    WRITE(w, field_end('}', NULL));
}

void fit_report(writer *w, const settings *s, const fit_output *l)
{
    const ct_fit_report r = ct_gp_report(l->gp);
    const ct_gp_choice *all = &l->choice;
    WRITE(w, field_begin(NULL, '{', NULL));
    write_model(w, l->gp, w->json || !s->outputs);
    write_end(w, &r, s->fit.optimizer);
    if (!w->json) print_rounding(w->to, l->gp);
    write_outliers(w, l->gp, l->t.f.n_rows == ct_gp_points(l->gp) ? &l->t.f : NULL,
                   "  outliers                     ");
    write_seasons(w, all->season, all->seasons);
    write_test(w, fit_score(w->c, &l->t, &l->h, l->gp));
    if (!w->json) print_found(w->c, w->to, l->gp);
    WRITE(w, field_number("n", "n=%.0f ", (double)ct_gp_points(l->gp)),
          field_number("features", "features=%.0f ", (double)ct_gp_dims(l->gp)),
          field_number("nlml", "nlml=%.6f ", ct_gp_nlml_value(l->gp)),
          field_number("iterations", "iterations=%.0f ", r.iterations),
          field_number("evaluations", "evaluations=%.0f ", r.evaluations),
          field_number("seconds", "seconds=%.2f ", all->seconds), field_word("model", "model=%s\n", s->model),
          field_begin("in_all", '{', NULL), field_number("iterations", NULL, all->iterations),
          field_number("evaluations", NULL, all->evaluations), field_number("starts", NULL, all->starts),
          field_end('}', NULL), field_end('}', NULL));
}
