/* The mean of a model: a word, or a trend of basis functions with its coefficients. */
#include "trend.h"

#include <string.h>

#include "columns.h"
#include "failure.h"

static const char *const words[] = { "constant", "zero", "linear" };

void read_mean(const char *text, ct_gp_options *options)
{
    options->mean = text ? CT_MEAN_BASIS : CT_MEAN_CONSTANT;
    for (int k = 0; text && k < 3; k++)
        if (!strcmp(text, words[k])) options->mean = (ct_gp_mean)k;
    if (options->mean == CT_MEAN_BASIS) options->basis = text;
}

void check_mean(ctgp *c, const ct_gp_options *options, int64_t d)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *text = options->basis;
    if (!text || text[strspn(text, letters)]) return;
    if (find_input(options->inputs, d, text) >= 0) return;
    fail(c, CODE_USAGE, "--mean: '%s' is not constant, zero or linear, and no column has that name", text);
}

/* Basis function i, by the names of the columns. */
static const char *function_text(ctgp *c, const ct_gp *gp, int64_t i)
{
    const size_t size = ct_gp_function(gp, i, NULL, 0) + 1;
    char *text = take(c, (int64_t)size, 1, "letters");
    ct_gp_function(gp, i, text, size);
    return text;
}

const char *mean_text(ctgp *c, const ct_gp *gp)
{
    const ct_gp_mean mean = ct_gp_get_options(gp).mean;
    const char *text = mean == CT_MEAN_BASIS ? function_text(c, gp, 0) : words[mean];
    for (int64_t i = 1; i < ct_gp_functions(gp) && mean == CT_MEAN_BASIS; i++)
        text = text_of(c, "%s + %s", text, function_text(c, gp, i));
    return text;
}

void write_trend(writer *w, ct_gp *gp)
{
    double value[CT_GP_FUNCTIONS], error[CT_GP_FUNCTIONS];
    int64_t n = ct_gp_functions(gp);
    if (n && !is_known(w->c, ct_gp_coefficients(gp, value, error))) n = 0; /* without a factor */
    WRITE(w,
          field_begin("coefficients", '{',
                      n ? "coefficients of the mean, integrated out, and their standard errors:\n" : NULL));
    for (int64_t i = 0; i < n; i++) {
        const char *name = function_text(w->c, gp, i);
        WRITE(w, field_label(name), field_begin(name, '{', NULL), field_number("value", "%-12.6g ", value[i]),
              field_number("error", "+- %.3g\n", error[i]), field_end('}', NULL));
    }
    WRITE(w, field_end('}', NULL));
}
