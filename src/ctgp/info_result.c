/* ctgp info: what it says of an output. */
#include "info_result.h"

#include <math.h>

#include "advice.h"
#include "failure.h"
#include "learned.h"
#include "names.h"
#include "noise.h"
#include "numbers.h"
#include "outliers.h"
#include "parameters.h"
#include "sensitivity.h"
#include "target.h"
#include "trend.h"

/* -- inputs -- */

/* "category of 3: Bern, Chur, Genf". The text has the first of many levels. */
static void write_levels(writer *w, const ct_column *c)
{
    enum { SHOWN = 5 };
    WRITE(w, field_count(" of %.0f: ", (double)c->n_levels), field_begin("levels", '[', NULL));
    for (int64_t k = 0; k < c->n_levels && (w->json || k < SHOWN); k++)
        WRITE(w, field_word(NULL, k ? ", %s" : "%s", c->levels[k]));
    WRITE(w, field_end(']', c->n_levels > SHOWN ? ", ..." : NULL));
}

/* The text has times and categories only: "date   time, 1949-01-01 to 1960-12-01". */
static void write_columns(writer *w, const ct_gp *gp, const double *x)
{
    const int64_t d = ct_gp_dims(gp);
    char first[CT_TIME_TEXT], last[CT_TIME_TEXT];
    WRITE(w, field_begin("columns", '[', NULL));
    for (int64_t j = 0; j < d; j++) {
        const moments of = moments_of(x + j, ct_gp_points(gp), d);
        const ct_column *c = ct_gp_input(gp, j);
        const bool shown = w->json || c->kind != CT_COLUMN_NUMBER;
        if (shown)
            WRITE(w, field_begin(NULL, '{', NULL), field_word("name", "  %-28s ", c->name),
                  field_word("kind", "%s", kind_name(c->kind)));
        if (c->kind == CT_COLUMN_CATEGORY) write_levels(w, c);
        ct_time_write(of.low, first);
        ct_time_write(of.high, last);
        if (c->kind == CT_COLUMN_TIME)
            WRITE(w, field_word("first", ", %s", first), field_word("last", " to %s", last));
        if (shown) WRITE(w, field_end('}', "\n"));
    }
    WRITE(w, field_end(']', NULL));
}

static void write_inputs(writer *w, const ct_gp *gp, const double *x)
{
    WRITE(w, field_begin("features", '[', "features     "));
    for (int64_t j = 0; j < ct_gp_dims(gp); j++)
        WRITE(w, field_word(NULL, j ? ", %s" : "%s", ct_gp_input(gp, j)->name));
    WRITE(w, field_end(']', "\n"));
    write_columns(w, gp, x);
}

/* -- the fit -- */

static void write_search(writer *w, const ct_gp *gp)
{
    const ct_fit_report r = ct_gp_report(gp);
    const bool mixed = r.precision == CT_PRECISION_MIXED, known = r.end != CT_FIT_UNKNOWN;
    const char *end = !known                    ? "end %s\n"
                      : ct_fit_converged(r.end) ? "converged: %s\n"
                                                : "not converged: %s\n";
    WRITE(w, field_word("optimizer", "optimizer    %s, ", optimizer_name(r.optimizer)),
          field_number("iterations", "%.0f iterations, ", r.iterations),
          field_number("evaluations", "%.0f evaluations, ", r.evaluations),
          field_number("seconds", "%.2f s\n", r.seconds),
          known ? field_flag("converged", NULL, ct_fit_converged(r.end))
                : field_word("converged", NULL, NULL),
          field_text(r.optimizer ? "search       " : NULL, ""),
          field_word("end", r.optimizer ? end : NULL, ct_fit_end_text(r.end)),
          field_word("objective",
                     r.objective_of == CT_OBJECTIVE_LOO
                         ? "objective    leave-one-out: the score of ctgp loo was optimised on\n"
                         : NULL,
                     objective_name(r.objective_of)),
          field_word("precision", mixed ? "precision    %s: " : NULL, precision_name(r.precision)),
          field_number("objective_error", mixed ? "the fit knew its objective to about %.1g; " : NULL,
                       r.objective_error),
          field_number("failed", mixed ? "%.0f evaluations refused\n" : NULL, r.failed));
}

static void write_priors(writer *w, const ct_gp *gp)
{
    WRITE(w, field_begin("priors", '{', NULL));
    for (int64_t i = 0; i < ct_gp_params(gp); i++) {
        const ct_param *p = ct_gp_param(gp, i);
        if (p->prior.kind)
            WRITE(w, field_begin(p->name, '{', NULL), field_word("kind", NULL, prior_name(p->prior.kind)),
                  field_number("a", NULL, p->prior.a), field_number("b", NULL, p->prior.b),
                  field_end('}', NULL));
    }
    WRITE(w, field_end('}', NULL));
}

/* -- numbers that can be trusted -- */

/* Rows count from 1, without those that the fit left out. */
static void write_near(writer *w, const ct_gp_numerics *q)
{
    const int64_t most = w->json ? CT_GP_NEAR_SHOWN : 5, shown = q->near_rows < most ? q->near_rows : most;
    WRITE(w, field_number("near_rows", "rows alike   %.0f", (double)q->near_rows),
          field_begin("near", '[', shown ? ": " : NULL));
    for (int64_t i = 0; i < shown; i++)
        WRITE(w, field_begin(NULL, '[', i ? ", " : NULL),
              field_number(NULL, "%.0f", (double)q->near[i].row + 1),
              field_number(NULL, " as %.0f", (double)q->near[i].like + 1), field_end(']', NULL));
    WRITE(w, field_end(']', shown < q->near_rows ? ", ...\n" : "\n"));
}

static void write_numerics(writer *w, ct_gp *gp)
{
    ct_gp_numerics q;
    if (!is_known(w->c, ct_gp_inspect(gp, &q))) {
        WRITE(w, field_shown("numerics", "numerics     %s\n", NAN, ct_message(w->c->device)));
        return;
    }
    const char *digits = text_of(w->c, "%d of %d", (int)q.digits, ct_gp_dtype(gp) == CT_F32 ? 7 : 16);
    WRITE(w, field_begin("numerics", '{', NULL),
          field_number("condition", "condition    %.2g: about ", q.condition),
          field_shown("digits", "%s digits hold\n", q.digits, digits),
          field_number("gradient_error",
                       "gradient     right to %.1g where a parameter grows by a factor of e\n",
                       q.gradient_error),
          field_number("smallest_pivot", "pivots       smallest %.2g of the diagonal, ", q.smallest_pivot),
          field_number("pivot_row", "row %.0f\n", (double)q.pivot_row + 1));
    write_near(w, &q);
    WRITE(w, field_count("at bounds    %.0f\n", (double)q.at_bounds), field_begin("at_bounds", '[', NULL));
    for (int64_t i = 0; i < ct_gp_params(gp); i++)
        if (ct_gp_at_bound(gp, i)) WRITE(w, field_word(NULL, NULL, ct_gp_param(gp, i)->name));
    WRITE(w, field_end(']', NULL), field_end('}', NULL));
    if (!w->json) print_advice(w, gp, &q);
}

/* -- the whole -- */

void write_info(writer *w, ct_gp *gp, bool factor, const frame *table, const uint64_t *seed)
{
    ctgp *c = w->c;
    const ct_gp_options o = ct_gp_get_options(gp);
    WRITE(w, field_begin(NULL, '{', NULL), field_word("target", "target       %s\n", ct_gp_output(gp)->name));
    write_inputs(w, gp, model_inputs(c, gp));
    WRITE(w, field_number("n", "points       %.0f\n", (double)ct_gp_points(gp)),
          field_word("dtype", "dtype        %s\n", ct_dtype_name(ct_gp_dtype(gp))),
          field_word("kernel", "kernel       %s\n", kernel_text(c, gp)),
          field_word("mean", "mean         %s\n", mean_text(c, gp)),
          field_word("transform", o.transform ? "transform    %s\n" : NULL, ct_transform_name(o.transform)),
          field_text("noise        %s\n", noise_text(c, gp)), field_word("noise", NULL, noise_kind(o.noise)),
          field_word("noise_column", NULL, noise_column(noise_of(gp))),
          field_word("standardize", "standardize  %s\n", standardize_name(o.standardize)));
    write_search(w, gp);
    WRITE(w, field_flag("factor", NULL, factor),
          field_text(factor ? NULL : "factor       left out of the file: computed when needed\n", ""),
          field_number("jitter", "jitter       %.3g\n", ct_gp_jitter(gp)),
          field_number("nlml", "nlml         %.6f\n", ct_gp_nlml_value(gp)),
          field_text("parameters, in the units of %s:\n", o.transform ? target_text(c, gp) : "the data"));
    write_parameters(w, gp, true);
    if (w->json) write_priors(w, gp);
    if (!w->json) print_levels(w->to, gp);
    write_trend(w, gp);
    write_outliers(w, gp, table, "outliers     ");
    write_numerics(w, gp);
    if (seed) write_sensitivity(w, gp, *seed);
    WRITE(w, field_end('}', NULL));
}
