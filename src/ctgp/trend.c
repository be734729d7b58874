/* The mean of a model: a word, or a trend of basis functions with its coefficients. */
#include "ctgp.h"

#include <string.h>

static const char *const words[] = { "constant", "zero", "linear" };

void read_mean(const char *text, ct_gp_options *options)
{
    options->mean = text ? CT_MEAN_BASIS : CT_MEAN_CONSTANT;
    for (int k = 0; text && k < 3; k++)
        if (!strcmp(text, words[k])) options->mean = (ct_gp_mean)k;
    if (options->mean == CT_MEAN_BASIS) options->basis = text;
}

void check_mean(ctgp *c, const ct_gp_options *options, const ct_column *inputs, int64_t d)
{
    if (!going(c)) return;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *text = options->basis;
    if (!text || text[strspn(text, letters)]) return;
    for (int64_t j = 0; j < d; j++)
        if (!strcmp(inputs[j].name, text)) return;
    fail(c, CODE_USAGE, "--mean: '%s' is not constant, zero or linear, and no column has that name", text);
}

const char *mean_text(const ct_gp *gp, char *text, size_t size)
{
    const ct_gp_mean mean = ct_gp_get_options(gp).mean;
    size_t n = 0;
    if (mean != CT_MEAN_BASIS) snprintf(text, size, "%s", words[mean]);
    for (int64_t i = 0; i < ct_gp_functions(gp) && n < size; i++) {
        if (i) n += (size_t)snprintf(text + n, size - n, " + ");
        if (n < size) n += ct_gp_function(gp, i, text + n, size - n);
    }
    return text;
}

void read_trend(ctgp *c, ct_gp *gp, trend *t)
{
    if (!going(c)) return;
    const ct_status s = ct_gp_functions(gp) ? ct_gp_coefficients(gp, t->value, t->error) : CT_OK;
    t->count = s ? 0 : ct_gp_functions(gp);
    if (s == CT_ENOMEM) fail_device(c, ct_gp_device(gp), NULL);
}

void print_trend(const ct_gp *gp, const trend *t)
{
    char name[256];
    if (t->count) printf("coefficients of the mean, integrated out, and their standard errors:\n");
    for (int64_t i = 0; i < t->count; i++) {
        ct_gp_function(gp, i, name, sizeof name);
        say_line("  %-28s %-12.6g +- %.3g", name, t->value[i], t->error[i]);
    }
}

void json_trend(json *j, const ct_gp *gp, const trend *t)
{
    char name[256];
    json_open(j, "coefficients", '{');
    for (int64_t i = 0; i < t->count; i++) {
        ct_gp_function(gp, i, name, sizeof name);
        json_open(j, name, '{');
        json_number(j, "value", t->value[i]);
        json_number(j, "error", t->error[i]);
        json_close(j, '}');
    }
    json_close(j, '}');
}
