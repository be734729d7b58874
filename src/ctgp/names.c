/* Words for what the library counts. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"

const char *kernel_text(ctgp *c, const ct_gp *gp)
{
    const size_t size = ct_kernel_print(ct_gp_kernel(gp), false, NULL, 0) + 1;
    char *text = take(c, (int64_t)size, 1, "letters");
    ct_kernel_print(ct_gp_kernel(gp), false, text, size);
    return text;
}

const char *param_label(ctgp *c, const ct_gp *gp, int64_t i)
{
    const char *name = ct_gp_param(gp, i)->name, *of = strstr(name, "lengthscale[");
    if (!of) of = strstr(name, "slope[");
    if (!of) return name;
    of = strchr(of, '[') + 1;
    return text_of(c, "%.*s%s]", (int)(of - name), name, ct_gp_input(gp, strtol(of, NULL, 10))->name);
}

bool is_number(const ct_column *c) { return c->kind != CT_COLUMN_CATEGORY && c->kind != CT_COLUMN_TIME; }

const char *kind_name(ct_column_kind kind)
{
    static const char *const names[] = { [CT_COLUMN_NUMBER] = "number",
                                         [CT_COLUMN_CATEGORY] = "category",
                                         [CT_COLUMN_TIME] = "time",
                                         [CT_COLUMN_FILLED] = "filled number",
                                         [CT_COLUMN_ABSENT] = "missing cells" };
    return names[kind];
}

const char *outputs_name(ct_outputs_kind kind)
{
    return kind == CT_OUTPUTS_COREGIONALISED ? "joint" : kind == CT_OUTPUTS_SHARED ? "shared" : "each";
}

const char *precision_name(ct_precision precision)
{
    return precision == CT_PRECISION_MIXED ? "mixed" : "full";
}

const char *objective_name(ct_fit_objective objective)
{
    return objective == CT_OBJECTIVE_LOO ? "loo" : "likelihood";
}

const char *optimizer_name(ct_optimizer optimizer)
{
    return optimizer == CT_OPTIMIZER_LBFGS ? "lbfgs" : optimizer == CT_OPTIMIZER_ADAM ? "adam" : "none";
}

const char *standardize_name(ct_gp_standardize standardize)
{
    static const char *const names[] = { [CT_STANDARDIZE_BOTH] = "yes",
                                         [CT_STANDARDIZE_NONE] = "no",
                                         [CT_STANDARDIZE_INPUTS] = "inputs",
                                         [CT_STANDARDIZE_OUTPUTS] = "outputs" };
    return names[standardize];
}

const char *noise_kind(ct_gp_noise noise)
{
    static const char *const names[] = {
        [CT_NOISE_LEARNED] = "learned",   [CT_NOISE_GIVEN] = "given",
        [CT_NOISE_NONE] = "none",         [CT_NOISE_GIVEN_PLUS] = "given and learned",
        [CT_NOISE_BY_LEVEL] = "by level", [CT_NOISE_LOG_LINEAR] = "inputs"
    };
    return names[noise];
}

const char *prior_name(ct_prior_kind kind)
{
    static const char *const names[] = { "none",        "normal",           "log-normal",        "gamma",
                                         "half-Cauchy", "soft lower bound", "Cauchy lower bound" };
    return names[kind];
}
