/* The parameters of a model, and what those of levels mean. */
#include "parameters.h"

#include <math.h>

#include "names.h"
#include "text.h"

/* With its unit where that is a time: "22.06 days". */
static const char *value_text(ctgp *c, const ct_gp *gp, const ct_param *p)
{
    const ct_column *of = p->unit == CT_UNIT_INPUT ? ct_gp_input(gp, p->column) : NULL;
    return text_of(c, "%.6g%s", p->value, of && of->kind == CT_COLUMN_TIME ? " days" : "");
}

void write_parameters(writer *w, const ct_gp *gp, bool priors)
{
    WRITE(w, field_begin("parameters", '{', NULL));
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        const char *prior =
            text_of(w->c, "prior: %s (%.4g, %.4g)", prior_name(p->prior.kind), p->prior.a, p->prior.b);
        WRITE(w, field_label(param_label(w->c, gp, i)),
              field_shown(p->name, priors ? "%-12s" : "%s", p->value, value_text(w->c, gp, p)),
              field_text("  %s", p->fixed                  ? "(fixed)"
                                 : priors && p->prior.kind ? prior
                                                           : NULL),
              field_text("\n", ""));
    }
    WRITE(w, field_end('}', NULL));
}

/* -- levels, by their names ------------------------------------------------------------------------------ */

enum { MOST = 12 }; /* levels shown */

/* (W Wᵀ + diag κ)[a, b] of node n. */
static double covariance(const ct_gp *gp, const ct_cov_node *n, int a, int b)
{
    const int rank = n->degree, kappa = n->extra + n->levels * rank;
    double sum = a == b ? ct_gp_param(gp, kappa + a)->value : 0;
    for (int k = 0; k < rank; k++)
        sum +=
            ct_gp_param(gp, n->extra + a * rank + k)->value * ct_gp_param(gp, n->extra + b * rank + k)->value;
    return sum;
}

static void print_node(FILE *to, const ct_gp *gp, const ct_cov_node *n, const ct_column *column)
{
    say(to, "levels of %s, by index: standard deviation, and correlation with each before it\n",
        column->name);
    for (int a = 0; a < n->levels && a < MOST; a++) {
        char number[32];
        const double own = covariance(gp, n, a, a);
        snprintf(number, sizeof number, "%d", a);
        say(to, "  %-20s %8.4g", a < column->n_levels ? column->levels[a] : number, sqrt(own));
        for (int b = 0; b < a; b++)
            say(to, " %5.2f", covariance(gp, n, a, b) / sqrt(own * covariance(gp, n, b, b)));
        fputc('\n', to);
    }
    if (n->levels > MOST) say(to, "  and %d more\n", n->levels - MOST);
}

void print_levels(FILE *to, const ct_gp *gp)
{
    const ct_cov_program *p = ct_kernel_program(ct_gp_kernel(gp));
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const ct_cov_node *n = &ct_cov_nodes(p)[i];
        if (n->code == CT_COV_INDEX)
            print_node(to, gp, n, &ct_gp_get_options(gp).inputs[ct_cov_dims(p)[n->dims]]);
    }
}
