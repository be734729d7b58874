/* ctgp info: what a model is. */
#include "ctgp.h"

static const char *noise_name(ct_gp_noise noise)
{
    switch (noise) {
    case CT_NOISE_NONE: return "none";
    case CT_NOISE_GIVEN: return "given";
    case CT_NOISE_GIVEN_PLUS: return "given and learned";
    default: return "learned";
    }
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

static void print_text(ct_gp *gp, double nlml)
{
    char text[1024];
    ct_gp_options o = ct_gp_get_options(gp);
    ct_fit_report r = ct_gp_report(gp);
    printf("target       %s\nfeatures     ", ct_gp_output_name(gp));
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) printf("%s%s", j ? ", " : "", ct_gp_input_name(gp, j));
    printf("\npoints       %lld\ndtype        %s\n", (long long)ct_gp_points(gp),
           ct_dtype_name(ct_gp_dtype(gp)));
    printf("kernel       %s\nmean         %s\n", kernel_text(gp, text, sizeof text), mean_name(o.mean));
    printf("noise        %s\nstandardize  %s\n", noise_name(o.noise), standardize_name(o.standardize));
    printf("optimizer    %s, %d iterations, %d evaluations, %.2f s\n", optimizer_name(r.optimizer),
           r.iterations, r.evaluations, r.seconds);
    printf("jitter       %.3g\nnlml         %.6f\nparameters, in the units of the data:\n", ct_gp_jitter(gp),
           nlml);
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        printf("  %-28s %.6g%s\n", p->name, p->value, p->fixed ? "  (fixed)" : "");
    }
}

static void print_json(ct_gp *gp, double nlml)
{
    char text[1024];
    ct_gp_options o = ct_gp_get_options(gp);
    ct_fit_report r = ct_gp_report(gp);
    printf("{\"target\": ");
    json_string(stdout, ct_gp_output_name(gp));
    printf(", \"features\": [");
    for (int64_t j = 0; j < ct_gp_dims(gp); j++) {
        if (j) printf(", ");
        json_string(stdout, ct_gp_input_name(gp, j));
    }
    printf("], \"n\": %lld, \"dtype\": \"%s\", \"kernel\": ", (long long)ct_gp_points(gp),
           ct_dtype_name(ct_gp_dtype(gp)));
    json_string(stdout, kernel_text(gp, text, sizeof text));
    printf(", \"mean\": \"%s\", \"noise\": \"%s\", \"standardize\": \"%s\", \"optimizer\": \"%s\"",
           mean_name(o.mean), noise_name(o.noise), standardize_name(o.standardize),
           optimizer_name(r.optimizer));
    printf(", \"iterations\": %d, \"evaluations\": %d, \"seconds\": ", r.iterations, r.evaluations);
    json_number(stdout, r.seconds);
    printf(", \"jitter\": ");
    json_number(stdout, ct_gp_jitter(gp));
    printf(", \"nlml\": ");
    json_number(stdout, nlml);
    printf(", ");
    json_parameters(stdout, gp);
    printf("}\n");
}

int run_info(int argc, char **argv)
{
    const char *json = NULL, *path;
    const option options[] = { { "--json", NULL, "as one line of JSON", &json } };
    const command c = {
        .name = "info",
        .arguments = "MODEL",
        .summary = "Says what a model is: columns, kernel, parameters, how it was fitted.",
        .n_positional = 1,
        .options = options,
        .n_options = 1,
    };
    int result = parse_arguments(&c, argc, argv, &path);
    if (result != GO_ON) return result;
    ct_device *device;
    ct_gp *gp;
    result = model_load(NULL, path, &device, &gp);
    if (result == GO_ON) {
        double nlml = ct_gp_nlml_value(gp);
        if (json)
            print_json(gp, nlml);
        else
            print_text(gp, nlml);
        result = CODE_OK;
    }
    ct_gp_free(gp);
    ct_device_close(device);
    return result;
}
