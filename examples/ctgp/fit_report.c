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
        printf("  %-28s %s%s\n", p->name, value_text(gp, p, value), p->fixed ? "  (fixed)" : "");
    }
}

void fit_print_result(const settings *s, ct_gp *gp, const effort *e, const trend *t, const outliers *far,
                      double nlml, score test)
{
    ct_fit_report r = ct_gp_report(gp);
    long long n = ct_gp_points(gp), d = ct_gp_dims(gp);
    char text[1024];
    if (s->json) {
        printf("{\"model\": ");
        json_string(stdout, s->model);
        printf(", \"kernel\": ");
        json_string(stdout, kernel_text(gp, text, sizeof text));
        printf(", \"mean\": ");
        json_string(stdout, mean_text(gp, text, sizeof text));
        printf(", \"transform\": \"%s\", \"n\": %lld, \"features\": %lld, \"nlml\": ",
               ct_transform_name(ct_gp_transform(gp).kind), n, d);
        json_number(stdout, nlml);
        printf(", \"iterations\": %d, \"evaluations\": %d, \"converged\": %s, \"end\": \"%s\"", r.iterations,
               r.evaluations, ct_fit_converged(r.end) ? "true" : "false", ct_fit_end_text(r.end));
        printf(", \"starts\": %d, \"in_all\": {\"iterations\": %d, \"evaluations\": %d, \"starts\": %d}, "
               "\"seconds\": ",
               r.starts, e->iterations, e->evaluations, e->starts);
        json_number(stdout, e->seconds);
        printf(", \"precision\": \"%s\", \"objective_error\": ", precision_name(r.precision));
        json_number(stdout, r.objective_error);
        printf(", \"failed\": %d, \"jitter\": ", r.failed);
        json_number(stdout, r.jitter);
        printf(", ");
        json_outliers(far);
        printf(", ");
        json_trend(gp, t);
        printf(", ");
        json_seasons(e->season, e->seasons);
        printf(", \"test\": %s", test.n ? "{" : "null");
        if (test.n) json_score(stdout, test);
        printf("%s, ", test.n ? "}" : "");
        json_parameters(stdout, gp);
        printf("}");
        return;
    }
    if (ct_gp_transform(gp).kind)
        printf("  %-28s %s\n", "parameters are of", target_text(gp, text, sizeof text));
    if (!s->outputs) fit_print_parameters(gp);
    print_trend(gp, t);
    printf("  %-28s %s: %s\n", "end of the search", ct_fit_converged(r.end) ? "converged" : "not converged",
           ct_fit_end_text(r.end));
    if (r.precision == CT_PRECISION_MIXED)
        printf("  %-28s %.6f, to about %.1g\n", "objective in mixed precision", r.objective,
               r.objective_error);
    if (r.precision == CT_PRECISION_MIXED && r.failed)
        printf("  %-28s %d: beyond f32; where the fit ended beside them, --precision full\n",
               "evaluations refused", r.failed);
    if (r.jitter > 0) printf("  %-28s %.3g\n", "jitter (added to the noise)", r.jitter);
    print_rounding(gp);
    print_outliers(far, "  outliers                     ");
    if (test.n)
        printf("  %-28s n=%lld rmse=%.6g mae=%.6g nlpd=%.6g coverage95=%.4g\n", "rows held back",
               (long long)test.n, test.rmse, test.mae, test.nlpd, test.coverage95);
    printf("n=%lld features=%lld nlml=%.6f iterations=%d evaluations=%d seconds=%.2f model=%s\n", n, d, nlml,
           r.iterations, r.evaluations, e->seconds, s->model);
}
