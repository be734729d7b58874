/* ctgp info: describes a model and how far its numbers can be trusted. */
#include "ctgp.h"

#include <limits.h>
#include <stdlib.h>

static const char *noise_kind(ct_gp_noise noise)
{
    switch (noise) {
    case CT_NOISE_NONE: return "none";
    case CT_NOISE_GIVEN: return "given";
    case CT_NOISE_GIVEN_PLUS: return "given and learned";
    case CT_NOISE_BY_LEVEL: return "by level";
    case CT_NOISE_INPUTS: return "inputs";
    case CT_NOISE_LEARNED: break;
    }
    return "learned";
}

static const char *standardize_name(ct_gp_standardize standardize)
{
    switch (standardize) {
    case CT_STANDARDIZE_NONE: return "no";
    case CT_STANDARDIZE_INPUTS: return "inputs";
    case CT_STANDARDIZE_OUTPUTS: return "outputs";
    default: return "yes";
    }
}

static const char *optimizer_name(ct_optimizer optimizer)
{
    return optimizer == CT_OPTIMIZER_LBFGS ? "lbfgs" : optimizer == CT_OPTIMIZER_ADAM ? "adam" : "none";
}

static const char *prior_name(ct_prior_kind kind)
{
    static const char *const names[] = { "none",  "normal",      "log-normal",
                                         "gamma", "half-Cauchy", "soft lower bound" };
    return names[kind];
}

static const char *objective_name(ct_fit_objective objective)
{
    return objective == CT_OBJECTIVE_LOO ? "loo" : "likelihood";
}

/* -- numerics -- */

/* Rows are counted from 1, the missing ones left out. */
static void print_numerics(ct_gp *gp, const ct_gp_numerics *q)
{
    if (!q) {
        printf("numerics     %s\n", ct_message(ct_gp_device(gp)));
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

static void json_numerics(ct_gp *gp, const ct_gp_numerics *q)
{
    if (!q) {
        printf("null");
        return;
    }
    printf("{\"condition\": ");
    json_number(stdout, q->condition);
    printf(", \"digits\": %.1f, \"gradient_error\": ", q->digits);
    json_number(stdout, q->gradient_error);
    printf(", \"smallest_pivot\": ");
    json_number(stdout, q->smallest_pivot);
    printf(", \"pivot_row\": %lld, \"near_rows\": %lld, \"near\": [", (long long)q->pivot_row + 1,
           (long long)q->near_rows);
    for (int64_t i = 0; i < q->near_rows && i < CT_GP_NEAR_SHOWN; i++)
        printf("%s[%lld, %lld]", i ? ", " : "", (long long)q->near[i].row + 1,
               (long long)q->near[i].like + 1);
    printf("], \"at_bounds\": [");
    for (int64_t i = 0, k = 0; i < ct_gp_params(gp); i++) {
        if (!ct_gp_at_bound(gp, i)) continue;
        if (k++) printf(", ");
        json_string(stdout, ct_gp_param(gp, i)->name);
    }
    printf("]}");
}

/* -- the model -- */

/* Without numerics q is NULL, without --sensitivity each. */
static void print_text(ct_gp *gp, const column_range *range, bool factor, double nlml,
                       const ct_gp_numerics *q, const trend *t, const outliers *far, const sensitivity *each)
{
    char text[1024], mean[1024], value[64];
    ct_gp_options o = ct_gp_get_options(gp);
    ct_fit_report r = ct_gp_report(gp);
    printf("target       %s\nfeatures     ", ct_gp_output(gp)->name);
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) printf("%s%s", j ? ", " : "", ct_gp_input(gp, j)->name);
    putchar('\n');
    print_columns(gp, range);
    printf("points       %lld\ndtype        %s\n", (long long)ct_gp_points(gp),
           ct_dtype_name(ct_gp_dtype(gp)));
    printf("kernel       %s\nmean         %s\n", kernel_text(gp, text, sizeof text),
           mean_text(gp, mean, sizeof mean));
    if (o.transform) printf("transform    %s\n", ct_transform_name(o.transform));
    noise_text(gp, text, sizeof text);
    printf("noise        %s\nstandardize  %s\n", text, standardize_name(o.standardize));
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
    if (!factor) printf("factor       left out of the file: computed when needed\n");
    printf("jitter       %.3g\nnlml         %.6f\nparameters, in the units of %s:\n", ct_gp_jitter(gp), nlml,
           o.transform ? target_text(gp, text, sizeof text) : "the data");
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        printf("  %-28s %-12s", p->name, value_text(gp, p, value));
        if (p->fixed)
            printf("  (fixed)");
        else if (p->prior.kind)
            printf("  prior: %s (%.4g, %.4g)", prior_name(p->prior.kind), p->prior.a, p->prior.b);
        printf("\n");
    }
    print_levels(gp);
    print_trend(gp, t);
    print_outliers(far, "outliers     ");
    print_numerics(gp, q);
    if (each) print_sensitivity(each, gp);
}

static void json_priors(const ct_gp *gp)
{
    printf(", \"priors\": {");
    for (int64_t i = 0, k = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        if (!p->prior.kind) continue;
        if (k++) printf(", ");
        json_string(stdout, p->name);
        printf(": {\"kind\": \"%s\", \"a\": ", prior_name(p->prior.kind));
        json_number(stdout, p->prior.a);
        printf(", \"b\": ");
        json_number(stdout, p->prior.b);
        printf("}");
    }
    printf("}");
}

static void print_json(ct_gp *gp, const column_range *range, bool factor, double nlml,
                       const ct_gp_numerics *q, const trend *t, const outliers *far, const sensitivity *each)
{
    char text[1024];
    ct_gp_options o = ct_gp_get_options(gp);
    ct_fit_report r = ct_gp_report(gp);
    printf("{\"target\": ");
    json_string(stdout, ct_gp_output(gp)->name);
    printf(", \"features\": [");
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) {
        if (j) printf(", ");
        json_string(stdout, ct_gp_input(gp, j)->name);
    }
    printf("], ");
    json_columns(gp, range);
    printf(", \"n\": %lld, \"dtype\": \"%s\", \"kernel\": ", (long long)ct_gp_points(gp),
           ct_dtype_name(ct_gp_dtype(gp)));
    json_string(stdout, kernel_text(gp, text, sizeof text));
    printf(", \"mean\": ");
    json_string(stdout, mean_text(gp, text, sizeof text));
    printf(", \"noise\": \"%s\", \"standardize\": \"%s\", \"optimizer\": \"%s\"", noise_kind(o.noise),
           standardize_name(o.standardize), optimizer_name(r.optimizer));
    printf(", \"transform\": \"%s\", \"noise_column\": ", ct_transform_name(o.transform));
    const char *column = noise_column(o.noise, noise_name(gp));
    if (column)
        json_string(stdout, column);
    else
        printf("null");
    printf(", \"iterations\": %d, \"evaluations\": %d, \"converged\": %s, \"end\": \"%s\", \"seconds\": ",
           r.iterations, r.evaluations,
           r.end == CT_FIT_UNKNOWN   ? "null"
           : ct_fit_converged(r.end) ? "true"
                                     : "false",
           ct_fit_end_text(r.end));
    json_number(stdout, r.seconds);
    printf(", \"objective\": \"%s\", \"precision\": \"%s\", \"objective_error\": ",
           objective_name(r.objective_of), precision_name(r.precision));
    json_number(stdout, r.objective_error);
    printf(", \"factor\": %s, \"jitter\": ", factor ? "true" : "false");
    json_number(stdout, ct_gp_jitter(gp));
    printf(", \"nlml\": ");
    json_number(stdout, nlml);
    printf(", \"numerics\": ");
    json_numerics(gp, q);
    printf(", ");
    json_outliers(far);
    printf(", ");
    json_trend(gp, t);
    printf(", ");
    json_parameters(stdout, gp);
    json_priors(gp);
    if (each) {
        printf(", ");
        json_sensitivity(each, gp);
    }
    printf("}");
}

/* What is told of a model. */
typedef struct telling {
    const char *table, *features, *json;
    uint64_t seed;
    ct_csv_options how;
} telling;

/* Of one output; `text`: of the table, if there is one. */
static int tell(ct_gp *gp, bool factor, const telling *w, source *text)
{
    ct_gp_numerics q;
    double nlml = ct_gp_nlml_value(gp);
    ct_status inspected = ct_gp_inspect(gp, &q);
    sensitivity each = { 0 };
    outliers far = { 0 };
    frame table = { 0 };
    column_range *range = NULL;
    trend t;
    int result = inspected == CT_ENOMEM ? fail_device(ct_gp_device(gp), NULL) : read_trend(gp, &t);
    if (result == GO_ON) result = read_ranges(gp, &range);
    if (result == GO_ON && w->table) result = frame_learned(&table, gp, text, &w->how);
    if (result == GO_ON) result = outliers_find(&far, gp, w->table ? &table : NULL);
    if (result == GO_ON && w->features) result = sensitivity_make(&each, gp, w->seed);
    if (result == GO_ON)
        (w->json ? print_json : print_text)(gp, range, factor, nlml, inspected ? NULL : &q, &t, &far,
                                            w->features ? &each : NULL);
    free(range);
    outliers_free(&far);
    frame_close(&table);
    sensitivity_free(&each);
    return result;
}

/* Of several outputs one after the other, or "outputs": [...] */
static int tell_all(const model_file *m, const telling *w)
{
    const char *kind = outputs_name(ct_outputs_kind_of(m->outputs));
    source text = { 0 };
    int result = w->table ? source_open(&text, m->device, w->table) : GO_ON;
    if (result == GO_ON && m->several && w->json) printf("{\"kind\": \"%s\", \"outputs\": [", kind);
    if (result == GO_ON && m->several && !w->json)
        printf("outputs      %lld, %s\n", (long long)ct_outputs_count(m->outputs), kind);
    for (int64_t j = 0; j < m->n && result == GO_ON; j++) {
        if (m->several) fputs(w->json ? j ? ", " : "" : "\n", stdout);
        result = tell(m->gp[j], m->factor, w, &text);
    }
    if (result == GO_ON && w->json) fputs(m->several ? "]}\n" : "\n", stdout);
    source_close(&text);
    return result == GO_ON ? CODE_OK : result;
}

int run_info(int argc, char **argv)
{
    const char *json = NULL, *paths[2], *features = NULL, *seed_text = NULL, *output = NULL;
    dialect d = { 0 };
    telling t = { 0 };
    long seed = 0;
    const option options[] = {
        OUTPUT_OPTION(output),
        { "--sensitivity", NULL, "Sobol indices of the features, and what leave-one-out loses without each",
          &features },
        { "--seed", "S", "of the indices' sample; 0 unless given", &seed_text },
        DIALECT_OPTIONS(d),
        { "--json", NULL, "as one line of JSON", &json },
    };
    const command c = {
        .name = "info",
        .arguments = "MODEL [TRAIN.csv]",
        .summary = "Says what a model is: columns, kernel, parameters, how it was fitted, how well it is "
                   "conditioned.",
        .details =
            "With TRAIN.csv, the table that the model learned, outliers are named by their lines in it.",
        .n_positional = 1,
        .n_optional = 1,
        .options = options,
        .n_options = sizeof options / sizeof options[0],
    };
    int result = parse_arguments(&c, argc, argv, paths);
    if (result == GO_ON) result = parse_dialect(&d, &t.how);
    if (result == GO_ON) result = parse_whole("--seed", seed_text, 0, LONG_MAX, &seed);
    if (result != GO_ON) return result;
    t.table = paths[1], t.features = features, t.seed = (uint64_t)seed, t.json = json;
    model_file m;
    result = model_open(&m, NULL, paths[0], output, false);
    if (result == GO_ON) result = tell_all(&m, &t);
    model_close(&m);
    return result;
}
