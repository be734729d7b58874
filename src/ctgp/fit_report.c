/* ctgp fit: its result. */
#include "fit.h"

/* Whether rounding moves the gradient by more than a search tolerates. */
static void print_rounding(ct_gp *gp)
{
    const double most = 0.01; /* of the objective, where a parameter grows by a factor of e */
    ct_gp_numerics q;
    if (ct_gp_inspect(gp, &q) || q.gradient_error <= most) return;
    const char *remedy = ct_gp_dtype(gp) == CT_F32 ? "--dtype f64" : more_noise(gp);
    printf("  %-28s %.1g, so that the search cannot end well: %s\n", "rounding of the gradient",
           q.gradient_error, remedy ? remedy : "leave out rows that are alike, see ctgp info");
}

void fit_print_parameters(const ct_gp *gp)
{
    char value[64];
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        say_line("  %-28s %s%s", p->name, value_text(gp, p, value), p->fixed ? "  (fixed)" : "");
    }
}

void fit_json_result(const settings *s, const fit_result *of, json *j)
{
    const ct_fit_report r = ct_gp_report(of->gp);
    const effort *e = of->e;
    char text[1024];
    json_open(j, NULL, '{');
    json_string(j, "model", s->model);
    json_string(j, "kernel", kernel_text(of->gp, text, sizeof text));
    json_string(j, "mean", mean_text(of->gp, text, sizeof text));
    json_string(j, "transform", ct_transform_name(ct_gp_transform(of->gp).kind));
    json_whole(j, "n", ct_gp_points(of->gp));
    json_whole(j, "features", ct_gp_dims(of->gp));
    json_number(j, "nlml", of->nlml);
    json_string(j, "optimizer", optimizer_name(r.optimizer));
    json_whole(j, "iterations", r.iterations);
    json_whole(j, "evaluations", r.evaluations);
    json_flag(j, "converged", ct_fit_converged(r.end));
    json_string(j, "end", ct_fit_end_text(r.end));
    json_whole(j, "starts", r.starts);
    json_open(j, "in_all", '{');
    json_whole(j, "iterations", e->iterations);
    json_whole(j, "evaluations", e->evaluations);
    json_whole(j, "starts", e->starts);
    json_close(j, '}');
    json_number(j, "seconds", e->seconds);
    json_string(j, "precision", precision_name(r.precision));
    json_number(j, "objective_error", r.objective_error);
    json_whole(j, "failed", r.failed);
    json_number(j, "jitter", r.jitter);
    json_outliers(j, of->far);
    json_trend(j, of->gp, of->t);
    json_seasons(j, e->season, e->seasons);
    if (of->test.n) {
        json_open(j, "test", '{');
        write_score(of->test, j, NULL);
        json_close(j, '}');
    } else {
        json_string(j, "test", NULL);
    }
    json_parameters(j, of->gp);
    json_close(j, '}');
}

void fit_print_result(const settings *s, const fit_result *of)
{
    ct_gp *gp = of->gp;
    const ct_fit_report r = ct_gp_report(gp);
    char text[1024];
    if (ct_gp_transform(gp).kind)
        say_line("  %-28s %s", "parameters are of", target_text(gp, text, sizeof text));
    if (!s->outputs) fit_print_parameters(gp);
    print_trend(gp, of->t);
    printf("  %-28s %s: %s\n", "end of the search", ct_fit_converged(r.end) ? "converged" : "not converged",
           ct_fit_end_text(r.end));
    if (r.optimizer == CT_OPTIMIZER_ADAM && !s->fit.optimizer)
        printf("  %-28s Adam: this build has no L-BFGS, as it has no NLopt\n", "optimizer");
    if (r.precision == CT_PRECISION_MIXED)
        printf("  %-28s %.6f, to about %.1g\n", "objective in mixed precision", r.objective,
               r.objective_error);
    if (r.precision == CT_PRECISION_MIXED && r.failed)
        printf("  %-28s %d: beyond f32; where the fit ended beside them, --precision full\n",
               "evaluations refused", r.failed);
    if (r.jitter > 0) printf("  %-28s %.3g\n", "jitter (added to the noise)", r.jitter);
    print_rounding(gp);
    print_outliers(of->far, "  outliers                     ");
    if (of->test.n) {
        printf("  %-28s ", "rows held back");
        write_score(of->test, NULL, stdout);
    }
    say_line("n=%lld features=%lld nlml=%.6f iterations=%d evaluations=%d seconds=%.2f model=%s",
             (long long)ct_gp_points(gp), (long long)ct_gp_dims(gp), of->nlml, r.iterations, r.evaluations,
             of->e->seconds, s->model);
}
