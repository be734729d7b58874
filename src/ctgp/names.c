/* Words for what the library counts. */
#include "model.h"

const char *kernel_text(const ct_gp *gp, char *text, size_t size)
{
    ct_kernel_print(ct_gp_kernel(gp), false, text, size);
    return text;
}

const char *kind_name(ct_column_kind kind)
{
    return kind == CT_COLUMN_CATEGORY ? "category" : kind == CT_COLUMN_TIME ? "time" : "number";
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
    switch (standardize) {
    case CT_STANDARDIZE_NONE: return "no";
    case CT_STANDARDIZE_INPUTS: return "inputs";
    case CT_STANDARDIZE_OUTPUTS: return "outputs";
    default: return "yes";
    }
}

const char *noise_kind(ct_gp_noise noise)
{
    switch (noise) {
    case CT_NOISE_NONE: return "none";
    case CT_NOISE_GIVEN: return "given";
    case CT_NOISE_GIVEN_PLUS: return "given and learned";
    case CT_NOISE_BY_LEVEL: return "by level";
    case CT_NOISE_LOG_LINEAR: return "inputs";
    default: return "learned";
    }
}

const char *prior_name(ct_prior_kind kind)
{
    static const char *const names[] = { "none",  "normal",      "log-normal",
                                         "gamma", "half-Cauchy", "soft lower bound" };
    return names[kind];
}
