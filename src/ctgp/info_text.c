/* ctgp info: its text. */
#include "info.h"

/* Rows count from 1, without those that the fit left out. */
static void print_numerics(ct_gp *gp, const ct_gp_numerics *q)
{
    if (!q) {
        say_line("numerics     %s", ct_message(ct_gp_device(gp)));
        return;
    }
    printf("condition    %.2g: about %d of %d digits hold\n", q->condition, (int)q->digits,
           ct_gp_dtype(gp) == CT_F32 ? 7 : 16);
    printf("gradient     right to %.1g where a parameter grows by a factor of e\n", q->gradient_error);
    printf("pivots       smallest %.2g of the diagonal, row %lld\n", q->smallest_pivot,
           (long long)q->pivot_row + 1);
    printf("rows alike   %lld", (long long)q->near_rows);
    int64_t shown = q->near_rows < 5 ? q->near_rows : 5;
    for (int64_t i = 0; i < shown; i++)
        printf("%s%lld as %lld", i ? ", " : ": ", (long long)q->near[i].row + 1,
               (long long)q->near[i].like + 1);
    printf("%s\nat bounds    %lld\n", shown < q->near_rows ? ", ..." : "", (long long)q->at_bounds);
    print_advice(gp, q);
}

void info_print(const facts *of)
{
    ct_gp *gp = of->gp;
    char text[1024], value[64];
    ct_gp_options o = ct_gp_get_options(gp);
    ct_fit_report r = ct_gp_report(gp);
    say_line("target       %s", ct_gp_output(gp)->name);
    printf("features     ");
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) say(stdout, "%s%s", j ? ", " : "", ct_gp_input(gp, j)->name);
    putchar('\n');
    print_columns(gp, of->range);
    printf("points       %lld\ndtype        %s\n", (long long)ct_gp_points(gp),
           ct_dtype_name(ct_gp_dtype(gp)));
    say_line("kernel       %s", kernel_text(gp, text, sizeof text));
    say_line("mean         %s", mean_text(gp, text, sizeof text));
    if (o.transform) printf("transform    %s\n", ct_transform_name(o.transform));
    noise_text(gp, text, sizeof text);
    say_line("noise        %s", text);
    printf("standardize  %s\n", standardize_name(o.standardize));
    printf("optimizer    %s, %d iterations, %d evaluations, %.2f s\n", optimizer_name(r.optimizer),
           r.iterations, r.evaluations, r.seconds);
    if (r.optimizer)
        printf("search       %s%s\n",
               r.end == CT_FIT_UNKNOWN   ? "end "
               : ct_fit_converged(r.end) ? "converged: "
                                         : "not converged: ",
               ct_fit_end_text(r.end));
    if (r.objective_of == CT_OBJECTIVE_LOO)
        printf("objective    leave-one-out: the score of ctgp loo was optimised on\n");
    if (r.precision == CT_PRECISION_MIXED)
        printf("precision    mixed: the fit knew its objective to about %.1g; %d evaluations refused\n",
               r.objective_error, r.failed);
    if (!of->factor) printf("factor       left out of the file: computed when needed\n");
    printf("jitter       %.3g\nnlml         %.6f\n", ct_gp_jitter(gp), of->nlml);
    say_line("parameters, in the units of %s:",
             o.transform ? target_text(gp, text, sizeof text) : "the data");
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        say(stdout, "  %-28s %-12s", p->name, value_text(gp, p, value));
        if (p->fixed)
            printf("  (fixed)");
        else if (p->prior.kind)
            printf("  prior: %s (%.4g, %.4g)", prior_name(p->prior.kind), p->prior.a, p->prior.b);
        printf("\n");
    }
    print_levels(gp);
    print_trend(gp, &of->t);
    print_outliers(&of->far, "outliers     ");
    print_numerics(gp, of->numerics);
    if (of->sensitive) print_sensitivity(&of->each, gp);
}
